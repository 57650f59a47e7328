-- State of gym-api itself: keys and answered requests. Times ending in _ms are Unix milliseconds.
CREATE SCHEMA api;

-- An API key is "gym_<id>_<secret>"; of the secret, 32 random bytes, only the SHA-256 is kept.
CREATE TABLE api.api_key (
    id text PRIMARY KEY CHECK (id ~ '^[0-9a-f]{16}$'),
    secret_hash bytea NOT NULL CHECK (octet_length(secret_hash) = 32),
    owner registry.address NOT NULL,
    label text NOT NULL CHECK (char_length(label) <= 128),
    created_at_ms bigint NOT NULL,
    revoked_at_ms bigint
);

-- Written in the transaction that carries out the request, so that a request either happened and is
-- known here, or did not happen.
CREATE TABLE api.idempotency (
    owner registry.address NOT NULL,
    key text NOT NULL CHECK (octet_length(key) BETWEEN 1 AND 128),
    request_hash bytea NOT NULL CHECK (octet_length(request_hash) = 32),
    job_id registry.digest NOT NULL REFERENCES registry.job DEFERRABLE INITIALLY DEFERRED,
    created_at_ms bigint NOT NULL,
    PRIMARY KEY (owner, key)
);

-- Blobs that owners send in parts. The bytes lie in files of gym-api; a job that names a complete one takes it over
-- into the blob store. Of a state, what the job's program is compared with. An upload that nobody touched for long is
-- forgotten.
CREATE TABLE api.upload (
    owner registry.address NOT NULL,
    root registry.digest NOT NULL,
    size_bytes bigint NOT NULL CHECK (size_bytes > 0),
    touched_at_ms bigint NOT NULL,
    completed_at_ms bigint,
    state_root registry.digest,
    state_layout bytea,
    PRIMARY KEY (owner, root),
    CHECK (num_nonnulls(state_root, state_layout) IN (0, 2)),
    CHECK (completed_at_ms IS NOT NULL OR state_root IS NULL)
);
CREATE INDEX upload_state ON api.upload (owner, state_root) WHERE state_root IS NOT NULL;
CREATE INDEX upload_touched ON api.upload (touched_at_ms);

GRANT USAGE ON SCHEMA api TO gym_api;
GRANT SELECT, INSERT, UPDATE, DELETE ON api.upload TO gym_api;
GRANT SELECT, INSERT ON api.api_key, api.idempotency TO gym_api;
GRANT UPDATE (revoked_at_ms) ON api.api_key TO gym_api;
