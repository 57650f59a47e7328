-- Bytes of one delta of a job: with its codec they no longer follow from the parameters alone. Older jobs have none: their deltas
-- are not compressed.
ALTER TABLE registry.job ADD COLUMN delta_bytes registry.counter;
