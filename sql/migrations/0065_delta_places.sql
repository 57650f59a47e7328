-- Deltas that a worker has put on mirrors instead of sending them here. held: the bytes are in the store; wanted: no
-- mirror gave them, and their worker is asked.
CREATE TABLE registry.delta_place (
    worker registry.address NOT NULL REFERENCES registry.node,
    root registry.digest NOT NULL,
    -- Addresses, one a line.
    mirrors text NOT NULL CHECK (octet_length(mirrors) BETWEEN 1 AND 4096),
    state text NOT NULL DEFAULT 'named' CHECK (state IN ('named', 'wanted', 'held')),
    attempts integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    -- When it is fetched next; until then an instance may be at it.
    next_at_ms bigint NOT NULL,
    named_at_ms bigint NOT NULL,
    PRIMARY KEY (worker, root)
);
CREATE INDEX delta_place_due ON registry.delta_place (next_at_ms) WHERE state <> 'held';
GRANT SELECT, INSERT, UPDATE, DELETE ON registry.delta_place TO gym_coordinator;
