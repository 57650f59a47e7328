-- By how many rounds the communication of a round may overlap later ones' computing. Jobs of before wait: 0. With 1 the next base
-- state of a round is made of the deltas of the round before, and is there while the round's own units still compute.
ALTER TABLE registry.job
    ADD COLUMN overlap smallint NOT NULL DEFAULT 0 CHECK (overlap BETWEEN 0 AND 1),
    ADD CONSTRAINT job_no_late_overlap CHECK (overlap = 0 OR NOT accept_late);
