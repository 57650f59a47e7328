-- Prefixes of units that end without a commitment (docs/PROTOCOL.md, "Prefixes"): the newest one that a unit's worker signed,
-- and what a verifier's run of those steps made of it. A row is due while its unit is expired and it is not decided; the row of
-- a unit that is committed to is deleted.
INSERT INTO registry.sequence (name) VALUES ('decided_prefix');

CREATE TABLE registry.unit_prefix (
    unit_id registry.digest PRIMARY KEY REFERENCES registry.unit,
    steps integer NOT NULL CHECK (steps BETWEEN 1 AND 1048576),
    link registry.digest NOT NULL,
    signature bytea NOT NULL CHECK (octet_length(signature) = 65),
    received_at_ms bigint NOT NULL,
    state text NOT NULL DEFAULT 'kept' CHECK (state IN ('kept', 'drawn', 'reported', 'verified', 'refuted', 'unpaid')),
    draws integer NOT NULL DEFAULT 0 CHECK (draws >= 0),
    deadline_ms bigint NOT NULL DEFAULT 0,
    verifier registry.address REFERENCES registry.node,
    -- The link that the verifier's own run gave, and its signature.
    found_link registry.digest,
    found_signature bytea CHECK (octet_length(found_signature) = 65),
    reported_at_ms bigint,
    -- Place in the feed of decided prefixes; of unpaid ones none.
    seq bigint UNIQUE CHECK (seq >= 1),
    decided_at_ms bigint,
    flops registry.counter NOT NULL DEFAULT 0,
    -- Whether the verifier is paid: its report is what was decided.
    verifier_paid boolean NOT NULL DEFAULT false,
    reason text NOT NULL DEFAULT '',
    CHECK (num_nonnulls(found_link, found_signature, reported_at_ms) IN (0, 3)),
    CHECK (found_link IS NULL OR verifier IS NOT NULL),
    CHECK (state <> 'kept' OR draws = 0),
    CHECK (state <> 'reported' OR found_link IS NOT NULL),
    CHECK ((decided_at_ms IS NOT NULL) = (state IN ('verified', 'refuted', 'unpaid'))),
    CHECK ((seq IS NOT NULL) = (state IN ('verified', 'refuted'))),
    CHECK ((flops > 0) = (state IN ('verified', 'refuted'))),
    CHECK (NOT verifier_paid OR (state IN ('verified', 'refuted') AND (found_link = link) = (state = 'verified'))),
    CHECK ((reason <> '') = (state IN ('refuted', 'unpaid')))
);
CREATE INDEX unit_prefix_undecided ON registry.unit_prefix (unit_id) WHERE decided_at_ms IS NULL;
CREATE INDEX unit_prefix_verifier ON registry.unit_prefix (verifier) WHERE decided_at_ms IS NULL AND verifier IS NOT NULL;

CREATE FUNCTION registry.guard_prefix() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    unit_state text := (SELECT u.state FROM registry.unit u WHERE u.id = coalesce(NEW.unit_id, OLD.unit_id));
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF unit_state = 'expired' THEN
            RAISE EXCEPTION 'the prefix of an expired unit is kept' USING ERRCODE = 'P0001';
        END IF;
        RETURN OLD;
    END IF;
    IF TG_OP = 'INSERT' OR (NEW.steps, NEW.link, NEW.signature, NEW.received_at_ms)
                           IS DISTINCT FROM (OLD.steps, OLD.link, OLD.signature, OLD.received_at_ms) THEN
        IF NEW.state <> 'kept' OR unit_state <> 'assigned' THEN
            RAISE EXCEPTION 'a prefix is signed while its unit is assigned' USING ERRCODE = 'P0001';
        END IF;
    END IF;
    IF TG_OP = 'INSERT' THEN
        RETURN NEW;
    END IF;
    IF NEW.steps < OLD.steps OR (NEW.steps = OLD.steps AND NEW.link <> OLD.link) OR NEW.unit_id <> OLD.unit_id THEN
        RAISE EXCEPTION 'a prefix only grows' USING ERRCODE = 'P0001';
    END IF;
    IF OLD.decided_at_ms IS NOT NULL THEN
        RAISE EXCEPTION 'a decided prefix never changes' USING ERRCODE = 'P0001';
    END IF;
    IF NEW.state <> 'kept' AND unit_state <> 'expired' THEN
        RAISE EXCEPTION 'a prefix is decided of units that expired' USING ERRCODE = 'P0001';
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER guard_prefix BEFORE INSERT OR UPDATE OR DELETE ON registry.unit_prefix
    FOR EACH ROW EXECUTE FUNCTION registry.guard_prefix();
CREATE TRIGGER no_truncation BEFORE TRUNCATE ON registry.unit_prefix
    FOR EACH STATEMENT EXECUTE FUNCTION registry.refuse_change();

