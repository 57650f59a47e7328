-- Jobs whose aggregates subtract deltas that were proven faulty after they went in. Jobs of before leave them in the model.
ALTER TABLE registry.job
    ADD COLUMN subtract boolean NOT NULL DEFAULT false,
    ADD CONSTRAINT job_no_overlap_subtract CHECK (overlap = 0 OR NOT subtract);
-- The round whose aggregate subtracted the unit's delta, which went into an earlier one.
ALTER TABLE registry.unit
    ADD COLUMN withdrawn_round bigint
        CHECK (withdrawn_round IS NULL OR (included AND withdrawn_round > round + included_late::integer));
CREATE INDEX unit_withdrawn_round ON registry.unit (job_id, withdrawn_round) WHERE withdrawn_round IS NOT NULL;

-- Names a delta, too, while it may still be subtracted, and that of a round that subtracted it as long as the round's own.
CREATE OR REPLACE FUNCTION registry.named_blobs(roots bytea[]) RETURNS SETOF bytea LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp AS $$
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
    -- proven faulty, and not subtracted yet
    OR EXISTS (SELECT FROM registry.unit u JOIN registry.job j ON j.id = u.job_id
               WHERE u.delta_root = x.root AND j.subtract AND j.ended_at_ms IS NULL AND u.included
                 AND u.withdrawn_round IS NULL
                 AND EXISTS (SELECT FROM registry.disputed_unit d WHERE d.asserter = u.worker AND d.is_faulty))
    -- subtracted by a round that somebody may still look at
    OR EXISTS (SELECT FROM registry.unit u JOIN registry.round n ON n.job_id = u.job_id AND n.round = u.withdrawn_round
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
