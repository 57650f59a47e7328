-- Generated from sql/migrations by scripts/dump_schema.sh. Read it; change the migrations.
-- PostgreSQL database dump

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

-- Name: api; Type: SCHEMA; Schema: -; Owner: -

CREATE SCHEMA api;

-- Name: audit; Type: SCHEMA; Schema: -; Owner: -

CREATE SCHEMA audit;

-- Name: chain; Type: SCHEMA; Schema: -; Owner: -

CREATE SCHEMA chain;

-- Name: ledger; Type: SCHEMA; Schema: -; Owner: -

CREATE SCHEMA ledger;

-- Name: migration; Type: SCHEMA; Schema: -; Owner: -

CREATE SCHEMA migration;

-- Name: registry; Type: SCHEMA; Schema: -; Owner: -

CREATE SCHEMA registry;

-- Name: rewards; Type: SCHEMA; Schema: -; Owner: -

CREATE SCHEMA rewards;

-- Name: address; Type: DOMAIN; Schema: chain; Owner: -

CREATE DOMAIN chain.address AS bytea
	CONSTRAINT address_check CHECK ((octet_length(VALUE) = 20));

-- Name: counter; Type: DOMAIN; Schema: chain; Owner: -

CREATE DOMAIN chain.counter AS bigint
	CONSTRAINT counter_check CHECK ((VALUE >= 0));

-- Name: digest; Type: DOMAIN; Schema: chain; Owner: -

CREATE DOMAIN chain.digest AS bytea
	CONSTRAINT digest_check CHECK ((octet_length(VALUE) = 32));

-- Name: service; Type: DOMAIN; Schema: chain; Owner: -

CREATE DOMAIN chain.service AS text
	CONSTRAINT service_check CHECK ((VALUE = ANY (ARRAY['gym_coordinator'::text, 'gym_rewards'::text])));

-- Name: wei; Type: DOMAIN; Schema: chain; Owner: -

CREATE DOMAIN chain.wei AS numeric(78,0)
	CONSTRAINT wei_check CHECK ((VALUE >= (0)::numeric));

-- Name: amount; Type: DOMAIN; Schema: ledger; Owner: -

CREATE DOMAIN ledger.amount AS numeric(78,0)
	CONSTRAINT amount_check CHECK (((VALUE >= (0)::numeric) AND (VALUE <= '115792089237316195423570985008687907853269984665640564039457584007913129639935'::numeric)));

-- Name: address; Type: DOMAIN; Schema: registry; Owner: -

CREATE DOMAIN registry.address AS bytea
	CONSTRAINT address_check CHECK ((octet_length(VALUE) = 20));

-- Name: counter; Type: DOMAIN; Schema: registry; Owner: -

CREATE DOMAIN registry.counter AS bigint
	CONSTRAINT counter_check CHECK ((VALUE >= 0));

-- Name: digest; Type: DOMAIN; Schema: registry; Owner: -

CREATE DOMAIN registry.digest AS bytea
	CONSTRAINT digest_check CHECK ((octet_length(VALUE) = 32));

-- Name: loss; Type: DOMAIN; Schema: registry; Owner: -

CREATE DOMAIN registry.loss AS integer
	CONSTRAINT loss_check CHECK (((VALUE >= 0) AND (VALUE <= 2139095039)));

-- Name: ppm; Type: DOMAIN; Schema: registry; Owner: -

CREATE DOMAIN registry.ppm AS integer
	CONSTRAINT ppm_check CHECK (((VALUE >= 0) AND (VALUE <= 1000000)));

-- Name: visibility; Type: DOMAIN; Schema: registry; Owner: -

CREATE DOMAIN registry.visibility AS text
	CONSTRAINT visibility_check CHECK ((VALUE = ANY (ARRAY['public'::text, 'allow-list'::text, 'private'::text])));

-- Name: wei; Type: DOMAIN; Schema: registry; Owner: -

CREATE DOMAIN registry.wei AS numeric(78,0)
	CONSTRAINT wei_check CHECK ((VALUE >= (0)::numeric));

-- Name: address; Type: DOMAIN; Schema: rewards; Owner: -

CREATE DOMAIN rewards.address AS bytea
	CONSTRAINT address_check CHECK ((octet_length(VALUE) = 20));

-- Name: digest; Type: DOMAIN; Schema: rewards; Owner: -

CREATE DOMAIN rewards.digest AS bytea
	CONSTRAINT digest_check CHECK ((octet_length(VALUE) = 32));

-- Name: keep_finality(); Type: FUNCTION; Schema: chain; Owner: -

CREATE FUNCTION chain.keep_finality() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF OLD.finalized_number IS NOT NULL AND (NEW.finalized_number IS NULL
                                             OR NEW.finalized_number < OLD.finalized_number) THEN
        RAISE EXCEPTION 'finality of follower % cannot go back', OLD.name USING ERRCODE = 'P0001';
    END IF;
    RETURN NEW;
END
$$;

-- Name: keep_finalized(); Type: FUNCTION; Schema: chain; Owner: -

CREATE FUNCTION chain.keep_finalized() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
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

-- Name: keep_settled(); Type: FUNCTION; Schema: chain; Owner: -

CREATE FUNCTION chain.keep_settled() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
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

-- Name: append_seal(bigint, bigint, bigint, integer, bytea, bytea, bigint, bytea, bytea); Type: FUNCTION; Schema: ledger; Owner: -

CREATE FUNCTION ledger.append_seal(p_number bigint, p_first bigint, p_last bigint, p_transfers integer, p_root bytea, p_previous bytea, p_sealed_at_ms bigint, p_signer bytea, p_signature bytea) RETURNS bytea
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$
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

-- Name: book(uuid[], text[], bigint[], bigint[], numeric[], uuid[], bigint[], uuid[], text[], bigint, boolean, boolean); Type: FUNCTION; Schema: ledger; Owner: -

