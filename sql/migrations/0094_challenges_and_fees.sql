-- Uptime, and fees and emission (docs/REWARDS.md).
--
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

-- Fees and emission: credits of a round as a whole, each with the inputs that explain it. --------------------
ALTER TABLE rewards.credit
    ADD COLUMN challenges bigint NOT NULL DEFAULT 0 CHECK (challenges >= 0),        -- uptime
    ADD COLUMN answered bigint NOT NULL DEFAULT 0 CHECK (answered BETWEEN 0 AND challenges),
    ADD COLUMN charged ledger.amount NOT NULL DEFAULT 0,                            -- fee, burn: the credits it is on
    ADD COLUMN fee_ppm bigint NOT NULL DEFAULT 0 CHECK (fee_ppm BETWEEN 0 AND 1000000),
    ADD COLUMN burned_ppm bigint NOT NULL DEFAULT 0 CHECK (burned_ppm BETWEEN 0 AND 1000000),
    ADD COLUMN burned ledger.amount NOT NULL DEFAULT 0,                             -- emission: what the round burned
    ADD COLUMN emission_ppm bigint NOT NULL DEFAULT 0 CHECK (emission_ppm BETWEEN 0 AND 1000000),
    ADD COLUMN compute_total ledger.amount NOT NULL DEFAULT 0,
    ADD COLUMN payer rewards.address,  -- NULL: the job's escrow
    DROP CONSTRAINT credit_kind_check,
    DROP CONSTRAINT credit_check3,
    ADD CONSTRAINT credit_kind_check
        CHECK (kind IN ('compute', 'verification', 'uptime', 'data', 'fee', 'burn', 'emission')),
    ADD CONSTRAINT credit_has_unit CHECK ((kind IN ('compute', 'verification', 'data')) = (unit_id IS NOT NULL)),
    ADD CONSTRAINT credit_has_payer CHECK ((kind = 'emission') = (payer IS NOT NULL));

-- Self-dealing must never pay: who owns a job and its workers gets back less than the job destroyed.
CREATE VIEW audit.rewards_emission_above_burned AS
    SELECT format('job %s: emission %s, burned %s', encode(job_id, 'hex'), emission, burned) AS problem
    FROM (SELECT job_id, coalesce(sum(amount) FILTER (WHERE kind = 'emission'), 0) AS emission,
                 coalesce(sum(amount) FILTER (WHERE kind = 'burn'), 0) AS burned
          FROM rewards.credit WHERE state = 'posted' GROUP BY job_id) j
    WHERE emission > burned;

CREATE VIEW audit.rewards_fee_above_charge AS
    SELECT format('job %s, round %s: fees on %s, credits are %s', encode(job_id, 'hex'), round, charged, credits)
        AS problem
    FROM (SELECT job_id, round, coalesce(sum(charged) FILTER (WHERE kind = 'fee'), 0) AS charged,
                 coalesce(sum(amount) FILTER (WHERE kind IN ('compute', 'verification', 'uptime', 'data')), 0) AS credits
          FROM rewards.credit WHERE state = 'posted' GROUP BY job_id, round) r
    WHERE charged > credits;
