-- A round's deltas that are larger than so many times the median of their norms are left out (docs/JOBS.md, "Wrong deltas").
ALTER TABLE registry.job ADD COLUMN delta_norm_factor double precision CHECK (delta_norm_factor >= 1);
