-- JobEscrow locks what an owner's signed order allows before the job starts, and releases nothing else
-- (docs/adr/0041-locks-that-owners-sign.md).

-- locking: gym-rewards has accepted the order and reserved its money; it waits for the chain.
ALTER TABLE registry.order_state DROP CONSTRAINT order_state_state_check,
    ADD CONSTRAINT order_state_state_check CHECK (state IN ('waiting', 'locking', 'locked', 'refused'));
CREATE INDEX order_state_locking ON registry.order_state (seq) WHERE state = 'locking';
CREATE INDEX order_state_locking_owner ON registry.order_state (owner) WHERE state = 'locking';

CREATE OR REPLACE FUNCTION registry.guard_order_state() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (OLD.state, NEW.state) NOT IN (('waiting', 'locking'), ('waiting', 'refused'), ('locking', 'locked'), ('locking', 'refused'))
       OR (NEW.kind, NEW.owner, NEW.nonce, NEW.job_id, NEW.amount_wei)
          IS DISTINCT FROM (OLD.kind, OLD.owner, OLD.nonce, OLD.job_id, OLD.amount_wei) THEN
        RAISE EXCEPTION 'an order is decided once' USING ERRCODE = 'P0001';
    END IF;
    RETURN NEW;
END
$$;

-- The contract knows what is locked, so that withdrawals need no trims.
DROP TABLE rewards.trim;

-- Of each owner: what JobEscrow has locked by the events that are booked, and what the books need of it. More than they need
-- is unlocked. A row is written with the transfers that change it.
CREATE TABLE rewards.owner_lock (
    owner rewards.address PRIMARY KEY,
    locked ledger.amount NOT NULL DEFAULT 0,    -- JobEscrow.lockedOf
    released ledger.amount NOT NULL DEFAULT 0,  -- over all time
    unlocked ledger.amount NOT NULL DEFAULT 0,  -- JobEscrow.unlockedOf
    needed ledger.amount NOT NULL DEFAULT 0,    -- reserved by orders, in escrow, or spent and not released
    asked ledger.amount NOT NULL DEFAULT 0      -- the total that the last unlock() for this owner names
);
CREATE INDEX owner_lock_due ON rewards.owner_lock (owner) WHERE locked > needed;
-- The calls of unlock() that bring it about.
CREATE TABLE rewards.unlock (
    batch bigint NOT NULL CHECK (batch >= 1),
    owner rewards.address NOT NULL,
    total ledger.amount NOT NULL,
    PRIMARY KEY (batch, owner)
);
GRANT SELECT, INSERT, UPDATE ON rewards.owner_lock TO gym_rewards;
GRANT SELECT, INSERT ON rewards.unlock TO gym_rewards;

ALTER TABLE rewards.reconciliation ADD COLUMN locked_ledger ledger.amount, ADD COLUMN locked_chain ledger.amount,
    ADD CHECK ((locked_ledger IS NULL) = (locked_chain IS NULL));
CREATE OR REPLACE VIEW audit.rewards_reconciliation AS
    SELECT format('block %s: contracts hold %s and %s, paid %s and locked %s, the ledger says %s and %s, %s and %s', r.block,
                  r.escrow_chain, r.distributor_chain, r.claimed_chain, r.locked_chain, r.escrow_ledger, r.distributor_ledger,
                  r.claimed_ledger, r.locked_ledger) AS problem
    FROM rewards.reconciliation r
    WHERE r.block = (SELECT max(block) FROM rewards.reconciliation)
      AND (r.escrow_chain <> r.escrow_ledger OR r.claimed_chain <> r.claimed_ledger
           OR r.locked_chain <> r.locked_ledger OR r.distributor_chain < r.distributor_ledger);

-- What the books need locked, from the ledger: what owners moved into escrow and did not get back, with what their orders
-- have reserved, less what was released.
CREATE VIEW audit.rewards_locks AS
    WITH moved AS (
        SELECT CASE WHEN d.kind = 'available' THEN d.owner WHEN c.kind = 'available' THEN c.owner
                    ELSE coalesce('0x' || encode(j.owner, 'hex'), substr(d.owner, 5)) END AS owner,
               sum(CASE WHEN d.kind = 'available' THEN t.amount ELSE -t.amount END) AS amount
        FROM ledger.transfer t
        JOIN ledger.account d ON d.id = t.debit_account
        JOIN ledger.account c ON c.id = t.credit_account
        LEFT JOIN registry.job j ON d.owner = 'job:0x' || encode(j.id, 'hex')
        WHERE t.kind IN ('transfer', 'post')
          AND (d.kind, c.kind) IN (('available', 'escrow'), ('escrow', 'available'), ('escrow', 'chain_escrow'))
        GROUP BY 1),
    reserved AS (
        SELECT owner, sum(amount_wei) AS amount FROM registry.order_state WHERE state = 'locking' GROUP BY owner)
    SELECT format('owner %s: the books need %s locked, its transfers say %s', encode(l.owner, 'hex'), l.needed,
                  coalesce(m.amount, 0) + coalesce(r.amount, 0) - l.released) AS problem
    FROM rewards.owner_lock l
    LEFT JOIN moved m ON m.owner = '0x' || encode(l.owner, 'hex')
    LEFT JOIN reserved r ON r.owner = l.owner
    WHERE l.needed <> coalesce(m.amount, 0) + coalesce(r.amount, 0) - l.released;