CREATE FUNCTION ledger.book(p_ids uuid[], p_kinds text[], p_debits bigint[], p_credits bigint[], p_amounts numeric[], p_pendings uuid[], p_expires bigint[], p_groups uuid[], p_reasons text[], p_now bigint, p_may_expire boolean, p_any_kind boolean) RETURNS text[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS $$
DECLARE
    n constant integer := coalesce(cardinality(p_ids), 0);
    account_ids bigint[];
    assets text[];
    kinds text[];
    closed boolean[];
    versions bigint[];
    balances numeric[];
    free numeric[];           -- what a debit may take; NULL: no limit
    statuses text[];
    fingerprints bytea[];
    debits integer[];         -- positions in account_ids
    credits integer[];
    amounts numeric[];
    id_owner integer[];       -- per distinct id: the item that holds it
    resolved boolean[];       -- per distinct pending: resolved in this batch
    debit_versions bigint[];
    debit_afters numeric[];
    credit_versions bigint[];
    credit_afters numeric[];
    item record;
    d integer;
    c integer;
    amount numeric;
    status text;
    group_start integer := 1;
    group_now uuid;
    group_broken boolean := false;
BEGIN
    IF n = 0 THEN RETURN ARRAY[]::text[]; END IF;
    IF n = 1 AND p_kinds[1] = 'transfer' AND p_any_kind
       AND ledger.book_one(p_ids[1], p_debits[1], p_credits[1], p_amounts[1], p_pendings[1], p_expires[1],
                           p_groups[1], p_reasons[1]) THEN
        RETURN ARRAY['created'];
    END IF;
    statuses := array_fill('group_failed'::text, ARRAY[n]);
    fingerprints := array_fill(NULL::bytea, ARRAY[n]);
    debits := array_fill(0, ARRAY[n]);
    credits := debits;
    amounts := array_fill(0::numeric, ARRAY[n]);
    id_owner := debits;
    resolved := array_fill(false, ARRAY[n]);
    SELECT array_agg(s.id), array_agg(s.asset), array_agg(s.kind), array_agg(s.closed), array_agg(s.version),
           array_agg(s.balance), array_agg(s.free)
        INTO account_ids, assets, kinds, closed, versions, balances, free
        FROM (SELECT a.id, a.asset, a.kind, a.closed, a.version, a.credits - a.debits AS balance,
                     CASE WHEN a.no_overdraft THEN a.credits - a.debits - a.debits_pending END AS free
              FROM ledger.account a
              WHERE a.id = ANY (ARRAY(
                  SELECT unnest(p_debits) UNION SELECT unnest(p_credits)
                  UNION SELECT unnest(ARRAY[t.debit_account, t.credit_account])
                        FROM ledger.transfer t WHERE t.id = ANY (array_remove(p_pendings, NULL))))
              ORDER BY a.id FOR NO KEY UPDATE) s;

    -- From here on no other batch touches these accounts, so a later snapshot sees every earlier batch.
    FOR item IN
        -- Positions are looked up before anything is sorted: the rows that are sorted do not carry the list.
        WITH k AS MATERIALIZED (SELECT coalesce(account_ids, ARRAY[]::bigint[]) AS ids),
        i AS MATERIALIZED (
            SELECT u.ord::integer AS ord, u.id, u.kind, trim_scale(u.amount) AS amount, u.pending, u.expires, u.group_id,
                   u.reason, u.debit AS asked_debit, u.credit AS asked_credit,
                   coalesce(p.debit_account, u.debit) AS debit, coalesce(p.credit_account, u.credit) AS credit,
                   width_bucket(coalesce(p.debit_account, u.debit), k.ids) AS d,
                   width_bucket(coalesce(p.credit_account, u.credit), k.ids) AS c,
                   e.fingerprint AS old, p.kind AS pending_kind, p.amount AS pending_amount,
                   p.expires_at AS pending_expires, r.id IS NOT NULL AS is_resolved
            FROM unnest(p_ids, p_kinds, p_debits, p_credits, p_amounts, p_pendings, p_expires, p_groups,
                        p_reasons) WITH ORDINALITY
                     AS u (id, kind, debit, credit, amount, pending, expires, group_id, reason, ord)
            CROSS JOIN k
            LEFT JOIN ledger.transfer e ON e.id = u.id
            LEFT JOIN ledger.transfer p ON p.id = u.pending
            LEFT JOIN ledger.transfer r ON r.pending_id = u.pending)
        SELECT i.*,
               ledger.fingerprint(i.kind, i.asked_debit, i.asked_credit, i.amount, i.pending, i.expires, i.group_id,
                                  i.reason) AS fingerprint,
               (dense_rank() OVER (ORDER BY i.id))::integer AS id_slot,
               (dense_rank() OVER (ORDER BY i.pending))::integer AS pending_slot
        FROM i
        ORDER BY i.ord
    LOOP
        IF item.group_id IS DISTINCT FROM group_now OR item.group_id IS NULL THEN
            group_now := item.group_id;
            group_start := item.ord;
            group_broken := false;
        ELSIF group_broken THEN
            CONTINUE;  -- the status stays group_failed
        END IF;

        d := item.d;
        c := item.c;
        amount := item.amount;
        IF item.old IS NOT NULL THEN
            status := CASE WHEN item.old = item.fingerprint THEN 'exists' ELSE 'exists_different' END;
        ELSIF id_owner[item.id_slot] <> 0 THEN
            -- The same id earlier in this batch.
            status := CASE WHEN fingerprints[id_owner[item.id_slot]] = item.fingerprint THEN 'exists'
                           ELSE 'exists_different' END;
        ELSIF item.id IS NULL OR item.reason IS NULL OR octet_length(item.reason) > 256 THEN
            status := 'invalid';
        ELSIF item.kind IN ('transfer', 'pending') THEN
            IF item.pending IS NOT NULL OR (item.expires IS NOT NULL AND item.kind <> 'pending')
               OR amount IS NULL OR amount <> trunc(amount)
               OR amount NOT BETWEEN 1 AND
                  115792089237316195423570985008687907853269984665640564039457584007913129639935 THEN
                status := 'invalid';
            ELSIF d IS NULL OR c IS NULL OR d = 0 OR c = 0
                  OR account_ids[d] <> item.debit OR account_ids[c] <> item.credit THEN
                status := 'unknown';
            ELSIF d = c OR assets[d] <> assets[c] THEN
                status := 'invalid';
            ELSIF closed[d] OR closed[c] THEN
                status := 'closed';
            ELSIF free[d] < amount THEN
                status := 'insufficient';
            ELSE
                status := 'created';
                free[d] := free[d] - amount;
                IF item.kind = 'transfer' THEN free[c] := free[c] + amount; END IF;
            END IF;
        ELSIF item.kind IN ('post', 'void') OR (item.kind = 'expire' AND p_may_expire) THEN
            amount := item.pending_amount;
            IF item.asked_debit IS NOT NULL OR item.asked_credit IS NOT NULL OR item.amount IS NOT NULL
               OR item.expires IS NOT NULL THEN
                status := 'invalid';
            ELSIF item.pending_kind IS NULL THEN
                status := 'unknown';
            ELSIF item.pending_kind <> 'pending' THEN
                status := 'invalid';
            ELSIF d IS NULL OR c IS NULL OR d = 0 OR c = 0
                  OR account_ids[d] <> item.debit OR account_ids[c] <> item.credit THEN
                -- Committed by another session after this batch locked its accounts.
                RAISE EXCEPTION 'transfer % appeared while the batch waited', item.pending
                    USING ERRCODE = 'GL001';
            ELSIF item.is_resolved OR resolved[item.pending_slot]
                  OR (item.kind = 'post' AND item.pending_expires IS NOT NULL
                      AND (item.pending_expires > p_now) IS NOT TRUE)
                  OR (item.kind = 'expire' AND NOT coalesce(item.pending_expires <= p_now, false)) THEN
                status := 'closed';
            ELSE
                status := 'created';
                resolved[item.pending_slot] := true;
                IF item.kind = 'post' THEN free[c] := free[c] + amount;
                ELSE free[d] := free[d] + amount; END IF;
            END IF;
        ELSE
            status := 'invalid';
        END IF;

        statuses[item.ord] := status;
        IF status = 'created' THEN
            IF NOT p_any_kind
               AND (kinds[d], kinds[c]) NOT IN (('available', 'escrow'), ('escrow', 'available')) THEN
                RAISE EXCEPTION 'this role may not move % to %', kinds[d], kinds[c]
                    USING ERRCODE = 'insufficient_privilege';
            END IF;
            id_owner[item.id_slot] := item.ord;
            fingerprints[item.ord] := item.fingerprint;
            debits[item.ord] := d;
            credits[item.ord] := c;
            amounts[item.ord] := amount;
        ELSIF status <> 'exists' AND item.group_id IS NOT NULL THEN
            -- Undo what the group did so far: all of it or nothing.
            group_broken := true;
            FOR k IN group_start .. item.ord - 1 LOOP
                IF statuses[k] = 'exists' AND EXISTS (SELECT FROM generate_series(group_start, k - 1) AS j
                                                      WHERE p_ids[j] = p_ids[k] AND statuses[j] = 'group_failed') THEN
                    statuses[k] := 'group_failed';
                END IF;
                CONTINUE WHEN statuses[k] <> 'created';
                statuses[k] := 'group_failed';
                CASE p_kinds[k]
                    WHEN 'transfer' THEN
                        free[debits[k]] := free[debits[k]] + amounts[k];
                        free[credits[k]] := free[credits[k]] - amounts[k];
                    WHEN 'pending' THEN free[debits[k]] := free[debits[k]] + amounts[k];
                    WHEN 'post' THEN free[credits[k]] := free[credits[k]] - amounts[k];
                    ELSE free[debits[k]] := free[debits[k]] - amounts[k];
                END CASE;
            END LOOP;
            -- Rare, so searching is cheap enough: ids and pendings of the group are free again.
            FOR k IN 1 .. n LOOP
                IF id_owner[k] >= group_start THEN id_owner[k] := 0; END IF;
            END LOOP;
            SELECT array_agg(coalesce(bool_or_created, false) ORDER BY slot) INTO resolved
                FROM (SELECT s.slot, q.bool_or_created
                      FROM generate_series(1, n) AS s (slot)
                      LEFT JOIN (SELECT slot, bool_or(u.st = 'created' AND u.kind <> 'pending'
                                                      AND u.kind <> 'transfer') AS bool_or_created
                                 FROM (SELECT dense_rank() OVER (ORDER BY pending) AS slot, x.kind, x.st
                                       FROM unnest(p_pendings, p_kinds, statuses) AS x (pending, kind, st)
                                      ) u GROUP BY slot) q ON q.slot = s.slot) z;
        END IF;
    END LOOP;

    debit_versions := array_fill(NULL::bigint, ARRAY[n]);
    credit_versions := debit_versions;
    debit_afters := array_fill(NULL::numeric, ARRAY[n]);
    credit_afters := debit_afters;
    FOR k IN 1 .. n LOOP
        CONTINUE WHEN statuses[k] <> 'created' OR p_kinds[k] NOT IN ('transfer', 'post');
        d := debits[k];
        c := credits[k];
        versions[d] := versions[d] + 1;
        debit_versions[k] := versions[d];
        balances[d] := balances[d] - amounts[k];
        debit_afters[k] := balances[d];
        versions[c] := versions[c] + 1;
        credit_versions[k] := versions[c];
        balances[c] := balances[c] + amounts[k];
        credit_afters[k] := balances[c];
    END LOOP;

    INSERT INTO ledger.transfer (id, group_id, kind, debit_account, credit_account, amount,
                                 pending_id, expires_at, reason, fingerprint,
                                 debit_version, debit_after, credit_version, credit_after)
        SELECT i.id, i.group_id, i.kind, account_ids[i.d], account_ids[i.c], i.amount,
               i.pending, i.expires, i.reason, i.fingerprint,
               i.debit_version, i.debit_after, i.credit_version, i.credit_after
        FROM unnest(p_ids, p_groups, p_kinds, debits, credits, amounts, p_pendings, p_expires, p_reasons,
                    fingerprints, statuses, debit_versions, debit_afters, credit_versions,
                    credit_afters) WITH ORDINALITY
                 AS i (id, group_id, kind, d, c, amount, pending, expires, reason, fingerprint, status,
                       debit_version, debit_after, credit_version, credit_after, ord)
        WHERE i.status = 'created' ORDER BY i.ord;

    UPDATE ledger.account a
        SET debits = a.debits + s.debits, credits = a.credits + s.credits,
            debits_pending = a.debits_pending + s.debits_pending,
            credits_pending = a.credits_pending + s.credits_pending, version = a.version + s.entries
        FROM (SELECT account_ids[l.position] AS account,
                     coalesce(sum(l.amount) FILTER (WHERE l.is_debit AND l.moves), 0) AS debits,
                     coalesce(sum(l.amount) FILTER (WHERE NOT l.is_debit AND l.moves), 0) AS credits,
                     coalesce(sum(l.amount * l.reserves) FILTER (WHERE l.is_debit), 0) AS debits_pending,
                     coalesce(sum(l.amount * l.reserves) FILTER (WHERE NOT l.is_debit), 0)
                         AS credits_pending,
                     count(*) FILTER (WHERE l.moves) AS entries
              FROM (SELECT x.position, x.is_debit, i.amount, i.kind IN ('transfer', 'post') AS moves,
                           CASE i.kind WHEN 'transfer' THEN 0 WHEN 'pending' THEN 1 ELSE -1 END AS reserves
                    FROM unnest(p_kinds, debits, credits, amounts, statuses) AS i (kind, d, c, amount, status)
                    CROSS JOIN LATERAL (VALUES (i.d, true), (i.c, false)) AS x (position, is_debit)
                    WHERE i.status = 'created') l
              GROUP BY l.position) s
        WHERE a.id = s.account;
    RETURN statuses;
END
$$;

-- Name: book_one(uuid, bigint, bigint, numeric, uuid, bigint, uuid, text); Type: FUNCTION; Schema: ledger; Owner: -

CREATE FUNCTION ledger.book_one(p_id uuid, p_debit bigint, p_credit bigint, p_amount numeric, p_pending uuid, p_expires bigint, p_group uuid, p_reason text) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    account ledger.account;
    debit ledger.account;
    credit ledger.account;
BEGIN
    IF (p_id IS NOT NULL AND p_debit <> p_credit AND p_amount > 0 AND p_amount = trunc(p_amount)
        AND p_amount <= 115792089237316195423570985008687907853269984665640564039457584007913129639935
        AND p_pending IS NULL AND p_expires IS NULL AND p_group IS NULL
        AND octet_length(p_reason) <= 256) IS NOT TRUE THEN
        RETURN false;
    END IF;
    FOR account IN
        SELECT * FROM ledger.account a WHERE a.id IN (p_debit, p_credit) ORDER BY a.id FOR NO KEY UPDATE
    LOOP
        IF account.id = p_debit THEN debit := account; ELSE credit := account; END IF;
    END LOOP;
    IF (NOT debit.closed AND NOT credit.closed AND debit.asset = credit.asset
        AND NOT (debit.no_overdraft AND debit.credits - debit.debits - debit.debits_pending < p_amount))
       IS NOT TRUE THEN
        RETURN false;
    END IF;

    INSERT INTO ledger.transfer (id, kind, debit_account, credit_account, amount, reason, fingerprint,
                                 debit_version, debit_after, credit_version, credit_after)
        VALUES (p_id, 'transfer', p_debit, p_credit, p_amount, p_reason,
                ledger.fingerprint('transfer', p_debit, p_credit, trim_scale(p_amount), NULL, NULL, NULL, p_reason),
                debit.version + 1, debit.credits - debit.debits - p_amount, credit.version + 1,
                credit.credits - credit.debits + p_amount)
        ON CONFLICT (id) DO NOTHING;
    IF NOT FOUND THEN RETURN false; END IF;
    UPDATE ledger.account a
        SET debits = a.debits + CASE a.id WHEN p_debit THEN p_amount ELSE 0 END,
            credits = a.credits + CASE a.id WHEN p_credit THEN p_amount ELSE 0 END, version = a.version + 1
        WHERE a.id IN (p_debit, p_credit);
    RETURN true;
END
$$;

-- Name: check_transfers(); Type: FUNCTION; Schema: ledger; Owner: -

CREATE FUNCTION ledger.check_transfers() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF EXISTS (
        SELECT FROM added a
        LEFT JOIN ledger.account d ON d.id = a.debit_account
        LEFT JOIN ledger.account c ON c.id = a.credit_account
        WHERE d.asset IS NULL OR c.asset IS NULL OR d.asset <> c.asset) THEN
        RAISE EXCEPTION 'a transfer between accounts of different assets, or without an account'
            USING ERRCODE = 'foreign_key_violation';
    END IF;
    IF EXISTS (
        SELECT FROM (
            SELECT l.account, count(*) AS n, count(DISTINCT l.version) AS versions, min(l.version) AS first,
                   max(l.version) AS last
            FROM added t
            CROSS JOIN LATERAL (VALUES (t.debit_account, t.debit_version),
                                       (t.credit_account, t.credit_version)) AS l (account, version)
            WHERE l.version IS NOT NULL GROUP BY l.account) s
        JOIN ledger.account a ON a.id = s.account
        WHERE s.first <> a.version + 1 OR s.last <> a.version + s.n OR s.versions <> s.n) THEN
        RAISE EXCEPTION 'entries do not continue those of their account' USING ERRCODE = 'check_violation';
    END IF;
    IF EXISTS (
        SELECT FROM added a LEFT JOIN ledger.transfer p ON p.id = a.pending_id
        WHERE a.pending_id IS NOT NULL
          AND (p.kind, p.debit_account, p.credit_account, p.amount::numeric)
              IS DISTINCT FROM ('pending', a.debit_account, a.credit_account, a.amount::numeric)) THEN
        RAISE EXCEPTION 'a resolution differs from its pending transfer' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END
$$;

-- Name: close_account(bigint); Type: FUNCTION; Schema: ledger; Owner: -

CREATE FUNCTION ledger.close_account(p_id bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    UPDATE ledger.account SET closed = true
        WHERE id = p_id AND credits = debits AND debits_pending = 0 AND credits_pending = 0;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'account % does not exist or is not empty', p_id;
    END IF;
END
$$;

-- Name: expire(bigint, integer); Type: FUNCTION; Schema: ledger; Owner: -

CREATE FUNCTION ledger.expire(p_now bigint, p_count_max integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    pendings uuid[];
    n integer;
    statuses text[];
BEGIN
    SELECT array_agg(id) INTO pendings FROM (
        SELECT t.id FROM ledger.transfer t
        WHERE t.expires_at <= p_now
          AND NOT EXISTS (SELECT FROM ledger.transfer r WHERE r.pending_id = t.id)
        ORDER BY t.expires_at, t.id LIMIT p_count_max) s;
    n := coalesce(cardinality(pendings), 0);
    IF n = 0 THEN RETURN 0; END IF;
    statuses := ledger.book(
        (SELECT array_agg(md5('expire:' || id)::uuid ORDER BY ord)
         FROM unnest(pendings) WITH ORDINALITY AS x (id, ord)),
        array_fill('expire'::text, ARRAY[n]), array_fill(NULL::bigint, ARRAY[n]),
        array_fill(NULL::bigint, ARRAY[n]), array_fill(NULL::numeric, ARRAY[n]), pendings,
        array_fill(NULL::bigint, ARRAY[n]), array_fill(NULL::uuid, ARRAY[n]),
        array_fill(''::text, ARRAY[n]), p_now, true, true);
    RETURN (SELECT count(*) FROM unnest(statuses) AS s WHERE s = 'created');
END
$$;

-- Name: fingerprint(text, bigint, bigint, numeric, uuid, bigint, uuid, text); Type: FUNCTION; Schema: ledger; Owner: -

CREATE FUNCTION ledger.fingerprint(kind text, debit bigint, credit bigint, amount numeric, pending uuid, expires bigint, group_id uuid, reason text) RETURNS bytea
    LANGUAGE sql STABLE
    AS $$  -- as convert_to is; the planner inlines it then
    SELECT sha256(convert_to(
        kind || '|' || coalesce(debit::text, '') || '|' || coalesce(credit::text, '') || '|' ||
        coalesce(amount::text, '') || '|' || coalesce(pending::text, '') || '|' ||
        coalesce(expires::text, '') || '|' || coalesce(group_id::text, '') || '|' || reason, 'UTF8'))
$$;

-- Name: newest_transfers(bigint, bigint, integer); Type: FUNCTION; Schema: ledger; Owner: -

CREATE FUNCTION ledger.newest_transfers(p_account bigint, p_before bigint, p_limit integer) RETURNS SETOF bigint
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$
DECLARE
    low bigint := 0;  -- versions up to this one are below p_before,
    high bigint;      -- those above this one are not
    middle bigint;
    found_seq bigint;
BEGIN
    SELECT version INTO high FROM ledger.account WHERE id = p_account;
    WHILE low < high LOOP
        middle := high - (high - low) / 2;
        SELECT seq INTO found_seq FROM ledger.transfer
            WHERE debit_account = p_account AND debit_version = middle;
        IF NOT FOUND THEN
            SELECT seq INTO found_seq FROM ledger.transfer
                WHERE credit_account = p_account AND credit_version = middle;
        END IF;
        IF found_seq < p_before THEN low := middle; ELSE high := middle - 1; END IF;
    END LOOP;
    RETURN QUERY
        SELECT s.seq FROM (
            (SELECT t.seq FROM ledger.transfer t WHERE t.debit_account = p_account AND t.debit_version <= low
             ORDER BY t.debit_version DESC LIMIT p_limit)
            UNION ALL
            (SELECT t.seq FROM ledger.transfer t WHERE t.credit_account = p_account AND t.credit_version <= low
             ORDER BY t.credit_version DESC LIMIT p_limit)
            UNION ALL
            (SELECT t.seq FROM ledger.transfer t
             WHERE t.debit_account = p_account AND t.debit_version IS NULL AND t.seq < p_before
             ORDER BY t.seq DESC LIMIT p_limit)
            UNION ALL
            (SELECT t.seq FROM ledger.transfer t
             WHERE t.credit_account = p_account AND t.credit_version IS NULL AND t.seq < p_before
             ORDER BY t.seq DESC LIMIT p_limit)) s
        ORDER BY s.seq DESC LIMIT p_limit;
END
$$;

-- Name: open_account(text, text, text); Type: FUNCTION; Schema: ledger; Owner: -

CREATE FUNCTION ledger.open_account(p_owner text, p_asset text, p_kind text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    found_id bigint;
BEGIN
    SELECT id INTO found_id FROM ledger.account
        WHERE owner = p_owner AND asset = p_asset AND kind = p_kind;
    IF NOT FOUND THEN
        INSERT INTO ledger.account (owner, asset, kind) VALUES (p_owner, p_asset, p_kind)
            ON CONFLICT (owner, asset, kind) DO NOTHING;
        SELECT id INTO STRICT found_id FROM ledger.account
            WHERE owner = p_owner AND asset = p_asset AND kind = p_kind;
    END IF;
    RETURN found_id;
END
$$;

-- Name: refuse(); Type: FUNCTION; Schema: ledger; Owner: -

CREATE FUNCTION ledger.refuse() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    RAISE EXCEPTION 'ledger.% is immutable: % refused; book a correcting transfer', TG_TABLE_NAME, TG_OP
        USING ERRCODE = 'insufficient_privilege';
END
$$;

SET default_tablespace = '';

SET default_table_access_method = heap;

-- Name: seal; Type: TABLE; Schema: ledger; Owner: -

CREATE TABLE ledger.seal (
    number bigint NOT NULL,
    first_seq bigint NOT NULL,
    last_seq bigint NOT NULL,
    transfers integer NOT NULL,
    root bytea NOT NULL,
    previous bytea NOT NULL,
    sealed_at_ms bigint NOT NULL,
    signer bytea NOT NULL,
    hash bytea NOT NULL,
    signature bytea NOT NULL,
    CONSTRAINT seal_check CHECK (((number >= 1) AND (first_seq <= last_seq) AND ((transfers >= 1) AND (transfers <= 65536)) AND (octet_length(root) = 32) AND (octet_length(previous) = 32) AND (octet_length(hash) = 32) AND (octet_length(signer) = 20) AND (octet_length(signature) = 65)))
);

-- Name: seal_hash(ledger.seal); Type: FUNCTION; Schema: ledger; Owner: -

CREATE FUNCTION ledger.seal_hash(s ledger.seal) RETURNS bytea
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT sha256(convert_to('gym.seal.v1', 'UTF8') || int8send(s.number) || int8send(s.first_seq) ||
                  int8send(s.last_seq) || int8send(s.transfers) || s.root || s.previous ||
                  int8send(s.sealed_at_ms) || s.signer)
$$;

-- Name: settle(); Type: FUNCTION; Schema: ledger; Owner: -

CREATE FUNCTION ledger.settle() RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    mark ledger.seal_mark;
BEGIN
    SELECT * INTO STRICT mark FROM ledger.seal_mark FOR UPDATE;
    IF mark.writers && ledger.writers() THEN
        RETURN mark.settled;
    END IF;
    mark.settled := mark.marked;
    -- In this order: a number that is drawn after this line is above `marked`.
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

-- Name: submit(uuid[], text[], bigint[], bigint[], numeric[], uuid[], bigint[], uuid[], text[], bigint); Type: FUNCTION; Schema: ledger; Owner: -

CREATE FUNCTION ledger.submit(p_ids uuid[], p_kinds text[], p_debits bigint[], p_credits bigint[], p_amounts numeric[], p_pendings uuid[], p_expires bigint[], p_groups uuid[], p_reasons text[], p_now bigint) RETURNS text[]
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

-- Name: writers(); Type: FUNCTION; Schema: ledger; Owner: -

CREATE FUNCTION ledger.writers() RETURNS text[]
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT coalesce(array_agg(DISTINCT l.virtualtransaction), '{}')
    FROM pg_locks l
    WHERE l.locktype = 'relation' AND l.granted AND l.mode = 'RowExclusiveLock'
      AND l.relation = 'ledger.transfer'::regclass
      AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
$$;

-- Name: announce_exclusion(); Type: FUNCTION; Schema: registry; Owner: -

CREATE FUNCTION registry.announce_exclusion() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    PERFORM pg_notify('gym_node', encode(NEW.address, 'hex'));
    RETURN NULL;
END
$$;

-- Name: apply_measurement(); Type: FUNCTION; Schema: registry; Owner: -

CREATE FUNCTION registry.apply_measurement() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    UPDATE registry.dataset SET usefulness_ppm = NEW.usefulness_ppm WHERE root = NEW.dataset;
    RETURN NULL;
END
$$;

-- Name: await_order(); Type: FUNCTION; Schema: registry; Owner: -

CREATE FUNCTION registry.await_order() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

-- Name: challenge_is_kept(); Type: FUNCTION; Schema: registry; Owner: -

CREATE FUNCTION registry.challenge_is_kept() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
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

-- Name: check_measurement(); Type: FUNCTION; Schema: registry; Owner: -

CREATE FUNCTION registry.check_measurement() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    used registry.evaluation;
    measured registry.dataset;
BEGIN
    SELECT * INTO used FROM registry.evaluation e WHERE e.id = NEW.evaluation;
    SELECT * INTO measured FROM registry.dataset d WHERE d.root = NEW.dataset;
    IF used.id IS NULL OR measured.root IS NULL THEN
        RETURN NEW;  -- the foreign keys say which
    END IF;
    IF measured.parts > 0 THEN
        RAISE EXCEPTION 'a mix is worth what its parts are: measure these' USING ERRCODE = 'P0001';
    END IF;
    IF measured.vocabulary <> used.vocabulary THEN
        RAISE EXCEPTION 'the dataset''s vocabulary has % tokens, the evaluation is for %', measured.vocabulary,
            used.vocabulary USING ERRCODE = 'P0001';
    END IF;
    IF registry.evaluation_for(NEW.dataset) IS DISTINCT FROM NEW.evaluation THEN
        RAISE EXCEPTION 'the evaluation of a dataset is the newest that was in force when it was registered: %',
            coalesce('0x' || encode(registry.evaluation_for(NEW.dataset), 'hex'), 'none') USING ERRCODE = 'P0001';
    END IF;
    NEW.before_bits := used.before_bits;
    NEW.baseline_bits := used.baseline_bits;
    RETURN NEW;
END
$$;

-- Name: data_terms(bytea); Type: FUNCTION; Schema: registry; Owner: -

CREATE FUNCTION registry.data_terms(dataset bytea, OUT price numeric, OUT quality integer) RETURNS record
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    tokens numeric;
    cost numeric;
    worth numeric;
    weighted numeric;
BEGIN
    SELECT sum(p.tokens), sum(p.tokens * d.price_wei_per_mtoken), sum(p.tokens * d.price_wei_per_mtoken * d.quality_ppm),
           sum(p.tokens::numeric * d.quality_ppm)
    INTO tokens, cost, worth, weighted
    FROM registry.dataset_part p JOIN registry.dataset d ON d.root = p.part WHERE p.mix = dataset;
    IF tokens IS NULL THEN
        SELECT d.price_wei_per_mtoken, d.quality_ppm INTO price, quality FROM registry.dataset d WHERE d.root = dataset;
    ELSE
        price := div(cost + tokens - 1, tokens);
        -- Of free parts no provider is paid: then the mean says only how good the text is.
        quality := CASE WHEN cost = 0 THEN div(weighted, tokens) ELSE div(worth + cost - 1, cost) END;
    END IF;
END
$$;

-- Name: drop_request_reason(); Type: FUNCTION; Schema: registry; Owner: -

CREATE FUNCTION registry.drop_request_reason() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    NEW.request_reason := '';
    RETURN NEW;
END
$$;

-- Name: evaluation_for(bytea); Type: FUNCTION; Schema: registry; Owner: -

CREATE FUNCTION registry.evaluation_for(dataset bytea) RETURNS bytea
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT e.id FROM registry.dataset d JOIN registry.evaluation e ON e.vocabulary = d.vocabulary
    WHERE d.root = dataset AND e.datasets_before < d.number
      AND (e.datasets_until IS NULL OR e.datasets_until >= d.number)
    ORDER BY e.number DESC LIMIT 1
$$;

-- Name: fix_data_terms(); Type: FUNCTION; Schema: registry; Owner: -

CREATE FUNCTION registry.fix_data_terms() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        SELECT t.price, t.quality INTO NEW.data_price_wei_per_mtoken, NEW.data_quality_ppm
        FROM registry.data_terms(NEW.dataset_root) t;
        IF NEW.data_price_wei_per_mtoken IS NULL THEN
            RAISE EXCEPTION 'the dataset is not registered' USING ERRCODE = 'foreign_key_violation';
        END IF;
    ELSIF (NEW.dataset_root, NEW.data_price_wei_per_mtoken, NEW.data_quality_ppm)
          IS DISTINCT FROM (OLD.dataset_root, OLD.data_price_wei_per_mtoken, OLD.data_quality_ppm) THEN
        RAISE EXCEPTION 'the terms of a job never change' USING ERRCODE = 'P0001';
    END IF;
    RETURN NEW;
END
$$;

-- Name: fix_job_data(); Type: FUNCTION; Schema: registry; Owner: -

CREATE FUNCTION registry.fix_job_data() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    used registry.dataset;
    parts bigint;
    tokens numeric;
BEGIN
    SELECT * INTO used FROM registry.dataset d WHERE d.root = NEW.dataset_root;
    SELECT count(*), sum(p.tokens) INTO parts, tokens FROM registry.dataset_part p WHERE p.mix = NEW.dataset_root;
    IF used.parts <> parts OR (parts > 0 AND used.tokens <> tokens) THEN
        RAISE EXCEPTION 'the parts of the mix are not its tokens' USING ERRCODE = 'P0001';
    END IF;
    INSERT INTO registry.job_data
        SELECT NEW.id, p.position, p.part, d.owner, p.tokens, used.tokens, d.price_wei_per_mtoken, d.quality_ppm,
               coalesce(sum(p.tokens * d.price_wei_per_mtoken * d.quality_ppm) OVER (
                   ORDER BY p.position ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)
        FROM registry.dataset_part p JOIN registry.dataset d ON d.root = p.part
        WHERE p.mix = NEW.dataset_root ORDER BY p.position;
    RETURN NULL;
END
$$;

-- Name: guard_dataset(); Type: FUNCTION; Schema: registry; Owner: -

CREATE FUNCTION registry.guard_dataset() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        -- Of generated columns a BEFORE trigger sees nothing: quality follows usefulness.
        NEW.quality_ppm := OLD.quality_ppm;
        IF to_jsonb(NEW) - '{visibility,allowed}'::text[] = to_jsonb(OLD) - '{visibility,allowed}'::text[] THEN
            RETURN NEW;
        END IF;
        IF to_jsonb(NEW) - 'usefulness_ppm' = to_jsonb(OLD) - 'usefulness_ppm'
           AND EXISTS (SELECT FROM registry.measurement m
                       WHERE m.dataset = NEW.root AND m.usefulness_ppm = NEW.usefulness_ppm) THEN
            RETURN NEW;
        END IF;
    END IF;
    RAISE EXCEPTION 'what was registered as a dataset never changes, except that its usefulness is measured once'
        USING ERRCODE = 'P0001';
END
$$;

-- Name: guard_dataset_part(); Type: FUNCTION; Schema: registry; Owner: -

CREATE FUNCTION registry.guard_dataset_part() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NEW.position >= (SELECT d.parts FROM registry.dataset d WHERE d.root = NEW.mix) THEN
        RAISE EXCEPTION 'a dataset has as many parts as it was registered with' USING ERRCODE = 'P0001';
    END IF;
    IF (SELECT d.parts FROM registry.dataset d WHERE d.root = NEW.part) > 0 THEN
        RAISE EXCEPTION 'a part of a mix is not a mix' USING ERRCODE = 'P0001';
    END IF;
    RETURN NEW;
END
$$;

-- Name: guard_dataset_version(); Type: FUNCTION; Schema: registry; Owner: -

CREATE FUNCTION registry.guard_dataset_version() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NEW.version <> (SELECT coalesce(max(version), 0) + 1 FROM registry.dataset_version WHERE name = NEW.name) THEN
        RAISE EXCEPTION 'the versions of a name follow each other' USING ERRCODE = 'P0001';
    END IF;
    IF (SELECT owner FROM registry.dataset WHERE root = NEW.root)
       IS DISTINCT FROM (SELECT owner FROM registry.dataset_name WHERE name = NEW.name) THEN
        RAISE EXCEPTION 'a name stands for datasets of its owner' USING ERRCODE = 'P0001';
    END IF;
    RETURN NEW;
END
$$;

-- Name: guard_job(); Type: FUNCTION; Schema: registry; Owner: -

CREATE FUNCTION registry.guard_job() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
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

-- Name: guard_model_version(); Type: FUNCTION; Schema: registry; Owner: -

CREATE FUNCTION registry.guard_model_version() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.version <> (SELECT coalesce(max(version), 0) + 1 FROM registry.model_version WHERE name = NEW.name) THEN
            RAISE EXCEPTION 'the versions of a name follow each other' USING ERRCODE = 'P0001';
        END IF;
        RETURN NEW;
    END IF;
    IF TG_OP = 'UPDATE'
       AND to_jsonb(NEW) - '{visibility,allowed}'::text[] = to_jsonb(OLD) - '{visibility,allowed}'::text[] THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'a version of a model never changes, except for who may see it' USING ERRCODE = 'P0001';
END
$$;

-- Name: guard_order_state(); Type: FUNCTION; Schema: registry; Owner: -

CREATE FUNCTION registry.guard_order_state() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF (OLD.state, NEW.state) NOT IN (('waiting', 'locking'), ('waiting', 'refused'), ('locking', 'locked'), ('locking', 'refused'))
       OR (NEW.kind, NEW.owner, NEW.nonce, NEW.job_id, NEW.amount_wei)
          IS DISTINCT FROM (OLD.kind, OLD.owner, OLD.nonce, OLD.job_id, OLD.amount_wei) THEN
        RAISE EXCEPTION 'an order is decided once' USING ERRCODE = 'P0001';
    END IF;
    RETURN NEW;
END
$$;

-- Name: guard_prefix(); Type: FUNCTION; Schema: registry; Owner: -

CREATE FUNCTION registry.guard_prefix() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
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

-- Name: guard_unit(); Type: FUNCTION; Schema: registry; Owner: -

CREATE FUNCTION registry.guard_unit() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.state <> 'assigned' THEN
            RAISE EXCEPTION 'a unit begins as assigned' USING ERRCODE = 'P0001';
        END IF;
        RETURN NEW;
    END IF;
    IF (NEW.id, NEW.job_id, NEW.round, NEW.slot, NEW.attempt, NEW.kind, NEW.worker, NEW.owner,
        NEW.sampling_rate_ppm)
       IS DISTINCT FROM
       (OLD.id, OLD.job_id, OLD.round, OLD.slot, OLD.attempt, OLD.kind, OLD.worker, OLD.owner,
        OLD.sampling_rate_ppm) THEN
        RAISE EXCEPTION 'the identity of a unit never changes' USING ERRCODE = 'P0001';
    END IF;
    IF OLD.committed_at_ms IS NOT NULL
       AND (NEW.tokens, NEW.flops, NEW.delta_root, NEW.committed_at_ms)
           IS DISTINCT FROM (OLD.tokens, OLD.flops, OLD.delta_root, OLD.committed_at_ms) THEN
        RAISE EXCEPTION 'what a unit committed to never changes' USING ERRCODE = 'P0001';
    END IF;
    IF NEW.late IS DISTINCT FROM OLD.late AND (OLD.late OR OLD.state <> 'assigned') THEN
        RAISE EXCEPTION 'a unit is late from its deadline on, or never' USING ERRCODE = 'P0001';
    END IF;
    RETURN NEW;
END
$$;

-- Name: last_dataset(); Type: FUNCTION; Schema: registry; Owner: -

CREATE FUNCTION registry.last_dataset() RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    -- Behind every registration that has begun (registry::lock_registrations): registrants may know the terms.
    PERFORM pg_advisory_xact_lock(7456110914561995873);
    RETURN (SELECT coalesce(max(d.number), 0) FROM registry.dataset d);
END
$$;

-- Name: loss_units(integer); Type: FUNCTION; Schema: registry; Owner: -

CREATE FUNCTION registry.loss_units(bits integer) RETURNS numeric
    LANGUAGE sql IMMUTABLE STRICT
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT CASE WHEN bits >> 23 = 0 THEN bits::numeric
                ELSE (bits & 8388607 | 8388608) * trunc(power(2::numeric, ((bits >> 23) - 1)::numeric)) END
$$;

-- Name: may_see(boolean, bytea, registry.address, registry.visibility, registry.address[]); Type: FUNCTION; Schema: registry; Owner: -

CREATE FUNCTION registry.may_see(sees_all boolean, account bytea, owner registry.address, visibility registry.visibility, allowed registry.address[]) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT sees_all OR visibility = 'public'
           OR coalesce(account = owner OR (visibility = 'allow-list' AND account = ANY (allowed)), false)
$$;

-- Name: may_see_parts(boolean, bytea, bytea); Type: FUNCTION; Schema: registry; Owner: -

CREATE FUNCTION registry.may_see_parts(sees_all boolean, account bytea, of_mix bytea) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
    SELECT sees_all OR NOT EXISTS (
        SELECT FROM registry.dataset_part p JOIN registry.dataset d ON d.root = p.part
        WHERE p.mix = of_mix AND NOT registry.may_see(false, account, d.owner, d.visibility, d.allowed))
$$;

-- Name: model_jobs(bytea); Type: FUNCTION; Schema: registry; Owner: -

CREATE FUNCTION registry.model_jobs(blob bytea) RETURNS SETOF bytea
    LANGUAGE sql STABLE
    AS $$
    SELECT j.id::bytea FROM registry.job j
    WHERE ARRAY[j.program_blob::bytea, j.evaluate_program_blob::bytea, j.logits_program_blob::bytea,
                j.base_state_blob::bytea, j.momentum_blob::bytea, j.init_blob::bytea] @> ARRAY[blob]
    UNION
    SELECT r.job_id::bytea FROM registry.round r
    WHERE ARRAY[r.base_state_blob::bytea, r.momentum_blob::bytea, r.next_base_blob::bytea,
                r.next_momentum_blob::bytea, r.aggregate_program_blob::bytea] @> ARRAY[blob]
    UNION
    SELECT r.job_id::bytea FROM registry.round r WHERE r.next_update_blob = blob
    UNION
    SELECT u.job_id::bytea FROM registry.unit u WHERE u.delta_root = blob
$$;

-- Name: named_blobs(bytea[]); Type: FUNCTION; Schema: registry; Owner: -

CREATE FUNCTION registry.named_blobs(roots bytea[]) RETURNS SETOF bytea
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT x.root FROM unnest(roots) AS x(root) WHERE
    EXISTS (SELECT FROM registry.job j
            WHERE ARRAY[j.program_blob::bytea, j.evaluate_program_blob::bytea, j.logits_program_blob::bytea,
                        j.base_state_blob::bytea, j.momentum_blob::bytea, j.init_blob::bytea] @> ARRAY[x.root]
              AND (x.root IN (j.program_blob, j.evaluate_program_blob, j.logits_program_blob, j.base_state_blob, j.init_blob)
                   -- the outer state before the first round: what round 1 begins from, and nobody else
                   OR NOT EXISTS (SELECT FROM registry.round n
                                  WHERE n.job_id = j.id AND n.round = 1 AND n.pruned_at_ms IS NOT NULL)))
    OR EXISTS (SELECT FROM registry.round n
               WHERE ARRAY[n.base_state_blob::bytea, n.momentum_blob::bytea, n.next_base_blob::bytea,
                           n.next_momentum_blob::bytea, n.aggregate_program_blob::bytea] @> ARRAY[x.root]
                 AND (n.pruned_at_ms IS NULL OR n.aggregate_program_blob = x.root
                      OR (n.keeps_state AND n.next_base_blob = x.root)))
    OR EXISTS (SELECT FROM registry.round n
               WHERE n.next_update_blob = x.root AND (n.pruned_at_ms IS NULL OR n.keeps_update))
    OR EXISTS (SELECT FROM registry.unit u JOIN registry.round n ON n.job_id = u.job_id AND n.round = u.round
               WHERE u.delta_root = x.root AND n.pruned_at_ms IS NULL)
    -- proven faulty, and not subtracted yet
    OR EXISTS (SELECT FROM registry.unit u JOIN registry.job j ON j.id = u.job_id
               WHERE u.delta_root = x.root AND j.subtract AND j.ended_at_ms IS NULL AND u.included
                 AND u.withdrawn_round IS NULL
                 AND EXISTS (SELECT FROM registry.disputed_unit d WHERE d.asserter = u.worker AND d.is_faulty))
    -- subtracted by a round that somebody may still look at
    OR EXISTS (SELECT FROM registry.unit u JOIN registry.round n ON n.job_id = u.job_id AND n.round = u.withdrawn_round
               WHERE u.delta_root = x.root AND n.pruned_at_ms IS NULL)
    -- uploaded or named for a unit that is still to be committed to
    OR EXISTS (SELECT FROM registry.delta_upload d JOIN registry.unit u ON u.worker = d.worker
               WHERE d.root = x.root AND u.state = 'assigned' AND d.at_ms >= u.assigned_at_ms)
    OR EXISTS (SELECT FROM registry.delta_place p JOIN registry.unit u ON u.worker = p.worker
               WHERE p.root = x.root AND u.state = 'assigned' AND p.named_at_ms >= u.assigned_at_ms)
    OR x.root IN (SELECT d.blob::bytea FROM registry.dataset d)
    OR x.root IN (SELECT t.blob::bytea FROM registry.dataset_tokenizer t)
    OR x.root IN (SELECT m.blob::bytea FROM registry.dataset_manifest m)
    OR x.root IN (SELECT m.manifest_blob::bytea FROM registry.mix_recipe m)
    OR x.root IN (SELECT v.state_blob::bytea FROM registry.model_version v)
    OR x.root IN (SELECT v.program_blob::bytea FROM registry.model_version v)
    OR x.root IN (SELECT v.tokenizer_blob::bytea FROM registry.model_version v WHERE v.tokenizer_blob IS NOT NULL)
$$;

-- Name: next_number(text); Type: FUNCTION; Schema: registry; Owner: -

CREATE FUNCTION registry.next_number(which text) RETURNS bigint
    LANGUAGE sql
    AS $$
    UPDATE registry.sequence SET last = last + 1 WHERE name = which RETURNING last::bigint
$$;

-- Name: next_numbers(text, bigint); Type: FUNCTION; Schema: registry; Owner: -

CREATE FUNCTION registry.next_numbers(which text, many bigint) RETURNS bigint
    LANGUAGE sql
    AS $$
    UPDATE registry.sequence SET last = last + many WHERE name = which RETURNING last::bigint - many
$$;

-- Name: publish_evaluation(); Type: FUNCTION; Schema: registry; Owner: -

CREATE FUNCTION registry.publish_evaluation() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    IF num_nonnulls(NEW.salt, NEW.held_out_root, NEW.datasets_until, NEW.retired_at_ms) > 0 THEN
        RAISE EXCEPTION 'an evaluation is retired after it was published' USING ERRCODE = 'P0001';
    END IF;
    NEW.datasets_before := registry.last_dataset();
    NEW.number := (SELECT coalesce(max(e.number), 0) + 1 FROM registry.evaluation e);
    IF NOT EXISTS (SELECT FROM registry.dataset d
                   WHERE d.root = NEW.reference AND d.vocabulary = NEW.vocabulary) THEN
        RAISE EXCEPTION 'the reference is not a registered dataset with the evaluation''s vocabulary'
            USING ERRCODE = 'P0001';
    END IF;
    RETURN NEW;
END
$$;

-- Name: refuse_change(); Type: FUNCTION; Schema: registry; Owner: -

CREATE FUNCTION registry.refuse_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    RAISE EXCEPTION '%.% is append-only', TG_TABLE_SCHEMA, TG_TABLE_NAME USING ERRCODE = 'P0001';
END
$$;

-- Name: retire_evaluation(); Type: FUNCTION; Schema: registry; Owner: -

CREATE FUNCTION registry.retire_evaluation() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    retirement constant text[] := '{salt,held_out_root,datasets_until,retired_at_ms}';
BEGIN
    IF OLD.retired_at_ms IS NOT NULL OR NEW.retired_at_ms IS NULL
       OR to_jsonb(NEW) - retirement <> to_jsonb(OLD) - retirement THEN
        RAISE EXCEPTION 'an evaluation never changes, except that it is retired once' USING ERRCODE = 'P0001';
    END IF;
    NEW.datasets_until := registry.last_dataset();
    RETURN NEW;
END
$$;

-- Name: tasks_of(bytea, bigint); Type: FUNCTION; Schema: registry; Owner: -

CREATE FUNCTION registry.tasks_of(node bytea, since_ms bigint) RETURNS SETOF bytea
    LANGUAGE sql STABLE
    AS $$
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

-- Name: unit_event_detail(bytea, bigint, bigint, integer, text, text); Type: FUNCTION; Schema: registry; Owner: -

CREATE FUNCTION registry.unit_event_detail(verifier bytea, tokens bigint, flops bigint, draws integer, reason_code text, reason text) RETURNS jsonb
    LANGUAGE sql STABLE
    AS $$
    SELECT jsonb_build_object('verifier', encode(verifier, 'hex'), 'tokens', tokens, 'flops', flops, 'draws', draws,
                              'reason_code', reason_code, 'reason', reason)
$$;

-- Name: usefulness_ppm(integer, integer, integer); Type: FUNCTION; Schema: registry; Owner: -

CREATE FUNCTION registry.usefulness_ppm(before_bits integer, after_bits integer, baseline_bits integer) RETURNS integer
    LANGUAGE sql IMMUTABLE STRICT SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT CASE
        WHEN after_bits >= before_bits THEN 0
        WHEN after_bits <= baseline_bits THEN 1000000
        ELSE div(1000000 * (registry.loss_units(before_bits) - registry.loss_units(after_bits)),
                 registry.loss_units(before_bits) - registry.loss_units(baseline_bits))::integer END
$$;

-- Name: window_block(text, bigint, bigint); Type: FUNCTION; Schema: registry; Owner: -

CREATE FUNCTION registry.window_block(kind text, posted bigint, aggregate bigint) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    SELECT CASE WHEN kind <> 'aggregate' THEN posted
                WHEN posted IS NOT NULL AND aggregate IS NOT NULL THEN greatest(posted, aggregate) END
$$;

-- Name: write_new_unit_events(); Type: FUNCTION; Schema: registry; Owner: -

CREATE FUNCTION registry.write_new_unit_events() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    units bigint := (SELECT count(*) FROM added);
    before bigint;
BEGIN
    IF units = 0 THEN
        RETURN NULL;
    END IF;
    before := registry.next_numbers('unit_event', units);
    INSERT INTO registry.unit_event (seq, unit_id, from_state, to_state, at_ms, detail)
    SELECT before + row_number() OVER (ORDER BY n.job_id, n.round, n.slot, n.attempt), n.id, NULL, n.state,
           n.changed_at_ms, registry.unit_event_detail(n.verifier, n.tokens, n.flops, n.draws, n.reason_code, n.reason)
    FROM added n;
    PERFORM pg_notify('gym_tasks', '');
    RETURN NULL;
END
$$;

-- Name: write_unit_events(); Type: FUNCTION; Schema: registry; Owner: -

CREATE FUNCTION registry.write_unit_events() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_nestloop TO 'off'
    AS $$
DECLARE
    units bigint;
    drawn boolean;
    before bigint;
BEGIN
    SELECT count(*) FILTER (WHERE n.state <> o.state OR n.draws <> o.draws),
           coalesce(bool_or(n.verifier IS NOT NULL AND n.verifier IS DISTINCT FROM o.verifier), false)
    INTO units, drawn FROM after_update n JOIN before_update o USING (id);
    IF units > 0 THEN
        before := registry.next_numbers('unit_event', units);
        INSERT INTO registry.unit_event (seq, unit_id, from_state, to_state, at_ms, detail)
        SELECT before + row_number() OVER (ORDER BY n.job_id, n.round, n.slot, n.attempt), n.id, o.state, n.state,
               n.changed_at_ms, registry.unit_event_detail(n.verifier, n.tokens, n.flops, n.draws, n.reason_code, n.reason)
        FROM after_update n JOIN before_update o USING (id)
        WHERE n.state <> o.state OR n.draws <> o.draws;
    END IF;
    IF drawn THEN
        PERFORM pg_notify('gym_tasks', '');
    END IF;
    RETURN NULL;
END
$$;

-- Name: api_key; Type: TABLE; Schema: api; Owner: -

CREATE TABLE api.api_key (
    id text NOT NULL,
    secret_hash bytea NOT NULL,
    owner registry.address NOT NULL,
    label text NOT NULL,
    created_at_ms bigint NOT NULL,
    revoked_at_ms bigint,
    expires_at_ms bigint,
    scopes text[] DEFAULT '{read,data,jobs,spend}'::text[] NOT NULL,
    spend_max_wei registry.wei,
    spent_wei registry.wei DEFAULT 0 NOT NULL,
    CONSTRAINT api_key_check CHECK (((spent_wei)::numeric <= (spend_max_wei)::numeric)),
    CONSTRAINT api_key_id_check CHECK ((id ~ '^[0-9a-f]{16}$'::text)),
    CONSTRAINT api_key_label_check CHECK ((char_length(label) <= 128)),
    CONSTRAINT api_key_scopes_check CHECK (((cardinality(scopes) > 0) AND (scopes <@ '{read,data,jobs,spend}'::text[]))),
    CONSTRAINT api_key_secret_hash_check CHECK ((octet_length(secret_hash) = 32))
);

-- Name: idempotency; Type: TABLE; Schema: api; Owner: -

CREATE TABLE api.idempotency (
    owner registry.address NOT NULL,
    key text NOT NULL,
    request_hash bytea NOT NULL,
    job_id registry.digest NOT NULL,
    created_at_ms bigint NOT NULL,
    CONSTRAINT idempotency_key_check CHECK (((octet_length(key) >= 1) AND (octet_length(key) <= 128))),
    CONSTRAINT idempotency_request_hash_check CHECK ((octet_length(request_hash) = 32))
);

-- Name: upload; Type: TABLE; Schema: api; Owner: -

CREATE TABLE api.upload (
    owner registry.address NOT NULL,
    root registry.digest NOT NULL,
    size_bytes bigint NOT NULL,
    touched_at_ms bigint NOT NULL,
    completed_at_ms bigint,
    state_root registry.digest,
    state_layout bytea,
    CONSTRAINT upload_check CHECK ((num_nonnulls(state_root, state_layout) = ANY (ARRAY[0, 2]))),
    CONSTRAINT upload_check1 CHECK (((completed_at_ms IS NOT NULL) OR (state_root IS NULL))),
    CONSTRAINT upload_size_bytes_check CHECK ((size_bytes > 0))
);

-- Name: block; Type: TABLE; Schema: chain; Owner: -

CREATE TABLE chain.block (
    service chain.service NOT NULL,
    follower text NOT NULL,
    chain_id chain.counter NOT NULL,
    hash chain.digest NOT NULL,
    number chain.counter NOT NULL,
    parent_hash chain.digest NOT NULL,
    timestamp_s chain.counter NOT NULL,
    orphaned boolean DEFAULT false NOT NULL
);

-- Name: follower; Type: TABLE; Schema: chain; Owner: -

CREATE TABLE chain.follower (
    service chain.service NOT NULL,
    name text NOT NULL,
    chain_id chain.counter NOT NULL,
    finalized_number chain.counter,
    finalized_hash chain.digest,
    CONSTRAINT follower_check CHECK (((finalized_number IS NULL) = (finalized_hash IS NULL))),
    CONSTRAINT follower_name_check CHECK (((octet_length(name) >= 1) AND (octet_length(name) <= 100)))
);

-- Name: log; Type: TABLE; Schema: chain; Owner: -

CREATE TABLE chain.log (
    service chain.service NOT NULL,
    follower text NOT NULL,
    chain_id chain.counter NOT NULL,
    block_hash chain.digest NOT NULL,
    log_index integer NOT NULL,
    block_number chain.counter NOT NULL,
    address chain.address NOT NULL,
    topics bytea NOT NULL,
    data bytea NOT NULL,
    transaction_hash chain.digest NOT NULL,
    delivered boolean DEFAULT false NOT NULL,
    CONSTRAINT log_log_index_check CHECK ((log_index >= 0)),
    CONSTRAINT log_topics_check CHECK ((((octet_length(topics) % 32) = 0) AND (octet_length(topics) <= 128)))
);

-- Name: chain_delivered_unfinalized; Type: VIEW; Schema: audit; Owner: -

CREATE VIEW audit.chain_delivered_unfinalized AS
 SELECT l.service,
    l.follower,
    l.chain_id,
    l.block_hash,
    l.log_index
   FROM ((chain.log l
     JOIN chain.block b ON ((((b.service)::text = (l.service)::text) AND (b.follower = l.follower) AND ((b.chain_id)::bigint = (l.chain_id)::bigint) AND ((b.hash)::bytea = (l.block_hash)::bytea))))
     JOIN chain.follower f ON ((((f.service)::text = (l.service)::text) AND (f.name = l.follower) AND ((f.chain_id)::bigint = (l.chain_id)::bigint))))
  WHERE (l.delivered AND (b.orphaned OR (f.finalized_number IS NULL) OR ((b.number)::bigint > (f.finalized_number)::bigint)));

-- Name: intent; Type: TABLE; Schema: chain; Owner: -

CREATE TABLE chain.intent (
    service chain.service NOT NULL,
    chain_id chain.counter NOT NULL,
    sender chain.address NOT NULL,
    id text NOT NULL,
    seq bigint NOT NULL,
    recipient chain.address,
    value_wei chain.wei NOT NULL,
    data bytea NOT NULL,
    gas_requested chain.counter,
    label text NOT NULL,
    submitted_at_ms bigint NOT NULL,
    state text NOT NULL,
    cancel_requested boolean DEFAULT false NOT NULL,
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
    CONSTRAINT intent_check CHECK (((nonce IS NULL) = (gas_limit IS NULL))),
    CONSTRAINT intent_check1 CHECK (
CASE state
    WHEN 'queued'::text THEN ((nonce IS NULL) AND (settled_at_ms IS NULL))
    WHEN 'signed'::text THEN ((nonce IS NOT NULL) AND (settled_at_ms IS NULL))
    WHEN 'rejected'::text THEN ((nonce IS NULL) AND (settled_at_ms IS NOT NULL))
    WHEN 'cancelled'::text THEN (settled_at_ms IS NOT NULL)
    ELSE ((nonce IS NOT NULL) AND (settled_at_ms IS NOT NULL))
END),
    CONSTRAINT intent_check2 CHECK (((state <> ALL (ARRAY['done'::text, 'reverted'::text])) OR ((transaction_hash IS NOT NULL) AND (block_hash IS NOT NULL) AND (block_number IS NOT NULL)))),
    CONSTRAINT intent_check3 CHECK (((block_number IS NULL) OR (nonce IS NOT NULL))),
    CONSTRAINT intent_id_check CHECK (((octet_length(id) >= 1) AND (octet_length(id) <= 200))),
    CONSTRAINT intent_state_check CHECK ((state = ANY (ARRAY['queued'::text, 'signed'::text, 'done'::text, 'reverted'::text, 'rejected'::text, 'cancelled'::text, 'superseded'::text])))
);

-- Name: chain_sender_of_two_services; Type: VIEW; Schema: audit; Owner: -

CREATE VIEW audit.chain_sender_of_two_services AS
 SELECT intent.chain_id,
    intent.sender,
    string_agg(DISTINCT (intent.service)::text, ', '::text ORDER BY (intent.service)::text) AS services
   FROM chain.intent
  GROUP BY intent.chain_id, intent.sender
 HAVING (count(DISTINCT intent.service) > 1);

-- Name: account; Type: TABLE; Schema: ledger; Owner: -

CREATE TABLE ledger.account (
    id bigint NOT NULL,
    owner text NOT NULL,
    asset text NOT NULL,
    kind text NOT NULL,
    no_overdraft boolean GENERATED ALWAYS AS ((kind <> ALL (ARRAY['chain_escrow'::text, 'chain_distributor'::text]))) STORED,
    debits ledger.amount DEFAULT 0 NOT NULL,
    credits ledger.amount DEFAULT 0 NOT NULL,
    debits_pending ledger.amount DEFAULT 0 NOT NULL,
    credits_pending ledger.amount DEFAULT 0 NOT NULL,
    version bigint DEFAULT 0 NOT NULL,
    closed boolean DEFAULT false NOT NULL,
    opened_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT account_asset_check CHECK (((length(asset) >= 1) AND (length(asset) <= 96))),
    CONSTRAINT account_is_covered CHECK (((NOT no_overdraft) OR ((credits)::numeric >= ((debits)::numeric + (debits_pending)::numeric)))),
    CONSTRAINT account_kind_check CHECK ((kind = ANY (ARRAY['available'::text, 'escrow'::text, 'earned'::text, 'payable'::text, 'withdrawing'::text, 'chain_escrow'::text, 'chain_distributor'::text, 'dust'::text]))),
    CONSTRAINT account_owner_check CHECK (((length(owner) >= 1) AND (length(owner) <= 128))),
    CONSTRAINT closed_account_is_empty CHECK (((NOT closed) OR (((credits)::numeric = (debits)::numeric) AND ((debits_pending)::numeric = (0)::numeric) AND ((credits_pending)::numeric = (0)::numeric))))
)
WITH (fillfactor='70');

-- Name: transfer; Type: TABLE; Schema: ledger; Owner: -

CREATE TABLE ledger.transfer (
    id uuid NOT NULL,
    seq bigint NOT NULL,
    group_id uuid,
    kind text NOT NULL,
    debit_account bigint NOT NULL,
    credit_account bigint NOT NULL,
    amount ledger.amount NOT NULL,
    pending_id uuid,
    expires_at bigint,
    reason text NOT NULL,
    fingerprint bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    debit_version bigint,
    debit_after numeric(79,0),
    credit_version bigint,
    credit_after numeric(79,0),
    CONSTRAINT transfer_is_sound CHECK (((kind = ANY (ARRAY['transfer'::text, 'pending'::text, 'post'::text, 'void'::text, 'expire'::text])) AND ((amount)::numeric > (0)::numeric) AND (debit_account <> credit_account) AND ((pending_id IS NOT NULL) = (kind = ANY (ARRAY['post'::text, 'void'::text, 'expire'::text]))) AND ((expires_at IS NULL) OR (kind = 'pending'::text)) AND (octet_length(reason) <= 256) AND (octet_length(fingerprint) = 32) AND (num_nulls(debit_version, debit_after, credit_version, credit_after) =
CASE
    WHEN (kind = ANY (ARRAY['transfer'::text, 'post'::text])) THEN 0
    ELSE 4
END)))
);

-- Name: ledger_account_totals; Type: VIEW; Schema: audit; Owner: -

CREATE VIEW audit.ledger_account_totals AS
 WITH leg AS (
         SELECT t.debit_account AS account,
            t.kind,
            t.amount,
            'debit'::text AS side
           FROM ledger.transfer t
        UNION ALL
         SELECT t.credit_account,
            t.kind,
            t.amount,
            'credit'::text
           FROM ledger.transfer t
        ), expected AS (
         SELECT leg.account,
            COALESCE(sum((leg.amount)::numeric) FILTER (WHERE ((leg.side = 'debit'::text) AND (leg.kind = ANY (ARRAY['transfer'::text, 'post'::text])))), (0)::numeric) AS d,
            COALESCE(sum((leg.amount)::numeric) FILTER (WHERE ((leg.side = 'credit'::text) AND (leg.kind = ANY (ARRAY['transfer'::text, 'post'::text])))), (0)::numeric) AS c,
            COALESCE(sum(
                CASE leg.kind
                    WHEN 'pending'::text THEN (leg.amount)::numeric
                    WHEN 'transfer'::text THEN (0)::numeric
                    ELSE (- (leg.amount)::numeric)
                END) FILTER (WHERE (leg.side = 'debit'::text)), (0)::numeric) AS dp,
            COALESCE(sum(
                CASE leg.kind
                    WHEN 'pending'::text THEN (leg.amount)::numeric
                    WHEN 'transfer'::text THEN (0)::numeric
                    ELSE (- (leg.amount)::numeric)
                END) FILTER (WHERE (leg.side = 'credit'::text)), (0)::numeric) AS cp
           FROM leg
          GROUP BY leg.account
        )
 SELECT format('account %s: totals differ from its transfers'::text, a.id) AS problem
   FROM (ledger.account a
     LEFT JOIN expected e ON ((e.account = a.id)))
  WHERE (((((a.debits)::numeric IS DISTINCT FROM COALESCE(e.d, (0)::numeric)) OR ((a.credits)::numeric IS DISTINCT FROM COALESCE(e.c, (0)::numeric))) OR ((a.debits_pending)::numeric IS DISTINCT FROM COALESCE(e.dp, (0)::numeric))) OR ((a.credits_pending)::numeric IS DISTINCT FROM COALESCE(e.cp, (0)::numeric)));

-- Name: ledger_assets; Type: VIEW; Schema: audit; Owner: -

CREATE VIEW audit.ledger_assets AS
 SELECT format('transfer %s: an account is missing or holds another asset'::text, t.id) AS problem
   FROM ((ledger.transfer t
     LEFT JOIN ledger.account d ON ((d.id = t.debit_account)))
     LEFT JOIN ledger.account c ON ((c.id = t.credit_account)))
  WHERE ((d.asset IS NULL) OR (c.asset IS NULL) OR (d.asset <> c.asset));

-- Name: entry; Type: VIEW; Schema: ledger; Owner: -

CREATE VIEW ledger.entry AS
 SELECT transfer.debit_account AS account_id,
    transfer.debit_version AS version,
    transfer.id AS transfer_id,
    (- (transfer.amount)::numeric) AS delta,
    (transfer.debit_after)::numeric AS balance_after
   FROM ledger.transfer
  WHERE (transfer.debit_version IS NOT NULL)
UNION ALL
 SELECT transfer.credit_account AS account_id,
    transfer.credit_version AS version,
    transfer.id AS transfer_id,
    (transfer.amount)::numeric AS delta,
    (transfer.credit_after)::numeric AS balance_after
   FROM ledger.transfer
  WHERE (transfer.credit_version IS NOT NULL);

-- Name: ledger_entry_chain; Type: VIEW; Schema: audit; Owner: -

CREATE VIEW audit.ledger_entry_chain AS
 SELECT format('account %s, entry %s: version or balance does not follow from the one before'::text, s.account_id, s.version) AS problem
   FROM ( SELECT e.account_id,
            e.version,
            e.transfer_id,
            e.delta,
            e.balance_after,
            row_number() OVER w AS expected_version,
            sum(e.delta) OVER w AS expected_balance
           FROM ledger.entry e
          WINDOW w AS (PARTITION BY e.account_id ORDER BY e.version)) s
  WHERE ((s.version <> s.expected_version) OR (s.balance_after <> s.expected_balance))
UNION ALL
 SELECT format('account %s: balance differs from its last entry'::text, a.id) AS problem
   FROM (ledger.account a
     LEFT JOIN ledger.entry e ON (((e.account_id = a.id) AND (e.version = a.version))))
  WHERE ((((a.credits)::numeric - (a.debits)::numeric) <> COALESCE(e.balance_after, (0)::numeric)) OR ((a.version > 0) AND (e.version IS NULL)));

-- Name: ledger_fingerprints; Type: VIEW; Schema: audit; Owner: -

CREATE VIEW audit.ledger_fingerprints AS
 SELECT format('transfer %s: content differs from its fingerprint'::text, t.id) AS problem
   FROM ledger.transfer t
  WHERE (t.fingerprint <>
        CASE
            WHEN (t.pending_id IS NULL) THEN ledger.fingerprint(t.kind, t.debit_account, t.credit_account, (t.amount)::numeric, NULL::uuid, t.expires_at, t.group_id, t.reason)
            ELSE ledger.fingerprint(t.kind, NULL::bigint, NULL::bigint, NULL::numeric, t.pending_id, NULL::bigint, t.group_id, t.reason)
        END);

-- Name: ledger_overdrafts; Type: VIEW; Schema: audit; Owner: -

CREATE VIEW audit.ledger_overdrafts AS
 SELECT format('account %s: overdrawn'::text, account.id) AS problem
   FROM ledger.account
  WHERE (account.no_overdraft AND ((account.credits)::numeric < ((account.debits)::numeric + (account.debits_pending)::numeric)));

-- Name: ledger_resolutions; Type: VIEW; Schema: audit; Owner: -

CREATE VIEW audit.ledger_resolutions AS
 SELECT format('transfer %s: does not resolve a pending transfer of the same accounts and amount'::text, r.id) AS problem
   FROM (ledger.transfer r
     LEFT JOIN ledger.transfer p ON ((p.id = r.pending_id)))
  WHERE ((r.pending_id IS NOT NULL) AND ((((p.kind IS DISTINCT FROM 'pending'::text) OR (p.debit_account IS DISTINCT FROM r.debit_account)) OR (p.credit_account IS DISTINCT FROM r.credit_account)) OR ((p.amount)::numeric IS DISTINCT FROM (r.amount)::numeric)));

-- Name: settlement; Type: TABLE; Schema: rewards; Owner: -

CREATE TABLE rewards.settlement (
    epoch bigint NOT NULL,
    state text NOT NULL,
    payout_root rewards.digest NOT NULL,
    total_cumulative ledger.amount NOT NULL,
    file text NOT NULL,
    file_root rewards.digest NOT NULL,
    problem text DEFAULT ''::text NOT NULL,
    active_at_ms bigint,
    closed_at_ms bigint NOT NULL,
    changed_at_ms bigint NOT NULL,
    seal_number bigint,
    seal_hash rewards.digest,
    CONSTRAINT settlement_check CHECK (((state <> 'submitted'::text) OR (active_at_ms IS NOT NULL))),
    CONSTRAINT settlement_check1 CHECK (((seal_number IS NULL) = (seal_hash IS NULL))),
    CONSTRAINT settlement_epoch_check CHECK ((epoch >= 1)),
    CONSTRAINT settlement_state_check CHECK ((state = ANY (ARRAY['closed'::text, 'released'::text, 'submitted'::text, 'disabled'::text])))
);

-- Name: ledger_seal_anchors; Type: VIEW; Schema: audit; Owner: -

CREATE VIEW audit.ledger_seal_anchors AS
 SELECT format('epoch %s names seal %s as %s, the ledger has %s'::text, e.epoch, e.seal_number, encode((e.seal_hash)::bytea, 'hex'::text), COALESCE(encode(s.hash, 'hex'::text), 'none'::text)) AS problem
   FROM (rewards.settlement e
     LEFT JOIN ledger.seal s ON ((s.number = e.seal_number)))
  WHERE (((e.seal_hash)::bytea <> s.hash) OR ((e.seal_number IS NOT NULL) AND (s.hash IS NULL)))
UNION ALL
 SELECT format('epoch %s: its file names another seal than its row'::text, e.epoch) AS problem
   FROM rewards.settlement e
  WHERE ((((e.file)::jsonb #>> '{ledger_seal,number}'::text[]) IS DISTINCT FROM (e.seal_number)::text) OR (((e.file)::jsonb #>> '{ledger_seal,hash}'::text[]) IS DISTINCT FROM ('0x'::text || encode((e.seal_hash)::bytea, 'hex'::text))));

-- Name: ledger_sealed_transfers; Type: VIEW; Schema: audit; Owner: -

CREATE VIEW audit.ledger_sealed_transfers AS
 SELECT format('seal %s: covers %s transfers, there are %s'::text, s.number, s.transfers, c.n) AS problem
   FROM (( SELECT seal.number,
            seal.transfers,
            seal.first_seq,
            seal.last_seq,
            lag(seal.last_seq, 1, (0)::bigint) OVER (ORDER BY seal.number) AS last_before
           FROM ledger.seal) s
     CROSS JOIN LATERAL ( SELECT count(*) AS n,
            min(t.seq) AS first_seq,
            max(t.seq) AS last_seq
           FROM ledger.transfer t
          WHERE ((t.seq > s.last_before) AND (t.seq <= s.last_seq))) c)
  WHERE (((c.n IS DISTINCT FROM (s.transfers)::bigint) OR (c.first_seq IS DISTINCT FROM s.first_seq)) OR (c.last_seq IS DISTINCT FROM s.last_seq));

-- Name: ledger_seals; Type: VIEW; Schema: audit; Owner: -

CREATE VIEW audit.ledger_seals AS
 SELECT format('seal %s: does not continue the one before'::text, s.number) AS problem
   FROM ( SELECT t.number,
            t.first_seq,
            t.last_seq,
            t.transfers,
            t.root,
            t.previous,
            t.sealed_at_ms,
            t.signer,
            t.hash,
            t.signature,
            lag(t.number, 1, (0)::bigint) OVER w AS number_before,
            lag(t.last_seq, 1, (0)::bigint) OVER w AS last_before,
            lag(t.hash, 1, decode(repeat('00'::text, 32), 'hex'::text)) OVER w AS hash_before,
            lag(t.sealed_at_ms, 1, (0)::bigint) OVER w AS sealed_before
           FROM ledger.seal t
          WINDOW w AS (ORDER BY t.number)) s
  WHERE ((s.number <> (s.number_before + 1)) OR (s.previous <> s.hash_before) OR (s.first_seq <= s.last_before) OR (s.sealed_at_ms < s.sealed_before))
UNION ALL
 SELECT format('seal %s: its hash is not that of its content'::text, s.number) AS problem
   FROM ledger.seal s
  WHERE (s.hash <> ledger.seal_hash(s.*));

-- Name: ledger_zero_sum; Type: VIEW; Schema: audit; Owner: -

CREATE VIEW audit.ledger_zero_sum AS
 SELECT format('asset %s: balances add up to %s instead of 0'::text, account.asset, sum(((account.credits)::numeric - (account.debits)::numeric))) AS problem
   FROM ledger.account
  GROUP BY account.asset
 HAVING (sum(((account.credits)::numeric - (account.debits)::numeric)) <> (0)::numeric);

-- Name: order_state; Type: TABLE; Schema: registry; Owner: -

CREATE TABLE registry.order_state (
    kind text NOT NULL,
    owner registry.address NOT NULL,
    nonce registry.digest NOT NULL,
    seq bigint NOT NULL,
    job_id registry.digest NOT NULL,
    amount_wei registry.wei NOT NULL,
    state text DEFAULT 'waiting'::text NOT NULL,
    reason text DEFAULT ''::text NOT NULL,
    decided_at_ms bigint,
    CONSTRAINT order_state_check CHECK (((state = 'waiting'::text) = (decided_at_ms IS NULL))),
    CONSTRAINT order_state_check1 CHECK (((state = 'refused'::text) = (reason <> ''::text))),
    CONSTRAINT order_state_kind_check CHECK ((kind = ANY (ARRAY['job'::text, 'funding'::text]))),
    CONSTRAINT order_state_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'locking'::text, 'locked'::text, 'refused'::text])))
);

-- Name: orders_escrow; Type: VIEW; Schema: audit; Owner: -

CREATE VIEW audit.orders_escrow AS
 SELECT format('job %s: its owner paid %s into its escrow, by orders for %s'::text, substr(c.owner, 5), sum((t.amount)::numeric), COALESCE(min(s.locked), (0)::numeric)) AS problem
   FROM (((ledger.account c
     JOIN ledger.transfer t ON (((t.credit_account = c.id) AND (t.kind = ANY (ARRAY['transfer'::text, 'post'::text])))))
     JOIN ledger.account d ON (((d.id = t.debit_account) AND (d.kind = 'available'::text))))
     LEFT JOIN LATERAL ( SELECT sum((o.amount_wei)::numeric) AS locked
           FROM registry.order_state o
          WHERE (((o.job_id)::bytea = decode(substr(c.owner, 7), 'hex'::text)) AND (o.state = 'locked'::text) AND (d.owner = ('0x'::text || encode((o.owner)::bytea, 'hex'::text))))) s ON (true))
  WHERE ((c.kind = 'escrow'::text) AND (c.owner ~ '^job:0x[0-9a-f]{64}$'::text))
  GROUP BY c.id, c.owner, d.owner
 HAVING (sum((t.amount)::numeric) > COALESCE(min(s.locked), (0)::numeric));

-- Name: unit; Type: TABLE; Schema: registry; Owner: -

CREATE TABLE registry.unit (
    id registry.digest NOT NULL,
    job_id registry.digest NOT NULL,
    round bigint NOT NULL,
    slot bigint NOT NULL,
    attempt bigint NOT NULL,
    kind text NOT NULL,
    worker registry.address NOT NULL,
    owner registry.address NOT NULL,
    sampling_rate_ppm registry.ppm NOT NULL,
    state text DEFAULT 'assigned'::text NOT NULL,
    deadline_ms bigint NOT NULL,
    draws integer DEFAULT 0 NOT NULL,
    defended boolean DEFAULT false NOT NULL,
    verifier registry.address,
    assigned_at_ms bigint NOT NULL,
    committed_at_ms bigint,
    changed_at_ms bigint NOT NULL,
    ended_at_ms bigint,
    tokens registry.counter DEFAULT 0 NOT NULL,
    flops registry.counter DEFAULT 0 NOT NULL,
    delta_root registry.digest,
    epoch bigint,
    leaf_index integer,
    included boolean DEFAULT false NOT NULL,
    reason_code text DEFAULT ''::text NOT NULL,
    reason text DEFAULT ''::text NOT NULL,
    included_late boolean DEFAULT false NOT NULL,
    late boolean DEFAULT false NOT NULL,
    withdrawn_round bigint,
    CONSTRAINT unit_attempt_check CHECK (((attempt >= 0) AND (attempt <= '4294967295'::bigint))),
    CONSTRAINT unit_check CHECK (((kind = 'train'::text) = (slot < 65536))),
    CONSTRAINT unit_check1 CHECK (((verifier IS NULL) OR ((verifier)::bytea <> (worker)::bytea))),
    CONSTRAINT unit_check10 CHECK (((kind = 'train'::text) OR (NOT late))),
    CONSTRAINT unit_check11 CHECK (((withdrawn_round IS NULL) OR (included AND (withdrawn_round > (round + (included_late)::integer))))),
    CONSTRAINT unit_check2 CHECK (((epoch IS NULL) = (leaf_index IS NULL))),
    CONSTRAINT unit_check3 CHECK (((reason_code = ''::text) = (reason = ''::text))),
    CONSTRAINT unit_check4 CHECK (((NOT defended) OR (state = 'disputed'::text))),
    CONSTRAINT unit_check5 CHECK (((state <> ALL (ARRAY['sampled'::text, 'reported'::text, 'revealed'::text])) OR (draws >= 1))),
    CONSTRAINT unit_check6 CHECK (((state <> ALL (ARRAY['rejected'::text, 'slashed'::text, 'void'::text, 'expired'::text, 'unpaid'::text, 'disputed'::text])) OR (reason_code <> ''::text))),
    CONSTRAINT unit_check7 CHECK (((ended_at_ms IS NOT NULL) = (state = ANY (ARRAY['expired'::text, 'rejected'::text, 'slashed'::text, 'final'::text, 'unpaid'::text, 'void'::text])))),
    CONSTRAINT unit_check8 CHECK (((state = ANY (ARRAY['assigned'::text, 'expired'::text, 'void'::text])) OR (committed_at_ms IS NOT NULL))),
    CONSTRAINT unit_check9 CHECK ((included OR (NOT included_late))),
    CONSTRAINT unit_deadline_ms_check CHECK ((deadline_ms >= 0)),
    CONSTRAINT unit_draws_check CHECK ((draws >= 0)),
    CONSTRAINT unit_kind_check CHECK ((kind = ANY (ARRAY['train'::text, 'aggregate'::text, 'evaluate'::text]))),
    CONSTRAINT unit_leaf_index_check CHECK ((leaf_index >= 0)),
    CONSTRAINT unit_slot_check CHECK (((slot >= 0) AND (slot <= '4294967295'::bigint)))
);

-- Name: unit_commitment; Type: TABLE; Schema: registry; Owner: -

CREATE TABLE registry.unit_commitment (
    unit_id registry.digest NOT NULL,
    commitment bytea NOT NULL,
    leaf registry.digest NOT NULL,
    received_at_ms bigint NOT NULL
);

-- Name: registry_commitment_mismatch; Type: VIEW; Schema: audit; Owner: -

CREATE VIEW audit.registry_commitment_mismatch AS
 SELECT u.id,
    u.state
   FROM (registry.unit u
     LEFT JOIN registry.unit_commitment c ON (((c.unit_id)::bytea = (u.id)::bytea)))
  WHERE ((u.committed_at_ms IS NULL) <> (c.unit_id IS NULL));

-- Name: dataset; Type: TABLE; Schema: registry; Owner: -

CREATE TABLE registry.dataset (
    root registry.digest NOT NULL,
    blob registry.digest NOT NULL,
    owner registry.address NOT NULL,
    name text NOT NULL,
    tokens bigint NOT NULL,
    vocabulary integer NOT NULL,
    tokenizer registry.digest,
    price_wei_per_mtoken registry.wei NOT NULL,
    registered_at_ms bigint NOT NULL,
    number bigint NOT NULL,
    licence text NOT NULL,
    novelty_ppm registry.ppm NOT NULL,
    usefulness_ppm registry.ppm NOT NULL,
    sketch_level integer,
    sketch_chunks integer,
    compared_tokens bigint,
    nearest registry.digest,
    nearest_ppm registry.ppm,
    visibility registry.visibility DEFAULT 'private'::text NOT NULL,
    allowed registry.address[] DEFAULT '{}'::registry.address[] NOT NULL,
    parts integer DEFAULT 0 NOT NULL,
    quality_ppm integer GENERATED ALWAYS AS (((((novelty_ppm)::bigint * (usefulness_ppm)::integer) / 1000000))::integer) STORED NOT NULL,
    CONSTRAINT dataset_allowed CHECK (((cardinality(allowed) <= 1000) AND (((visibility)::text = 'allow-list'::text) OR (allowed = '{}'::registry.address[])))),
    CONSTRAINT dataset_check CHECK (((compared_tokens >= 0) AND (compared_tokens <= tokens))),
    CONSTRAINT dataset_check1 CHECK (((nearest)::bytea <> (root)::bytea)),
    CONSTRAINT dataset_licence CHECK (((licence = 'NOASSERTION'::text) = (sketch_level IS NULL))),
    CONSTRAINT dataset_licence_check CHECK (((char_length(licence) <= 256) AND (licence ~ '^[A-Za-z0-9.+:() -]+$'::text))),
    CONSTRAINT dataset_mix CHECK (((parts = 0) OR (((price_wei_per_mtoken)::numeric = (0)::numeric) AND ((novelty_ppm)::integer = 0) AND ((usefulness_ppm)::integer = 0)))),
    CONSTRAINT dataset_name_check CHECK (((char_length(name) >= 1) AND (char_length(name) <= 128))),
    CONSTRAINT dataset_nearest CHECK (((nearest IS NULL) = (nearest_ppm IS NULL))),
    CONSTRAINT dataset_nearest_ppm_check CHECK (((nearest_ppm)::integer > 0)),
    CONSTRAINT dataset_number_positive CHECK ((number >= 1)),
    CONSTRAINT dataset_parts_check CHECK (((parts = 0) OR ((parts >= 2) AND (parts <= 64)))),
    CONSTRAINT dataset_price CHECK (((price_wei_per_mtoken)::numeric <= '1000000000000000000000000000000'::numeric)),
    CONSTRAINT dataset_sketch CHECK ((num_nonnulls(sketch_level, sketch_chunks, compared_tokens) = ANY (ARRAY[0, 3]))),
    CONSTRAINT dataset_sketch_chunks_check CHECK (((sketch_chunks >= 0) AND (sketch_chunks <= 65536))),
    CONSTRAINT dataset_sketch_level_check CHECK (((sketch_level >= 0) AND (sketch_level <= 64))),
    CONSTRAINT dataset_tokens_check CHECK ((tokens > 0)),
    CONSTRAINT dataset_vocabulary_check CHECK (((vocabulary >= 1) AND (vocabulary <= 1048576)))
);

-- Name: registry_dataset_nearest; Type: VIEW; Schema: audit; Owner: -

CREATE VIEW audit.registry_dataset_nearest AS
 SELECT format('dataset %s names one as nearest that was registered later'::text, encode((d.root)::bytea, 'hex'::text)) AS problem
   FROM (registry.dataset d
     JOIN registry.dataset n ON (((n.root)::bytea = (d.nearest)::bytea)))
  WHERE (n.number >= d.number);

-- Name: measurement; Type: TABLE; Schema: registry; Owner: -

CREATE TABLE registry.measurement (
    dataset registry.digest NOT NULL,
    evaluation registry.digest NOT NULL,
    state_root registry.digest NOT NULL,
    before_bits registry.loss NOT NULL,
    after_bits registry.loss NOT NULL,
    baseline_bits registry.loss NOT NULL,
    usefulness_ppm integer GENERATED ALWAYS AS (registry.usefulness_ppm((before_bits)::integer, (after_bits)::integer, (baseline_bits)::integer)) STORED NOT NULL,
    measured_at_ms bigint NOT NULL,
    CONSTRAINT measurement_usefulness_ppm_check CHECK (((usefulness_ppm >= 0) AND (usefulness_ppm <= 1000000)))
);

-- Name: registry_dataset_usefulness; Type: VIEW; Schema: audit; Owner: -

CREATE VIEW audit.registry_dataset_usefulness AS
 SELECT format('dataset %s has usefulness %s, it was measured as %s'::text, encode((d.root)::bytea, 'hex'::text), d.usefulness_ppm, registry.usefulness_ppm((m.before_bits)::integer, (m.after_bits)::integer, (m.baseline_bits)::integer)) AS problem
   FROM (registry.dataset d
     JOIN registry.measurement m ON (((m.dataset)::bytea = (d.root)::bytea)))
  WHERE (((d.usefulness_ppm)::integer <> registry.usefulness_ppm((m.before_bits)::integer, (m.after_bits)::integer, (m.baseline_bits)::integer)) OR (m.usefulness_ppm <> (d.usefulness_ppm)::integer));

-- Name: sequence; Type: TABLE; Schema: registry; Owner: -

CREATE TABLE registry.sequence (
    name text NOT NULL,
    last registry.counter DEFAULT 0 NOT NULL
);

-- Name: unit_event; Type: TABLE; Schema: registry; Owner: -

CREATE TABLE registry.unit_event (
    seq bigint NOT NULL,
    unit_id registry.digest NOT NULL,
    from_state text,
    to_state text NOT NULL,
    at_ms bigint NOT NULL,
    detail jsonb NOT NULL,
    CONSTRAINT unit_event_check CHECK (((from_state IS NOT NULL) OR (to_state = 'assigned'::text))),
    CONSTRAINT unit_event_seq_check CHECK ((seq >= 1))
);

-- Name: registry_feed_gaps; Type: VIEW; Schema: audit; Owner: -

CREATE VIEW audit.registry_feed_gaps AS
 SELECT s.last,
    count(e.seq) AS events,
    max(e.seq) AS last_event
   FROM (registry.sequence s
     LEFT JOIN registry.unit_event e ON (true))
  WHERE (s.name = 'unit_event'::text)
  GROUP BY s.last
 HAVING (((s.last)::bigint <> count(e.seq)) OR ((s.last)::bigint <> COALESCE(max(e.seq), (0)::bigint)));

-- Name: registry_included_not_accepted; Type: VIEW; Schema: audit; Owner: -

CREATE VIEW audit.registry_included_not_accepted AS
 SELECT u.id,
    u.state
   FROM registry.unit u
  WHERE (u.included AND (u.state = ANY (ARRAY['assigned'::text, 'expired'::text, 'unpaid'::text])));

-- Name: dataset_part; Type: TABLE; Schema: registry; Owner: -

CREATE TABLE registry.dataset_part (
    mix registry.digest NOT NULL,
    "position" integer NOT NULL,
    part registry.digest NOT NULL,
    tokens bigint NOT NULL,
    weight_ppm bigint NOT NULL,
    CONSTRAINT dataset_part_position_check CHECK (("position" >= 0)),
    CONSTRAINT dataset_part_tokens_check CHECK ((tokens > 0)),
    CONSTRAINT dataset_part_weight_ppm_check CHECK ((weight_ppm > 0))
);

-- Name: job; Type: TABLE; Schema: registry; Owner: -

CREATE TABLE registry.job (
    id registry.digest NOT NULL,
    owner registry.address NOT NULL,
    name text NOT NULL,
    spec_yaml text NOT NULL,
    dataset_root registry.digest NOT NULL,
    budget_wei registry.wei NOT NULL,
    status text DEFAULT 'submitted'::text NOT NULL,
    status_reason text DEFAULT ''::text NOT NULL,
    request text,
    rounds bigint NOT NULL,
    slots_max integer NOT NULL,
    workers_min integer NOT NULL,
    steps integer NOT NULL,
    checkpoint_every integer NOT NULL,
    evaluate_windows integer NOT NULL,
    delta_norm_max double precision,
    price_wei_per_pflop registry.wei NOT NULL,
    unit_ms bigint NOT NULL,
    report_ms bigint NOT NULL,
    reveal_ms bigint NOT NULL,
    defence_ms bigint NOT NULL,
    challenge_ms bigint NOT NULL,
    draws_max integer NOT NULL,
    sampling_floor_ppm registry.ppm NOT NULL,
    sampling_aggregate_ppm registry.ppm NOT NULL,
    seed registry.digest,
    program_root registry.digest,
    program_blob registry.digest,
    evaluate_program_root registry.digest,
    evaluate_program_blob registry.digest,
    logits_program_root registry.digest,
    logits_program_blob registry.digest,
    base_state_root registry.digest,
    base_state_blob registry.digest,
    momentum_root registry.digest,
    momentum_blob registry.digest,
    tokens_per_step registry.counter,
    flops_per_step registry.counter,
    parameters registry.counter,
    submitted_at_ms bigint NOT NULL,
    started_at_ms bigint,
    ended_at_ms bigint,
    request_reason text DEFAULT ''::text NOT NULL,
    data_price_wei_per_mtoken registry.wei NOT NULL,
    data_quality_ppm registry.ppm NOT NULL,
    init_root registry.digest,
    init_blob registry.digest,
    visibility registry.visibility DEFAULT 'private'::text NOT NULL,
    allowed registry.address[] DEFAULT '{}'::registry.address[] NOT NULL,
    worker_memory_bytes registry.counter,
    quorum_ppm registry.ppm DEFAULT 1000000 NOT NULL,
    grace_ms bigint DEFAULT 60000 NOT NULL,
    adapt_steps boolean DEFAULT false NOT NULL,
    init_own boolean DEFAULT false NOT NULL,
    hold_drawn boolean DEFAULT false NOT NULL,
    delta_bytes registry.counter,
    state_bytes registry.counter,
    accept_late boolean DEFAULT false NOT NULL,
    delta_norm_factor double precision,
    overlap smallint DEFAULT 0 NOT NULL,
    subtract boolean DEFAULT false NOT NULL,
    worker_gpu_memory_bytes registry.counter,
    CONSTRAINT job_allowed CHECK (((cardinality(allowed) <= 1000) AND (((visibility)::text = 'allow-list'::text) OR (allowed = '{}'::registry.address[])))),
    CONSTRAINT job_challenge_ms_check CHECK ((challenge_ms > 0)),
    CONSTRAINT job_check CHECK (((workers_min >= 1) AND (workers_min <= slots_max))),
    CONSTRAINT job_check1 CHECK ((num_nonnulls(seed, program_root, program_blob, evaluate_program_root, evaluate_program_blob, logits_program_root, logits_program_blob, base_state_root, base_state_blob, momentum_root, momentum_blob, tokens_per_step, flops_per_step, parameters, started_at_ms) = ANY (ARRAY[0, 15]))),
    CONSTRAINT job_check2 CHECK (((status = ANY (ARRAY['submitted'::text, 'failed'::text, 'cancelled'::text])) OR (started_at_ms IS NOT NULL))),
    CONSTRAINT job_check3 CHECK (((ended_at_ms IS NOT NULL) = (status = ANY (ARRAY['completed'::text, 'cancelled'::text, 'failed'::text])))),
    CONSTRAINT job_checkpoint_every_check CHECK ((checkpoint_every >= 1)),
    CONSTRAINT job_defence_ms_check CHECK ((defence_ms > 0)),
    CONSTRAINT job_delta_norm_factor_check CHECK ((delta_norm_factor >= (1)::double precision)),
    CONSTRAINT job_delta_norm_max_check CHECK ((delta_norm_max > (0)::double precision)),
    CONSTRAINT job_draws_max_check CHECK (((draws_max >= 1) AND (draws_max <= 1000))),
    CONSTRAINT job_evaluate_windows_check CHECK ((evaluate_windows >= 1)),
    CONSTRAINT job_grace_ms_check CHECK ((grace_ms >= 0)),
    CONSTRAINT job_init_check CHECK ((num_nonnulls(init_root, init_blob) = ANY (ARRAY[0, 2]))),
    CONSTRAINT job_name_check CHECK (((char_length(name) >= 1) AND (char_length(name) <= 128))),
    CONSTRAINT job_no_late_overlap CHECK (((overlap = 0) OR (NOT accept_late))),
    CONSTRAINT job_no_overlap_subtract CHECK (((overlap = 0) OR (NOT subtract))),
    CONSTRAINT job_overlap_check CHECK (((overlap >= 0) AND (overlap <= 1))),
    CONSTRAINT job_quorum_ppm_check CHECK (((quorum_ppm)::integer >= 500000)),
    CONSTRAINT job_report_ms_check CHECK ((report_ms > 0)),
    CONSTRAINT job_request_check CHECK ((request = ANY (ARRAY['pause'::text, 'resume'::text, 'cancel'::text]))),
    CONSTRAINT job_request_reason_check CHECK (((request IS NOT NULL) OR (request_reason = ''::text))),
    CONSTRAINT job_reveal_ms_check CHECK ((reveal_ms > 0)),
    CONSTRAINT job_rounds_check CHECK (((rounds >= 1) AND (rounds <= 1000000))),
    CONSTRAINT job_slots_max_check CHECK (((slots_max >= 1) AND (slots_max <= 65536))),
    CONSTRAINT job_spec_yaml_check CHECK ((octet_length(spec_yaml) <= 1048576)),
    CONSTRAINT job_status_check CHECK ((status = ANY (ARRAY['submitted'::text, 'running'::text, 'paused'::text, 'completed'::text, 'cancelled'::text, 'failed'::text]))),
    CONSTRAINT job_steps_check CHECK (((steps >= 1) AND (steps <= 1048576))),
    CONSTRAINT job_unit_ms_check CHECK ((unit_ms > 0))
);

-- Name: job_data; Type: TABLE; Schema: registry; Owner: -

CREATE TABLE registry.job_data (
    job_id registry.digest NOT NULL,
    "position" integer NOT NULL,
    dataset registry.digest NOT NULL,
    owner registry.address NOT NULL,
    part_tokens bigint NOT NULL,
    mix_tokens bigint NOT NULL,
    price_wei_per_mtoken registry.wei NOT NULL,
    quality_ppm registry.ppm NOT NULL,
    weight_before registry.wei NOT NULL,
    CONSTRAINT job_data_check CHECK ((mix_tokens > part_tokens)),
    CONSTRAINT job_data_part_tokens_check CHECK ((part_tokens > 0)),
    CONSTRAINT job_data_position_check CHECK (("position" >= 0))
);

-- Name: registry_job_data; Type: VIEW; Schema: audit; Owner: -

CREATE VIEW audit.registry_job_data AS
 SELECT format('job %s: its providers are not those of its dataset'::text, encode((j.id)::bytea, 'hex'::text)) AS problem
   FROM registry.job j
  WHERE (EXISTS ( SELECT
           FROM (( SELECT x_1.job_id,
                    x_1."position",
                    x_1.dataset,
                    x_1.owner,
                    x_1.part_tokens,
                    x_1.mix_tokens,
                    x_1.price_wei_per_mtoken,
                    x_1.quality_ppm,
                    x_1.weight_before
                   FROM registry.job_data x_1
                  WHERE ((x_1.job_id)::bytea = (j.id)::bytea)) x
             FULL JOIN ( SELECT p_1."position",
                    p_1.part,
                    p_1.tokens,
                    d.owner,
                    d.price_wei_per_mtoken,
                    sum(p_1.tokens) OVER () AS mix_tokens
                   FROM (registry.dataset_part p_1
                     JOIN registry.dataset d ON (((d.root)::bytea = (p_1.part)::bytea)))
                  WHERE ((p_1.mix)::bytea = (j.dataset_root)::bytea)) p ON ((p."position" = x."position")))
          WHERE ((((((x.dataset)::bytea IS DISTINCT FROM (p.part)::bytea) OR (x.part_tokens IS DISTINCT FROM p.tokens)) OR (x.mix_tokens IS DISTINCT FROM (p.mix_tokens)::bigint)) OR ((x.owner)::bytea IS DISTINCT FROM (p.owner)::bytea)) OR ((x.price_wei_per_mtoken)::numeric IS DISTINCT FROM (p.price_wei_per_mtoken)::numeric))));

-- Name: evaluation; Type: TABLE; Schema: registry; Owner: -

CREATE TABLE registry.evaluation (
    id registry.digest NOT NULL,
    number bigint NOT NULL,
    program_root registry.digest NOT NULL,
    seed registry.digest NOT NULL,
    vocabulary integer NOT NULL,
    base_steps integer NOT NULL,
    steps integer NOT NULL,
    windows integer NOT NULL,
    reference registry.digest NOT NULL,
    held_out registry.digest NOT NULL,
    model_yaml text NOT NULL,
    base_state_root registry.digest NOT NULL,
    before_bits registry.loss NOT NULL,
    baseline_state_root registry.digest NOT NULL,
    baseline_bits registry.loss NOT NULL,
    datasets_before bigint NOT NULL,
    published_at_ms bigint NOT NULL,
    salt registry.digest,
    held_out_root registry.digest,
    datasets_until bigint,
    retired_at_ms bigint,
    CONSTRAINT evaluation_base_steps_check CHECK (((base_steps >= 0) AND (base_steps <= 1048576))),
    CONSTRAINT evaluation_check CHECK (((id)::bytea = sha256((((((((('\x47594d5553454631'::bytea || (program_root)::bytea) || (seed)::bytea) || int4send(vocabulary)) || int4send(base_steps)) || int4send(steps)) || int4send(windows)) || (reference)::bytea) || (held_out)::bytea)))),
    CONSTRAINT evaluation_check1 CHECK (((baseline_bits)::integer < (before_bits)::integer)),
    CONSTRAINT evaluation_check2 CHECK ((datasets_until >= datasets_before)),
    CONSTRAINT evaluation_check3 CHECK ((num_nonnulls(salt, held_out_root, datasets_until, retired_at_ms) = ANY (ARRAY[0, 4]))),
    CONSTRAINT evaluation_check4 CHECK (((salt IS NULL) OR ((held_out)::bytea = sha256((('\x47594d48454c4431'::bytea || (salt)::bytea) || (held_out_root)::bytea))))),
    CONSTRAINT evaluation_model_yaml_check CHECK (((octet_length(model_yaml) >= 1) AND (octet_length(model_yaml) <= 65536))),
    CONSTRAINT evaluation_number_check CHECK ((number >= 1)),
    CONSTRAINT evaluation_steps_check CHECK (((steps >= 1) AND (steps <= 1048576))),
    CONSTRAINT evaluation_vocabulary_check CHECK (((vocabulary >= 2) AND (vocabulary <= 1048576))),
    CONSTRAINT evaluation_windows_check CHECK (((windows >= 1) AND (windows <= 65536)))
);

-- Name: registry_measurement; Type: VIEW; Schema: audit; Owner: -

CREATE VIEW audit.registry_measurement AS
 SELECT format('dataset %s was measured with another evaluation or other losses than it should be'::text, encode((m.dataset)::bytea, 'hex'::text)) AS problem
   FROM (registry.measurement m
     JOIN registry.evaluation e ON (((e.id)::bytea = (m.evaluation)::bytea)))
  WHERE ((registry.evaluation_for((m.dataset)::bytea) IS DISTINCT FROM (m.evaluation)::bytea) OR (((m.before_bits)::integer IS DISTINCT FROM (e.before_bits)::integer) OR ((m.baseline_bits)::integer IS DISTINCT FROM (e.baseline_bits)::integer)));

-- Name: registry_mix; Type: VIEW; Schema: audit; Owner: -

CREATE VIEW audit.registry_mix AS
 SELECT format('mix %s has %s tokens in %s parts, registered are %s in %s'::text, encode((d.root)::bytea, 'hex'::text), COALESCE(p.tokens, (0)::numeric), COALESCE(p.parts, (0)::bigint), d.tokens, d.parts) AS problem
   FROM (registry.dataset d
     LEFT JOIN ( SELECT dataset_part.mix,
            count(*) AS parts,
            sum(dataset_part.tokens) AS tokens
           FROM registry.dataset_part
          GROUP BY dataset_part.mix) p ON (((p.mix)::bytea = (d.root)::bytea)))
  WHERE (((d.parts > 0) AND ((d.parts IS DISTINCT FROM (p.parts)::integer) OR (d.tokens IS DISTINCT FROM (p.tokens)::bigint))) OR ((d.parts = 0) AND (p.parts > 0)))
UNION ALL
 SELECT format('mix %s has a part that is a mix or was registered later'::text, encode((p.mix)::bytea, 'hex'::text)) AS problem
   FROM ((registry.dataset_part p
     JOIN registry.dataset m ON (((m.root)::bytea = (p.mix)::bytea)))
     JOIN registry.dataset d ON (((d.root)::bytea = (p.part)::bytea)))
  WHERE ((d.parts > 0) OR (d.number >= m.number));

-- Name: registry_state_without_event; Type: VIEW; Schema: audit; Owner: -

CREATE VIEW audit.registry_state_without_event AS
 SELECT u.id,
    u.state
   FROM (registry.unit u
     LEFT JOIN LATERAL ( SELECT e.to_state
           FROM registry.unit_event e
          WHERE ((e.unit_id)::bytea = (u.id)::bytea)
          ORDER BY e.seq DESC
         LIMIT 1) last ON (true))
  WHERE (last.to_state IS DISTINCT FROM u.state);

-- Name: credit; Type: TABLE; Schema: rewards; Owner: -

CREATE TABLE rewards.credit (
    id uuid NOT NULL,
    kind text NOT NULL,
    state text NOT NULL,
    posting uuid,
    due boolean DEFAULT false NOT NULL,
    earner rewards.address NOT NULL,
    node rewards.address,
    job_id rewards.digest NOT NULL,
    round bigint NOT NULL,
    unit_id rewards.digest,
    flops bigint DEFAULT 0 NOT NULL,
    tokens bigint DEFAULT 0 NOT NULL,
    price ledger.amount DEFAULT 0 NOT NULL,
    premium_ppm bigint DEFAULT 0 NOT NULL,
    quality_ppm bigint DEFAULT 0 NOT NULL,
    compute ledger.amount DEFAULT 0 NOT NULL,
    uptime_ppm bigint DEFAULT 0 NOT NULL,
    bonus_max_ppm bigint DEFAULT 0 NOT NULL,
    amount ledger.amount NOT NULL,
    reason text DEFAULT ''::text NOT NULL,
    epoch bigint,
    created_at_ms bigint NOT NULL,
    changed_at_ms bigint NOT NULL,
    challenges bigint DEFAULT 0 NOT NULL,
    answered bigint DEFAULT 0 NOT NULL,
    charged ledger.amount DEFAULT 0 NOT NULL,
    fee_ppm bigint DEFAULT 0 NOT NULL,
    burned_ppm bigint DEFAULT 0 NOT NULL,
    burned ledger.amount DEFAULT 0 NOT NULL,
    emission_ppm bigint DEFAULT 0 NOT NULL,
    compute_total ledger.amount DEFAULT 0 NOT NULL,
    payer rewards.address,
    dataset rewards.digest,
    part_tokens bigint DEFAULT 0 NOT NULL,
    mix_tokens bigint DEFAULT 0 NOT NULL,
    weight_before ledger.amount DEFAULT 0 NOT NULL,
    CONSTRAINT credit_burned_ppm_check CHECK (((burned_ppm >= 0) AND (burned_ppm <= 1000000))),
    CONSTRAINT credit_challenges_check CHECK ((challenges >= 0)),
    CONSTRAINT credit_check CHECK ((((posting IS NOT NULL) = (state = ANY (ARRAY['posted'::text, 'void'::text]))) OR ((state = 'void'::text) AND (posting IS NULL)))),
    CONSTRAINT credit_check1 CHECK (((epoch IS NULL) OR (state = 'posted'::text))),
    CONSTRAINT credit_check2 CHECK (((NOT due) OR (state = 'unfunded'::text) OR (state = 'posted'::text))),
    CONSTRAINT credit_check3 CHECK (((answered >= 0) AND (answered <= challenges))),
    CONSTRAINT credit_emission_ppm_check CHECK (((emission_ppm >= 0) AND (emission_ppm <= 1000000))),
    CONSTRAINT credit_fee_ppm_check CHECK (((fee_ppm >= 0) AND (fee_ppm <= 1000000))),
    CONSTRAINT credit_flops_check CHECK ((flops >= 0)),
    CONSTRAINT credit_has_part CHECK (
CASE
    WHEN (dataset IS NULL) THEN ((part_tokens = 0) AND (mix_tokens = 0) AND ((weight_before)::numeric = (0)::numeric))
    ELSE ((kind = 'data'::text) AND (part_tokens > 0) AND (mix_tokens > part_tokens))
END),
    CONSTRAINT credit_has_payer CHECK (((kind = 'emission'::text) = (payer IS NOT NULL))),
    CONSTRAINT credit_has_unit CHECK (((kind = ANY (ARRAY['compute'::text, 'verification'::text, 'data'::text, 'prefix'::text])) = (unit_id IS NOT NULL))),
    CONSTRAINT credit_kind_check CHECK ((kind = ANY (ARRAY['compute'::text, 'verification'::text, 'uptime'::text, 'data'::text, 'fee'::text, 'burn'::text, 'emission'::text, 'prefix'::text]))),
    CONSTRAINT credit_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'posted'::text, 'void'::text, 'unfunded'::text]))),
    CONSTRAINT credit_tokens_check CHECK ((tokens >= 0))
);

