-- How a round goes on without its slowest workers. Jobs of before wait for all, with as many steps each.
ALTER TABLE registry.job
    ADD COLUMN quorum_ppm registry.ppm NOT NULL DEFAULT 1000000 CHECK (quorum_ppm >= 500000),
    ADD COLUMN grace_ms bigint NOT NULL DEFAULT 60000 CHECK (grace_ms >= 0),
    ADD COLUMN adapt_steps boolean NOT NULL DEFAULT false;
