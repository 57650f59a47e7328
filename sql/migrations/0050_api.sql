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

GRANT USAGE ON SCHEMA api TO gym_api;
GRANT SELECT, INSERT ON api.api_key, api.idempotency TO gym_api;
GRANT UPDATE (revoked_at_ms) ON api.api_key TO gym_api;