-- Name: rewards_credit_without_transfer; Type: VIEW; Schema: audit; Owner: -

CREATE VIEW audit.rewards_credit_without_transfer AS
 SELECT format('credit %s is %s, its transfer is not'::text, c.id, c.state) AS problem
   FROM ((rewards.credit c
     LEFT JOIN ledger.transfer t ON ((t.id = c.id)))
     LEFT JOIN ledger.transfer p ON ((p.id = c.posting)))
  WHERE
        CASE c.state
            WHEN 'pending'::text THEN ((t.kind IS DISTINCT FROM 'pending'::text) OR (EXISTS ( SELECT
               FROM ledger.transfer r
              WHERE (r.pending_id = c.id))))
            WHEN 'posted'::text THEN ((p.kind IS NULL) OR (p.kind <> ALL (ARRAY['post'::text, 'transfer'::text])) OR ((p.amount)::numeric <> (c.amount)::numeric) OR ((p.kind = 'post'::text) AND (p.pending_id <> c.id)))
            WHEN 'void'::text THEN ((c.posting IS NOT NULL) AND ((p.kind IS DISTINCT FROM 'void'::text) OR (p.pending_id IS DISTINCT FROM c.id)))
            ELSE (t.id IS NOT NULL)
        END;

-- Name: payout; Type: TABLE; Schema: rewards; Owner: -

