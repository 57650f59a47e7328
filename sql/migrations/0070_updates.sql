-- The update that made a round's next base state out of its base state, as a blob of its own: 0.517 bytes a parameter, for nodes that
-- have the base state. Jobs whose program has no update, and rounds without deltas, have none.
ALTER TABLE registry.round ADD COLUMN next_update_blob registry.digest;
CREATE INDEX round_updates ON registry.round (next_update_blob) WHERE next_update_blob IS NOT NULL;

-- As before, and updates are parts of their job's model.
CREATE OR REPLACE FUNCTION registry.model_jobs(blob bytea) RETURNS SETOF bytea LANGUAGE sql STABLE AS $$
    SELECT j.id::bytea FROM registry.job j
    WHERE ARRAY[j.program_blob::bytea, j.evaluate_program_blob::bytea, j.logits_program_blob::bytea,
                j.base_state_blob::bytea, j.momentum_blob::bytea, j.init_blob::bytea] @> ARRAY[blob]
    UNION
    SELECT r.job_id::bytea FROM registry.round r
    WHERE ARRAY[r.base_state_blob::bytea, r.momentum_blob::bytea, r.next_base_blob::bytea,
                r.next_momentum_blob::bytea, r.aggregate_program_blob::bytea] @> ARRAY[blob]
    UNION
    SELECT r.job_id::bytea FROM registry.round r WHERE r.next_update_blob = blob
    UNION
    SELECT u.job_id::bytea FROM registry.unit u WHERE u.delta_root = blob
$$;

-- Bytes of the largest state that nodes of a job fetch: with an update that is the outer state. Older jobs have none.
ALTER TABLE registry.job ADD COLUMN state_bytes registry.counter;
