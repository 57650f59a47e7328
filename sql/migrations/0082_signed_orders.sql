-- Money of an owner moves into a job once gym-rewards has recovered the owner's signature (docs/PROTOCOL.md, "Orders";
-- docs/adr/0027-signed-orders.md). gym-api stores orders and books nothing: what its role says about an order is a
-- request, whoever holds the role.

-- What a signature can cover, uint256, and what gym-rewards reads at one time, whoever stored it.
ALTER TABLE registry.job_order ADD CONSTRAINT job_order_amounts CHECK (greatest(budget_wei, price_wei_per_pflop,
    max_data_price_wei) < 115792089237316195423570985008687907853269984665640564039457584007913129639936);
ALTER TABLE registry.job_order ADD CONSTRAINT job_order_datasets CHECK (octet_length(datasets) <= 65536);
ALTER TABLE registry.job_funding ADD CONSTRAINT job_funding_amount CHECK (
    amount_wei < 115792089237316195423570985008687907853269984665640564039457584007913129639936);

-- What became of each order. Rows come from the tables of orders alone, and gym-rewards decides each once.
CREATE TABLE registry.order_state (
    kind text NOT NULL CHECK (kind IN ('job', 'funding')),
    owner registry.address NOT NULL,
    nonce registry.digest NOT NULL,
    seq bigint GENERATED ALWAYS AS IDENTITY,  -- orders are decided in their order
    job_id registry.digest NOT NULL,
    amount_wei registry.wei NOT NULL,
    -- waiting: for gym-rewards. locked: its money is in the job's escrow. refused: no money moved.
    state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'locked', 'refused')),
    reason text NOT NULL DEFAULT '',  -- why it is refused, one sentence
    decided_at_ms bigint,
    PRIMARY KEY (kind, owner, nonce),
    CHECK ((state = 'waiting') = (decided_at_ms IS NULL)),
    CHECK ((state = 'refused') = (reason <> ''))
);
CREATE INDEX order_state_job ON registry.order_state (job_id);
CREATE INDEX order_state_waiting ON registry.order_state (seq) WHERE state = 'waiting';
CREATE INDEX order_state_waiting_owner ON registry.order_state (owner) WHERE state = 'waiting';
CREATE TRIGGER append_only BEFORE DELETE OR TRUNCATE ON registry.order_state
    FOR EACH STATEMENT EXECUTE FUNCTION registry.refuse_change();

CREATE FUNCTION registry.guard_order_state() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.state <> 'waiting'
       OR (NEW.kind, NEW.owner, NEW.nonce, NEW.job_id, NEW.amount_wei)
          IS DISTINCT FROM (OLD.kind, OLD.owner, OLD.nonce, OLD.job_id, OLD.amount_wei) THEN
        RAISE EXCEPTION 'an order is decided once' USING ERRCODE = 'P0001';
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER guard_order_state BEFORE UPDATE ON registry.order_state
    FOR EACH ROW EXECUTE FUNCTION registry.guard_order_state();

-- The money of orders of before is in escrow.
INSERT INTO registry.order_state (kind, owner, nonce, job_id, amount_wei, state, decided_at_ms)
    SELECT 'job', owner, nonce, job_id, budget_wei, 'locked', received_at_ms FROM registry.job_order
    ORDER BY received_at_ms, job_id;
INSERT INTO registry.order_state (kind, owner, nonce, job_id, amount_wei, state, decided_at_ms)
    SELECT 'funding', owner, nonce, job_id, amount_wei, 'locked', received_at_ms FROM registry.job_funding
    ORDER BY received_at_ms, job_id;

CREATE FUNCTION registry.await_order() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_TABLE_NAME = 'job_order' THEN
        INSERT INTO registry.order_state (kind, owner, nonce, job_id, amount_wei)
            VALUES ('job', NEW.owner, NEW.nonce, NEW.job_id, NEW.budget_wei);
    ELSE
        INSERT INTO registry.order_state (kind, owner, nonce, job_id, amount_wei)
            VALUES ('funding', NEW.owner, NEW.nonce, NEW.job_id, NEW.amount_wei);
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER await_order AFTER INSERT ON registry.job_order
    FOR EACH ROW EXECUTE FUNCTION registry.await_order();
CREATE TRIGGER await_order AFTER INSERT ON registry.job_funding
    FOR EACH ROW EXECUTE FUNCTION registry.await_order();

