-- A worker sends a delta to one mirror; another one is told to fetch it from there (docs/NETWORK.md, "Your deltas").
-- copy_at_ms: when that is looked after next; null: the delta was named at more mirrors, or is copied.
-- copy_to: the mirror that is told, until copy_until_ms at most; empty: none.
ALTER TABLE registry.delta_place
    ADD COLUMN copy_at_ms bigint,
    ADD COLUMN copy_to text NOT NULL DEFAULT '' CHECK (octet_length(copy_to) <= 512),
    ADD COLUMN copy_until_ms bigint,
    ADD COLUMN copies_failed integer NOT NULL DEFAULT 0 CHECK (copies_failed >= 0);
CREATE INDEX delta_place_copy_due ON registry.delta_place (copy_at_ms) WHERE copy_at_ms IS NOT NULL;