CREATE TABLE rewards.payout (
    epoch bigint NOT NULL,
    earner rewards.address NOT NULL,
    earned ledger.amount NOT NULL,
    cumulative ledger.amount NOT NULL,
    CONSTRAINT payout_check CHECK (((cumulative)::numeric >= (earned)::numeric)),
    CONSTRAINT payout_earned_check CHECK (((earned)::numeric > (0)::numeric))
);

-- Name: rewards_cumulative; Type: VIEW; Schema: audit; Owner: -

CREATE VIEW audit.rewards_cumulative AS
 SELECT format('epoch %s, earner %s: cumulative %s is not the sum of its epochs'::text, s.epoch, encode((s.earner)::bytea, 'hex'::text), s.cumulative) AS problem
   FROM ( SELECT p.epoch,
            p.earner,
            p.earned,
            p.cumulative,
            sum((p.earned)::numeric) OVER (PARTITION BY p.earner ORDER BY p.epoch) AS expected
           FROM rewards.payout p) s
  WHERE ((s.cumulative)::numeric <> s.expected);

-- Name: rewards_data_paid_twice; Type: VIEW; Schema: audit; Owner: -

CREATE VIEW audit.rewards_data_paid_twice AS
 SELECT format('unit %s has %s data credits for dataset %s'::text, encode((credit.unit_id)::bytea, 'hex'::text), count(*), COALESCE(encode((credit.dataset)::bytea, 'hex'::text), 'of its job'::text)) AS problem
   FROM rewards.credit
  WHERE (credit.kind = 'data'::text)
  GROUP BY credit.unit_id, credit.dataset
 HAVING (count(*) > 1);

-- Name: rewards_data_shares; Type: VIEW; Schema: audit; Owner: -

CREATE VIEW audit.rewards_data_shares AS
 SELECT format('unit %s: the providers of its mix have credits of %s, its tokens cost %s'::text, encode((u.unit_id)::bytea, 'hex'::text), u.amount, m.amount) AS problem
   FROM (( SELECT credit.job_id,
            credit.unit_id,
            max(credit.tokens) AS tokens,
            sum((credit.amount)::numeric) AS amount,
            (min(credit.tokens) <> max(credit.tokens)) AS differ
           FROM rewards.credit
          WHERE ((credit.kind = 'data'::text) AND (credit.dataset IS NOT NULL))
          GROUP BY credit.job_id, credit.unit_id) u
     JOIN LATERAL ( SELECT div(((u.tokens)::numeric * sum((((p.part_tokens)::numeric * (p.price_wei_per_mtoken)::numeric) * (p.quality_ppm)::numeric))), ((max(p.mix_tokens))::numeric * ('1000000000000'::bigint)::numeric)) AS amount
           FROM registry.job_data p
          WHERE ((p.job_id)::bytea = (u.job_id)::bytea)) m ON (true))
  WHERE (u.differ OR (u.amount IS DISTINCT FROM m.amount));

-- Name: rewards_data_terms; Type: VIEW; Schema: audit; Owner: -

CREATE VIEW audit.rewards_data_terms AS
 SELECT format('data credit %s was booked with other terms than job %s has'::text, c.id, encode((j.id)::bytea, 'hex'::text)) AS problem
   FROM ((rewards.credit c
     JOIN registry.job j ON (((j.id)::bytea = (c.job_id)::bytea)))
     LEFT JOIN registry.job_data p ON ((((p.job_id)::bytea = (c.job_id)::bytea) AND ((p.dataset)::bytea = (c.dataset)::bytea))))
  WHERE ((c.kind = 'data'::text) AND
        CASE
            WHEN (c.dataset IS NULL) THEN ((((c.price)::numeric IS DISTINCT FROM (j.data_price_wei_per_mtoken)::numeric) OR (c.quality_ppm IS DISTINCT FROM (j.data_quality_ppm)::integer)) OR (EXISTS ( SELECT
               FROM registry.job_data x
              WHERE ((x.job_id)::bytea = (j.id)::bytea))))
            ELSE (((((((c.earner)::bytea IS DISTINCT FROM (p.owner)::bytea) OR ((c.price)::numeric IS DISTINCT FROM (p.price_wei_per_mtoken)::numeric)) OR (c.quality_ppm IS DISTINCT FROM (p.quality_ppm)::integer)) OR (c.part_tokens IS DISTINCT FROM p.part_tokens)) OR (c.mix_tokens IS DISTINCT FROM p.mix_tokens)) OR ((c.weight_before)::numeric IS DISTINCT FROM (p.weight_before)::numeric))
        END);

-- Name: rewards_emission_above_burned; Type: VIEW; Schema: audit; Owner: -

CREATE VIEW audit.rewards_emission_above_burned AS
 SELECT format('job %s: emission %s, burned %s'::text, encode((j.job_id)::bytea, 'hex'::text), j.emission, j.burned) AS problem
   FROM ( SELECT credit.job_id,
            COALESCE(sum((credit.amount)::numeric) FILTER (WHERE (credit.kind = 'emission'::text)), (0)::numeric) AS emission,
            COALESCE(sum((credit.amount)::numeric) FILTER (WHERE (credit.kind = 'burn'::text)), (0)::numeric) AS burned
           FROM rewards.credit
          WHERE (credit.state = 'posted'::text)
          GROUP BY credit.job_id) j
  WHERE (j.emission > j.burned);

-- Name: rewards_fee_above_charge; Type: VIEW; Schema: audit; Owner: -

CREATE VIEW audit.rewards_fee_above_charge AS
 SELECT format('job %s, round %s: fees on %s, credits are %s'::text, encode((r.job_id)::bytea, 'hex'::text), r.round, r.charged, r.credits) AS problem
   FROM ( SELECT credit.job_id,
            credit.round,
            COALESCE(sum((credit.charged)::numeric) FILTER (WHERE (credit.kind = 'fee'::text)), (0)::numeric) AS charged,
            COALESCE(sum((credit.amount)::numeric) FILTER (WHERE (credit.kind = ANY (ARRAY['compute'::text, 'verification'::text, 'uptime'::text, 'data'::text, 'prefix'::text]))), (0)::numeric) AS credits
           FROM rewards.credit
          WHERE (credit.state = 'posted'::text)
          GROUP BY credit.job_id, credit.round) r
  WHERE (r.charged > r.credits);

-- Name: owner_lock; Type: TABLE; Schema: rewards; Owner: -

CREATE TABLE rewards.owner_lock (
    owner rewards.address NOT NULL,
    locked ledger.amount DEFAULT 0 NOT NULL,
    released ledger.amount DEFAULT 0 NOT NULL,
    unlocked ledger.amount DEFAULT 0 NOT NULL,
    needed ledger.amount DEFAULT 0 NOT NULL,
    asked ledger.amount DEFAULT 0 NOT NULL
);

-- Name: rewards_locks; Type: VIEW; Schema: audit; Owner: -

CREATE VIEW audit.rewards_locks AS
 WITH moved AS (
         SELECT
                CASE
                    WHEN (d.kind = 'available'::text) THEN d.owner
                    WHEN (c.kind = 'available'::text) THEN c.owner
                    ELSE COALESCE(('0x'::text || encode((j.owner)::bytea, 'hex'::text)), substr(d.owner, 5))
                END AS owner,
            sum(
                CASE
                    WHEN (d.kind = 'available'::text) THEN (t.amount)::numeric
                    ELSE (- (t.amount)::numeric)
                END) AS amount
           FROM (((ledger.transfer t
             JOIN ledger.account d ON ((d.id = t.debit_account)))
             JOIN ledger.account c ON ((c.id = t.credit_account)))
             LEFT JOIN registry.job j ON ((d.owner = ('job:0x'::text || encode((j.id)::bytea, 'hex'::text)))))
          WHERE ((t.kind = ANY (ARRAY['transfer'::text, 'post'::text])) AND ((((d.kind = 'available'::text) AND (c.kind = 'escrow'::text)) OR ((d.kind = 'escrow'::text) AND (c.kind = 'available'::text))) OR ((d.kind = 'escrow'::text) AND (c.kind = 'chain_escrow'::text))))
          GROUP BY
                CASE
                    WHEN (d.kind = 'available'::text) THEN d.owner
                    WHEN (c.kind = 'available'::text) THEN c.owner
                    ELSE COALESCE(('0x'::text || encode((j.owner)::bytea, 'hex'::text)), substr(d.owner, 5))
                END
        ), reserved AS (
         SELECT order_state.owner,
            sum((order_state.amount_wei)::numeric) AS amount
           FROM registry.order_state
          WHERE (order_state.state = 'locking'::text)
          GROUP BY order_state.owner
        )
 SELECT format('owner %s: the books need %s locked, its transfers say %s'::text, encode((l.owner)::bytea, 'hex'::text), l.needed, ((COALESCE(m.amount, (0)::numeric) + COALESCE(r.amount, (0)::numeric)) - (l.released)::numeric)) AS problem
   FROM ((rewards.owner_lock l
     LEFT JOIN moved m ON ((m.owner = ('0x'::text || encode((l.owner)::bytea, 'hex'::text)))))
     LEFT JOIN reserved r ON (((r.owner)::bytea = (l.owner)::bytea)))
  WHERE ((l.needed)::numeric <> ((COALESCE(m.amount, (0)::numeric) + COALESCE(r.amount, (0)::numeric)) - (l.released)::numeric));

-- Name: rewards_paid_twice; Type: VIEW; Schema: audit; Owner: -

CREATE VIEW audit.rewards_paid_twice AS
 SELECT format('unit %s has %s compute credits'::text, encode((credit.unit_id)::bytea, 'hex'::text), count(*)) AS problem
   FROM rewards.credit
  WHERE (credit.kind = ANY (ARRAY['compute'::text, 'prefix'::text]))
  GROUP BY credit.unit_id
 HAVING (count(*) > 1);

-- Name: rewards_paid_without_final_unit; Type: VIEW; Schema: audit; Owner: -

CREATE VIEW audit.rewards_paid_without_final_unit AS
 SELECT format('credit %s is posted, unit %s is %s'::text, c.id, encode((c.unit_id)::bytea, 'hex'::text), u.state) AS problem
   FROM (rewards.credit c
     JOIN registry.unit u ON (((u.id)::bytea = (c.unit_id)::bytea)))
  WHERE ((c.kind = ANY (ARRAY['compute'::text, 'data'::text])) AND (c.state = 'posted'::text) AND (u.state <> 'final'::text));

-- Name: rewards_payable; Type: VIEW; Schema: audit; Owner: -

CREATE VIEW audit.rewards_payable AS
 SELECT format('earner %s: payable credits %s, payout roots %s'::text, a.owner, a.credits, COALESCE((p.cumulative)::numeric, (0)::numeric)) AS problem
   FROM (ledger.account a
     LEFT JOIN LATERAL ( SELECT payout.cumulative
           FROM rewards.payout
          WHERE (('0x'::text || encode((payout.earner)::bytea, 'hex'::text)) = a.owner)
          ORDER BY payout.epoch DESC
         LIMIT 1) p ON (true))
  WHERE ((a.kind = 'payable'::text) AND ((a.credits)::numeric <> COALESCE((p.cumulative)::numeric, (0)::numeric)));

-- Name: unit_prefix; Type: TABLE; Schema: registry; Owner: -

CREATE TABLE registry.unit_prefix (
    unit_id registry.digest NOT NULL,
    steps integer NOT NULL,
    link registry.digest NOT NULL,
    signature bytea NOT NULL,
    received_at_ms bigint NOT NULL,
    state text DEFAULT 'kept'::text NOT NULL,
    draws integer DEFAULT 0 NOT NULL,
    deadline_ms bigint DEFAULT 0 NOT NULL,
    verifier registry.address,
    found_link registry.digest,
    found_signature bytea,
    reported_at_ms bigint,
    seq bigint,
    decided_at_ms bigint,
    flops registry.counter DEFAULT 0 NOT NULL,
    verifier_paid boolean DEFAULT false NOT NULL,
    reason text DEFAULT ''::text NOT NULL,
    CONSTRAINT unit_prefix_check CHECK ((num_nonnulls(found_link, found_signature, reported_at_ms) = ANY (ARRAY[0, 3]))),
    CONSTRAINT unit_prefix_check1 CHECK (((found_link IS NULL) OR (verifier IS NOT NULL))),
    CONSTRAINT unit_prefix_check2 CHECK (((state <> 'kept'::text) OR (draws = 0))),
    CONSTRAINT unit_prefix_check3 CHECK (((state <> 'reported'::text) OR (found_link IS NOT NULL))),
    CONSTRAINT unit_prefix_check4 CHECK (((decided_at_ms IS NOT NULL) = (state = ANY (ARRAY['verified'::text, 'refuted'::text, 'unpaid'::text])))),
    CONSTRAINT unit_prefix_check5 CHECK (((seq IS NOT NULL) = (state = ANY (ARRAY['verified'::text, 'refuted'::text])))),
    CONSTRAINT unit_prefix_check6 CHECK ((((flops)::bigint > 0) = (state = ANY (ARRAY['verified'::text, 'refuted'::text])))),
    CONSTRAINT unit_prefix_check7 CHECK (((NOT verifier_paid) OR ((state = ANY (ARRAY['verified'::text, 'refuted'::text])) AND (((found_link)::bytea = (link)::bytea) = (state = 'verified'::text))))),
    CONSTRAINT unit_prefix_check8 CHECK (((reason <> ''::text) = (state = ANY (ARRAY['refuted'::text, 'unpaid'::text])))),
    CONSTRAINT unit_prefix_draws_check CHECK ((draws >= 0)),
    CONSTRAINT unit_prefix_found_signature_check CHECK ((octet_length(found_signature) = 65)),
    CONSTRAINT unit_prefix_seq_check CHECK ((seq >= 1)),
    CONSTRAINT unit_prefix_signature_check CHECK ((octet_length(signature) = 65)),
    CONSTRAINT unit_prefix_state_check CHECK ((state = ANY (ARRAY['kept'::text, 'drawn'::text, 'reported'::text, 'verified'::text, 'refuted'::text, 'unpaid'::text]))),
    CONSTRAINT unit_prefix_steps_check CHECK (((steps >= 1) AND (steps <= 1048576)))
);

-- Name: rewards_prefix; Type: VIEW; Schema: audit; Owner: -

CREATE VIEW audit.rewards_prefix AS
 SELECT format('credit %s is for a prefix of unit %s, which is %s, and the prefix %s with %s FLOPs'::text, c.id, encode((c.unit_id)::bytea, 'hex'::text), u.state, COALESCE(p.state, 'missing'::text), p.flops) AS problem
   FROM ((rewards.credit c
     JOIN registry.unit u ON (((u.id)::bytea = (c.unit_id)::bytea)))
     LEFT JOIN registry.unit_prefix p ON (((p.unit_id)::bytea = (c.unit_id)::bytea)))
  WHERE ((c.kind = 'prefix'::text) AND ((u.state <> 'expired'::text) OR (p.state IS DISTINCT FROM 'verified'::text) OR ((p.flops)::bigint <> c.flops) OR ((c.node)::bytea IS DISTINCT FROM (u.worker)::bytea) OR ((c.earner)::bytea IS DISTINCT FROM (u.owner)::bytea)));

-- Name: reconciliation; Type: TABLE; Schema: rewards; Owner: -

CREATE TABLE rewards.reconciliation (
    block bigint NOT NULL,
    escrow_ledger ledger.amount NOT NULL,
    escrow_chain ledger.amount NOT NULL,
    distributor_ledger ledger.amount NOT NULL,
    distributor_chain ledger.amount NOT NULL,
    at_ms bigint NOT NULL,
    claimed_ledger ledger.amount,
    claimed_chain ledger.amount,
    locked_ledger ledger.amount,
    locked_chain ledger.amount,
    CONSTRAINT reconciliation_check CHECK (((claimed_ledger IS NULL) = (claimed_chain IS NULL))),
    CONSTRAINT reconciliation_check1 CHECK (((locked_ledger IS NULL) = (locked_chain IS NULL)))
);

-- Name: rewards_reconciliation; Type: VIEW; Schema: audit; Owner: -

CREATE VIEW audit.rewards_reconciliation AS
 SELECT format('block %s: contracts hold %s and %s, paid %s and locked %s, the ledger says %s and %s, %s and %s'::text, r.block, r.escrow_chain, r.distributor_chain, r.claimed_chain, r.locked_chain, r.escrow_ledger, r.distributor_ledger, r.claimed_ledger, r.locked_ledger) AS problem
   FROM rewards.reconciliation r
  WHERE ((r.block = ( SELECT max(reconciliation.block) AS max
           FROM rewards.reconciliation)) AND (((r.escrow_chain)::numeric <> (r.escrow_ledger)::numeric) OR ((r.claimed_chain)::numeric <> (r.claimed_ledger)::numeric) OR ((r.locked_chain)::numeric <> (r.locked_ledger)::numeric) OR ((r.distributor_chain)::numeric < (r.distributor_ledger)::numeric)));

-- Name: release; Type: TABLE; Schema: rewards; Owner: -

CREATE TABLE rewards.release (
    epoch bigint NOT NULL,
    owner rewards.address NOT NULL,
    amount ledger.amount NOT NULL,
    CONSTRAINT release_amount_check CHECK (((amount)::numeric > (0)::numeric))
);

-- Name: rewards_released; Type: VIEW; Schema: audit; Owner: -

CREATE VIEW audit.rewards_released AS
 SELECT format('epoch %s: released %s, credits %s'::text, r.epoch, r.amount, COALESCE(c.amount, (0)::numeric)) AS problem
   FROM (( SELECT release.epoch,
            sum((release.amount)::numeric) AS amount
           FROM rewards.release
          GROUP BY release.epoch) r
     FULL JOIN ( SELECT credit.epoch,
            sum((credit.amount)::numeric) AS amount
           FROM rewards.credit
          WHERE (credit.epoch IS NOT NULL)
          GROUP BY credit.epoch) c ON ((c.epoch = r.epoch)))
  WHERE (r.amount IS DISTINCT FROM c.amount);

-- Name: attempt; Type: TABLE; Schema: chain; Owner: -

CREATE TABLE chain.attempt (
    service chain.service NOT NULL,
    chain_id chain.counter NOT NULL,
    sender chain.address NOT NULL,
    intent_id text NOT NULL,
    number integer NOT NULL,
    hash chain.digest NOT NULL,
    raw bytea NOT NULL,
    fee_max_wei chain.wei NOT NULL,
    priority_fee_wei chain.wei NOT NULL,
    cancels boolean NOT NULL,
    signed_at_ms bigint NOT NULL,
    CONSTRAINT attempt_check CHECK (((priority_fee_wei)::numeric <= (fee_max_wei)::numeric)),
    CONSTRAINT attempt_number_check CHECK ((number >= 0))
);

-- Name: intent_seq_seq; Type: SEQUENCE; Schema: chain; Owner: -

ALTER TABLE chain.intent ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME chain.intent_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

-- Name: account_id_seq; Type: SEQUENCE; Schema: ledger; Owner: -

ALTER TABLE ledger.account ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME ledger.account_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

-- Name: seal_mark; Type: TABLE; Schema: ledger; Owner: -

CREATE TABLE ledger.seal_mark (
    only_row boolean DEFAULT true NOT NULL,
    settled bigint NOT NULL,
    marked bigint NOT NULL,
    writers text[] NOT NULL,
    CONSTRAINT seal_mark_only_row_check CHECK (only_row)
);

-- Name: transfer_seq_seq; Type: SEQUENCE; Schema: ledger; Owner: -

ALTER TABLE ledger.transfer ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME ledger.transfer_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

-- Name: applied; Type: TABLE; Schema: migration; Owner: -

CREATE TABLE migration.applied (
    number integer NOT NULL,
    name text NOT NULL,
    sha256 bytea NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);

-- Name: chain_commitment; Type: TABLE; Schema: registry; Owner: -

CREATE TABLE registry.chain_commitment (
    leaf registry.digest NOT NULL,
    unit_id registry.digest NOT NULL,
    commitment bytea NOT NULL,
    block registry.counter NOT NULL,
    epoch bigint,
    leaf_index integer,
    CONSTRAINT chain_commitment_check CHECK (((epoch IS NULL) = (leaf_index IS NULL))),
    CONSTRAINT chain_commitment_commitment_check CHECK ((octet_length(commitment) = 226)),
    CONSTRAINT chain_commitment_leaf_index_check CHECK ((leaf_index >= 0))
);

-- Name: chain_commitment_watch; Type: TABLE; Schema: registry; Owner: -

CREATE TABLE registry.chain_commitment_watch (
    contract registry.address NOT NULL,
    seen_block registry.counter NOT NULL
);

-- Name: challenge; Type: TABLE; Schema: registry; Owner: -

CREATE TABLE registry.challenge (
    node registry.address NOT NULL,
    nonce registry.digest NOT NULL,
    issued_at_ms bigint NOT NULL,
    deadline_ms bigint NOT NULL,
    answered_at_ms bigint,
    signature bytea,
    late_at_ms bigint,
    withdrawn boolean DEFAULT false NOT NULL,
    CONSTRAINT challenge_check CHECK ((deadline_ms > issued_at_ms)),
    CONSTRAINT challenge_check1 CHECK (((answered_at_ms >= issued_at_ms) AND (answered_at_ms <= deadline_ms))),
    CONSTRAINT challenge_check2 CHECK ((late_at_ms > deadline_ms)),
    CONSTRAINT challenge_check3 CHECK (((answered_at_ms IS NULL) = (signature IS NULL))),
    CONSTRAINT challenge_check4 CHECK (((answered_at_ms IS NULL) OR (NOT withdrawn))),
    CONSTRAINT challenge_signature_check CHECK ((octet_length(signature) = 65))
);

-- Name: challenge_pass; Type: TABLE; Schema: registry; Owner: -

CREATE TABLE registry.challenge_pass (
    id boolean DEFAULT true NOT NULL,
    at_ms bigint NOT NULL,
    CONSTRAINT challenge_pass_id_check CHECK (id)
);

-- Name: challenge_schedule; Type: TABLE; Schema: registry; Owner: -

CREATE TABLE registry.challenge_schedule (
    node registry.address NOT NULL,
    next_at_ms bigint NOT NULL
);

-- Name: cost_rates; Type: TABLE; Schema: registry; Owner: -

CREATE TABLE registry.cost_rates (
    id boolean DEFAULT true NOT NULL,
    cost_bound_ppm bigint NOT NULL,
    fee_ppm bigint NOT NULL,
    changed_at_ms bigint NOT NULL,
    CONSTRAINT cost_rates_cost_bound_ppm_check CHECK (((cost_bound_ppm >= 1000000) AND (cost_bound_ppm <= 100000000))),
    CONSTRAINT cost_rates_fee_ppm_check CHECK (((fee_ppm >= 0) AND (fee_ppm <= 1000000))),
    CONSTRAINT cost_rates_id_check CHECK (id)
);

-- Name: dataset_key; Type: TABLE; Schema: registry; Owner: -

CREATE TABLE registry.dataset_key (
    key bigint NOT NULL,
    dataset bigint NOT NULL
);

-- Name: dataset_manifest; Type: TABLE; Schema: registry; Owner: -

CREATE TABLE registry.dataset_manifest (
    dataset registry.digest NOT NULL,
    root registry.digest NOT NULL,
    blob registry.digest NOT NULL,
    bytes bigint NOT NULL,
    added_at_ms bigint NOT NULL,
    CONSTRAINT dataset_manifest_bytes_check CHECK ((bytes > 0))
);

-- Name: dataset_name; Type: TABLE; Schema: registry; Owner: -

CREATE TABLE registry.dataset_name (
    name text NOT NULL,
    owner registry.address NOT NULL,
    registered_at_ms bigint NOT NULL,
    CONSTRAINT dataset_name_name_check CHECK (((char_length(name) <= 64) AND (name ~ '^[a-z0-9][a-z0-9._-]*$'::text) AND (name !~ '^(0x)?[0-9a-f]*$'::text)))
);

-- Name: dataset_tokenizer; Type: TABLE; Schema: registry; Owner: -

CREATE TABLE registry.dataset_tokenizer (
    dataset registry.digest NOT NULL,
    blob registry.digest NOT NULL,
    bytes bigint NOT NULL,
    added_at_ms bigint NOT NULL,
    CONSTRAINT dataset_tokenizer_bytes_check CHECK ((bytes > 0))
);

-- Name: dataset_version; Type: TABLE; Schema: registry; Owner: -

CREATE TABLE registry.dataset_version (
    name text NOT NULL,
    version integer NOT NULL,
    root registry.digest NOT NULL,
    registered_at_ms bigint NOT NULL,
    CONSTRAINT dataset_version_version_check CHECK (((version >= 1) AND (version <= 1000000)))
);

-- Name: delta_place; Type: TABLE; Schema: registry; Owner: -

CREATE TABLE registry.delta_place (
    worker registry.address NOT NULL,
    root registry.digest NOT NULL,
    mirrors text NOT NULL,
    state text DEFAULT 'named'::text NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    next_at_ms bigint NOT NULL,
    named_at_ms bigint NOT NULL,
    copy_at_ms bigint,
    copy_to text DEFAULT ''::text NOT NULL,
    copy_until_ms bigint,
    copies_failed integer DEFAULT 0 NOT NULL,
    CONSTRAINT delta_place_attempts_check CHECK ((attempts >= 0)),
    CONSTRAINT delta_place_copies_failed_check CHECK ((copies_failed >= 0)),
    CONSTRAINT delta_place_copy_to_check CHECK ((octet_length(copy_to) <= 512)),
    CONSTRAINT delta_place_mirrors_check CHECK ((octet_length(mirrors) <= 4096)),
    CONSTRAINT delta_place_state_check CHECK ((state = ANY (ARRAY['named'::text, 'wanted'::text, 'held'::text])))
);

-- Name: delta_upload; Type: TABLE; Schema: registry; Owner: -

CREATE TABLE registry.delta_upload (
    worker registry.address NOT NULL,
    root registry.digest NOT NULL,
    at_ms bigint NOT NULL
);

-- Name: dispute_window; Type: TABLE; Schema: registry; Owner: -

CREATE TABLE registry.dispute_window (
    id boolean DEFAULT true NOT NULL,
    window_ms bigint NOT NULL,
    changed_at_ms bigint NOT NULL,
    CONSTRAINT dispute_window_id_check CHECK (id),
    CONSTRAINT dispute_window_window_ms_check CHECK ((window_ms >= 0))
);

-- Name: disputed_unit; Type: TABLE; Schema: registry; Owner: -

