-- What the coordinator has room for, as it publishes it: a job that it would pause for its size is refused before.
CREATE TABLE registry.size_limits (
    id boolean PRIMARY KEY DEFAULT true CHECK (id),
    blob_bytes_max bigint NOT NULL CHECK (blob_bytes_max > 0),
    deltas_bytes_max bigint NOT NULL CHECK (deltas_bytes_max > 0),
    changed_at_ms bigint NOT NULL
);
GRANT SELECT, INSERT, UPDATE ON registry.size_limits TO gym_coordinator;
GRANT SELECT ON registry.size_limits TO gym_api;
