-- Outgoing transactions and followed blocks of the services (src/chain_store). What is written here gets signed with
-- a service's key or credited as a deposit, so each service sees and writes its own rows only (row security), rows
-- are never deleted, and requests and signatures are never changed.
CREATE SCHEMA chain;

CREATE DOMAIN chain.digest AS bytea CHECK (octet_length(VALUE) = 32);
CREATE DOMAIN chain.address AS bytea CHECK (octet_length(VALUE) = 20);
CREATE DOMAIN chain.wei AS numeric(78, 0) CHECK (VALUE >= 0);
CREATE DOMAIN chain.counter AS bigint CHECK (VALUE >= 0);
-- The group role that owns a row.
CREATE DOMAIN chain.service AS text CHECK (VALUE IN ('gym_coordinator', 'gym_rewards'));

-- Intents: what is to happen on chain, once -----------------------------------------------------------------
CREATE TABLE chain.intent (
    service chain.service NOT NULL,
    chain_id chain.counter NOT NULL,
    sender chain.address NOT NULL,
    id text NOT NULL CHECK (octet_length(id) BETWEEN 1 AND 200),
    seq bigint GENERATED ALWAYS AS IDENTITY,
    recipient chain.address,  -- NULL: creates a contract
    value_wei chain.wei NOT NULL,
    data bytea NOT NULL,
    gas_requested chain.counter,
    label text NOT NULL,
    submitted_at_ms bigint NOT NULL,

    state text NOT NULL CHECK (state IN ('queued', 'signed', 'done', 'reverted', 'rejected', 'cancelled',
                                         'superseded')),
    cancel_requested boolean NOT NULL DEFAULT false,
    nonce chain.counter,
    gas_limit chain.counter,

    settled_at_ms bigint,
    transaction_hash chain.digest,
    block_hash chain.digest,
    block_number chain.counter,
    gas_used chain.counter,
    gas_price_wei chain.wei,
    contract_address chain.address,
    reason text,

    PRIMARY KEY (service, chain_id, sender, id),
    UNIQUE (chain_id, sender, nonce),  -- a nonce is owned once
    CHECK ((nonce IS NULL) = (gas_limit IS NULL)),
    CHECK (CASE state
               WHEN 'queued' THEN nonce IS NULL AND settled_at_ms IS NULL
               WHEN 'signed' THEN nonce IS NOT NULL AND settled_at_ms IS NULL
               WHEN 'rejected' THEN nonce IS NULL AND settled_at_ms IS NOT NULL
               WHEN 'cancelled' THEN settled_at_ms IS NOT NULL
               ELSE nonce IS NOT NULL AND settled_at_ms IS NOT NULL
           END),
    CHECK (state NOT IN ('done', 'reverted') OR (transaction_hash IS NOT NULL AND block_hash IS NOT NULL
                                                 AND block_number IS NOT NULL)),
    CHECK (block_number IS NULL OR nonce IS NOT NULL)
);
CREATE INDEX intent_open ON chain.intent (service, chain_id, sender, seq) WHERE state IN ('queued', 'signed');

-- Signed versions of an intent: same nonce, rising fees.
CREATE TABLE chain.attempt (
    service chain.service NOT NULL,
    chain_id chain.counter NOT NULL,
    sender chain.address NOT NULL,
    intent_id text NOT NULL,
    number integer NOT NULL CHECK (number >= 0),
    hash chain.digest NOT NULL,
    raw bytea NOT NULL,
    fee_max_wei chain.wei NOT NULL,
    priority_fee_wei chain.wei NOT NULL CHECK (priority_fee_wei <= fee_max_wei),
    cancels boolean NOT NULL,
    signed_at_ms bigint NOT NULL,
    PRIMARY KEY (service, chain_id, sender, intent_id, number),
    UNIQUE (hash),
    FOREIGN KEY (service, chain_id, sender, intent_id) REFERENCES chain.intent
);

CREATE FUNCTION chain.keep_settled() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.state IN ('done', 'reverted', 'cancelled', 'superseded') THEN
        RAISE EXCEPTION 'intent % is settled (%)', OLD.id, OLD.state USING ERRCODE = 'P0001';
    END IF;
    IF OLD.nonce IS NOT NULL AND NEW.nonce IS DISTINCT FROM OLD.nonce THEN
        RAISE EXCEPTION 'intent % owns nonce % for ever', OLD.id, OLD.nonce USING ERRCODE = 'P0001';
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER keep_settled BEFORE UPDATE ON chain.intent FOR EACH ROW EXECUTE FUNCTION chain.keep_settled();