-- Decided prefixes are public. Before that, a verifier that knew the worker's link could copy it.
CREATE VIEW registry.published_prefix AS
    SELECT p.unit_id, u.job_id, u.round, p.steps, p.link, p.signature, p.state, p.draws, p.verifier, p.found_link,
           p.found_signature, p.flops, p.verifier_paid, p.reason, p.decided_at_ms
    FROM registry.unit_prefix p JOIN registry.unit u ON u.id = p.unit_id
    WHERE p.decided_at_ms IS NOT NULL;

-- A verifier that is drawn for a prefix needs the inputs of its unit.
CREATE OR REPLACE FUNCTION registry.tasks_of(node bytea, since_ms bigint) RETURNS SETOF bytea
LANGUAGE sql STABLE AS $$
    SELECT u.id::bytea FROM registry.unit u
    WHERE u.worker = node
      AND (u.ended_at_ms IS NULL OR u.ended_at_ms >= since_ms
           OR EXISTS (SELECT FROM registry.disputed_unit d WHERE d.asserter = node AND d.open_games > 0))
    UNION
    SELECT u.id::bytea FROM registry.unit u WHERE u.verifier = node AND u.ended_at_ms IS NULL
    UNION
    SELECT p.unit_id::bytea FROM registry.unit_prefix p WHERE p.verifier = node AND p.decided_at_ms IS NULL
    UNION
    SELECT u.id::bytea FROM registry.unit u
    WHERE (u.ended_at_ms IS NULL OR u.ended_at_ms >= since_ms)
      AND u.id IN (SELECT p.unit_id FROM registry.report p WHERE p.verifier = node
                   UNION SELECT m.unit_id FROM registry.missed_draw m WHERE m.verifier = node)
$$;

GRANT SELECT, INSERT, UPDATE, DELETE ON registry.unit_prefix TO gym_coordinator;
GRANT SELECT ON registry.unit_prefix TO gym_rewards;
GRANT SELECT ON registry.published_prefix TO gym_api;
-- The bound of a job's cost depends on prefixes that are not decided.
GRANT SELECT (unit_id, steps, state, flops) ON registry.unit_prefix TO gym_api;

-- Credits for them.
ALTER TABLE rewards.cursor DROP CONSTRAINT cursor_name_check;
ALTER TABLE rewards.cursor
    ADD CONSTRAINT cursor_name_check CHECK (name IN ('unit_event', 'accepted_report', 'decided_prefix'));
INSERT INTO rewards.cursor VALUES ('decided_prefix', 0);
ALTER TABLE rewards.credit DROP CONSTRAINT credit_kind_check, DROP CONSTRAINT credit_has_unit;
ALTER TABLE rewards.credit
    ADD CONSTRAINT credit_kind_check
        CHECK (kind IN ('compute', 'verification', 'uptime', 'data', 'fee', 'burn', 'emission', 'prefix')),
    ADD CONSTRAINT credit_has_unit
        CHECK ((kind IN ('compute', 'verification', 'data', 'prefix')) = (unit_id IS NOT NULL));
CREATE UNIQUE INDEX credit_prefix_once ON rewards.credit (unit_id) WHERE kind = 'prefix';

-- A unit earns as a whole or for a prefix, never both.
CREATE OR REPLACE VIEW audit.rewards_paid_twice AS
    SELECT format('unit %s has %s compute credits', encode(unit_id, 'hex'), count(*)) AS problem
    FROM rewards.credit WHERE kind IN ('compute', 'prefix') GROUP BY unit_id HAVING count(*) > 1;

CREATE VIEW audit.rewards_prefix AS
    SELECT format('credit %s is for a prefix of unit %s, which is %s, and the prefix %s with %s FLOPs', c.id,
                  encode(c.unit_id, 'hex'), u.state, coalesce(p.state, 'missing'), p.flops) AS problem
    FROM rewards.credit c JOIN registry.unit u ON u.id = c.unit_id
    LEFT JOIN registry.unit_prefix p ON p.unit_id = c.unit_id
    WHERE c.kind = 'prefix'
      AND (u.state <> 'expired' OR p.state IS DISTINCT FROM 'verified' OR p.flops <> c.flops
           OR c.node IS DISTINCT FROM u.worker OR c.earner IS DISTINCT FROM u.owner);

CREATE OR REPLACE VIEW audit.rewards_fee_above_charge AS
    SELECT format('job %s, round %s: fees on %s, credits are %s', encode(job_id, 'hex'), round, charged, credits) AS problem
    FROM (SELECT job_id, round, coalesce(sum(charged) FILTER (WHERE kind = 'fee'), 0) AS charged,
                 coalesce(sum(amount) FILTER (WHERE kind IN ('compute', 'verification', 'uptime', 'data', 'prefix')), 0)
                     AS credits
          FROM rewards.credit WHERE state = 'posted' GROUP BY job_id, round) r
    WHERE charged > credits;