-- A job starts, and its budget grows, by orders whose money is locked.
CREATE OR REPLACE FUNCTION registry.guard_job() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.status <> 'submitted' THEN
            RAISE EXCEPTION 'a job begins as submitted' USING ERRCODE = 'P0001';
        END IF;
        IF NOT EXISTS (
            SELECT FROM registry.job_order o
            WHERE o.job_id = NEW.id AND o.owner = NEW.owner AND o.budget_wei = NEW.budget_wei
              AND o.price_wei_per_pflop = NEW.price_wei_per_pflop
              AND o.spec = sha256(convert_to(NEW.spec_yaml, 'UTF8'))
              AND substring(o.datasets FROM 1 FOR 32) = NEW.dataset_root) THEN
            RAISE EXCEPTION 'no order of its owner covers the job' USING ERRCODE = 'P0001';
        END IF;
        RETURN NEW;
    END IF;
    IF NEW.status <> OLD.status AND NOT EXISTS (
        SELECT FROM registry.job_transition
        WHERE from_status = OLD.status AND to_status = NEW.status) THEN
        RAISE EXCEPTION 'a job that is % cannot become %', OLD.status, NEW.status
            USING ERRCODE = 'P0001';
    END IF;
    IF OLD.status = 'submitted' AND NEW.status = 'running' AND NOT EXISTS (
        SELECT FROM registry.order_state s WHERE s.job_id = NEW.id AND s.kind = 'job' AND s.state = 'locked') THEN
        RAISE EXCEPTION 'the budget of the job is not locked' USING ERRCODE = 'P0001';
    END IF;
    IF NEW.budget_wei < OLD.budget_wei THEN
        RAISE EXCEPTION 'the budget of a job never shrinks' USING ERRCODE = 'P0001';
    END IF;
    IF NEW.budget_wei > OLD.budget_wei AND NEW.budget_wei > (
        SELECT o.budget_wei + coalesce((SELECT sum(s.amount_wei) FROM registry.order_state s
                                        WHERE s.job_id = NEW.id AND s.owner = NEW.owner
                                          AND s.kind = 'funding' AND s.state = 'locked'), 0)
        FROM registry.job_order o WHERE o.job_id = NEW.id) THEN
        RAISE EXCEPTION 'no order of its owner covers the budget of the job' USING ERRCODE = 'P0001';
    END IF;
    IF NEW.id <> OLD.id OR NEW.owner <> OLD.owner OR NEW.spec_yaml <> OLD.spec_yaml
       OR NEW.price_wei_per_pflop <> OLD.price_wei_per_pflop
       OR (NEW.init_root, NEW.init_blob) IS DISTINCT FROM (OLD.init_root, OLD.init_blob)
       OR (OLD.seed IS NOT NULL AND NEW.seed IS DISTINCT FROM OLD.seed) THEN
        RAISE EXCEPTION 'the terms of a job never change' USING ERRCODE = 'P0001';
    END IF;
    RETURN NEW;
END
$$;

GRANT SELECT ON registry.order_state TO gym_coordinator, gym_rewards, gym_api, gym_auditor;
GRANT UPDATE (state, reason, decided_at_ms) ON registry.order_state TO gym_rewards;
GRANT UPDATE (budget_wei) ON registry.job TO gym_rewards;
REVOKE UPDATE (budget_wei) ON registry.job FROM gym_api;
-- An auditor recovers the signatures again (`gym ledger verify`).
GRANT USAGE ON SCHEMA registry TO gym_auditor;
GRANT SELECT ON registry.job_order, registry.job_funding TO gym_auditor;

-- The ledger has one writer.
REVOKE EXECUTE ON FUNCTION ledger.open_account, ledger.submit FROM gym_api;
REVOKE SELECT (id, owner) ON registry.job FROM gym_ledger_owner;
SET LOCAL ROLE gym_ledger_owner;
CREATE OR REPLACE FUNCTION ledger.submit(
    p_ids uuid[], p_kinds text[], p_debits bigint[], p_credits bigint[], p_amounts numeric[],
    p_pendings uuid[], p_expires bigint[], p_groups uuid[], p_reasons text[], p_now bigint) RETURNS text[]
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NOT pg_has_role(session_user, 'gym_rewards', 'MEMBER') THEN
        RAISE EXCEPTION 'gym-rewards alone books transfers' USING ERRCODE = 'insufficient_privilege';
    END IF;
    FOR attempt IN 1 .. 8 LOOP
        BEGIN
            RETURN ledger.book(p_ids, p_kinds, p_debits, p_credits, p_amounts, p_pendings, p_expires,
                               p_groups, p_reasons, p_now, false, true);
        EXCEPTION WHEN unique_violation OR SQLSTATE 'GL001' THEN
            -- Another session booked one of these ids, or a pending transfer that is named here, meanwhile;
            -- now it is visible. What this attempt had locked is free again.
            IF attempt = 8 THEN RAISE; END IF;
        END;
    END LOOP;
END
$$;
DROP FUNCTION ledger.require_own_job;
RESET ROLE;

-- More in a job's escrow than its owner's orders lock would be money that its owner did not sign for.
CREATE VIEW audit.orders_escrow AS
    SELECT format('job %s: its owner paid %s into its escrow, by orders for %s', substr(c.owner, 5), sum(t.amount),
                  coalesce(min(s.locked), 0)) AS problem
    FROM ledger.account c
    JOIN ledger.transfer t ON t.credit_account = c.id AND t.kind IN ('transfer', 'post')
    JOIN ledger.account d ON d.id = t.debit_account AND d.kind = 'available'
    LEFT JOIN LATERAL (SELECT sum(o.amount_wei) AS locked FROM registry.order_state o
                       WHERE o.job_id = decode(substr(c.owner, 7), 'hex') AND o.state = 'locked'
                         AND d.owner = '0x' || encode(o.owner, 'hex')) s ON true
    WHERE c.kind = 'escrow' AND c.owner ~ '^job:0x[0-9a-f]{64}$'
    GROUP BY c.id, c.owner, d.owner
    HAVING sum(t.amount) > coalesce(min(s.locked), 0);

-- API keys: what they may do, how long, and how much their orders may come to. Keys of before may do everything.
ALTER TABLE api.api_key
    ADD COLUMN expires_at_ms bigint,
    ADD COLUMN scopes text[] NOT NULL DEFAULT '{read,data,jobs,spend}'
        CHECK (cardinality(scopes) > 0 AND scopes <@ '{read,data,jobs,spend}'),
    ADD COLUMN spend_max_wei registry.wei,
    ADD COLUMN spent_wei registry.wei NOT NULL DEFAULT 0,
    ADD CHECK (spent_wei <= spend_max_wei);
GRANT UPDATE (spent_wei) ON api.api_key TO gym_api;