CREATE TABLE registry.disputed_unit (
    contract registry.address NOT NULL,
    name registry.digest NOT NULL,
    asserter registry.address NOT NULL,
    open_games bigint NOT NULL,
    is_faulty boolean NOT NULL,
    handled_at_ms bigint,
    opened_block bigint,
    asks_data boolean DEFAULT false NOT NULL,
    CONSTRAINT disputed_unit_check CHECK (((handled_at_ms IS NULL) OR is_faulty)),
    CONSTRAINT disputed_unit_open_games_check CHECK ((open_games >= 0)),
    CONSTRAINT disputed_unit_opened_block_check CHECK ((opened_block >= 0))
);

-- Name: epoch_leaf; Type: VIEW; Schema: registry; Owner: -

CREATE VIEW registry.epoch_leaf AS
 SELECT u.epoch,
    u.leaf_index,
    u.id AS unit_id,
    c.leaf,
    c.commitment
   FROM (registry.unit u
     JOIN registry.unit_commitment c ON (((c.unit_id)::bytea = (u.id)::bytea)))
  WHERE (u.epoch IS NOT NULL)
UNION ALL
 SELECT k.epoch,
    k.leaf_index,
    k.unit_id,
    k.leaf,
    k.commitment
   FROM registry.chain_commitment k
  WHERE (k.epoch IS NOT NULL);

-- Name: equivocation; Type: TABLE; Schema: registry; Owner: -

CREATE TABLE registry.equivocation (
    unit_id registry.digest NOT NULL,
    second bytea NOT NULL,
    received_at_ms bigint NOT NULL,
    filed_at_ms bigint
);

-- Name: game_watch; Type: TABLE; Schema: registry; Owner: -

CREATE TABLE registry.game_watch (
    contract registry.address NOT NULL,
    seen_block registry.counter NOT NULL,
    window_blocks registry.counter NOT NULL
);

-- Name: job_funding; Type: TABLE; Schema: registry; Owner: -

CREATE TABLE registry.job_funding (
    job_id registry.digest NOT NULL,
    owner registry.address NOT NULL,
    nonce registry.digest NOT NULL,
    amount_wei registry.wei NOT NULL,
    expiry_s registry.counter NOT NULL,
    chain_id registry.counter NOT NULL,
    escrow registry.address NOT NULL,
    signature bytea NOT NULL,
    received_at_ms bigint NOT NULL,
    CONSTRAINT job_funding_amount CHECK (((amount_wei)::numeric < '115792089237316195423570985008687907853269984665640564039457584007913129639936'::numeric)),
    CONSTRAINT job_funding_amount_wei_check CHECK (((amount_wei)::numeric > (0)::numeric)),
    CONSTRAINT job_funding_signature_check CHECK ((octet_length(signature) = 65))
);

-- Name: job_order; Type: TABLE; Schema: registry; Owner: -

CREATE TABLE registry.job_order (
    job_id registry.digest NOT NULL,
    owner registry.address NOT NULL,
    nonce registry.digest NOT NULL,
    spec registry.digest NOT NULL,
    datasets bytea NOT NULL,
    budget_wei registry.wei NOT NULL,
    price_wei_per_pflop registry.wei NOT NULL,
    max_data_price_wei registry.wei NOT NULL,
    expiry_s registry.counter NOT NULL,
    chain_id registry.counter NOT NULL,
    escrow registry.address NOT NULL,
    signature bytea NOT NULL,
    received_at_ms bigint NOT NULL,
    CONSTRAINT job_order_amounts CHECK (((GREATEST(budget_wei, price_wei_per_pflop, max_data_price_wei))::numeric < '115792089237316195423570985008687907853269984665640564039457584007913129639936'::numeric)),
    CONSTRAINT job_order_datasets CHECK ((octet_length(datasets) <= 65536)),
    CONSTRAINT job_order_datasets_check CHECK (((octet_length(datasets) > 0) AND ((octet_length(datasets) % 32) = 0))),
    CONSTRAINT job_order_signature_check CHECK ((octet_length(signature) = 65))
);

-- Name: job_transition; Type: TABLE; Schema: registry; Owner: -

CREATE TABLE registry.job_transition (
    from_status text NOT NULL,
    to_status text NOT NULL
);

-- Name: mirror; Type: TABLE; Schema: registry; Owner: -

CREATE TABLE registry.mirror (
    "position" integer NOT NULL,
    url text NOT NULL,
    CONSTRAINT mirror_position_check CHECK ((("position" >= 0) AND ("position" <= 63))),
    CONSTRAINT mirror_url_check CHECK (((octet_length(url) >= 1) AND (octet_length(url) <= 512)))
);

-- Name: missed_draw; Type: TABLE; Schema: registry; Owner: -

CREATE TABLE registry.missed_draw (
    unit_id registry.digest NOT NULL,
    draw integer NOT NULL,
    verifier registry.address NOT NULL,
    at_ms bigint NOT NULL,
    CONSTRAINT missed_draw_draw_check CHECK ((draw >= 0))
);

-- Name: mix_recipe; Type: TABLE; Schema: registry; Owner: -

CREATE TABLE registry.mix_recipe (
    recipe registry.digest NOT NULL,
    mix registry.digest NOT NULL,
    manifest_root registry.digest NOT NULL,
    manifest_blob registry.digest NOT NULL,
    made_at_ms bigint NOT NULL
);

-- Name: model_name; Type: TABLE; Schema: registry; Owner: -

CREATE TABLE registry.model_name (
    name text NOT NULL,
    owner registry.address NOT NULL,
    registered_at_ms bigint NOT NULL,
    CONSTRAINT model_name_name_check CHECK (((char_length(name) <= 64) AND (name ~ '^[a-z0-9][a-z0-9._-]*$'::text) AND (name !~ '^(0x)?[0-9a-f]*$'::text)))
);

-- Name: model_version; Type: TABLE; Schema: registry; Owner: -

CREATE TABLE registry.model_version (
    name text NOT NULL,
    version integer NOT NULL,
    state_root registry.digest NOT NULL,
    state_blob registry.digest NOT NULL,
    state_bytes bigint NOT NULL,
    state_layout bytea NOT NULL,
    program_root registry.digest NOT NULL,
    program_blob registry.digest NOT NULL,
    program_bytes bigint NOT NULL,
    tokenizer registry.digest,
    tokenizer_blob registry.digest,
    licence text NOT NULL,
    job_id registry.digest,
    round bigint,
    visibility registry.visibility DEFAULT 'private'::text NOT NULL,
    allowed registry.address[] DEFAULT '{}'::registry.address[] NOT NULL,
    registered_at_ms bigint NOT NULL,
    CONSTRAINT model_version_allowed CHECK (((cardinality(allowed) <= 1000) AND (((visibility)::text = 'allow-list'::text) OR (allowed = '{}'::registry.address[])))),
    CONSTRAINT model_version_job CHECK ((num_nonnulls(job_id, round) = ANY (ARRAY[0, 2]))),
    CONSTRAINT model_version_licence_check CHECK (((char_length(licence) <= 256) AND (licence ~ '^[A-Za-z0-9.+:() -]+$'::text))),
    CONSTRAINT model_version_program_bytes_check CHECK ((program_bytes > 0)),
    CONSTRAINT model_version_round_check CHECK ((round >= 0)),
    CONSTRAINT model_version_state_bytes_check CHECK ((state_bytes > 0)),
    CONSTRAINT model_version_tokenizer CHECK (((tokenizer IS NOT NULL) OR (tokenizer_blob IS NULL))),
    CONSTRAINT model_version_version_check CHECK (((version >= 1) AND (version <= 1000000)))
);

-- Name: node; Type: TABLE; Schema: registry; Owner: -

CREATE TABLE registry.node (
    address registry.address NOT NULL,
    role text NOT NULL,
    owner registry.address NOT NULL,
    name text NOT NULL,
    hardware jsonb NOT NULL,
    software text NOT NULL,
    benchmark_flops registry.counter NOT NULL,
    registered_at_ms bigint NOT NULL,
    last_seen_at_ms bigint NOT NULL,
    has_left boolean DEFAULT false NOT NULL,
    excluded_at_ms bigint,
    excluded_code text,
    excluded_reason text,
    excluded_unit registry.digest,
    refused_blobs registry.counter DEFAULT 0 NOT NULL,
    valid_value numeric(78,0) DEFAULT 0 NOT NULL,
    CONSTRAINT node_check CHECK (((excluded_at_ms IS NULL) = (excluded_code IS NULL))),
    CONSTRAINT node_check1 CHECK (((excluded_at_ms IS NULL) = (excluded_reason IS NULL))),
    CONSTRAINT node_check2 CHECK (((excluded_at_ms IS NULL) OR (valid_value = (0)::numeric))),
    CONSTRAINT node_hardware_check CHECK ((jsonb_typeof(hardware) = 'object'::text)),
    CONSTRAINT node_name_check CHECK ((char_length(name) <= 64)),
    CONSTRAINT node_role_check CHECK ((role = ANY (ARRAY['worker'::text, 'verifier'::text]))),
    CONSTRAINT node_software_check CHECK ((char_length(software) <= 128)),
    CONSTRAINT node_valid_value_check CHECK ((valid_value >= (0)::numeric))
)
WITH (fillfactor='50');

-- Name: order_state_seq_seq; Type: SEQUENCE; Schema: registry; Owner: -

ALTER TABLE registry.order_state ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME registry.order_state_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

-- Name: published_prefix; Type: VIEW; Schema: registry; Owner: -

CREATE VIEW registry.published_prefix AS
 SELECT p.unit_id,
    u.job_id,
    u.round,
    p.steps,
    p.link,
    p.signature,
    p.state,
    p.draws,
    p.verifier,
    p.found_link,
    p.found_signature,
    p.flops,
    p.verifier_paid,
    p.reason,
    p.decided_at_ms
   FROM (registry.unit_prefix p
     JOIN registry.unit u ON (((u.id)::bytea = (p.unit_id)::bytea)))
  WHERE (p.decided_at_ms IS NOT NULL);

-- Name: report; Type: TABLE; Schema: registry; Owner: -

CREATE TABLE registry.report (
    unit_id registry.digest NOT NULL,
    draw integer NOT NULL,
    verifier registry.address NOT NULL,
    digest registry.digest NOT NULL,
    committed_at_ms bigint NOT NULL,
    records_root registry.digest,
    final_state_root registry.digest,
    delta_root registry.digest,
    trace registry.digest,
    challenge_signature bytea,
    salt registry.digest,
    records bytea,
    is_equal boolean,
    revealed_at_ms bigint,
    accepted_seq bigint,
    accepted_at_ms bigint,
    found_fault boolean DEFAULT false NOT NULL,
    audit text,
    CONSTRAINT report_accepted_seq_check CHECK ((accepted_seq >= 1)),
    CONSTRAINT report_audit_check CHECK ((audit = ANY (ARRAY['due'::text, 'passed'::text, 'failed'::text, 'impossible'::text]))),
    CONSTRAINT report_challenge_signature_check CHECK ((octet_length(challenge_signature) = 65)),
    CONSTRAINT report_check CHECK ((num_nonnulls(records_root, final_state_root, delta_root, trace, challenge_signature, salt, records, is_equal, revealed_at_ms) = ANY (ARRAY[0, 9]))),
    CONSTRAINT report_check1 CHECK (((accepted_seq IS NULL) OR (revealed_at_ms IS NOT NULL))),
    CONSTRAINT report_check2 CHECK (((accepted_seq IS NULL) = (accepted_at_ms IS NULL))),
    CONSTRAINT report_check3 CHECK (((NOT found_fault) OR ((accepted_seq IS NOT NULL) AND (NOT is_equal)))),
    CONSTRAINT report_check4 CHECK (((audit IS NULL) OR ((revealed_at_ms IS NOT NULL) AND is_equal))),
    CONSTRAINT report_check5 CHECK (((audit IS DISTINCT FROM 'failed'::text) OR (accepted_seq IS NULL))),
    CONSTRAINT report_draw_check CHECK ((draw >= 0))
);

-- Name: published_report; Type: VIEW; Schema: registry; Owner: -

CREATE VIEW registry.published_report AS
 SELECT u.job_id,
    u.round,
    p.unit_id,
    p.draw,
    p.verifier,
    p.digest,
    p.records_root,
    p.final_state_root,
    p.delta_root,
    p.trace,
    p.challenge_signature,
    p.salt,
    p.is_equal,
    (p.accepted_seq IS NOT NULL) AS accepted
   FROM (registry.report p
     JOIN registry.unit u ON (((u.id)::bytea = (p.unit_id)::bytea)))
  WHERE ((p.revealed_at_ms IS NOT NULL) AND (u.ended_at_ms IS NOT NULL));

-- Name: report_claim; Type: TABLE; Schema: registry; Owner: -

CREATE TABLE registry.report_claim (
    unit_id registry.digest NOT NULL,
    draw integer NOT NULL,
    signature bytea NOT NULL,
    checked_at_ms bigint,
    false_at_ms bigint,
    filed_at_ms bigint,
    CONSTRAINT report_claim_check CHECK (((false_at_ms IS NULL) OR (checked_at_ms IS NOT NULL))),
    CONSTRAINT report_claim_check1 CHECK (((filed_at_ms IS NULL) OR (false_at_ms IS NOT NULL))),
    CONSTRAINT report_claim_signature_check CHECK ((octet_length(signature) = 65))
);

-- Name: round; Type: TABLE; Schema: registry; Owner: -

CREATE TABLE registry.round (
    job_id registry.digest NOT NULL,
    round bigint NOT NULL,
    state text DEFAULT 'recorded'::text NOT NULL,
    record bytea NOT NULL,
    record_hash registry.digest NOT NULL,
    base_state_root registry.digest NOT NULL,
    base_state_blob registry.digest NOT NULL,
    momentum_root registry.digest NOT NULL,
    momentum_blob registry.digest NOT NULL,
    epoch bigint NOT NULL,
    recorded_at_ms bigint NOT NULL,
    opened_at_ms bigint,
    unit_deadline_ms bigint,
    sealed_at_ms bigint,
    commitments_root registry.digest,
    commitment_count integer,
    posted_block registry.counter,
    beacon_block registry.counter,
    beacon registry.digest,
    next_base_root registry.digest,
    next_base_blob registry.digest,
    next_momentum_root registry.digest,
    next_momentum_blob registry.digest,
    aggregate_program_root registry.digest,
    aggregate_program_blob registry.digest,
    validation_loss double precision,
    aggregated_at_ms bigint,
    closed_at_ms bigint,
    next_update_blob registry.digest,
    pruned_at_ms bigint,
    keeps_state boolean DEFAULT false NOT NULL,
    keeps_update boolean DEFAULT false NOT NULL,
    drand_round registry.counter,
    aggregate_block registry.counter,
    CONSTRAINT round_aggregate_block_check CHECK (((aggregate_block IS NULL) OR (next_base_root IS NOT NULL))),
    CONSTRAINT round_aggregated_check CHECK (((state <> ALL (ARRAY['aggregated'::text, 'closed'::text])) OR (num_nonnulls(next_base_root, next_base_blob, next_momentum_root, next_momentum_blob, aggregated_at_ms) = 5))),
    CONSTRAINT round_check CHECK (((state = 'recorded'::text) OR (num_nonnulls(opened_at_ms, unit_deadline_ms) = 2))),
    CONSTRAINT round_check1 CHECK (((state = ANY (ARRAY['recorded'::text, 'open'::text])) OR (num_nonnulls(sealed_at_ms, commitments_root, commitment_count) = 3))),
    CONSTRAINT round_check3 CHECK (((state = ANY (ARRAY['recorded'::text, 'open'::text, 'sealed'::text, 'posted'::text])) OR (beacon IS NOT NULL))),
    CONSTRAINT round_check4 CHECK (((beacon_block)::bigint > (posted_block)::bigint)),
    CONSTRAINT round_check6 CHECK (((aggregate_program_root IS NULL) = (aggregate_program_blob IS NULL))),
    CONSTRAINT round_check7 CHECK (((closed_at_ms IS NOT NULL) = (state = 'closed'::text))),
    CONSTRAINT round_commitment_count_check CHECK ((commitment_count >= 0)),
    CONSTRAINT round_drand_round_check CHECK (((drand_round)::bigint >= 1)),
    CONSTRAINT round_epoch_check CHECK ((epoch >= 1)),
    CONSTRAINT round_is_drawn CHECK (((state = ANY (ARRAY['recorded'::text, 'open'::text, 'sealed'::text])) OR ((posted_block IS NOT NULL) AND (num_nonnulls(beacon_block, drand_round) = 1)))),
    CONSTRAINT round_keeps_check CHECK (((pruned_at_ms IS NOT NULL) OR (NOT (keeps_state OR keeps_update)))),
    CONSTRAINT round_keeps_update_check CHECK (((next_update_blob IS NOT NULL) OR (NOT keeps_update))),
    CONSTRAINT round_loss_check CHECK (((state <> 'closed'::text) OR (validation_loss IS NOT NULL))),
    CONSTRAINT round_pruned_check CHECK (((pruned_at_ms IS NULL) OR (state = 'closed'::text))),
    CONSTRAINT round_round_check CHECK ((round >= 1)),
    CONSTRAINT round_state_check CHECK ((state = ANY (ARRAY['recorded'::text, 'open'::text, 'sealed'::text, 'posted'::text, 'verifying'::text, 'aggregated'::text, 'closed'::text])))
);

-- Name: service_health; Type: TABLE; Schema: registry; Owner: -

CREATE TABLE registry.service_health (
    service text NOT NULL,
    problem text NOT NULL,
    seen_at_ms bigint NOT NULL,
    CONSTRAINT service_health_problem_check CHECK ((octet_length(problem) <= 64)),
    CONSTRAINT service_health_service_check CHECK ((service = ANY (ARRAY['gym-coordinator'::text, 'gym-rewards'::text])))
);

-- Name: size_limits; Type: TABLE; Schema: registry; Owner: -

CREATE TABLE registry.size_limits (
    id boolean DEFAULT true NOT NULL,
    blob_bytes_max bigint NOT NULL,
    deltas_bytes_max bigint NOT NULL,
    changed_at_ms bigint NOT NULL,
    CONSTRAINT size_limits_blob_bytes_max_check CHECK ((blob_bytes_max > 0)),
    CONSTRAINT size_limits_deltas_bytes_max_check CHECK ((deltas_bytes_max > 0)),
    CONSTRAINT size_limits_id_check CHECK (id)
);

-- Name: unit_records; Type: TABLE; Schema: registry; Owner: -

CREATE TABLE registry.unit_records (
    unit_id registry.digest NOT NULL,
    records bytea NOT NULL
);

-- Name: unit_transition; Type: TABLE; Schema: registry; Owner: -

CREATE TABLE registry.unit_transition (
    from_state text NOT NULL,
    to_state text NOT NULL
);

-- Name: chain_event; Type: TABLE; Schema: rewards; Owner: -

CREATE TABLE rewards.chain_event (
    key rewards.digest NOT NULL,
    kind text NOT NULL,
    block bigint NOT NULL,
    handled_at_ms bigint NOT NULL
);

-- Name: chain_order; Type: TABLE; Schema: rewards; Owner: -

CREATE TABLE rewards.chain_order (
    name text NOT NULL,
    attempt integer DEFAULT 0 NOT NULL,
    done boolean DEFAULT false NOT NULL,
    CONSTRAINT chain_order_attempt_check CHECK ((attempt >= 0))
);

-- Name: cursor; Type: TABLE; Schema: rewards; Owner: -

CREATE TABLE rewards.cursor (
    name text NOT NULL,
    "position" bigint NOT NULL,
    CONSTRAINT cursor_name_check CHECK ((name = ANY (ARRAY['unit_event'::text, 'accepted_report'::text, 'decided_prefix'::text]))),
    CONSTRAINT cursor_position_check CHECK (("position" >= 0))
);

-- Name: demand; Type: TABLE; Schema: rewards; Owner: -

CREATE TABLE rewards.demand (
    epoch bigint NOT NULL,
    earner rewards.address NOT NULL,
    done boolean DEFAULT false NOT NULL,
    seq bigint NOT NULL
);

-- Name: demand_seq_seq; Type: SEQUENCE; Schema: rewards; Owner: -

ALTER TABLE rewards.demand ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME rewards.demand_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

-- Name: fee_terms; Type: TABLE; Schema: rewards; Owner: -

CREATE TABLE rewards.fee_terms (
    id boolean DEFAULT true NOT NULL,
    fee_ppm bigint NOT NULL,
    burned_ppm bigint NOT NULL,
    changed_at_ms bigint NOT NULL,
    verification_premium_ppm bigint,
    uptime_bonus_max_ppm bigint,
    CONSTRAINT fee_terms_burned_ppm_check CHECK (((burned_ppm >= 0) AND (burned_ppm <= 1000000))),
    CONSTRAINT fee_terms_fee_ppm_check CHECK (((fee_ppm >= 0) AND (fee_ppm <= 1000000))),
    CONSTRAINT fee_terms_id_check CHECK (id),
    CONSTRAINT fee_terms_uptime_bonus_max_ppm_check CHECK (((uptime_bonus_max_ppm >= 0) AND (uptime_bonus_max_ppm <= 10000000))),
    CONSTRAINT fee_terms_verification_premium_ppm_check CHECK (((verification_premium_ppm >= 0) AND (verification_premium_ppm <= 10000000)))
);

-- Name: finished_round; Type: TABLE; Schema: rewards; Owner: -

CREATE TABLE rewards.finished_round (
    job_id rewards.digest NOT NULL,
    round bigint NOT NULL,
    registry_epoch bigint NOT NULL,
    epoch bigint,
    finished_at_ms bigint NOT NULL,
    uptime_from_ms bigint,
    uptime_to_ms bigint,
    held text DEFAULT ''::text NOT NULL,
    CONSTRAINT finished_round_check CHECK ((uptime_to_ms >= uptime_from_ms)),
    CONSTRAINT finished_round_uptime CHECK (((uptime_from_ms IS NULL) = (uptime_to_ms IS NULL))),
    CONSTRAINT finished_round_uptime_from_ms_check CHECK ((uptime_from_ms >= 0))
);

-- Name: leaving; Type: TABLE; Schema: rewards; Owner: -

CREATE TABLE rewards.leaving (
    owner rewards.address NOT NULL,
    available_at_s bigint NOT NULL,
    CONSTRAINT leaving_available_at_s_check CHECK ((available_at_s > 0))
);

-- Name: unlock; Type: TABLE; Schema: rewards; Owner: -

CREATE TABLE rewards.unlock (
    batch bigint NOT NULL,
    owner rewards.address NOT NULL,
    total ledger.amount NOT NULL,
    CONSTRAINT unlock_batch_check CHECK ((batch >= 1))
);

-- Name: api_key api_key_pkey; Type: CONSTRAINT; Schema: api; Owner: -

ALTER TABLE ONLY api.api_key
    ADD CONSTRAINT api_key_pkey PRIMARY KEY (id);

-- Name: idempotency idempotency_pkey; Type: CONSTRAINT; Schema: api; Owner: -

ALTER TABLE ONLY api.idempotency
    ADD CONSTRAINT idempotency_pkey PRIMARY KEY (owner, key);

-- Name: upload upload_pkey; Type: CONSTRAINT; Schema: api; Owner: -

ALTER TABLE ONLY api.upload
    ADD CONSTRAINT upload_pkey PRIMARY KEY (owner, root);

-- Name: attempt attempt_hash_of_sender; Type: CONSTRAINT; Schema: chain; Owner: -

ALTER TABLE ONLY chain.attempt
    ADD CONSTRAINT attempt_hash_of_sender UNIQUE (service, chain_id, sender, hash);

-- Name: attempt attempt_pkey; Type: CONSTRAINT; Schema: chain; Owner: -

ALTER TABLE ONLY chain.attempt
    ADD CONSTRAINT attempt_pkey PRIMARY KEY (service, chain_id, sender, intent_id, number);

-- Name: block block_pkey; Type: CONSTRAINT; Schema: chain; Owner: -

ALTER TABLE ONLY chain.block
    ADD CONSTRAINT block_pkey PRIMARY KEY (service, follower, chain_id, hash);

-- Name: follower follower_pkey; Type: CONSTRAINT; Schema: chain; Owner: -

ALTER TABLE ONLY chain.follower
    ADD CONSTRAINT follower_pkey PRIMARY KEY (service, name, chain_id);

-- Name: intent intent_nonce_of_sender; Type: CONSTRAINT; Schema: chain; Owner: -

ALTER TABLE ONLY chain.intent
    ADD CONSTRAINT intent_nonce_of_sender UNIQUE (service, chain_id, sender, nonce);

-- Name: intent intent_pkey; Type: CONSTRAINT; Schema: chain; Owner: -

ALTER TABLE ONLY chain.intent
    ADD CONSTRAINT intent_pkey PRIMARY KEY (service, chain_id, sender, id);

-- Name: log log_pkey; Type: CONSTRAINT; Schema: chain; Owner: -

ALTER TABLE ONLY chain.log
    ADD CONSTRAINT log_pkey PRIMARY KEY (service, follower, chain_id, block_hash, log_index);

-- Name: account account_owner_asset_kind_key; Type: CONSTRAINT; Schema: ledger; Owner: -

ALTER TABLE ONLY ledger.account
    ADD CONSTRAINT account_owner_asset_kind_key UNIQUE (owner, asset, kind);

-- Name: account account_pkey; Type: CONSTRAINT; Schema: ledger; Owner: -

ALTER TABLE ONLY ledger.account
    ADD CONSTRAINT account_pkey PRIMARY KEY (id);

-- Name: seal_mark seal_mark_pkey; Type: CONSTRAINT; Schema: ledger; Owner: -

ALTER TABLE ONLY ledger.seal_mark
    ADD CONSTRAINT seal_mark_pkey PRIMARY KEY (only_row);

-- Name: seal seal_pkey; Type: CONSTRAINT; Schema: ledger; Owner: -

ALTER TABLE ONLY ledger.seal
    ADD CONSTRAINT seal_pkey PRIMARY KEY (number);

-- Name: transfer transfer_pkey; Type: CONSTRAINT; Schema: ledger; Owner: -

ALTER TABLE ONLY ledger.transfer
    ADD CONSTRAINT transfer_pkey PRIMARY KEY (id);

-- Name: applied applied_pkey; Type: CONSTRAINT; Schema: migration; Owner: -

ALTER TABLE ONLY migration.applied
    ADD CONSTRAINT applied_pkey PRIMARY KEY (number);

-- Name: chain_commitment chain_commitment_epoch_leaf_index_key; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.chain_commitment
    ADD CONSTRAINT chain_commitment_epoch_leaf_index_key UNIQUE (epoch, leaf_index);

-- Name: chain_commitment chain_commitment_pkey; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.chain_commitment
    ADD CONSTRAINT chain_commitment_pkey PRIMARY KEY (leaf);

-- Name: chain_commitment chain_commitment_unit_id_key; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.chain_commitment
    ADD CONSTRAINT chain_commitment_unit_id_key UNIQUE (unit_id);

-- Name: chain_commitment_watch chain_commitment_watch_pkey; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.chain_commitment_watch
    ADD CONSTRAINT chain_commitment_watch_pkey PRIMARY KEY (contract);

-- Name: challenge_pass challenge_pass_pkey; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.challenge_pass
    ADD CONSTRAINT challenge_pass_pkey PRIMARY KEY (id);

-- Name: challenge challenge_pkey; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.challenge
    ADD CONSTRAINT challenge_pkey PRIMARY KEY (nonce);

-- Name: challenge_schedule challenge_schedule_pkey; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.challenge_schedule
    ADD CONSTRAINT challenge_schedule_pkey PRIMARY KEY (node);

-- Name: cost_rates cost_rates_pkey; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.cost_rates
    ADD CONSTRAINT cost_rates_pkey PRIMARY KEY (id);

-- Name: dataset_key dataset_key_pkey; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.dataset_key
    ADD CONSTRAINT dataset_key_pkey PRIMARY KEY (key);

-- Name: dataset_manifest dataset_manifest_pkey; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.dataset_manifest
    ADD CONSTRAINT dataset_manifest_pkey PRIMARY KEY (dataset);

-- Name: dataset_name dataset_name_pkey; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.dataset_name
    ADD CONSTRAINT dataset_name_pkey PRIMARY KEY (name);

-- Name: dataset dataset_number; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.dataset
    ADD CONSTRAINT dataset_number UNIQUE (number);

-- Name: dataset_part dataset_part_once; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.dataset_part
    ADD CONSTRAINT dataset_part_once UNIQUE (mix, part);

-- Name: dataset_part dataset_part_pkey; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.dataset_part
    ADD CONSTRAINT dataset_part_pkey PRIMARY KEY (mix, "position");

-- Name: dataset dataset_pkey; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.dataset
    ADD CONSTRAINT dataset_pkey PRIMARY KEY (root);

-- Name: dataset_tokenizer dataset_tokenizer_pkey; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.dataset_tokenizer
    ADD CONSTRAINT dataset_tokenizer_pkey PRIMARY KEY (dataset);

-- Name: dataset_version dataset_version_pkey; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.dataset_version
    ADD CONSTRAINT dataset_version_pkey PRIMARY KEY (name, version);

-- Name: delta_place delta_place_pkey; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.delta_place
    ADD CONSTRAINT delta_place_pkey PRIMARY KEY (worker, root);

-- Name: delta_upload delta_upload_pkey; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.delta_upload
    ADD CONSTRAINT delta_upload_pkey PRIMARY KEY (worker, root);

-- Name: dispute_window dispute_window_pkey; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.dispute_window
    ADD CONSTRAINT dispute_window_pkey PRIMARY KEY (id);

-- Name: disputed_unit disputed_unit_pkey; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.disputed_unit
    ADD CONSTRAINT disputed_unit_pkey PRIMARY KEY (contract, name);

-- Name: equivocation equivocation_pkey; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.equivocation
    ADD CONSTRAINT equivocation_pkey PRIMARY KEY (unit_id);

-- Name: evaluation evaluation_number_key; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.evaluation
    ADD CONSTRAINT evaluation_number_key UNIQUE (number);

-- Name: evaluation evaluation_pkey; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.evaluation
    ADD CONSTRAINT evaluation_pkey PRIMARY KEY (id);

-- Name: game_watch game_watch_pkey; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.game_watch
    ADD CONSTRAINT game_watch_pkey PRIMARY KEY (contract);

-- Name: job_data job_data_once; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.job_data
    ADD CONSTRAINT job_data_once UNIQUE (job_id, dataset);

-- Name: job_data job_data_pkey; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.job_data
    ADD CONSTRAINT job_data_pkey PRIMARY KEY (job_id, "position");

-- Name: job_funding job_funding_pkey; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.job_funding
    ADD CONSTRAINT job_funding_pkey PRIMARY KEY (owner, nonce);

-- Name: job_order job_order_nonce; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.job_order
    ADD CONSTRAINT job_order_nonce UNIQUE (owner, nonce);

-- Name: job_order job_order_owner; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.job_order
    ADD CONSTRAINT job_order_owner UNIQUE (job_id, owner);

-- Name: job_order job_order_pkey; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.job_order
    ADD CONSTRAINT job_order_pkey PRIMARY KEY (job_id);

-- Name: job job_pkey; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.job
    ADD CONSTRAINT job_pkey PRIMARY KEY (id);

-- Name: job_transition job_transition_pkey; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.job_transition
    ADD CONSTRAINT job_transition_pkey PRIMARY KEY (from_status, to_status);

-- Name: measurement measurement_pkey; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.measurement
    ADD CONSTRAINT measurement_pkey PRIMARY KEY (dataset);

-- Name: mirror mirror_pkey; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.mirror
    ADD CONSTRAINT mirror_pkey PRIMARY KEY ("position");

-- Name: missed_draw missed_draw_pkey; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.missed_draw
    ADD CONSTRAINT missed_draw_pkey PRIMARY KEY (unit_id, draw);

-- Name: mix_recipe mix_recipe_pkey; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.mix_recipe
    ADD CONSTRAINT mix_recipe_pkey PRIMARY KEY (recipe);

-- Name: model_name model_name_pkey; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.model_name
    ADD CONSTRAINT model_name_pkey PRIMARY KEY (name);

-- Name: model_version model_version_pkey; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.model_version
    ADD CONSTRAINT model_version_pkey PRIMARY KEY (name, version);

-- Name: node node_pkey; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.node
    ADD CONSTRAINT node_pkey PRIMARY KEY (address);

-- Name: order_state order_state_pkey; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.order_state
    ADD CONSTRAINT order_state_pkey PRIMARY KEY (kind, owner, nonce);

-- Name: report report_accepted_seq_key; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.report
    ADD CONSTRAINT report_accepted_seq_key UNIQUE (accepted_seq);

-- Name: report_claim report_claim_pkey; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.report_claim
    ADD CONSTRAINT report_claim_pkey PRIMARY KEY (unit_id, draw);

-- Name: report report_pkey; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.report
    ADD CONSTRAINT report_pkey PRIMARY KEY (unit_id, draw);

-- Name: round round_epoch_key; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.round
    ADD CONSTRAINT round_epoch_key UNIQUE (epoch);

-- Name: round round_pkey; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.round
    ADD CONSTRAINT round_pkey PRIMARY KEY (job_id, round);

-- Name: round round_record_hash_key; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.round
    ADD CONSTRAINT round_record_hash_key UNIQUE (record_hash);

-- Name: sequence sequence_pkey; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.sequence
    ADD CONSTRAINT sequence_pkey PRIMARY KEY (name);

-- Name: service_health service_health_pkey; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.service_health
    ADD CONSTRAINT service_health_pkey PRIMARY KEY (service);

-- Name: size_limits size_limits_pkey; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.size_limits
    ADD CONSTRAINT size_limits_pkey PRIMARY KEY (id);

-- Name: unit_commitment unit_commitment_leaf_key; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.unit_commitment
    ADD CONSTRAINT unit_commitment_leaf_key UNIQUE (leaf);

-- Name: unit_commitment unit_commitment_pkey; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.unit_commitment
    ADD CONSTRAINT unit_commitment_pkey PRIMARY KEY (unit_id);

-- Name: unit unit_epoch_leaf_index_key; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.unit
    ADD CONSTRAINT unit_epoch_leaf_index_key UNIQUE (epoch, leaf_index);

-- Name: unit_event unit_event_pkey; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.unit_event
    ADD CONSTRAINT unit_event_pkey PRIMARY KEY (seq);

-- Name: unit unit_job_id_round_slot_attempt_key; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.unit
    ADD CONSTRAINT unit_job_id_round_slot_attempt_key UNIQUE (job_id, round, slot, attempt);

-- Name: unit unit_pkey; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.unit
    ADD CONSTRAINT unit_pkey PRIMARY KEY (id);

