-- The record behind a worker's sampling rate is the value of its valid units since its last fault, not their number: FLOPs
-- times the price of 10^15 of them, at least 1 wei (protocol::work_value()).
ALTER TABLE registry.node ADD COLUMN valid_value numeric(78, 0) NOT NULL DEFAULT 0 CHECK (valid_value >= 0);
UPDATE registry.node n SET valid_value = coalesce((
    SELECT sum(u.value) FROM (
        SELECT unit.flops::numeric * greatest(job.price_wei_per_pflop, 1) AS value
        FROM registry.unit JOIN registry.job ON job.id = unit.job_id
        WHERE unit.worker = n.address AND unit.kind = 'train' AND unit.state = 'final'
        ORDER BY unit.ended_at_ms DESC LIMIT n.valid_run) u), 0)
WHERE n.valid_run > 0;
ALTER TABLE registry.node DROP COLUMN valid_run,
    ADD CHECK (excluded_at_ms IS NULL OR valid_value = 0);
