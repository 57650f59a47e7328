-- Seals over committed transfers (docs/LEDGER.md): each covers those with a sequence number above the last of the
-- seal before, up to its own last, and names the seal before by its hash. The sealer computes root and signature;
-- the database refuses a seal that does not continue the chain or that a transfer could still slip under.
DO $$
BEGIN
    CREATE ROLE gym_auditor NOLOGIN;  -- reads books and seals, writes nothing
EXCEPTION WHEN duplicate_object OR unique_violation THEN
    NULL;  -- created by another database of this cluster
END
$$;
GRANT USAGE ON SCHEMA ledger, audit, rewards TO gym_auditor;
ALTER DEFAULT PRIVILEGES IN SCHEMA audit GRANT SELECT ON TABLES TO gym_auditor;
GRANT SELECT ON ALL TABLES IN SCHEMA audit TO gym_auditor;

SET LOCAL ROLE gym_ledger_owner;

CREATE UNIQUE INDEX transfer_seq ON ledger.transfer (seq);
GRANT SELECT ON ledger.account, ledger.transfer, ledger.entry TO gym_auditor;

CREATE TABLE ledger.seal (
    number bigint PRIMARY KEY,
    first_seq bigint NOT NULL,  -- of its transfers
    last_seq bigint NOT NULL,
    transfers integer NOT NULL,
    root bytea NOT NULL,
    previous bytea NOT NULL,    -- hash of the seal before; zero for the first
    sealed_at_ms bigint NOT NULL,
    signer bytea NOT NULL,
    hash bytea NOT NULL,
    signature bytea NOT NULL,
    CHECK (number >= 1 AND first_seq <= last_seq AND transfers BETWEEN 1 AND 65536
           AND octet_length(root) = 32 AND octet_length(previous) = 32 AND octet_length(hash) = 32
           AND octet_length(signer) = 20 AND octet_length(signature) = 65)
);
CREATE TRIGGER immutable BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger.seal
    FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse();
GRANT SELECT ON ledger.seal TO gym_rewards, gym_api, gym_auditor;

-- What a seal's hash is made of; src/ledger/seal.cpp has the same.
CREATE FUNCTION ledger.seal_hash(s ledger.seal) RETURNS bytea
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT sha256(convert_to('gym.seal.v1', 'UTF8') || int8send(s.number) || int8send(s.first_seq) ||
                  int8send(s.last_seq) || int8send(s.transfers) || s.root || s.previous ||
                  int8send(s.sealed_at_ms) || s.signer)
$$;

-- Up to where no running transaction can still commit a transfer. Sequence numbers are drawn in one order and
-- committed in another, and a rollback leaves a gap that looks like a transfer yet to come. Whoever holds a number
-- holds a lock on ledger.transfer from before drawing it until after its end; so once everybody who held that lock
-- after the sequence stood at `marked` has ended, all that is at or below `marked` is settled for ever.
CREATE TABLE ledger.seal_mark (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    settled bigint NOT NULL,
    marked bigint NOT NULL,
    writers text[] NOT NULL  -- virtual transactions that may hold a number at or below `marked`
);
INSERT INTO ledger.seal_mark VALUES (true, 0, 0, '{}');

CREATE FUNCTION ledger.writers() RETURNS text[]
    LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(array_agg(DISTINCT l.virtualtransaction), '{}')
    FROM pg_locks l
    WHERE l.locktype = 'relation' AND l.granted AND l.mode = 'RowExclusiveLock'
      AND l.relation = 'ledger.transfer'::regclass
      AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
$$;

-- Moves the mark on if it can, and says up to where transfers can be sealed.
CREATE FUNCTION ledger.settle() RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    mark ledger.seal_mark;
BEGIN
    SELECT * INTO STRICT mark FROM ledger.seal_mark FOR UPDATE;
    IF mark.writers && ledger.writers() THEN
        RETURN mark.settled;
    END IF;
    mark.settled := mark.marked;
    -- In this order: who draws a number after this line has one above `marked`.
    SELECT s.last_value - CASE WHEN s.is_called THEN 0 ELSE 1 END INTO STRICT mark.marked
        FROM ledger.transfer_seq_seq s;
    mark.writers := ledger.writers();
    IF cardinality(mark.writers) = 0 THEN
        mark.settled := mark.marked;
    END IF;
    UPDATE ledger.seal_mark SET settled = mark.settled, marked = mark.marked, writers = mark.writers;
    RETURN mark.settled;
END
$$;