-- Name: unit_prefix unit_prefix_pkey; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.unit_prefix
    ADD CONSTRAINT unit_prefix_pkey PRIMARY KEY (unit_id);

-- Name: unit_prefix unit_prefix_seq_key; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.unit_prefix
    ADD CONSTRAINT unit_prefix_seq_key UNIQUE (seq);

-- Name: unit_records unit_records_pkey; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.unit_records
    ADD CONSTRAINT unit_records_pkey PRIMARY KEY (unit_id);

-- Name: unit_transition unit_transition_pkey; Type: CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.unit_transition
    ADD CONSTRAINT unit_transition_pkey PRIMARY KEY (from_state, to_state);

-- Name: chain_event chain_event_pkey; Type: CONSTRAINT; Schema: rewards; Owner: -

ALTER TABLE ONLY rewards.chain_event
    ADD CONSTRAINT chain_event_pkey PRIMARY KEY (key);

-- Name: chain_order chain_order_pkey; Type: CONSTRAINT; Schema: rewards; Owner: -

ALTER TABLE ONLY rewards.chain_order
    ADD CONSTRAINT chain_order_pkey PRIMARY KEY (name);

-- Name: credit credit_pkey; Type: CONSTRAINT; Schema: rewards; Owner: -

ALTER TABLE ONLY rewards.credit
    ADD CONSTRAINT credit_pkey PRIMARY KEY (id);

-- Name: credit credit_posting_key; Type: CONSTRAINT; Schema: rewards; Owner: -

ALTER TABLE ONLY rewards.credit
    ADD CONSTRAINT credit_posting_key UNIQUE (posting);

-- Name: cursor cursor_pkey; Type: CONSTRAINT; Schema: rewards; Owner: -

ALTER TABLE ONLY rewards.cursor
    ADD CONSTRAINT cursor_pkey PRIMARY KEY (name);

-- Name: demand demand_pkey; Type: CONSTRAINT; Schema: rewards; Owner: -

ALTER TABLE ONLY rewards.demand
    ADD CONSTRAINT demand_pkey PRIMARY KEY (epoch, earner);

-- Name: fee_terms fee_terms_pkey; Type: CONSTRAINT; Schema: rewards; Owner: -

ALTER TABLE ONLY rewards.fee_terms
    ADD CONSTRAINT fee_terms_pkey PRIMARY KEY (id);

-- Name: finished_round finished_round_pkey; Type: CONSTRAINT; Schema: rewards; Owner: -

ALTER TABLE ONLY rewards.finished_round
    ADD CONSTRAINT finished_round_pkey PRIMARY KEY (job_id, round);

-- Name: finished_round finished_round_registry_epoch_key; Type: CONSTRAINT; Schema: rewards; Owner: -

ALTER TABLE ONLY rewards.finished_round
    ADD CONSTRAINT finished_round_registry_epoch_key UNIQUE (registry_epoch);

-- Name: leaving leaving_pkey; Type: CONSTRAINT; Schema: rewards; Owner: -

ALTER TABLE ONLY rewards.leaving
    ADD CONSTRAINT leaving_pkey PRIMARY KEY (owner);

-- Name: owner_lock owner_lock_pkey; Type: CONSTRAINT; Schema: rewards; Owner: -

ALTER TABLE ONLY rewards.owner_lock
    ADD CONSTRAINT owner_lock_pkey PRIMARY KEY (owner);

-- Name: payout payout_pkey; Type: CONSTRAINT; Schema: rewards; Owner: -

ALTER TABLE ONLY rewards.payout
    ADD CONSTRAINT payout_pkey PRIMARY KEY (epoch, earner);

-- Name: reconciliation reconciliation_pkey; Type: CONSTRAINT; Schema: rewards; Owner: -

ALTER TABLE ONLY rewards.reconciliation
    ADD CONSTRAINT reconciliation_pkey PRIMARY KEY (block);

-- Name: release release_pkey; Type: CONSTRAINT; Schema: rewards; Owner: -

ALTER TABLE ONLY rewards.release
    ADD CONSTRAINT release_pkey PRIMARY KEY (epoch, owner);

-- Name: settlement settlement_pkey; Type: CONSTRAINT; Schema: rewards; Owner: -

ALTER TABLE ONLY rewards.settlement
    ADD CONSTRAINT settlement_pkey PRIMARY KEY (epoch);

-- Name: unlock unlock_pkey; Type: CONSTRAINT; Schema: rewards; Owner: -

ALTER TABLE ONLY rewards.unlock
    ADD CONSTRAINT unlock_pkey PRIMARY KEY (batch, owner);

-- Name: upload_state; Type: INDEX; Schema: api; Owner: -

CREATE INDEX upload_state ON api.upload USING btree (owner, state_root) WHERE (state_root IS NOT NULL);

-- Name: upload_touched; Type: INDEX; Schema: api; Owner: -

CREATE INDEX upload_touched ON api.upload USING btree (touched_at_ms);

-- Name: block_canonical; Type: INDEX; Schema: chain; Owner: -

CREATE UNIQUE INDEX block_canonical ON chain.block USING btree (service, follower, chain_id, number) WHERE (NOT orphaned);

-- Name: intent_open; Type: INDEX; Schema: chain; Owner: -

CREATE INDEX intent_open ON chain.intent USING btree (service, chain_id, sender, seq) WHERE (state = ANY (ARRAY['queued'::text, 'signed'::text]));

-- Name: log_undelivered; Type: INDEX; Schema: chain; Owner: -

CREATE INDEX log_undelivered ON chain.log USING btree (service, follower, chain_id, block_number, log_index) WHERE (NOT delivered);

-- Name: transfer_credit; Type: INDEX; Schema: ledger; Owner: -

CREATE UNIQUE INDEX transfer_credit ON ledger.transfer USING btree (credit_account, credit_version) WHERE (credit_version IS NOT NULL);

-- Name: transfer_credit_still; Type: INDEX; Schema: ledger; Owner: -

CREATE INDEX transfer_credit_still ON ledger.transfer USING btree (credit_account, seq) WHERE (credit_version IS NULL);

-- Name: transfer_debit; Type: INDEX; Schema: ledger; Owner: -

CREATE UNIQUE INDEX transfer_debit ON ledger.transfer USING btree (debit_account, debit_version) WHERE (debit_version IS NOT NULL);

-- Name: transfer_debit_still; Type: INDEX; Schema: ledger; Owner: -

CREATE INDEX transfer_debit_still ON ledger.transfer USING btree (debit_account, seq) WHERE (debit_version IS NULL);

-- Name: transfer_expiry; Type: INDEX; Schema: ledger; Owner: -

CREATE INDEX transfer_expiry ON ledger.transfer USING btree (expires_at) WHERE (expires_at IS NOT NULL);

-- Name: transfer_resolves_once; Type: INDEX; Schema: ledger; Owner: -

CREATE UNIQUE INDEX transfer_resolves_once ON ledger.transfer USING btree (pending_id) WHERE (pending_id IS NOT NULL);

-- Name: transfer_seq; Type: INDEX; Schema: ledger; Owner: -

CREATE UNIQUE INDEX transfer_seq ON ledger.transfer USING btree (seq);

-- Name: challenge_issued; Type: INDEX; Schema: registry; Owner: -

CREATE INDEX challenge_issued ON registry.challenge USING btree (issued_at_ms);

-- Name: challenge_node; Type: INDEX; Schema: registry; Owner: -

CREATE INDEX challenge_node ON registry.challenge USING btree (node, issued_at_ms);

-- Name: challenge_open; Type: INDEX; Schema: registry; Owner: -

CREATE INDEX challenge_open ON registry.challenge USING btree (node, deadline_ms) WHERE ((answered_at_ms IS NULL) AND (NOT withdrawn));

-- Name: dataset_blob; Type: INDEX; Schema: registry; Owner: -

CREATE INDEX dataset_blob ON registry.dataset USING btree (blob);

-- Name: dataset_owner; Type: INDEX; Schema: registry; Owner: -

CREATE INDEX dataset_owner ON registry.dataset USING btree (owner, number);

-- Name: delta_place_copy_due; Type: INDEX; Schema: registry; Owner: -

CREATE INDEX delta_place_copy_due ON registry.delta_place USING btree (copy_at_ms) WHERE (copy_at_ms IS NOT NULL);

-- Name: delta_place_due; Type: INDEX; Schema: registry; Owner: -

CREATE INDEX delta_place_due ON registry.delta_place USING btree (next_at_ms) WHERE (state <> 'held'::text);

-- Name: delta_place_root; Type: INDEX; Schema: registry; Owner: -

CREATE INDEX delta_place_root ON registry.delta_place USING btree (root);

-- Name: delta_upload_root; Type: INDEX; Schema: registry; Owner: -

CREATE INDEX delta_upload_root ON registry.delta_upload USING btree (root);

-- Name: disputed_unit_open; Type: INDEX; Schema: registry; Owner: -

CREATE INDEX disputed_unit_open ON registry.disputed_unit USING btree (asserter) WHERE ((open_games > 0) OR (is_faulty AND (handled_at_ms IS NULL)));

-- Name: equivocation_unfiled; Type: INDEX; Schema: registry; Owner: -

CREATE INDEX equivocation_unfiled ON registry.equivocation USING btree (received_at_ms) WHERE (filed_at_ms IS NULL);

-- Name: evaluation_vocabulary; Type: INDEX; Schema: registry; Owner: -

CREATE INDEX evaluation_vocabulary ON registry.evaluation USING btree (vocabulary, number);

-- Name: job_blobs; Type: INDEX; Schema: registry; Owner: -

CREATE INDEX job_blobs ON registry.job USING gin ((ARRAY[(program_blob)::bytea, (evaluate_program_blob)::bytea, (logits_program_blob)::bytea, (base_state_blob)::bytea, (momentum_blob)::bytea, (init_blob)::bytea]));

-- Name: job_dataset; Type: INDEX; Schema: registry; Owner: -

CREATE INDEX job_dataset ON registry.job USING btree (dataset_root);

-- Name: job_funding_job; Type: INDEX; Schema: registry; Owner: -

CREATE INDEX job_funding_job ON registry.job_funding USING btree (job_id);

-- Name: job_owner; Type: INDEX; Schema: registry; Owner: -

CREATE INDEX job_owner ON registry.job USING btree (owner, submitted_at_ms);

-- Name: job_status; Type: INDEX; Schema: registry; Owner: -

CREATE INDEX job_status ON registry.job USING btree (status, submitted_at_ms);

-- Name: missed_draw_by; Type: INDEX; Schema: registry; Owner: -

CREATE INDEX missed_draw_by ON registry.missed_draw USING btree (verifier);

-- Name: model_version_state; Type: INDEX; Schema: registry; Owner: -

CREATE INDEX model_version_state ON registry.model_version USING btree (state_root);

-- Name: node_owner; Type: INDEX; Schema: registry; Owner: -

CREATE INDEX node_owner ON registry.node USING btree (owner);

-- Name: order_state_job; Type: INDEX; Schema: registry; Owner: -

CREATE INDEX order_state_job ON registry.order_state USING btree (job_id);

-- Name: order_state_locking; Type: INDEX; Schema: registry; Owner: -

CREATE INDEX order_state_locking ON registry.order_state USING btree (seq) WHERE (state = 'locking'::text);

-- Name: order_state_locking_owner; Type: INDEX; Schema: registry; Owner: -

CREATE INDEX order_state_locking_owner ON registry.order_state USING btree (owner) WHERE (state = 'locking'::text);

-- Name: order_state_waiting; Type: INDEX; Schema: registry; Owner: -

CREATE INDEX order_state_waiting ON registry.order_state USING btree (seq) WHERE (state = 'waiting'::text);

-- Name: order_state_waiting_owner; Type: INDEX; Schema: registry; Owner: -

CREATE INDEX order_state_waiting_owner ON registry.order_state USING btree (owner) WHERE (state = 'waiting'::text);

-- Name: report_audit_due; Type: INDEX; Schema: registry; Owner: -

CREATE INDEX report_audit_due ON registry.report USING btree (unit_id) WHERE (audit = 'due'::text);

-- Name: report_by; Type: INDEX; Schema: registry; Owner: -

CREATE INDEX report_by ON registry.report USING btree (verifier);

-- Name: report_claim_unchecked; Type: INDEX; Schema: registry; Owner: -

CREATE INDEX report_claim_unchecked ON registry.report_claim USING btree (unit_id) WHERE (checked_at_ms IS NULL);

-- Name: report_claim_unfiled; Type: INDEX; Schema: registry; Owner: -

CREATE INDEX report_claim_unfiled ON registry.report_claim USING btree (false_at_ms) WHERE ((false_at_ms IS NOT NULL) AND (filed_at_ms IS NULL));

-- Name: report_verifier; Type: INDEX; Schema: registry; Owner: -

CREATE INDEX report_verifier ON registry.report USING btree (verifier) WHERE (accepted_seq IS NULL);

-- Name: round_blobs; Type: INDEX; Schema: registry; Owner: -

CREATE INDEX round_blobs ON registry.round USING gin ((ARRAY[(base_state_blob)::bytea, (momentum_blob)::bytea, (next_base_blob)::bytea, (next_momentum_blob)::bytea, (aggregate_program_blob)::bytea]));

-- Name: round_next_base; Type: INDEX; Schema: registry; Owner: -

CREATE INDEX round_next_base ON registry.round USING btree (next_base_root) WHERE (next_base_root IS NOT NULL);

-- Name: round_open; Type: INDEX; Schema: registry; Owner: -

CREATE INDEX round_open ON registry.round USING btree (job_id) WHERE (state <> 'closed'::text);

-- Name: round_unpruned; Type: INDEX; Schema: registry; Owner: -

CREATE INDEX round_unpruned ON registry.round USING btree (job_id, round) WHERE (pruned_at_ms IS NULL);

-- Name: round_updates; Type: INDEX; Schema: registry; Owner: -

CREATE INDEX round_updates ON registry.round USING btree (next_update_blob) WHERE (next_update_blob IS NOT NULL);

-- Name: unit_busy; Type: INDEX; Schema: registry; Owner: -

CREATE INDEX unit_busy ON registry.unit USING btree (worker) WHERE (state = ANY (ARRAY['assigned'::text, 'disputed'::text]));

-- Name: unit_deadline; Type: INDEX; Schema: registry; Owner: -

CREATE INDEX unit_deadline ON registry.unit USING btree (deadline_ms) WHERE ((ended_at_ms IS NULL) AND (deadline_ms > 0));

-- Name: unit_delta; Type: INDEX; Schema: registry; Owner: -

CREATE INDEX unit_delta ON registry.unit USING btree (delta_root) WHERE (delta_root IS NOT NULL);

-- Name: unit_drawn; Type: INDEX; Schema: registry; Owner: -

CREATE INDEX unit_drawn ON registry.unit USING btree (verifier) WHERE (state = ANY (ARRAY['sampled'::text, 'reported'::text]));

-- Name: unit_event_unit; Type: INDEX; Schema: registry; Owner: -

CREATE INDEX unit_event_unit ON registry.unit_event USING btree (unit_id, seq);

-- Name: unit_expired; Type: INDEX; Schema: registry; Owner: -

CREATE INDEX unit_expired ON registry.unit USING btree (job_id) WHERE (state = 'expired'::text);

-- Name: unit_open; Type: INDEX; Schema: registry; Owner: -

CREATE INDEX unit_open ON registry.unit USING btree (job_id, round) WHERE (ended_at_ms IS NULL);

-- Name: unit_prefix_undecided; Type: INDEX; Schema: registry; Owner: -

CREATE INDEX unit_prefix_undecided ON registry.unit_prefix USING btree (unit_id) WHERE (decided_at_ms IS NULL);

-- Name: unit_prefix_verifier; Type: INDEX; Schema: registry; Owner: -

CREATE INDEX unit_prefix_verifier ON registry.unit_prefix USING btree (verifier) WHERE ((decided_at_ms IS NULL) AND (verifier IS NOT NULL));

-- Name: unit_verifier; Type: INDEX; Schema: registry; Owner: -

CREATE INDEX unit_verifier ON registry.unit USING btree (verifier) WHERE (ended_at_ms IS NULL);

-- Name: unit_withdrawn_round; Type: INDEX; Schema: registry; Owner: -

CREATE INDEX unit_withdrawn_round ON registry.unit USING btree (job_id, withdrawn_round) WHERE (withdrawn_round IS NOT NULL);

-- Name: unit_worker; Type: INDEX; Schema: registry; Owner: -

CREATE INDEX unit_worker ON registry.unit USING btree (worker, round DESC);

-- Name: unit_worker_end; Type: INDEX; Schema: registry; Owner: -

CREATE INDEX unit_worker_end ON registry.unit USING btree (worker, ended_at_ms);

-- Name: credit_earner; Type: INDEX; Schema: rewards; Owner: -

CREATE INDEX credit_earner ON rewards.credit USING btree (earner, created_at_ms DESC);

-- Name: credit_open; Type: INDEX; Schema: rewards; Owner: -

CREATE INDEX credit_open ON rewards.credit USING btree (job_id, round) WHERE (epoch IS NULL);

-- Name: credit_prefix_once; Type: INDEX; Schema: rewards; Owner: -

CREATE UNIQUE INDEX credit_prefix_once ON rewards.credit USING btree (unit_id) WHERE (kind = 'prefix'::text);

-- Name: credit_unfunded; Type: INDEX; Schema: rewards; Owner: -

CREATE INDEX credit_unfunded ON rewards.credit USING btree (created_at_ms) WHERE (state = 'unfunded'::text);

-- Name: credit_unit; Type: INDEX; Schema: rewards; Owner: -

CREATE INDEX credit_unit ON rewards.credit USING btree (unit_id);

-- Name: demand_open; Type: INDEX; Schema: rewards; Owner: -

CREATE INDEX demand_open ON rewards.demand USING btree (seq) WHERE (NOT done);

-- Name: finished_round_held; Type: INDEX; Schema: rewards; Owner: -

CREATE INDEX finished_round_held ON rewards.finished_round USING btree (job_id, round) WHERE (held <> ''::text);

-- Name: owner_lock_due; Type: INDEX; Schema: rewards; Owner: -

CREATE INDEX owner_lock_due ON rewards.owner_lock USING btree (owner) WHERE ((locked)::numeric > (needed)::numeric);

-- Name: payout_earner; Type: INDEX; Schema: rewards; Owner: -

CREATE INDEX payout_earner ON rewards.payout USING btree (earner, epoch DESC);

-- Name: settlement_under_way; Type: INDEX; Schema: rewards; Owner: -

CREATE UNIQUE INDEX settlement_under_way ON rewards.settlement USING btree ((true)) WHERE (state = ANY (ARRAY['closed'::text, 'released'::text]));

-- Name: follower keep_finality; Type: TRIGGER; Schema: chain; Owner: -

CREATE TRIGGER keep_finality BEFORE UPDATE ON chain.follower FOR EACH ROW EXECUTE FUNCTION chain.keep_finality();

-- Name: block keep_finalized; Type: TRIGGER; Schema: chain; Owner: -

CREATE TRIGGER keep_finalized BEFORE UPDATE ON chain.block FOR EACH ROW EXECUTE FUNCTION chain.keep_finalized();

-- Name: intent keep_settled; Type: TRIGGER; Schema: chain; Owner: -

CREATE TRIGGER keep_settled BEFORE UPDATE ON chain.intent FOR EACH ROW EXECUTE FUNCTION chain.keep_settled();

-- Name: transfer fits; Type: TRIGGER; Schema: ledger; Owner: -

CREATE TRIGGER fits AFTER INSERT ON ledger.transfer REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION ledger.check_transfers();

-- Name: account immutable; Type: TRIGGER; Schema: ledger; Owner: -

CREATE TRIGGER immutable BEFORE DELETE OR TRUNCATE ON ledger.account FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse();

-- Name: seal immutable; Type: TRIGGER; Schema: ledger; Owner: -

CREATE TRIGGER immutable BEFORE DELETE OR UPDATE OR TRUNCATE ON ledger.seal FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse();

-- Name: transfer immutable; Type: TRIGGER; Schema: ledger; Owner: -

CREATE TRIGGER immutable BEFORE DELETE OR UPDATE OR TRUNCATE ON ledger.transfer FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse();

-- Name: account only_forward; Type: TRIGGER; Schema: ledger; Owner: -

CREATE TRIGGER only_forward BEFORE UPDATE ON ledger.account FOR EACH ROW WHEN (((old.id <> new.id) OR (old.owner <> new.owner) OR (old.asset <> new.asset) OR (old.kind <> new.kind) OR ((new.debits)::numeric < (old.debits)::numeric) OR ((new.credits)::numeric < (old.credits)::numeric) OR (new.version < old.version) OR (old.closed AND (NOT new.closed)))) EXECUTE FUNCTION ledger.refuse();

-- Name: node announce_exclusion; Type: TRIGGER; Schema: registry; Owner: -

CREATE TRIGGER announce_exclusion AFTER UPDATE ON registry.node FOR EACH ROW WHEN (((old.excluded_at_ms IS NULL) AND (new.excluded_at_ms IS NOT NULL))) EXECUTE FUNCTION registry.announce_exclusion();

-- Name: dataset_key append_only; Type: TRIGGER; Schema: registry; Owner: -

CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON registry.dataset_key FOR EACH STATEMENT EXECUTE FUNCTION registry.refuse_change();

-- Name: dataset_manifest append_only; Type: TRIGGER; Schema: registry; Owner: -

CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON registry.dataset_manifest FOR EACH STATEMENT EXECUTE FUNCTION registry.refuse_change();

-- Name: dataset_name append_only; Type: TRIGGER; Schema: registry; Owner: -

CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON registry.dataset_name FOR EACH STATEMENT EXECUTE FUNCTION registry.refuse_change();

-- Name: dataset_part append_only; Type: TRIGGER; Schema: registry; Owner: -

CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON registry.dataset_part FOR EACH STATEMENT EXECUTE FUNCTION registry.refuse_change();

-- Name: dataset_tokenizer append_only; Type: TRIGGER; Schema: registry; Owner: -

CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON registry.dataset_tokenizer FOR EACH STATEMENT EXECUTE FUNCTION registry.refuse_change();

-- Name: dataset_version append_only; Type: TRIGGER; Schema: registry; Owner: -

CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON registry.dataset_version FOR EACH STATEMENT EXECUTE FUNCTION registry.refuse_change();

-- Name: evaluation append_only; Type: TRIGGER; Schema: registry; Owner: -

CREATE TRIGGER append_only BEFORE DELETE OR TRUNCATE ON registry.evaluation FOR EACH STATEMENT EXECUTE FUNCTION registry.refuse_change();

-- Name: job_data append_only; Type: TRIGGER; Schema: registry; Owner: -

CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON registry.job_data FOR EACH STATEMENT EXECUTE FUNCTION registry.refuse_change();

-- Name: job_funding append_only; Type: TRIGGER; Schema: registry; Owner: -

CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON registry.job_funding FOR EACH STATEMENT EXECUTE FUNCTION registry.refuse_change();

-- Name: job_order append_only; Type: TRIGGER; Schema: registry; Owner: -

CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON registry.job_order FOR EACH STATEMENT EXECUTE FUNCTION registry.refuse_change();

-- Name: measurement append_only; Type: TRIGGER; Schema: registry; Owner: -

CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON registry.measurement FOR EACH STATEMENT EXECUTE FUNCTION registry.refuse_change();

-- Name: mix_recipe append_only; Type: TRIGGER; Schema: registry; Owner: -

CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON registry.mix_recipe FOR EACH STATEMENT EXECUTE FUNCTION registry.refuse_change();

-- Name: model_name append_only; Type: TRIGGER; Schema: registry; Owner: -

CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON registry.model_name FOR EACH STATEMENT EXECUTE FUNCTION registry.refuse_change();

-- Name: order_state append_only; Type: TRIGGER; Schema: registry; Owner: -

CREATE TRIGGER append_only BEFORE DELETE OR TRUNCATE ON registry.order_state FOR EACH STATEMENT EXECUTE FUNCTION registry.refuse_change();

-- Name: unit_commitment append_only; Type: TRIGGER; Schema: registry; Owner: -

CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON registry.unit_commitment FOR EACH STATEMENT EXECUTE FUNCTION registry.refuse_change();

-- Name: unit_event append_only; Type: TRIGGER; Schema: registry; Owner: -

CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON registry.unit_event FOR EACH STATEMENT EXECUTE FUNCTION registry.refuse_change();

-- Name: measurement apply_measurement; Type: TRIGGER; Schema: registry; Owner: -

CREATE TRIGGER apply_measurement AFTER INSERT ON registry.measurement FOR EACH ROW EXECUTE FUNCTION registry.apply_measurement();

-- Name: job_funding await_order; Type: TRIGGER; Schema: registry; Owner: -

CREATE TRIGGER await_order AFTER INSERT ON registry.job_funding FOR EACH ROW EXECUTE FUNCTION registry.await_order();

-- Name: job_order await_order; Type: TRIGGER; Schema: registry; Owner: -

CREATE TRIGGER await_order AFTER INSERT ON registry.job_order FOR EACH ROW EXECUTE FUNCTION registry.await_order();

-- Name: challenge challenge_is_kept; Type: TRIGGER; Schema: registry; Owner: -

CREATE TRIGGER challenge_is_kept BEFORE UPDATE ON registry.challenge FOR EACH ROW EXECUTE FUNCTION registry.challenge_is_kept();

-- Name: measurement check_measurement; Type: TRIGGER; Schema: registry; Owner: -

CREATE TRIGGER check_measurement BEFORE INSERT ON registry.measurement FOR EACH ROW EXECUTE FUNCTION registry.check_measurement();

-- Name: job drop_request_reason; Type: TRIGGER; Schema: registry; Owner: -

CREATE TRIGGER drop_request_reason BEFORE UPDATE OF request ON registry.job FOR EACH ROW WHEN ((new.request IS NULL)) EXECUTE FUNCTION registry.drop_request_reason();

-- Name: job fix_data_terms; Type: TRIGGER; Schema: registry; Owner: -

CREATE TRIGGER fix_data_terms BEFORE INSERT OR UPDATE ON registry.job FOR EACH ROW EXECUTE FUNCTION registry.fix_data_terms();

-- Name: job fix_job_data; Type: TRIGGER; Schema: registry; Owner: -

CREATE TRIGGER fix_job_data AFTER INSERT ON registry.job FOR EACH ROW EXECUTE FUNCTION registry.fix_job_data();

-- Name: dataset guard_dataset; Type: TRIGGER; Schema: registry; Owner: -

CREATE TRIGGER guard_dataset BEFORE DELETE OR UPDATE ON registry.dataset FOR EACH ROW EXECUTE FUNCTION registry.guard_dataset();

-- Name: dataset_part guard_dataset_part; Type: TRIGGER; Schema: registry; Owner: -

CREATE TRIGGER guard_dataset_part BEFORE INSERT ON registry.dataset_part FOR EACH ROW EXECUTE FUNCTION registry.guard_dataset_part();

-- Name: dataset_version guard_dataset_version; Type: TRIGGER; Schema: registry; Owner: -

CREATE TRIGGER guard_dataset_version BEFORE INSERT ON registry.dataset_version FOR EACH ROW EXECUTE FUNCTION registry.guard_dataset_version();

-- Name: job guard_job; Type: TRIGGER; Schema: registry; Owner: -

CREATE TRIGGER guard_job BEFORE INSERT OR UPDATE ON registry.job FOR EACH ROW EXECUTE FUNCTION registry.guard_job();

-- Name: model_version guard_model_version; Type: TRIGGER; Schema: registry; Owner: -

CREATE TRIGGER guard_model_version BEFORE INSERT OR DELETE OR UPDATE ON registry.model_version FOR EACH ROW EXECUTE FUNCTION registry.guard_model_version();

-- Name: order_state guard_order_state; Type: TRIGGER; Schema: registry; Owner: -

CREATE TRIGGER guard_order_state BEFORE UPDATE ON registry.order_state FOR EACH ROW EXECUTE FUNCTION registry.guard_order_state();

-- Name: unit_prefix guard_prefix; Type: TRIGGER; Schema: registry; Owner: -

CREATE TRIGGER guard_prefix BEFORE INSERT OR DELETE OR UPDATE ON registry.unit_prefix FOR EACH ROW EXECUTE FUNCTION registry.guard_prefix();

-- Name: unit guard_unit; Type: TRIGGER; Schema: registry; Owner: -

CREATE TRIGGER guard_unit BEFORE INSERT OR UPDATE ON registry.unit FOR EACH ROW EXECUTE FUNCTION registry.guard_unit();

-- Name: model_version no_truncate; Type: TRIGGER; Schema: registry; Owner: -

CREATE TRIGGER no_truncate BEFORE TRUNCATE ON registry.model_version FOR EACH STATEMENT EXECUTE FUNCTION registry.refuse_change();

-- Name: unit_prefix no_truncation; Type: TRIGGER; Schema: registry; Owner: -

CREATE TRIGGER no_truncation BEFORE TRUNCATE ON registry.unit_prefix FOR EACH STATEMENT EXECUTE FUNCTION registry.refuse_change();

-- Name: evaluation publish_evaluation; Type: TRIGGER; Schema: registry; Owner: -

CREATE TRIGGER publish_evaluation BEFORE INSERT ON registry.evaluation FOR EACH ROW EXECUTE FUNCTION registry.publish_evaluation();

-- Name: evaluation retire_evaluation; Type: TRIGGER; Schema: registry; Owner: -

CREATE TRIGGER retire_evaluation BEFORE UPDATE ON registry.evaluation FOR EACH ROW EXECUTE FUNCTION registry.retire_evaluation();

-- Name: unit write_new_unit_events; Type: TRIGGER; Schema: registry; Owner: -

CREATE TRIGGER write_new_unit_events AFTER INSERT ON registry.unit REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION registry.write_new_unit_events();

-- Name: unit write_unit_events; Type: TRIGGER; Schema: registry; Owner: -

CREATE TRIGGER write_unit_events AFTER UPDATE ON registry.unit REFERENCING OLD TABLE AS before_update NEW TABLE AS after_update FOR EACH STATEMENT EXECUTE FUNCTION registry.write_unit_events();

-- Name: idempotency idempotency_job_id_fkey; Type: FK CONSTRAINT; Schema: api; Owner: -

ALTER TABLE ONLY api.idempotency
    ADD CONSTRAINT idempotency_job_id_fkey FOREIGN KEY (job_id) REFERENCES registry.job(id) DEFERRABLE INITIALLY DEFERRED;

-- Name: attempt attempt_service_chain_id_sender_intent_id_fkey; Type: FK CONSTRAINT; Schema: chain; Owner: -

ALTER TABLE ONLY chain.attempt
    ADD CONSTRAINT attempt_service_chain_id_sender_intent_id_fkey FOREIGN KEY (service, chain_id, sender, intent_id) REFERENCES chain.intent(service, chain_id, sender, id);

-- Name: block block_service_follower_chain_id_fkey; Type: FK CONSTRAINT; Schema: chain; Owner: -

ALTER TABLE ONLY chain.block
    ADD CONSTRAINT block_service_follower_chain_id_fkey FOREIGN KEY (service, follower, chain_id) REFERENCES chain.follower(service, name, chain_id);

-- Name: log log_service_follower_chain_id_block_hash_fkey; Type: FK CONSTRAINT; Schema: chain; Owner: -

ALTER TABLE ONLY chain.log
    ADD CONSTRAINT log_service_follower_chain_id_block_hash_fkey FOREIGN KEY (service, follower, chain_id, block_hash) REFERENCES chain.block(service, follower, chain_id, hash);

-- Name: chain_commitment chain_commitment_unit_id_fkey; Type: FK CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.chain_commitment
    ADD CONSTRAINT chain_commitment_unit_id_fkey FOREIGN KEY (unit_id) REFERENCES registry.unit(id);

-- Name: challenge challenge_node_fkey; Type: FK CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.challenge
    ADD CONSTRAINT challenge_node_fkey FOREIGN KEY (node) REFERENCES registry.node(address);

-- Name: challenge_schedule challenge_schedule_node_fkey; Type: FK CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.challenge_schedule
    ADD CONSTRAINT challenge_schedule_node_fkey FOREIGN KEY (node) REFERENCES registry.node(address);

-- Name: dataset_key dataset_key_dataset_fkey; Type: FK CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.dataset_key
    ADD CONSTRAINT dataset_key_dataset_fkey FOREIGN KEY (dataset) REFERENCES registry.dataset(number);

-- Name: dataset_manifest dataset_manifest_dataset_fkey; Type: FK CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.dataset_manifest
    ADD CONSTRAINT dataset_manifest_dataset_fkey FOREIGN KEY (dataset) REFERENCES registry.dataset(root);

-- Name: dataset dataset_nearest_fkey; Type: FK CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.dataset
    ADD CONSTRAINT dataset_nearest_fkey FOREIGN KEY (nearest) REFERENCES registry.dataset(root);

-- Name: dataset_part dataset_part_mix_fkey; Type: FK CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.dataset_part
    ADD CONSTRAINT dataset_part_mix_fkey FOREIGN KEY (mix) REFERENCES registry.dataset(root);

-- Name: dataset_part dataset_part_part_fkey; Type: FK CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.dataset_part
    ADD CONSTRAINT dataset_part_part_fkey FOREIGN KEY (part) REFERENCES registry.dataset(root);

-- Name: dataset_tokenizer dataset_tokenizer_dataset_fkey; Type: FK CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.dataset_tokenizer
    ADD CONSTRAINT dataset_tokenizer_dataset_fkey FOREIGN KEY (dataset) REFERENCES registry.dataset(root);

-- Name: dataset_version dataset_version_name_fkey; Type: FK CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.dataset_version
    ADD CONSTRAINT dataset_version_name_fkey FOREIGN KEY (name) REFERENCES registry.dataset_name(name);

-- Name: dataset_version dataset_version_root_fkey; Type: FK CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.dataset_version
    ADD CONSTRAINT dataset_version_root_fkey FOREIGN KEY (root) REFERENCES registry.dataset(root);

-- Name: delta_place delta_place_worker_fkey; Type: FK CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.delta_place
    ADD CONSTRAINT delta_place_worker_fkey FOREIGN KEY (worker) REFERENCES registry.node(address);

-- Name: delta_upload delta_upload_worker_fkey; Type: FK CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.delta_upload
    ADD CONSTRAINT delta_upload_worker_fkey FOREIGN KEY (worker) REFERENCES registry.node(address);

-- Name: disputed_unit disputed_unit_contract_fkey; Type: FK CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.disputed_unit
    ADD CONSTRAINT disputed_unit_contract_fkey FOREIGN KEY (contract) REFERENCES registry.game_watch(contract);

