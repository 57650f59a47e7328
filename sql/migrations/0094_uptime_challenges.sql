-- Uptime by challenges (docs/PROTOCOL.md, "Uptime"): questions at moments that a node cannot foresee take the place of
-- windows of heartbeats, which it could answer by waking up once in each.
DROP TABLE registry.heartbeat;

CREATE TABLE registry.challenge (
    node registry.address NOT NULL REFERENCES registry.node,
    nonce registry.digest PRIMARY KEY,
    issued_at_ms bigint NOT NULL,
    deadline_ms bigint NOT NULL CHECK (deadline_ms > issued_at_ms),
    answered_at_ms bigint CHECK (answered_at_ms BETWEEN issued_at_ms AND deadline_ms),
    signature bytea CHECK (octet_length(signature) = 65),  -- the node's, over the EIP-712 UptimeAnswer
    late_at_ms bigint CHECK (late_at_ms > deadline_ms),    -- of the first answer that came too late: for people
    withdrawn boolean NOT NULL DEFAULT false,              -- nobody could answer it: the coordinator was away
    CHECK ((answered_at_ms IS NULL) = (signature IS NULL)),
    CHECK (answered_at_ms IS NULL OR NOT withdrawn)
);
CREATE INDEX challenge_node ON registry.challenge (node, issued_at_ms);
CREATE INDEX challenge_open ON registry.challenge (node, deadline_ms) WHERE answered_at_ms IS NULL AND NOT withdrawn;
CREATE INDEX challenge_issued ON registry.challenge (issued_at_ms);

-- When each node is asked next. Nobody but the coordinator may know.
CREATE TABLE registry.challenge_schedule (
    node registry.address PRIMARY KEY REFERENCES registry.node,
    next_at_ms bigint NOT NULL
);

-- When challenges were issued last: a gap means that no coordinator was there to take answers.
CREATE TABLE registry.challenge_pass (
    id boolean PRIMARY KEY DEFAULT true CHECK (id),
    at_ms bigint NOT NULL
);

-- What was asked and answered is not rewritten: an answer, a late one and a withdrawal each come once.
CREATE FUNCTION registry.challenge_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (new.node, new.nonce, new.issued_at_ms, new.deadline_ms)
       IS DISTINCT FROM (old.node, old.nonce, old.issued_at_ms, old.deadline_ms)
       OR (old.answered_at_ms IS NOT NULL AND (new.answered_at_ms, new.signature)
           IS DISTINCT FROM (old.answered_at_ms, old.signature))
       OR (old.late_at_ms IS NOT NULL AND new.late_at_ms IS DISTINCT FROM old.late_at_ms)
       OR (old.withdrawn AND NOT new.withdrawn) THEN
        RAISE EXCEPTION 'what a challenge says does not change' USING ERRCODE = 'check_violation';
    END IF;
    RETURN new;
END
$$;
CREATE TRIGGER challenge_is_kept BEFORE UPDATE ON registry.challenge
    FOR EACH ROW EXECUTE FUNCTION registry.challenge_is_kept();

GRANT SELECT ON registry.challenge TO gym_coordinator, gym_rewards, gym_api;
GRANT INSERT, DELETE, UPDATE (answered_at_ms, signature, late_at_ms, withdrawn) ON registry.challenge TO gym_coordinator;
GRANT SELECT, INSERT, UPDATE, DELETE ON registry.challenge_schedule, registry.challenge_pass TO gym_coordinator;
