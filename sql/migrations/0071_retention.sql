-- What the blob store keeps of rounds that are final (docs/adr/0016-retention.md). From pruned_at_ms on a round names none of its
-- states and deltas, but for the base state that it ended in and the update that led there where these columns say so.
-- Rows of before have none: they are decided by the next passes.
ALTER TABLE registry.round
    ADD COLUMN pruned_at_ms bigint,
    ADD COLUMN keeps_state boolean NOT NULL DEFAULT false,
    ADD COLUMN keeps_update boolean NOT NULL DEFAULT false,
    ADD CONSTRAINT round_pruned_check CHECK (pruned_at_ms IS NULL OR state = 'closed'),
    ADD CONSTRAINT round_keeps_check CHECK (pruned_at_ms IS NOT NULL OR NOT (keeps_state OR keeps_update)),
    ADD CONSTRAINT round_keeps_update_check CHECK (next_update_blob IS NOT NULL OR NOT keeps_update);
CREATE INDEX round_unpruned ON registry.round (job_id, round) WHERE pruned_at_ms IS NULL;
CREATE INDEX delta_upload_root ON registry.delta_upload (root);
CREATE INDEX delta_place_root ON registry.delta_place (root);

-- Those of `roots` that are needed: the one place that says which rows promise a blob. A test holds it against the columns of the
-- schema. The coordinator erases what it does not return, and need not read the tables of models and datasets for it.
CREATE FUNCTION registry.named_blobs(roots bytea[]) RETURNS SETOF bytea
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT x.root FROM unnest(roots) AS x(root) WHERE
    EXISTS (SELECT FROM registry.job j
            WHERE ARRAY[j.program_blob::bytea, j.evaluate_program_blob::bytea, j.logits_program_blob::bytea,
                        j.base_state_blob::bytea, j.momentum_blob::bytea, j.init_blob::bytea] @> ARRAY[x.root]
              AND (x.root IN (j.program_blob, j.evaluate_program_blob, j.logits_program_blob, j.base_state_blob, j.init_blob)
                   -- the outer state before the first round: what round 1 begins from, and nobody else
                   OR NOT EXISTS (SELECT FROM registry.round n
                                  WHERE n.job_id = j.id AND n.round = 1 AND n.pruned_at_ms IS NOT NULL)))
    OR EXISTS (SELECT FROM registry.round n
               WHERE ARRAY[n.base_state_blob::bytea, n.momentum_blob::bytea, n.next_base_blob::bytea,
                           n.next_momentum_blob::bytea, n.aggregate_program_blob::bytea] @> ARRAY[x.root]
                 AND (n.pruned_at_ms IS NULL OR n.aggregate_program_blob = x.root
                      OR (n.keeps_state AND n.next_base_blob = x.root)))
    OR EXISTS (SELECT FROM registry.round n
               WHERE n.next_update_blob = x.root AND (n.pruned_at_ms IS NULL OR n.keeps_update))
    OR EXISTS (SELECT FROM registry.unit u JOIN registry.round n ON n.job_id = u.job_id AND n.round = u.round
               WHERE u.delta_root = x.root AND n.pruned_at_ms IS NULL)
    -- uploaded or named for a unit that is still to be committed to
    OR EXISTS (SELECT FROM registry.delta_upload d JOIN registry.unit u ON u.worker = d.worker
               WHERE d.root = x.root AND u.state = 'assigned' AND d.at_ms >= u.assigned_at_ms)
    OR EXISTS (SELECT FROM registry.delta_place p JOIN registry.unit u ON u.worker = p.worker
               WHERE p.root = x.root AND u.state = 'assigned' AND p.named_at_ms >= u.assigned_at_ms)
    OR x.root IN (SELECT d.blob::bytea FROM registry.dataset d)
    OR x.root IN (SELECT t.blob::bytea FROM registry.dataset_tokenizer t)
    OR x.root IN (SELECT m.blob::bytea FROM registry.dataset_manifest m)
    OR x.root IN (SELECT m.manifest_blob::bytea FROM registry.mix_recipe m)
    OR x.root IN (SELECT v.state_blob::bytea FROM registry.model_version v)
    OR x.root IN (SELECT v.program_blob::bytea FROM registry.model_version v)
    OR x.root IN (SELECT v.tokenizer_blob::bytea FROM registry.model_version v WHERE v.tokenizer_blob IS NOT NULL)
$$;
REVOKE ALL ON FUNCTION registry.named_blobs FROM PUBLIC;
GRANT EXECUTE ON FUNCTION registry.named_blobs TO gym_coordinator;