-- Name: equivocation equivocation_unit_id_fkey; Type: FK CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.equivocation
    ADD CONSTRAINT equivocation_unit_id_fkey FOREIGN KEY (unit_id) REFERENCES registry.unit(id);

-- Name: evaluation evaluation_reference_fkey; Type: FK CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.evaluation
    ADD CONSTRAINT evaluation_reference_fkey FOREIGN KEY (reference) REFERENCES registry.dataset(root);

-- Name: job_data job_data_dataset_fkey; Type: FK CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.job_data
    ADD CONSTRAINT job_data_dataset_fkey FOREIGN KEY (dataset) REFERENCES registry.dataset(root);

-- Name: job_data job_data_job_id_fkey; Type: FK CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.job_data
    ADD CONSTRAINT job_data_job_id_fkey FOREIGN KEY (job_id) REFERENCES registry.job(id);

-- Name: job job_dataset_root_fkey; Type: FK CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.job
    ADD CONSTRAINT job_dataset_root_fkey FOREIGN KEY (dataset_root) REFERENCES registry.dataset(root);

-- Name: job_funding job_funding_job_id_fkey; Type: FK CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.job_funding
    ADD CONSTRAINT job_funding_job_id_fkey FOREIGN KEY (job_id) REFERENCES registry.job(id);

-- Name: job job_has_order; Type: FK CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.job
    ADD CONSTRAINT job_has_order FOREIGN KEY (id, owner) REFERENCES registry.job_order(job_id, owner);

-- Name: measurement measurement_dataset_fkey; Type: FK CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.measurement
    ADD CONSTRAINT measurement_dataset_fkey FOREIGN KEY (dataset) REFERENCES registry.dataset(root);

-- Name: measurement measurement_evaluation_fkey; Type: FK CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.measurement
    ADD CONSTRAINT measurement_evaluation_fkey FOREIGN KEY (evaluation) REFERENCES registry.evaluation(id);

-- Name: missed_draw missed_draw_unit_id_fkey; Type: FK CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.missed_draw
    ADD CONSTRAINT missed_draw_unit_id_fkey FOREIGN KEY (unit_id) REFERENCES registry.unit(id);

-- Name: missed_draw missed_draw_verifier_fkey; Type: FK CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.missed_draw
    ADD CONSTRAINT missed_draw_verifier_fkey FOREIGN KEY (verifier) REFERENCES registry.node(address);

-- Name: mix_recipe mix_recipe_mix_fkey; Type: FK CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.mix_recipe
    ADD CONSTRAINT mix_recipe_mix_fkey FOREIGN KEY (mix) REFERENCES registry.dataset(root);

-- Name: model_version model_version_job_id_fkey; Type: FK CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.model_version
    ADD CONSTRAINT model_version_job_id_fkey FOREIGN KEY (job_id) REFERENCES registry.job(id);

-- Name: model_version model_version_name_fkey; Type: FK CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.model_version
    ADD CONSTRAINT model_version_name_fkey FOREIGN KEY (name) REFERENCES registry.model_name(name);

-- Name: report_claim report_claim_unit_id_draw_fkey; Type: FK CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.report_claim
    ADD CONSTRAINT report_claim_unit_id_draw_fkey FOREIGN KEY (unit_id, draw) REFERENCES registry.report(unit_id, draw);

-- Name: report report_unit_id_fkey; Type: FK CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.report
    ADD CONSTRAINT report_unit_id_fkey FOREIGN KEY (unit_id) REFERENCES registry.unit(id);

-- Name: report report_verifier_fkey; Type: FK CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.report
    ADD CONSTRAINT report_verifier_fkey FOREIGN KEY (verifier) REFERENCES registry.node(address);

-- Name: round round_job_id_fkey; Type: FK CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.round
    ADD CONSTRAINT round_job_id_fkey FOREIGN KEY (job_id) REFERENCES registry.job(id);

-- Name: unit_commitment unit_commitment_unit_id_fkey; Type: FK CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.unit_commitment
    ADD CONSTRAINT unit_commitment_unit_id_fkey FOREIGN KEY (unit_id) REFERENCES registry.unit(id);

-- Name: unit_event unit_event_from_state_to_state_fkey; Type: FK CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.unit_event
    ADD CONSTRAINT unit_event_from_state_to_state_fkey FOREIGN KEY (from_state, to_state) REFERENCES registry.unit_transition(from_state, to_state);

-- Name: unit_event unit_event_unit_id_fkey; Type: FK CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.unit_event
    ADD CONSTRAINT unit_event_unit_id_fkey FOREIGN KEY (unit_id) REFERENCES registry.unit(id);

-- Name: unit unit_job_id_round_fkey; Type: FK CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.unit
    ADD CONSTRAINT unit_job_id_round_fkey FOREIGN KEY (job_id, round) REFERENCES registry.round(job_id, round);

-- Name: unit_prefix unit_prefix_unit_id_fkey; Type: FK CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.unit_prefix
    ADD CONSTRAINT unit_prefix_unit_id_fkey FOREIGN KEY (unit_id) REFERENCES registry.unit(id);

-- Name: unit_prefix unit_prefix_verifier_fkey; Type: FK CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.unit_prefix
    ADD CONSTRAINT unit_prefix_verifier_fkey FOREIGN KEY (verifier) REFERENCES registry.node(address);

-- Name: unit_records unit_records_unit_id_fkey; Type: FK CONSTRAINT; Schema: registry; Owner: -

ALTER TABLE ONLY registry.unit_records
    ADD CONSTRAINT unit_records_unit_id_fkey FOREIGN KEY (unit_id) REFERENCES registry.unit(id);

-- Name: credit credit_epoch_fkey; Type: FK CONSTRAINT; Schema: rewards; Owner: -

ALTER TABLE ONLY rewards.credit
    ADD CONSTRAINT credit_epoch_fkey FOREIGN KEY (epoch) REFERENCES rewards.settlement(epoch);

-- Name: demand demand_epoch_fkey; Type: FK CONSTRAINT; Schema: rewards; Owner: -

ALTER TABLE ONLY rewards.demand
    ADD CONSTRAINT demand_epoch_fkey FOREIGN KEY (epoch) REFERENCES rewards.settlement(epoch);

-- Name: finished_round finished_round_epoch_fkey; Type: FK CONSTRAINT; Schema: rewards; Owner: -

ALTER TABLE ONLY rewards.finished_round
    ADD CONSTRAINT finished_round_epoch_fkey FOREIGN KEY (epoch) REFERENCES rewards.settlement(epoch);

-- Name: payout payout_epoch_fkey; Type: FK CONSTRAINT; Schema: rewards; Owner: -

ALTER TABLE ONLY rewards.payout
    ADD CONSTRAINT payout_epoch_fkey FOREIGN KEY (epoch) REFERENCES rewards.settlement(epoch);

-- Name: release release_epoch_fkey; Type: FK CONSTRAINT; Schema: rewards; Owner: -

ALTER TABLE ONLY rewards.release
    ADD CONSTRAINT release_epoch_fkey FOREIGN KEY (epoch) REFERENCES rewards.settlement(epoch);

-- Name: attempt; Type: ROW SECURITY; Schema: chain; Owner: -

ALTER TABLE chain.attempt ENABLE ROW LEVEL SECURITY;

-- Name: block; Type: ROW SECURITY; Schema: chain; Owner: -

ALTER TABLE chain.block ENABLE ROW LEVEL SECURITY;

-- Name: follower; Type: ROW SECURITY; Schema: chain; Owner: -

ALTER TABLE chain.follower ENABLE ROW LEVEL SECURITY;

-- Name: intent; Type: ROW SECURITY; Schema: chain; Owner: -

ALTER TABLE chain.intent ENABLE ROW LEVEL SECURITY;

-- Name: log; Type: ROW SECURITY; Schema: chain; Owner: -

ALTER TABLE chain.log ENABLE ROW LEVEL SECURITY;

-- Name: attempt own; Type: POLICY; Schema: chain; Owner: -

CREATE POLICY own ON chain.attempt TO gym_coordinator, gym_rewards USING (pg_has_role(CURRENT_USER, (service)::name, 'MEMBER'::text));

-- Name: block own; Type: POLICY; Schema: chain; Owner: -

CREATE POLICY own ON chain.block TO gym_coordinator, gym_rewards USING (pg_has_role(CURRENT_USER, (service)::name, 'MEMBER'::text));

-- Name: follower own; Type: POLICY; Schema: chain; Owner: -

CREATE POLICY own ON chain.follower TO gym_coordinator, gym_rewards USING (pg_has_role(CURRENT_USER, (service)::name, 'MEMBER'::text));

-- Name: intent own; Type: POLICY; Schema: chain; Owner: -

CREATE POLICY own ON chain.intent TO gym_coordinator, gym_rewards USING (pg_has_role(CURRENT_USER, (service)::name, 'MEMBER'::text));

-- Name: log own; Type: POLICY; Schema: chain; Owner: -

CREATE POLICY own ON chain.log TO gym_coordinator, gym_rewards USING (pg_has_role(CURRENT_USER, (service)::name, 'MEMBER'::text));

-- Name: attempt read_all; Type: POLICY; Schema: chain; Owner: -

CREATE POLICY read_all ON chain.attempt FOR SELECT TO gym_api USING (true);

-- Name: block read_all; Type: POLICY; Schema: chain; Owner: -

CREATE POLICY read_all ON chain.block FOR SELECT TO gym_api USING (true);

-- Name: follower read_all; Type: POLICY; Schema: chain; Owner: -

CREATE POLICY read_all ON chain.follower FOR SELECT TO gym_api USING (true);

-- Name: intent read_all; Type: POLICY; Schema: chain; Owner: -

CREATE POLICY read_all ON chain.intent FOR SELECT TO gym_api USING (true);

-- Name: log read_all; Type: POLICY; Schema: chain; Owner: -

CREATE POLICY read_all ON chain.log FOR SELECT TO gym_api USING (true);

-- Name: service_health coordinators_own; Type: POLICY; Schema: registry; Owner: -

CREATE POLICY coordinators_own ON registry.service_health TO gym_coordinator USING ((service = 'gym-coordinator'::text)) WITH CHECK ((service = 'gym-coordinator'::text));

-- Name: service_health read_all; Type: POLICY; Schema: registry; Owner: -

CREATE POLICY read_all ON registry.service_health FOR SELECT TO gym_api USING (true);

-- Name: service_health rewards_own; Type: POLICY; Schema: registry; Owner: -

CREATE POLICY rewards_own ON registry.service_health TO gym_rewards USING ((service = 'gym-rewards'::text)) WITH CHECK ((service = 'gym-rewards'::text));

-- Name: service_health; Type: ROW SECURITY; Schema: registry; Owner: -

ALTER TABLE registry.service_health ENABLE ROW LEVEL SECURITY;

-- Name: SCHEMA api; Type: ACL; Schema: -; Owner: -

GRANT USAGE ON SCHEMA api TO gym_api;

-- Name: SCHEMA audit; Type: ACL; Schema: -; Owner: -

GRANT USAGE ON SCHEMA audit TO gym_rewards;
GRANT USAGE ON SCHEMA audit TO gym_api;
GRANT USAGE ON SCHEMA audit TO gym_auditor;

-- Name: SCHEMA chain; Type: ACL; Schema: -; Owner: -

GRANT USAGE ON SCHEMA chain TO gym_coordinator;
GRANT USAGE ON SCHEMA chain TO gym_rewards;
GRANT USAGE ON SCHEMA chain TO gym_api;

-- Name: SCHEMA ledger; Type: ACL; Schema: -; Owner: -

GRANT USAGE ON SCHEMA ledger TO gym_rewards;
GRANT USAGE ON SCHEMA ledger TO gym_api;
GRANT USAGE ON SCHEMA ledger TO gym_auditor;

-- Name: SCHEMA registry; Type: ACL; Schema: -; Owner: -

GRANT USAGE ON SCHEMA registry TO gym_coordinator;
GRANT USAGE ON SCHEMA registry TO gym_rewards;
GRANT USAGE ON SCHEMA registry TO gym_api;
GRANT USAGE ON SCHEMA registry TO gym_ledger_owner;
GRANT USAGE ON SCHEMA registry TO gym_evaluator;
GRANT USAGE ON SCHEMA registry TO gym_auditor;

-- Name: SCHEMA rewards; Type: ACL; Schema: -; Owner: -

GRANT USAGE ON SCHEMA rewards TO gym_rewards;
GRANT USAGE ON SCHEMA rewards TO gym_api;
GRANT USAGE ON SCHEMA rewards TO gym_auditor;

-- Name: FUNCTION append_seal(p_number bigint, p_first bigint, p_last bigint, p_transfers integer, p_root bytea, p_previous bytea, p_sealed_at_ms bigint, p_signer bytea, p_signature bytea); Type: ACL; Schema: ledger; Owner: -