CREATE FUNCTION ledger.append_seal(
    p_number bigint, p_first bigint, p_last bigint, p_transfers integer, p_root bytea, p_previous bytea,
    p_sealed_at_ms bigint, p_signer bytea, p_signature bytea) RETURNS bytea
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    -- A plan made while the tables were small must not scan them once they are large.
    SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    head ledger.seal;
    seal ledger.seal;
    covered record;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'a seal is written under READ COMMITTED: an old snapshot does not see what is settled';
    END IF;
    LOCK TABLE ledger.seal IN SHARE ROW EXCLUSIVE MODE;
    SELECT * INTO head FROM ledger.seal ORDER BY number DESC LIMIT 1;
    IF p_number <> coalesce(head.number, 0) + 1
       OR p_previous <> coalesce(head.hash, decode(repeat('00', 32), 'hex'))
       OR p_sealed_at_ms < coalesce(head.sealed_at_ms, 0) THEN
        RAISE EXCEPTION 'seal % does not continue the chain, whose head is seal %', p_number,
            coalesce(head.number, 0);
    END IF;
    IF p_last > (SELECT settled FROM ledger.seal_mark) THEN
        RAISE EXCEPTION 'transfers up to % are not settled yet', p_last;
    END IF;
    SELECT count(*) AS n, min(seq) AS first_seq, max(seq) AS last_seq INTO covered
        FROM ledger.transfer WHERE seq > coalesce(head.last_seq, 0) AND seq <= p_last;
    IF (covered.n, covered.first_seq, covered.last_seq) IS DISTINCT FROM
       (p_transfers::bigint, p_first, p_last) THEN
        RAISE EXCEPTION 'seal % would leave transfers out', p_number;
    END IF;
    seal := ROW (p_number, p_first, p_last, p_transfers, p_root, p_previous, p_sealed_at_ms, p_signer,
                 ''::bytea, p_signature);
    seal.hash := ledger.seal_hash(seal);
    INSERT INTO ledger.seal SELECT seal.*;
    RETURN seal.hash;
END
$$;

REVOKE ALL ON FUNCTION ledger.writers, ledger.settle, ledger.append_seal FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ledger.settle, ledger.append_seal TO gym_rewards;

RESET ROLE;

-- The head at an epoch's close, also in its published file, whose root is posted with the payout root.
ALTER TABLE rewards.settlement
    ADD COLUMN seal_number bigint,
    ADD COLUMN seal_hash rewards.digest,
    ADD CHECK ((seal_number IS NULL) = (seal_hash IS NULL));
GRANT SELECT (epoch, seal_number, seal_hash, closed_at_ms) ON rewards.settlement TO gym_auditor;

CREATE VIEW audit.ledger_seals AS
    SELECT format('seal %s: does not continue the one before', s.number) AS problem
    FROM (SELECT t.*, lag(number, 1, 0::bigint) OVER w AS number_before, lag(last_seq, 1, 0::bigint) OVER w AS last_before,
                 lag(hash, 1, decode(repeat('00', 32), 'hex')) OVER w AS hash_before,
                 lag(sealed_at_ms, 1, 0::bigint) OVER w AS sealed_before
          FROM ledger.seal t WINDOW w AS (ORDER BY number)) s
    WHERE s.number <> s.number_before + 1 OR s.previous <> s.hash_before OR s.first_seq <= s.last_before
       OR s.sealed_at_ms < s.sealed_before
    UNION ALL
    SELECT format('seal %s: its hash is not that of its content', s.number)
    FROM ledger.seal s WHERE s.hash <> ledger.seal_hash(s);

CREATE VIEW audit.ledger_sealed_transfers AS
    SELECT format('seal %s: covers %s transfers, there are %s', s.number, s.transfers, c.n) AS problem
    FROM (SELECT number, transfers, first_seq, last_seq, lag(last_seq, 1, 0::bigint) OVER (ORDER BY number) AS last_before
          FROM ledger.seal) s
    CROSS JOIN LATERAL (SELECT count(*) AS n, min(t.seq) AS first_seq, max(t.seq) AS last_seq
                        FROM ledger.transfer t WHERE t.seq > s.last_before AND t.seq <= s.last_seq) c
    WHERE (c.n, c.first_seq, c.last_seq) IS DISTINCT FROM (s.transfers::bigint, s.first_seq, s.last_seq);

CREATE VIEW audit.ledger_seal_anchors AS
    SELECT format('epoch %s names seal %s as %s, the ledger has %s', e.epoch, e.seal_number,
                  encode(e.seal_hash, 'hex'), coalesce(encode(s.hash, 'hex'), 'none')) AS problem
    FROM rewards.settlement e LEFT JOIN ledger.seal s ON s.number = e.seal_number
    WHERE e.seal_hash <> s.hash OR (e.seal_number IS NOT NULL AND s.hash IS NULL)
    UNION ALL
    SELECT format('epoch %s: its file names another seal than its row', e.epoch)
    FROM rewards.settlement e
    WHERE (e.file::jsonb #>> '{ledger_seal,number}', e.file::jsonb #>> '{ledger_seal,hash}')
          IS DISTINCT FROM (e.seal_number::text, '0x' || encode(e.seal_hash, 'hex'));