-- Followers: what happened on chain -------------------------------------------------------------------------
CREATE TABLE chain.follower (
    service chain.service NOT NULL,
    name text NOT NULL CHECK (octet_length(name) BETWEEN 1 AND 100),
    chain_id chain.counter NOT NULL,
    finalized_number chain.counter,
    finalized_hash chain.digest,
    PRIMARY KEY (service, name, chain_id),
    CHECK ((finalized_number IS NULL) = (finalized_hash IS NULL))
);

CREATE TABLE chain.block (
    service chain.service NOT NULL,
    follower text NOT NULL,
    chain_id chain.counter NOT NULL,
    hash chain.digest NOT NULL,
    number chain.counter NOT NULL,
    parent_hash chain.digest NOT NULL,
    timestamp_s chain.counter NOT NULL,
    orphaned boolean NOT NULL DEFAULT false,
    PRIMARY KEY (service, follower, chain_id, hash),
    FOREIGN KEY (service, follower, chain_id) REFERENCES chain.follower
);
CREATE UNIQUE INDEX block_canonical ON chain.block (service, follower, chain_id, number) WHERE NOT orphaned;

CREATE TABLE chain.log (
    service chain.service NOT NULL,
    follower text NOT NULL,
    chain_id chain.counter NOT NULL,
    block_hash chain.digest NOT NULL,
    log_index integer NOT NULL CHECK (log_index >= 0),
    block_number chain.counter NOT NULL,
    address chain.address NOT NULL,
    topics bytea NOT NULL CHECK (octet_length(topics) % 32 = 0 AND octet_length(topics) <= 128),
    data bytea NOT NULL,
    transaction_hash chain.digest NOT NULL,
    delivered boolean NOT NULL DEFAULT false,
    PRIMARY KEY (service, follower, chain_id, block_hash, log_index),
    FOREIGN KEY (service, follower, chain_id, block_hash) REFERENCES chain.block
);
CREATE INDEX log_undelivered ON chain.log (service, follower, chain_id, block_number, log_index) WHERE NOT delivered;

CREATE FUNCTION chain.keep_finalized() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.orphaned AND NOT OLD.orphaned AND EXISTS (
        SELECT FROM chain.follower f
        WHERE f.service = OLD.service AND f.name = OLD.follower AND f.chain_id = OLD.chain_id
          AND f.finalized_number >= OLD.number) THEN
        RAISE EXCEPTION 'block % is finalized', OLD.number USING ERRCODE = 'P0001';
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER keep_finalized BEFORE UPDATE ON chain.block FOR EACH ROW EXECUTE FUNCTION chain.keep_finalized();

CREATE FUNCTION chain.keep_finality() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.finalized_number IS NOT NULL AND (NEW.finalized_number IS NULL
                                             OR NEW.finalized_number < OLD.finalized_number) THEN
        RAISE EXCEPTION 'finality of follower % cannot go back', OLD.name USING ERRCODE = 'P0001';
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER keep_finality BEFORE UPDATE ON chain.follower FOR EACH ROW EXECUTE FUNCTION chain.keep_finality();

-- Deliveries without a finalized block under them; must be empty.
CREATE VIEW audit.chain_delivered_unfinalized AS
SELECT l.service, l.follower, l.chain_id, l.block_hash, l.log_index
FROM chain.log l
JOIN chain.block b ON (b.service, b.follower, b.chain_id, b.hash) = (l.service, l.follower, l.chain_id, l.block_hash)
JOIN chain.follower f ON (f.service, f.name, f.chain_id) = (l.service, l.follower, l.chain_id)
WHERE l.delivered AND (b.orphaned OR f.finalized_number IS NULL OR b.number > f.finalized_number);

-- Privileges ------------------------------------------------------------------------------------------------
GRANT USAGE ON SCHEMA chain TO gym_coordinator, gym_rewards, gym_api;
GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA chain TO gym_coordinator, gym_rewards;
GRANT UPDATE (state, cancel_requested, nonce, gas_limit, settled_at_ms, transaction_hash, block_hash, block_number,
              gas_used, gas_price_wei, contract_address, reason)
    ON chain.intent TO gym_coordinator, gym_rewards;
GRANT UPDATE (finalized_number, finalized_hash) ON chain.follower TO gym_coordinator, gym_rewards;
GRANT UPDATE (orphaned) ON chain.block TO gym_coordinator, gym_rewards;
GRANT UPDATE (delivered) ON chain.log TO gym_coordinator, gym_rewards;
GRANT SELECT ON ALL TABLES IN SCHEMA chain TO gym_api;

DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['intent', 'attempt', 'follower', 'block', 'log'] LOOP
        EXECUTE format('ALTER TABLE chain.%I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('CREATE POLICY own ON chain.%I TO gym_coordinator, gym_rewards '
                       'USING (pg_has_role(current_user, service, ''MEMBER''))', name);
        EXECUTE format('CREATE POLICY read_all ON chain.%I FOR SELECT TO gym_api USING (true)', name);
    END LOOP;
END
$$;