REVOKE ALL ON FUNCTION ledger.append_seal(p_number bigint, p_first bigint, p_last bigint, p_transfers integer, p_root bytea, p_previous bytea, p_sealed_at_ms bigint, p_signer bytea, p_signature bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger.append_seal(p_number bigint, p_first bigint, p_last bigint, p_transfers integer, p_root bytea, p_previous bytea, p_sealed_at_ms bigint, p_signer bytea, p_signature bytea) TO gym_rewards;

-- Name: FUNCTION book(p_ids uuid[], p_kinds text[], p_debits bigint[], p_credits bigint[], p_amounts numeric[], p_pendings uuid[], p_expires bigint[], p_groups uuid[], p_reasons text[], p_now bigint, p_may_expire boolean, p_any_kind boolean); Type: ACL; Schema: ledger; Owner: -

REVOKE ALL ON FUNCTION ledger.book(p_ids uuid[], p_kinds text[], p_debits bigint[], p_credits bigint[], p_amounts numeric[], p_pendings uuid[], p_expires bigint[], p_groups uuid[], p_reasons text[], p_now bigint, p_may_expire boolean, p_any_kind boolean) FROM PUBLIC;

-- Name: FUNCTION book_one(p_id uuid, p_debit bigint, p_credit bigint, p_amount numeric, p_pending uuid, p_expires bigint, p_group uuid, p_reason text); Type: ACL; Schema: ledger; Owner: -

REVOKE ALL ON FUNCTION ledger.book_one(p_id uuid, p_debit bigint, p_credit bigint, p_amount numeric, p_pending uuid, p_expires bigint, p_group uuid, p_reason text) FROM PUBLIC;

-- Name: FUNCTION close_account(p_id bigint); Type: ACL; Schema: ledger; Owner: -

REVOKE ALL ON FUNCTION ledger.close_account(p_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger.close_account(p_id bigint) TO gym_rewards;

-- Name: FUNCTION expire(p_now bigint, p_count_max integer); Type: ACL; Schema: ledger; Owner: -

REVOKE ALL ON FUNCTION ledger.expire(p_now bigint, p_count_max integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger.expire(p_now bigint, p_count_max integer) TO gym_rewards;

-- Name: FUNCTION newest_transfers(p_account bigint, p_before bigint, p_limit integer); Type: ACL; Schema: ledger; Owner: -

REVOKE ALL ON FUNCTION ledger.newest_transfers(p_account bigint, p_before bigint, p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger.newest_transfers(p_account bigint, p_before bigint, p_limit integer) TO gym_api;

-- Name: FUNCTION open_account(p_owner text, p_asset text, p_kind text); Type: ACL; Schema: ledger; Owner: -

REVOKE ALL ON FUNCTION ledger.open_account(p_owner text, p_asset text, p_kind text) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger.open_account(p_owner text, p_asset text, p_kind text) TO gym_rewards;

-- Name: TABLE seal; Type: ACL; Schema: ledger; Owner: -

GRANT SELECT ON TABLE ledger.seal TO gym_rewards;
GRANT SELECT ON TABLE ledger.seal TO gym_api;
GRANT SELECT ON TABLE ledger.seal TO gym_auditor;

-- Name: FUNCTION settle(); Type: ACL; Schema: ledger; Owner: -

REVOKE ALL ON FUNCTION ledger.settle() FROM PUBLIC;
GRANT ALL ON FUNCTION ledger.settle() TO gym_rewards;

-- Name: FUNCTION submit(p_ids uuid[], p_kinds text[], p_debits bigint[], p_credits bigint[], p_amounts numeric[], p_pendings uuid[], p_expires bigint[], p_groups uuid[], p_reasons text[], p_now bigint); Type: ACL; Schema: ledger; Owner: -

REVOKE ALL ON FUNCTION ledger.submit(p_ids uuid[], p_kinds text[], p_debits bigint[], p_credits bigint[], p_amounts numeric[], p_pendings uuid[], p_expires bigint[], p_groups uuid[], p_reasons text[], p_now bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger.submit(p_ids uuid[], p_kinds text[], p_debits bigint[], p_credits bigint[], p_amounts numeric[], p_pendings uuid[], p_expires bigint[], p_groups uuid[], p_reasons text[], p_now bigint) TO gym_rewards;

-- Name: FUNCTION writers(); Type: ACL; Schema: ledger; Owner: -

REVOKE ALL ON FUNCTION ledger.writers() FROM PUBLIC;

-- Name: FUNCTION lo_creat(integer); Type: ACL; Schema: pg_catalog; Owner: -

REVOKE ALL ON FUNCTION pg_catalog.lo_creat(integer) FROM PUBLIC;

-- Name: FUNCTION lo_create(oid); Type: ACL; Schema: pg_catalog; Owner: -

REVOKE ALL ON FUNCTION pg_catalog.lo_create(oid) FROM PUBLIC;

-- Name: FUNCTION lo_from_bytea(oid, bytea); Type: ACL; Schema: pg_catalog; Owner: -

REVOKE ALL ON FUNCTION pg_catalog.lo_from_bytea(oid, bytea) FROM PUBLIC;

-- Name: FUNCTION pg_advisory_lock(bigint); Type: ACL; Schema: pg_catalog; Owner: -

REVOKE ALL ON FUNCTION pg_catalog.pg_advisory_lock(bigint) FROM PUBLIC;

-- Name: FUNCTION pg_advisory_lock(integer, integer); Type: ACL; Schema: pg_catalog; Owner: -

REVOKE ALL ON FUNCTION pg_catalog.pg_advisory_lock(integer, integer) FROM PUBLIC;

-- Name: FUNCTION pg_advisory_lock_shared(bigint); Type: ACL; Schema: pg_catalog; Owner: -

REVOKE ALL ON FUNCTION pg_catalog.pg_advisory_lock_shared(bigint) FROM PUBLIC;

-- Name: FUNCTION pg_advisory_lock_shared(integer, integer); Type: ACL; Schema: pg_catalog; Owner: -

REVOKE ALL ON FUNCTION pg_catalog.pg_advisory_lock_shared(integer, integer) FROM PUBLIC;

-- Name: FUNCTION pg_advisory_unlock(bigint); Type: ACL; Schema: pg_catalog; Owner: -

REVOKE ALL ON FUNCTION pg_catalog.pg_advisory_unlock(bigint) FROM PUBLIC;

-- Name: FUNCTION pg_advisory_unlock(integer, integer); Type: ACL; Schema: pg_catalog; Owner: -

REVOKE ALL ON FUNCTION pg_catalog.pg_advisory_unlock(integer, integer) FROM PUBLIC;

-- Name: FUNCTION pg_advisory_unlock_all(); Type: ACL; Schema: pg_catalog; Owner: -

REVOKE ALL ON FUNCTION pg_catalog.pg_advisory_unlock_all() FROM PUBLIC;

-- Name: FUNCTION pg_advisory_unlock_shared(bigint); Type: ACL; Schema: pg_catalog; Owner: -

REVOKE ALL ON FUNCTION pg_catalog.pg_advisory_unlock_shared(bigint) FROM PUBLIC;

-- Name: FUNCTION pg_advisory_unlock_shared(integer, integer); Type: ACL; Schema: pg_catalog; Owner: -

REVOKE ALL ON FUNCTION pg_catalog.pg_advisory_unlock_shared(integer, integer) FROM PUBLIC;

-- Name: FUNCTION pg_advisory_xact_lock(bigint); Type: ACL; Schema: pg_catalog; Owner: -

REVOKE ALL ON FUNCTION pg_catalog.pg_advisory_xact_lock(bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION pg_catalog.pg_advisory_xact_lock(bigint) TO gym_api;

-- Name: FUNCTION pg_advisory_xact_lock(integer, integer); Type: ACL; Schema: pg_catalog; Owner: -

REVOKE ALL ON FUNCTION pg_catalog.pg_advisory_xact_lock(integer, integer) FROM PUBLIC;

-- Name: FUNCTION pg_advisory_xact_lock_shared(bigint); Type: ACL; Schema: pg_catalog; Owner: -

REVOKE ALL ON FUNCTION pg_catalog.pg_advisory_xact_lock_shared(bigint) FROM PUBLIC;

-- Name: FUNCTION pg_advisory_xact_lock_shared(integer, integer); Type: ACL; Schema: pg_catalog; Owner: -

REVOKE ALL ON FUNCTION pg_catalog.pg_advisory_xact_lock_shared(integer, integer) FROM PUBLIC;

-- Name: FUNCTION pg_try_advisory_lock(bigint); Type: ACL; Schema: pg_catalog; Owner: -

REVOKE ALL ON FUNCTION pg_catalog.pg_try_advisory_lock(bigint) FROM PUBLIC;

-- Name: FUNCTION pg_try_advisory_lock(integer, integer); Type: ACL; Schema: pg_catalog; Owner: -

REVOKE ALL ON FUNCTION pg_catalog.pg_try_advisory_lock(integer, integer) FROM PUBLIC;

-- Name: FUNCTION pg_try_advisory_lock_shared(bigint); Type: ACL; Schema: pg_catalog; Owner: -

REVOKE ALL ON FUNCTION pg_catalog.pg_try_advisory_lock_shared(bigint) FROM PUBLIC;

-- Name: FUNCTION pg_try_advisory_lock_shared(integer, integer); Type: ACL; Schema: pg_catalog; Owner: -

REVOKE ALL ON FUNCTION pg_catalog.pg_try_advisory_lock_shared(integer, integer) FROM PUBLIC;

-- Name: FUNCTION pg_try_advisory_xact_lock(bigint); Type: ACL; Schema: pg_catalog; Owner: -

REVOKE ALL ON FUNCTION pg_catalog.pg_try_advisory_xact_lock(bigint) FROM PUBLIC;

-- Name: FUNCTION pg_try_advisory_xact_lock(integer, integer); Type: ACL; Schema: pg_catalog; Owner: -

REVOKE ALL ON FUNCTION pg_catalog.pg_try_advisory_xact_lock(integer, integer) FROM PUBLIC;
GRANT ALL ON FUNCTION pg_catalog.pg_try_advisory_xact_lock(integer, integer) TO gym_coordinator;

-- Name: FUNCTION pg_try_advisory_xact_lock_shared(bigint); Type: ACL; Schema: pg_catalog; Owner: -

REVOKE ALL ON FUNCTION pg_catalog.pg_try_advisory_xact_lock_shared(bigint) FROM PUBLIC;

-- Name: FUNCTION pg_try_advisory_xact_lock_shared(integer, integer); Type: ACL; Schema: pg_catalog; Owner: -

REVOKE ALL ON FUNCTION pg_catalog.pg_try_advisory_xact_lock_shared(integer, integer) FROM PUBLIC;

-- Name: FUNCTION last_dataset(); Type: ACL; Schema: registry; Owner: -

REVOKE ALL ON FUNCTION registry.last_dataset() FROM PUBLIC;

-- Name: FUNCTION named_blobs(roots bytea[]); Type: ACL; Schema: registry; Owner: -

REVOKE ALL ON FUNCTION registry.named_blobs(roots bytea[]) FROM PUBLIC;
GRANT ALL ON FUNCTION registry.named_blobs(roots bytea[]) TO gym_coordinator;

-- Name: TABLE api_key; Type: ACL; Schema: api; Owner: -

GRANT SELECT,INSERT ON TABLE api.api_key TO gym_api;

-- Name: COLUMN api_key.revoked_at_ms; Type: ACL; Schema: api; Owner: -

GRANT UPDATE(revoked_at_ms) ON TABLE api.api_key TO gym_api;

-- Name: COLUMN api_key.spent_wei; Type: ACL; Schema: api; Owner: -

GRANT UPDATE(spent_wei) ON TABLE api.api_key TO gym_api;

-- Name: TABLE idempotency; Type: ACL; Schema: api; Owner: -

GRANT SELECT,INSERT ON TABLE api.idempotency TO gym_api;

-- Name: TABLE upload; Type: ACL; Schema: api; Owner: -

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE api.upload TO gym_api;

-- Name: TABLE block; Type: ACL; Schema: chain; Owner: -

GRANT SELECT,INSERT ON TABLE chain.block TO gym_coordinator;
GRANT SELECT,INSERT ON TABLE chain.block TO gym_rewards;
GRANT SELECT ON TABLE chain.block TO gym_api;

-- Name: COLUMN block.orphaned; Type: ACL; Schema: chain; Owner: -

GRANT UPDATE(orphaned) ON TABLE chain.block TO gym_coordinator;
GRANT UPDATE(orphaned) ON TABLE chain.block TO gym_rewards;

-- Name: TABLE follower; Type: ACL; Schema: chain; Owner: -

GRANT SELECT,INSERT ON TABLE chain.follower TO gym_coordinator;
GRANT SELECT,INSERT ON TABLE chain.follower TO gym_rewards;
GRANT SELECT ON TABLE chain.follower TO gym_api;

-- Name: COLUMN follower.finalized_number; Type: ACL; Schema: chain; Owner: -

GRANT UPDATE(finalized_number) ON TABLE chain.follower TO gym_coordinator;
GRANT UPDATE(finalized_number) ON TABLE chain.follower TO gym_rewards;

-- Name: COLUMN follower.finalized_hash; Type: ACL; Schema: chain; Owner: -

GRANT UPDATE(finalized_hash) ON TABLE chain.follower TO gym_coordinator;
GRANT UPDATE(finalized_hash) ON TABLE chain.follower TO gym_rewards;

-- Name: TABLE log; Type: ACL; Schema: chain; Owner: -

GRANT SELECT,INSERT ON TABLE chain.log TO gym_coordinator;
GRANT SELECT,INSERT ON TABLE chain.log TO gym_rewards;
GRANT SELECT ON TABLE chain.log TO gym_api;

-- Name: COLUMN log.delivered; Type: ACL; Schema: chain; Owner: -

GRANT UPDATE(delivered) ON TABLE chain.log TO gym_coordinator;
GRANT UPDATE(delivered) ON TABLE chain.log TO gym_rewards;

-- Name: TABLE chain_delivered_unfinalized; Type: ACL; Schema: audit; Owner: -

GRANT SELECT ON TABLE audit.chain_delivered_unfinalized TO gym_rewards;
GRANT SELECT ON TABLE audit.chain_delivered_unfinalized TO gym_api;
GRANT SELECT ON TABLE audit.chain_delivered_unfinalized TO gym_auditor;

-- Name: TABLE intent; Type: ACL; Schema: chain; Owner: -

GRANT SELECT,INSERT ON TABLE chain.intent TO gym_coordinator;
GRANT SELECT,INSERT ON TABLE chain.intent TO gym_rewards;
GRANT SELECT ON TABLE chain.intent TO gym_api;

-- Name: COLUMN intent.state; Type: ACL; Schema: chain; Owner: -

GRANT UPDATE(state) ON TABLE chain.intent TO gym_coordinator;
GRANT UPDATE(state) ON TABLE chain.intent TO gym_rewards;

-- Name: COLUMN intent.cancel_requested; Type: ACL; Schema: chain; Owner: -

GRANT UPDATE(cancel_requested) ON TABLE chain.intent TO gym_coordinator;
GRANT UPDATE(cancel_requested) ON TABLE chain.intent TO gym_rewards;

-- Name: COLUMN intent.nonce; Type: ACL; Schema: chain; Owner: -

GRANT UPDATE(nonce) ON TABLE chain.intent TO gym_coordinator;
GRANT UPDATE(nonce) ON TABLE chain.intent TO gym_rewards;

-- Name: COLUMN intent.gas_limit; Type: ACL; Schema: chain; Owner: -

GRANT UPDATE(gas_limit) ON TABLE chain.intent TO gym_coordinator;
GRANT UPDATE(gas_limit) ON TABLE chain.intent TO gym_rewards;

-- Name: COLUMN intent.settled_at_ms; Type: ACL; Schema: chain; Owner: -

GRANT UPDATE(settled_at_ms) ON TABLE chain.intent TO gym_coordinator;
GRANT UPDATE(settled_at_ms) ON TABLE chain.intent TO gym_rewards;

-- Name: COLUMN intent.transaction_hash; Type: ACL; Schema: chain; Owner: -

GRANT UPDATE(transaction_hash) ON TABLE chain.intent TO gym_coordinator;
GRANT UPDATE(transaction_hash) ON TABLE chain.intent TO gym_rewards;

-- Name: COLUMN intent.block_hash; Type: ACL; Schema: chain; Owner: -

GRANT UPDATE(block_hash) ON TABLE chain.intent TO gym_coordinator;
GRANT UPDATE(block_hash) ON TABLE chain.intent TO gym_rewards;

-- Name: COLUMN intent.block_number; Type: ACL; Schema: chain; Owner: -

GRANT UPDATE(block_number) ON TABLE chain.intent TO gym_coordinator;
GRANT UPDATE(block_number) ON TABLE chain.intent TO gym_rewards;

-- Name: COLUMN intent.gas_used; Type: ACL; Schema: chain; Owner: -

GRANT UPDATE(gas_used) ON TABLE chain.intent TO gym_coordinator;
GRANT UPDATE(gas_used) ON TABLE chain.intent TO gym_rewards;

-- Name: COLUMN intent.gas_price_wei; Type: ACL; Schema: chain; Owner: -

GRANT UPDATE(gas_price_wei) ON TABLE chain.intent TO gym_coordinator;
GRANT UPDATE(gas_price_wei) ON TABLE chain.intent TO gym_rewards;

-- Name: COLUMN intent.contract_address; Type: ACL; Schema: chain; Owner: -

GRANT UPDATE(contract_address) ON TABLE chain.intent TO gym_coordinator;
GRANT UPDATE(contract_address) ON TABLE chain.intent TO gym_rewards;

-- Name: COLUMN intent.reason; Type: ACL; Schema: chain; Owner: -

GRANT UPDATE(reason) ON TABLE chain.intent TO gym_coordinator;
GRANT UPDATE(reason) ON TABLE chain.intent TO gym_rewards;

-- Name: TABLE chain_sender_of_two_services; Type: ACL; Schema: audit; Owner: -

GRANT SELECT ON TABLE audit.chain_sender_of_two_services TO gym_rewards;
GRANT SELECT ON TABLE audit.chain_sender_of_two_services TO gym_api;
GRANT SELECT ON TABLE audit.chain_sender_of_two_services TO gym_auditor;

-- Name: TABLE account; Type: ACL; Schema: ledger; Owner: -

GRANT SELECT ON TABLE ledger.account TO gym_rewards;
GRANT SELECT ON TABLE ledger.account TO gym_api;
GRANT SELECT ON TABLE ledger.account TO gym_auditor;

-- Name: TABLE transfer; Type: ACL; Schema: ledger; Owner: -

GRANT SELECT ON TABLE ledger.transfer TO gym_rewards;
GRANT SELECT ON TABLE ledger.transfer TO gym_api;
GRANT SELECT ON TABLE ledger.transfer TO gym_auditor;

-- Name: TABLE ledger_account_totals; Type: ACL; Schema: audit; Owner: -

GRANT SELECT ON TABLE audit.ledger_account_totals TO gym_rewards;
GRANT SELECT ON TABLE audit.ledger_account_totals TO gym_api;
GRANT SELECT ON TABLE audit.ledger_account_totals TO gym_auditor;

-- Name: TABLE ledger_assets; Type: ACL; Schema: audit; Owner: -

GRANT SELECT ON TABLE audit.ledger_assets TO gym_rewards;
GRANT SELECT ON TABLE audit.ledger_assets TO gym_api;
GRANT SELECT ON TABLE audit.ledger_assets TO gym_auditor;

-- Name: TABLE entry; Type: ACL; Schema: ledger; Owner: -

GRANT SELECT ON TABLE ledger.entry TO gym_rewards;
GRANT SELECT ON TABLE ledger.entry TO gym_api;
GRANT SELECT ON TABLE ledger.entry TO gym_auditor;

-- Name: TABLE ledger_entry_chain; Type: ACL; Schema: audit; Owner: -

GRANT SELECT ON TABLE audit.ledger_entry_chain TO gym_rewards;
GRANT SELECT ON TABLE audit.ledger_entry_chain TO gym_api;
GRANT SELECT ON TABLE audit.ledger_entry_chain TO gym_auditor;

-- Name: TABLE ledger_fingerprints; Type: ACL; Schema: audit; Owner: -

GRANT SELECT ON TABLE audit.ledger_fingerprints TO gym_rewards;
GRANT SELECT ON TABLE audit.ledger_fingerprints TO gym_api;
GRANT SELECT ON TABLE audit.ledger_fingerprints TO gym_auditor;

-- Name: TABLE ledger_overdrafts; Type: ACL; Schema: audit; Owner: -

GRANT SELECT ON TABLE audit.ledger_overdrafts TO gym_rewards;
GRANT SELECT ON TABLE audit.ledger_overdrafts TO gym_api;
GRANT SELECT ON TABLE audit.ledger_overdrafts TO gym_auditor;

-- Name: TABLE ledger_resolutions; Type: ACL; Schema: audit; Owner: -

GRANT SELECT ON TABLE audit.ledger_resolutions TO gym_rewards;
GRANT SELECT ON TABLE audit.ledger_resolutions TO gym_api;
GRANT SELECT ON TABLE audit.ledger_resolutions TO gym_auditor;

-- Name: TABLE settlement; Type: ACL; Schema: rewards; Owner: -

GRANT SELECT,INSERT,UPDATE ON TABLE rewards.settlement TO gym_rewards;
GRANT SELECT ON TABLE rewards.settlement TO gym_api;

-- Name: COLUMN settlement.epoch; Type: ACL; Schema: rewards; Owner: -

GRANT SELECT(epoch) ON TABLE rewards.settlement TO gym_auditor;

-- Name: COLUMN settlement.closed_at_ms; Type: ACL; Schema: rewards; Owner: -

GRANT SELECT(closed_at_ms) ON TABLE rewards.settlement TO gym_auditor;

-- Name: COLUMN settlement.seal_number; Type: ACL; Schema: rewards; Owner: -

GRANT SELECT(seal_number) ON TABLE rewards.settlement TO gym_auditor;

-- Name: COLUMN settlement.seal_hash; Type: ACL; Schema: rewards; Owner: -

GRANT SELECT(seal_hash) ON TABLE rewards.settlement TO gym_auditor;

-- Name: TABLE ledger_seal_anchors; Type: ACL; Schema: audit; Owner: -

GRANT SELECT ON TABLE audit.ledger_seal_anchors TO gym_rewards;
GRANT SELECT ON TABLE audit.ledger_seal_anchors TO gym_api;
GRANT SELECT ON TABLE audit.ledger_seal_anchors TO gym_auditor;

-- Name: TABLE ledger_sealed_transfers; Type: ACL; Schema: audit; Owner: -

GRANT SELECT ON TABLE audit.ledger_sealed_transfers TO gym_rewards;
GRANT SELECT ON TABLE audit.ledger_sealed_transfers TO gym_api;
GRANT SELECT ON TABLE audit.ledger_sealed_transfers TO gym_auditor;

-- Name: TABLE ledger_seals; Type: ACL; Schema: audit; Owner: -

GRANT SELECT ON TABLE audit.ledger_seals TO gym_rewards;
GRANT SELECT ON TABLE audit.ledger_seals TO gym_api;
GRANT SELECT ON TABLE audit.ledger_seals TO gym_auditor;

-- Name: TABLE ledger_zero_sum; Type: ACL; Schema: audit; Owner: -

GRANT SELECT ON TABLE audit.ledger_zero_sum TO gym_rewards;
GRANT SELECT ON TABLE audit.ledger_zero_sum TO gym_api;
GRANT SELECT ON TABLE audit.ledger_zero_sum TO gym_auditor;

-- Name: TABLE order_state; Type: ACL; Schema: registry; Owner: -

GRANT SELECT ON TABLE registry.order_state TO gym_coordinator;
GRANT SELECT ON TABLE registry.order_state TO gym_rewards;
GRANT SELECT ON TABLE registry.order_state TO gym_api;
GRANT SELECT ON TABLE registry.order_state TO gym_auditor;

-- Name: COLUMN order_state.state; Type: ACL; Schema: registry; Owner: -

GRANT UPDATE(state) ON TABLE registry.order_state TO gym_rewards;

-- Name: COLUMN order_state.reason; Type: ACL; Schema: registry; Owner: -

GRANT UPDATE(reason) ON TABLE registry.order_state TO gym_rewards;

-- Name: COLUMN order_state.decided_at_ms; Type: ACL; Schema: registry; Owner: -

GRANT UPDATE(decided_at_ms) ON TABLE registry.order_state TO gym_rewards;

-- Name: TABLE orders_escrow; Type: ACL; Schema: audit; Owner: -

GRANT SELECT ON TABLE audit.orders_escrow TO gym_rewards;
GRANT SELECT ON TABLE audit.orders_escrow TO gym_api;
GRANT SELECT ON TABLE audit.orders_escrow TO gym_auditor;

-- Name: TABLE unit; Type: ACL; Schema: registry; Owner: -

GRANT SELECT,INSERT,UPDATE ON TABLE registry.unit TO gym_coordinator;
GRANT SELECT ON TABLE registry.unit TO gym_rewards;
GRANT SELECT ON TABLE registry.unit TO gym_api;

-- Name: TABLE unit_commitment; Type: ACL; Schema: registry; Owner: -

GRANT SELECT,INSERT ON TABLE registry.unit_commitment TO gym_coordinator;
GRANT SELECT ON TABLE registry.unit_commitment TO gym_rewards;
GRANT SELECT ON TABLE registry.unit_commitment TO gym_api;

-- Name: TABLE registry_commitment_mismatch; Type: ACL; Schema: audit; Owner: -

GRANT SELECT ON TABLE audit.registry_commitment_mismatch TO gym_rewards;
GRANT SELECT ON TABLE audit.registry_commitment_mismatch TO gym_api;
GRANT SELECT ON TABLE audit.registry_commitment_mismatch TO gym_auditor;

-- Name: TABLE dataset; Type: ACL; Schema: registry; Owner: -

GRANT SELECT ON TABLE registry.dataset TO gym_coordinator;
GRANT SELECT ON TABLE registry.dataset TO gym_rewards;
GRANT SELECT,INSERT ON TABLE registry.dataset TO gym_api;
GRANT SELECT ON TABLE registry.dataset TO gym_evaluator;

-- Name: COLUMN dataset.visibility; Type: ACL; Schema: registry; Owner: -

GRANT UPDATE(visibility) ON TABLE registry.dataset TO gym_api;

-- Name: COLUMN dataset.allowed; Type: ACL; Schema: registry; Owner: -

GRANT UPDATE(allowed) ON TABLE registry.dataset TO gym_api;

-- Name: TABLE registry_dataset_nearest; Type: ACL; Schema: audit; Owner: -

GRANT SELECT ON TABLE audit.registry_dataset_nearest TO gym_rewards;
GRANT SELECT ON TABLE audit.registry_dataset_nearest TO gym_api;
GRANT SELECT ON TABLE audit.registry_dataset_nearest TO gym_auditor;

-- Name: TABLE measurement; Type: ACL; Schema: registry; Owner: -

GRANT SELECT ON TABLE registry.measurement TO gym_api;
GRANT SELECT ON TABLE registry.measurement TO gym_coordinator;
GRANT SELECT ON TABLE registry.measurement TO gym_rewards;
GRANT SELECT,INSERT ON TABLE registry.measurement TO gym_evaluator;

-- Name: TABLE registry_dataset_usefulness; Type: ACL; Schema: audit; Owner: -

GRANT SELECT ON TABLE audit.registry_dataset_usefulness TO gym_rewards;
GRANT SELECT ON TABLE audit.registry_dataset_usefulness TO gym_api;
GRANT SELECT ON TABLE audit.registry_dataset_usefulness TO gym_auditor;

-- Name: TABLE sequence; Type: ACL; Schema: registry; Owner: -

GRANT SELECT,UPDATE ON TABLE registry.sequence TO gym_coordinator;
GRANT SELECT ON TABLE registry.sequence TO gym_rewards;

-- Name: TABLE unit_event; Type: ACL; Schema: registry; Owner: -

GRANT SELECT ON TABLE registry.unit_event TO gym_coordinator;
GRANT SELECT ON TABLE registry.unit_event TO gym_rewards;
GRANT SELECT ON TABLE registry.unit_event TO gym_api;

-- Name: TABLE registry_feed_gaps; Type: ACL; Schema: audit; Owner: -

GRANT SELECT ON TABLE audit.registry_feed_gaps TO gym_rewards;
GRANT SELECT ON TABLE audit.registry_feed_gaps TO gym_api;
GRANT SELECT ON TABLE audit.registry_feed_gaps TO gym_auditor;

-- Name: TABLE registry_included_not_accepted; Type: ACL; Schema: audit; Owner: -

GRANT SELECT ON TABLE audit.registry_included_not_accepted TO gym_rewards;
GRANT SELECT ON TABLE audit.registry_included_not_accepted TO gym_api;
GRANT SELECT ON TABLE audit.registry_included_not_accepted TO gym_auditor;

-- Name: TABLE dataset_part; Type: ACL; Schema: registry; Owner: -

GRANT SELECT ON TABLE registry.dataset_part TO gym_coordinator;
GRANT SELECT ON TABLE registry.dataset_part TO gym_rewards;
GRANT SELECT,INSERT ON TABLE registry.dataset_part TO gym_api;
GRANT SELECT ON TABLE registry.dataset_part TO gym_evaluator;

-- Name: TABLE job; Type: ACL; Schema: registry; Owner: -

GRANT SELECT,UPDATE ON TABLE registry.job TO gym_coordinator;
GRANT SELECT ON TABLE registry.job TO gym_rewards;
GRANT SELECT,INSERT ON TABLE registry.job TO gym_api;

-- Name: COLUMN job.budget_wei; Type: ACL; Schema: registry; Owner: -

GRANT UPDATE(budget_wei) ON TABLE registry.job TO gym_rewards;

-- Name: COLUMN job.request; Type: ACL; Schema: registry; Owner: -

GRANT UPDATE(request) ON TABLE registry.job TO gym_rewards;
GRANT UPDATE(request) ON TABLE registry.job TO gym_api;

-- Name: COLUMN job.request_reason; Type: ACL; Schema: registry; Owner: -

GRANT UPDATE(request_reason) ON TABLE registry.job TO gym_rewards;
GRANT UPDATE(request_reason) ON TABLE registry.job TO gym_api;

-- Name: COLUMN job.visibility; Type: ACL; Schema: registry; Owner: -

GRANT UPDATE(visibility) ON TABLE registry.job TO gym_api;

-- Name: COLUMN job.allowed; Type: ACL; Schema: registry; Owner: -

GRANT UPDATE(allowed) ON TABLE registry.job TO gym_api;

-- Name: TABLE job_data; Type: ACL; Schema: registry; Owner: -

GRANT SELECT ON TABLE registry.job_data TO gym_coordinator;
GRANT SELECT ON TABLE registry.job_data TO gym_rewards;
GRANT SELECT ON TABLE registry.job_data TO gym_api;

-- Name: TABLE registry_job_data; Type: ACL; Schema: audit; Owner: -

GRANT SELECT ON TABLE audit.registry_job_data TO gym_rewards;
GRANT SELECT ON TABLE audit.registry_job_data TO gym_api;
GRANT SELECT ON TABLE audit.registry_job_data TO gym_auditor;

-- Name: TABLE evaluation; Type: ACL; Schema: registry; Owner: -

GRANT SELECT ON TABLE registry.evaluation TO gym_api;
GRANT SELECT ON TABLE registry.evaluation TO gym_coordinator;
GRANT SELECT ON TABLE registry.evaluation TO gym_rewards;
GRANT SELECT,INSERT ON TABLE registry.evaluation TO gym_evaluator;

-- Name: COLUMN evaluation.salt; Type: ACL; Schema: registry; Owner: -

GRANT UPDATE(salt) ON TABLE registry.evaluation TO gym_evaluator;

-- Name: COLUMN evaluation.held_out_root; Type: ACL; Schema: registry; Owner: -

GRANT UPDATE(held_out_root) ON TABLE registry.evaluation TO gym_evaluator;

-- Name: COLUMN evaluation.retired_at_ms; Type: ACL; Schema: registry; Owner: -

GRANT UPDATE(retired_at_ms) ON TABLE registry.evaluation TO gym_evaluator;

-- Name: TABLE registry_measurement; Type: ACL; Schema: audit; Owner: -

GRANT SELECT ON TABLE audit.registry_measurement TO gym_rewards;
GRANT SELECT ON TABLE audit.registry_measurement TO gym_api;
GRANT SELECT ON TABLE audit.registry_measurement TO gym_auditor;

-- Name: TABLE registry_mix; Type: ACL; Schema: audit; Owner: -

GRANT SELECT ON TABLE audit.registry_mix TO gym_rewards;
GRANT SELECT ON TABLE audit.registry_mix TO gym_api;
GRANT SELECT ON TABLE audit.registry_mix TO gym_auditor;

-- Name: TABLE registry_state_without_event; Type: ACL; Schema: audit; Owner: -

GRANT SELECT ON TABLE audit.registry_state_without_event TO gym_rewards;
GRANT SELECT ON TABLE audit.registry_state_without_event TO gym_api;
GRANT SELECT ON TABLE audit.registry_state_without_event TO gym_auditor;

-- Name: TABLE credit; Type: ACL; Schema: rewards; Owner: -

GRANT SELECT,INSERT,UPDATE ON TABLE rewards.credit TO gym_rewards;
GRANT SELECT ON TABLE rewards.credit TO gym_api;

-- Name: TABLE rewards_credit_without_transfer; Type: ACL; Schema: audit; Owner: -

GRANT SELECT ON TABLE audit.rewards_credit_without_transfer TO gym_rewards;
GRANT SELECT ON TABLE audit.rewards_credit_without_transfer TO gym_api;
GRANT SELECT ON TABLE audit.rewards_credit_without_transfer TO gym_auditor;

-- Name: TABLE payout; Type: ACL; Schema: rewards; Owner: -

GRANT SELECT,INSERT ON TABLE rewards.payout TO gym_rewards;
GRANT SELECT ON TABLE rewards.payout TO gym_api;

-- Name: TABLE rewards_cumulative; Type: ACL; Schema: audit; Owner: -

GRANT SELECT ON TABLE audit.rewards_cumulative TO gym_rewards;
GRANT SELECT ON TABLE audit.rewards_cumulative TO gym_api;
GRANT SELECT ON TABLE audit.rewards_cumulative TO gym_auditor;

-- Name: TABLE rewards_data_paid_twice; Type: ACL; Schema: audit; Owner: -

GRANT SELECT ON TABLE audit.rewards_data_paid_twice TO gym_rewards;
GRANT SELECT ON TABLE audit.rewards_data_paid_twice TO gym_api;
GRANT SELECT ON TABLE audit.rewards_data_paid_twice TO gym_auditor;

-- Name: TABLE rewards_data_shares; Type: ACL; Schema: audit; Owner: -

GRANT SELECT ON TABLE audit.rewards_data_shares TO gym_rewards;
GRANT SELECT ON TABLE audit.rewards_data_shares TO gym_api;
GRANT SELECT ON TABLE audit.rewards_data_shares TO gym_auditor;

-- Name: TABLE rewards_data_terms; Type: ACL; Schema: audit; Owner: -

GRANT SELECT ON TABLE audit.rewards_data_terms TO gym_rewards;
GRANT SELECT ON TABLE audit.rewards_data_terms TO gym_api;
GRANT SELECT ON TABLE audit.rewards_data_terms TO gym_auditor;

-- Name: TABLE rewards_emission_above_burned; Type: ACL; Schema: audit; Owner: -

GRANT SELECT ON TABLE audit.rewards_emission_above_burned TO gym_rewards;
GRANT SELECT ON TABLE audit.rewards_emission_above_burned TO gym_api;
GRANT SELECT ON TABLE audit.rewards_emission_above_burned TO gym_auditor;

-- Name: TABLE rewards_fee_above_charge; Type: ACL; Schema: audit; Owner: -

GRANT SELECT ON TABLE audit.rewards_fee_above_charge TO gym_rewards;
GRANT SELECT ON TABLE audit.rewards_fee_above_charge TO gym_api;
GRANT SELECT ON TABLE audit.rewards_fee_above_charge TO gym_auditor;

-- Name: TABLE owner_lock; Type: ACL; Schema: rewards; Owner: -

GRANT SELECT,INSERT,UPDATE ON TABLE rewards.owner_lock TO gym_rewards;

-- Name: TABLE rewards_locks; Type: ACL; Schema: audit; Owner: -

GRANT SELECT ON TABLE audit.rewards_locks TO gym_rewards;
GRANT SELECT ON TABLE audit.rewards_locks TO gym_api;
GRANT SELECT ON TABLE audit.rewards_locks TO gym_auditor;

-- Name: TABLE rewards_paid_twice; Type: ACL; Schema: audit; Owner: -

GRANT SELECT ON TABLE audit.rewards_paid_twice TO gym_rewards;
GRANT SELECT ON TABLE audit.rewards_paid_twice TO gym_api;
GRANT SELECT ON TABLE audit.rewards_paid_twice TO gym_auditor;

-- Name: TABLE rewards_paid_without_final_unit; Type: ACL; Schema: audit; Owner: -

GRANT SELECT ON TABLE audit.rewards_paid_without_final_unit TO gym_rewards;
GRANT SELECT ON TABLE audit.rewards_paid_without_final_unit TO gym_api;
GRANT SELECT ON TABLE audit.rewards_paid_without_final_unit TO gym_auditor;

-- Name: TABLE rewards_payable; Type: ACL; Schema: audit; Owner: -

GRANT SELECT ON TABLE audit.rewards_payable TO gym_rewards;
GRANT SELECT ON TABLE audit.rewards_payable TO gym_api;
GRANT SELECT ON TABLE audit.rewards_payable TO gym_auditor;

-- Name: TABLE unit_prefix; Type: ACL; Schema: registry; Owner: -

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE registry.unit_prefix TO gym_coordinator;
GRANT SELECT ON TABLE registry.unit_prefix TO gym_rewards;

-- Name: COLUMN unit_prefix.unit_id; Type: ACL; Schema: registry; Owner: -

GRANT SELECT(unit_id) ON TABLE registry.unit_prefix TO gym_api;

-- Name: COLUMN unit_prefix.steps; Type: ACL; Schema: registry; Owner: -

GRANT SELECT(steps) ON TABLE registry.unit_prefix TO gym_api;

-- Name: COLUMN unit_prefix.state; Type: ACL; Schema: registry; Owner: -

GRANT SELECT(state) ON TABLE registry.unit_prefix TO gym_api;

-- Name: COLUMN unit_prefix.flops; Type: ACL; Schema: registry; Owner: -

GRANT SELECT(flops) ON TABLE registry.unit_prefix TO gym_api;

-- Name: TABLE rewards_prefix; Type: ACL; Schema: audit; Owner: -

GRANT SELECT ON TABLE audit.rewards_prefix TO gym_rewards;
GRANT SELECT ON TABLE audit.rewards_prefix TO gym_api;
GRANT SELECT ON TABLE audit.rewards_prefix TO gym_auditor;

-- Name: TABLE reconciliation; Type: ACL; Schema: rewards; Owner: -

GRANT SELECT,INSERT,UPDATE ON TABLE rewards.reconciliation TO gym_rewards;
GRANT SELECT ON TABLE rewards.reconciliation TO gym_api;

-- Name: TABLE rewards_reconciliation; Type: ACL; Schema: audit; Owner: -

GRANT SELECT ON TABLE audit.rewards_reconciliation TO gym_rewards;
GRANT SELECT ON TABLE audit.rewards_reconciliation TO gym_api;
GRANT SELECT ON TABLE audit.rewards_reconciliation TO gym_auditor;

-- Name: TABLE release; Type: ACL; Schema: rewards; Owner: -

GRANT SELECT,INSERT ON TABLE rewards.release TO gym_rewards;
GRANT SELECT ON TABLE rewards.release TO gym_api;

-- Name: TABLE rewards_released; Type: ACL; Schema: audit; Owner: -

GRANT SELECT ON TABLE audit.rewards_released TO gym_rewards;
GRANT SELECT ON TABLE audit.rewards_released TO gym_api;
GRANT SELECT ON TABLE audit.rewards_released TO gym_auditor;

-- Name: TABLE attempt; Type: ACL; Schema: chain; Owner: -

GRANT SELECT,INSERT ON TABLE chain.attempt TO gym_coordinator;
GRANT SELECT,INSERT ON TABLE chain.attempt TO gym_rewards;
GRANT SELECT ON TABLE chain.attempt TO gym_api;

-- Name: TABLE chain_commitment; Type: ACL; Schema: registry; Owner: -

GRANT SELECT,INSERT ON TABLE registry.chain_commitment TO gym_coordinator;

-- Name: COLUMN chain_commitment.epoch; Type: ACL; Schema: registry; Owner: -

GRANT UPDATE(epoch) ON TABLE registry.chain_commitment TO gym_coordinator;

-- Name: COLUMN chain_commitment.leaf_index; Type: ACL; Schema: registry; Owner: -

GRANT UPDATE(leaf_index) ON TABLE registry.chain_commitment TO gym_coordinator;

-- Name: TABLE chain_commitment_watch; Type: ACL; Schema: registry; Owner: -

GRANT SELECT,INSERT ON TABLE registry.chain_commitment_watch TO gym_coordinator;

-- Name: COLUMN chain_commitment_watch.seen_block; Type: ACL; Schema: registry; Owner: -

GRANT UPDATE(seen_block) ON TABLE registry.chain_commitment_watch TO gym_coordinator;

-- Name: TABLE challenge; Type: ACL; Schema: registry; Owner: -

GRANT SELECT,INSERT,DELETE ON TABLE registry.challenge TO gym_coordinator;
GRANT SELECT ON TABLE registry.challenge TO gym_rewards;
GRANT SELECT ON TABLE registry.challenge TO gym_api;

-- Name: COLUMN challenge.answered_at_ms; Type: ACL; Schema: registry; Owner: -

GRANT UPDATE(answered_at_ms) ON TABLE registry.challenge TO gym_coordinator;

-- Name: COLUMN challenge.signature; Type: ACL; Schema: registry; Owner: -

GRANT UPDATE(signature) ON TABLE registry.challenge TO gym_coordinator;

-- Name: COLUMN challenge.late_at_ms; Type: ACL; Schema: registry; Owner: -

GRANT UPDATE(late_at_ms) ON TABLE registry.challenge TO gym_coordinator;

-- Name: COLUMN challenge.withdrawn; Type: ACL; Schema: registry; Owner: -

GRANT UPDATE(withdrawn) ON TABLE registry.challenge TO gym_coordinator;

-- Name: TABLE challenge_pass; Type: ACL; Schema: registry; Owner: -

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE registry.challenge_pass TO gym_coordinator;

-- Name: TABLE challenge_schedule; Type: ACL; Schema: registry; Owner: -

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE registry.challenge_schedule TO gym_coordinator;

-- Name: TABLE cost_rates; Type: ACL; Schema: registry; Owner: -

GRANT SELECT,INSERT,UPDATE ON TABLE registry.cost_rates TO gym_coordinator;
GRANT SELECT ON TABLE registry.cost_rates TO gym_api;

-- Name: TABLE dataset_key; Type: ACL; Schema: registry; Owner: -

GRANT SELECT ON TABLE registry.dataset_key TO gym_coordinator;
GRANT SELECT ON TABLE registry.dataset_key TO gym_rewards;
GRANT SELECT,INSERT ON TABLE registry.dataset_key TO gym_api;

-- Name: TABLE dataset_manifest; Type: ACL; Schema: registry; Owner: -

GRANT SELECT ON TABLE registry.dataset_manifest TO gym_coordinator;
GRANT SELECT ON TABLE registry.dataset_manifest TO gym_rewards;
GRANT SELECT,INSERT ON TABLE registry.dataset_manifest TO gym_api;
GRANT SELECT ON TABLE registry.dataset_manifest TO gym_evaluator;

-- Name: TABLE dataset_name; Type: ACL; Schema: registry; Owner: -

GRANT SELECT,INSERT ON TABLE registry.dataset_name TO gym_api;

-- Name: TABLE dataset_tokenizer; Type: ACL; Schema: registry; Owner: -

GRANT SELECT,INSERT ON TABLE registry.dataset_tokenizer TO gym_api;

-- Name: TABLE dataset_version; Type: ACL; Schema: registry; Owner: -

GRANT SELECT,INSERT ON TABLE registry.dataset_version TO gym_api;

-- Name: TABLE delta_place; Type: ACL; Schema: registry; Owner: -

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE registry.delta_place TO gym_coordinator;

-- Name: TABLE delta_upload; Type: ACL; Schema: registry; Owner: -

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE registry.delta_upload TO gym_coordinator;

-- Name: TABLE dispute_window; Type: ACL; Schema: registry; Owner: -

GRANT SELECT,INSERT,UPDATE ON TABLE registry.dispute_window TO gym_coordinator;
GRANT SELECT ON TABLE registry.dispute_window TO gym_api;

-- Name: TABLE disputed_unit; Type: ACL; Schema: registry; Owner: -

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE registry.disputed_unit TO gym_coordinator;
GRANT SELECT ON TABLE registry.disputed_unit TO gym_rewards;
GRANT SELECT ON TABLE registry.disputed_unit TO gym_api;

-- Name: TABLE epoch_leaf; Type: ACL; Schema: registry; Owner: -

GRANT SELECT ON TABLE registry.epoch_leaf TO gym_coordinator;
GRANT SELECT ON TABLE registry.epoch_leaf TO gym_api;
GRANT SELECT ON TABLE registry.epoch_leaf TO gym_rewards;

-- Name: TABLE equivocation; Type: ACL; Schema: registry; Owner: -

GRANT SELECT,INSERT ON TABLE registry.equivocation TO gym_coordinator;
GRANT SELECT ON TABLE registry.equivocation TO gym_rewards;

-- Name: COLUMN equivocation.filed_at_ms; Type: ACL; Schema: registry; Owner: -

GRANT UPDATE(filed_at_ms) ON TABLE registry.equivocation TO gym_coordinator;

-- Name: TABLE game_watch; Type: ACL; Schema: registry; Owner: -

GRANT SELECT,INSERT,UPDATE ON TABLE registry.game_watch TO gym_coordinator;
GRANT SELECT ON TABLE registry.game_watch TO gym_rewards;
GRANT SELECT ON TABLE registry.game_watch TO gym_api;

-- Name: TABLE job_funding; Type: ACL; Schema: registry; Owner: -

GRANT SELECT ON TABLE registry.job_funding TO gym_coordinator;
GRANT SELECT ON TABLE registry.job_funding TO gym_rewards;
GRANT SELECT,INSERT ON TABLE registry.job_funding TO gym_api;
GRANT SELECT ON TABLE registry.job_funding TO gym_auditor;

-- Name: TABLE job_order; Type: ACL; Schema: registry; Owner: -

GRANT SELECT ON TABLE registry.job_order TO gym_coordinator;
GRANT SELECT ON TABLE registry.job_order TO gym_rewards;
GRANT SELECT,INSERT ON TABLE registry.job_order TO gym_api;
GRANT SELECT ON TABLE registry.job_order TO gym_auditor;

-- Name: TABLE job_transition; Type: ACL; Schema: registry; Owner: -

GRANT SELECT ON TABLE registry.job_transition TO gym_coordinator;
GRANT SELECT ON TABLE registry.job_transition TO gym_rewards;
GRANT SELECT ON TABLE registry.job_transition TO gym_api;

-- Name: TABLE mirror; Type: ACL; Schema: registry; Owner: -

GRANT SELECT,INSERT,DELETE ON TABLE registry.mirror TO gym_coordinator;
GRANT SELECT ON TABLE registry.mirror TO gym_api;

-- Name: TABLE missed_draw; Type: ACL; Schema: registry; Owner: -

GRANT SELECT,INSERT ON TABLE registry.missed_draw TO gym_coordinator;
GRANT SELECT ON TABLE registry.missed_draw TO gym_rewards;

-- Name: TABLE mix_recipe; Type: ACL; Schema: registry; Owner: -

GRANT SELECT,INSERT ON TABLE registry.mix_recipe TO gym_api;

-- Name: TABLE model_name; Type: ACL; Schema: registry; Owner: -

GRANT SELECT,INSERT ON TABLE registry.model_name TO gym_api;

-- Name: TABLE model_version; Type: ACL; Schema: registry; Owner: -

GRANT SELECT,INSERT ON TABLE registry.model_version TO gym_api;

-- Name: COLUMN model_version.visibility; Type: ACL; Schema: registry; Owner: -

GRANT UPDATE(visibility) ON TABLE registry.model_version TO gym_api;

-- Name: COLUMN model_version.allowed; Type: ACL; Schema: registry; Owner: -

GRANT UPDATE(allowed) ON TABLE registry.model_version TO gym_api;

-- Name: TABLE node; Type: ACL; Schema: registry; Owner: -

GRANT SELECT,INSERT,UPDATE ON TABLE registry.node TO gym_coordinator;
GRANT SELECT ON TABLE registry.node TO gym_rewards;
GRANT SELECT ON TABLE registry.node TO gym_api;

-- Name: TABLE published_prefix; Type: ACL; Schema: registry; Owner: -

GRANT SELECT ON TABLE registry.published_prefix TO gym_api;

-- Name: TABLE report; Type: ACL; Schema: registry; Owner: -

GRANT SELECT,INSERT,UPDATE ON TABLE registry.report TO gym_coordinator;
GRANT SELECT ON TABLE registry.report TO gym_rewards;

-- Name: COLUMN report.unit_id; Type: ACL; Schema: registry; Owner: -

GRANT SELECT(unit_id) ON TABLE registry.report TO gym_api;

-- Name: COLUMN report.draw; Type: ACL; Schema: registry; Owner: -

GRANT SELECT(draw) ON TABLE registry.report TO gym_api;

-- Name: COLUMN report.verifier; Type: ACL; Schema: registry; Owner: -

GRANT SELECT(verifier) ON TABLE registry.report TO gym_api;

-- Name: COLUMN report.digest; Type: ACL; Schema: registry; Owner: -

GRANT SELECT(digest) ON TABLE registry.report TO gym_api;

-- Name: COLUMN report.committed_at_ms; Type: ACL; Schema: registry; Owner: -

GRANT SELECT(committed_at_ms) ON TABLE registry.report TO gym_api;

-- Name: COLUMN report.records_root; Type: ACL; Schema: registry; Owner: -

GRANT SELECT(records_root) ON TABLE registry.report TO gym_api;

-- Name: COLUMN report.final_state_root; Type: ACL; Schema: registry; Owner: -

GRANT SELECT(final_state_root) ON TABLE registry.report TO gym_api;

-- Name: COLUMN report.delta_root; Type: ACL; Schema: registry; Owner: -

GRANT SELECT(delta_root) ON TABLE registry.report TO gym_api;

-- Name: COLUMN report.is_equal; Type: ACL; Schema: registry; Owner: -

GRANT SELECT(is_equal) ON TABLE registry.report TO gym_api;

-- Name: COLUMN report.revealed_at_ms; Type: ACL; Schema: registry; Owner: -

GRANT SELECT(revealed_at_ms) ON TABLE registry.report TO gym_api;

-- Name: COLUMN report.accepted_seq; Type: ACL; Schema: registry; Owner: -

GRANT SELECT(accepted_seq) ON TABLE registry.report TO gym_api;

-- Name: COLUMN report.accepted_at_ms; Type: ACL; Schema: registry; Owner: -

GRANT SELECT(accepted_at_ms) ON TABLE registry.report TO gym_api;

-- Name: COLUMN report.found_fault; Type: ACL; Schema: registry; Owner: -

GRANT SELECT(found_fault) ON TABLE registry.report TO gym_api;

-- Name: TABLE published_report; Type: ACL; Schema: registry; Owner: -

GRANT SELECT ON TABLE registry.published_report TO gym_api;

-- Name: TABLE report_claim; Type: ACL; Schema: registry; Owner: -

GRANT SELECT,INSERT ON TABLE registry.report_claim TO gym_coordinator;

-- Name: COLUMN report_claim.checked_at_ms; Type: ACL; Schema: registry; Owner: -

GRANT UPDATE(checked_at_ms) ON TABLE registry.report_claim TO gym_coordinator;

-- Name: COLUMN report_claim.false_at_ms; Type: ACL; Schema: registry; Owner: -

GRANT UPDATE(false_at_ms) ON TABLE registry.report_claim TO gym_coordinator;

-- Name: COLUMN report_claim.filed_at_ms; Type: ACL; Schema: registry; Owner: -

GRANT UPDATE(filed_at_ms) ON TABLE registry.report_claim TO gym_coordinator;

-- Name: TABLE round; Type: ACL; Schema: registry; Owner: -

GRANT SELECT,INSERT,UPDATE ON TABLE registry.round TO gym_coordinator;
GRANT SELECT ON TABLE registry.round TO gym_rewards;
GRANT SELECT ON TABLE registry.round TO gym_api;

-- Name: TABLE service_health; Type: ACL; Schema: registry; Owner: -

GRANT SELECT,INSERT,UPDATE ON TABLE registry.service_health TO gym_coordinator;
GRANT SELECT,INSERT,UPDATE ON TABLE registry.service_health TO gym_rewards;
GRANT SELECT ON TABLE registry.service_health TO gym_api;

-- Name: TABLE size_limits; Type: ACL; Schema: registry; Owner: -

GRANT SELECT,INSERT,UPDATE ON TABLE registry.size_limits TO gym_coordinator;
GRANT SELECT ON TABLE registry.size_limits TO gym_api;

-- Name: TABLE unit_records; Type: ACL; Schema: registry; Owner: -

GRANT SELECT,INSERT ON TABLE registry.unit_records TO gym_coordinator;
GRANT SELECT ON TABLE registry.unit_records TO gym_rewards;

-- Name: TABLE unit_transition; Type: ACL; Schema: registry; Owner: -

GRANT SELECT ON TABLE registry.unit_transition TO gym_coordinator;
GRANT SELECT ON TABLE registry.unit_transition TO gym_rewards;
GRANT SELECT ON TABLE registry.unit_transition TO gym_api;

-- Name: TABLE chain_event; Type: ACL; Schema: rewards; Owner: -

GRANT SELECT,INSERT ON TABLE rewards.chain_event TO gym_rewards;
GRANT SELECT ON TABLE rewards.chain_event TO gym_api;

-- Name: TABLE chain_order; Type: ACL; Schema: rewards; Owner: -

GRANT SELECT,INSERT,UPDATE ON TABLE rewards.chain_order TO gym_rewards;
GRANT SELECT ON TABLE rewards.chain_order TO gym_api;

-- Name: TABLE cursor; Type: ACL; Schema: rewards; Owner: -

GRANT SELECT,INSERT,UPDATE ON TABLE rewards.cursor TO gym_rewards;
GRANT SELECT ON TABLE rewards.cursor TO gym_api;

-- Name: TABLE demand; Type: ACL; Schema: rewards; Owner: -

GRANT SELECT,INSERT,UPDATE ON TABLE rewards.demand TO gym_rewards;

-- Name: TABLE fee_terms; Type: ACL; Schema: rewards; Owner: -

GRANT SELECT,INSERT,UPDATE ON TABLE rewards.fee_terms TO gym_rewards;
GRANT SELECT ON TABLE rewards.fee_terms TO gym_api;

-- Name: TABLE finished_round; Type: ACL; Schema: rewards; Owner: -

GRANT SELECT,INSERT,UPDATE ON TABLE rewards.finished_round TO gym_rewards;
GRANT SELECT ON TABLE rewards.finished_round TO gym_api;

-- Name: TABLE leaving; Type: ACL; Schema: rewards; Owner: -

GRANT SELECT,INSERT,DELETE ON TABLE rewards.leaving TO gym_rewards;

-- Name: TABLE unlock; Type: ACL; Schema: rewards; Owner: -

GRANT SELECT,INSERT ON TABLE rewards.unlock TO gym_rewards;

-- Name: DEFAULT PRIVILEGES FOR TABLES; Type: DEFAULT ACL; Schema: audit; Owner: -

ALTER DEFAULT PRIVILEGES FOR ROLE postgres IN SCHEMA audit GRANT SELECT ON TABLES  TO gym_rewards;
ALTER DEFAULT PRIVILEGES FOR ROLE postgres IN SCHEMA audit GRANT SELECT ON TABLES  TO gym_api;
ALTER DEFAULT PRIVILEGES FOR ROLE postgres IN SCHEMA audit GRANT SELECT ON TABLES  TO gym_auditor;

-- PostgreSQL database dump complete
