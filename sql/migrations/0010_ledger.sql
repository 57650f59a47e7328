-- Double-entry ledger (docs/REWARDS.md). The only writer is ledger.submit() and its companions below; the
-- tables refuse everything else, whoever asks.
CREATE SCHEMA ledger AUTHORIZATION gym_ledger_owner;
GRANT USAGE ON SCHEMA ledger TO gym_rewards, gym_api, gym_auditor;
SET LOCAL ROLE gym_ledger_owner;

-- A uint256, as the token's contracts count.
CREATE DOMAIN ledger.amount AS numeric(78, 0)
    CHECK (VALUE BETWEEN 0 AND 115792089237316195423570985008687907853269984665640564039457584007913129639935);

CREATE TABLE ledger.account (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner text NOT NULL CHECK (length(owner) BETWEEN 1 AND 128),
    asset text NOT NULL CHECK (length(asset) BETWEEN 1 AND 96),
    kind text NOT NULL CHECK (kind IN ('available', 'escrow', 'earned', 'payable', 'withdrawing',
                                       'chain_escrow', 'chain_distributor', 'dust')),
    -- Accounts that mirror tokens held by contracts go below zero; no other account may.
    no_overdraft boolean GENERATED ALWAYS AS (kind NOT IN ('chain_escrow', 'chain_distributor')) STORED,
    debits ledger.amount NOT NULL DEFAULT 0,
    credits ledger.amount NOT NULL DEFAULT 0,
    debits_pending ledger.amount NOT NULL DEFAULT 0,
    credits_pending ledger.amount NOT NULL DEFAULT 0,
    version bigint NOT NULL DEFAULT 0,  -- number of entries
    closed boolean NOT NULL DEFAULT false,
    opened_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (owner, asset, kind),
    CONSTRAINT account_is_covered CHECK (NOT no_overdraft OR credits >= debits + debits_pending),
    CONSTRAINT closed_account_is_empty
        CHECK (NOT closed OR (credits = debits AND debits_pending = 0 AND credits_pending = 0))
) WITH (fillfactor = 70);  -- room for updates in place

-- One row per transfer holds both of its entries: they cannot fail to cancel, and nothing is written twice. There are
-- no foreign keys: check_transfers() asks for a whole statement what they would ask row by row.
CREATE TABLE ledger.transfer (
    id uuid PRIMARY KEY,
    seq bigint GENERATED ALWAYS AS IDENTITY,
    group_id uuid,
    kind text NOT NULL,
    debit_account bigint NOT NULL,
    credit_account bigint NOT NULL,
    amount ledger.amount NOT NULL,
    pending_id uuid,
    expires_at bigint,  -- Unix milliseconds
    reason text NOT NULL,
    fingerprint bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- The entries: an account's version and balance after this transfer. NULL where nothing moves.
    debit_version bigint,
    debit_after numeric(79, 0),
    credit_version bigint,
    credit_after numeric(79, 0),
    -- One check instead of seven: each is read and compiled again by every statement.
    CONSTRAINT transfer_is_sound CHECK (
        kind IN ('transfer', 'pending', 'post', 'void', 'expire') AND amount > 0
        AND debit_account <> credit_account AND (pending_id IS NOT NULL) = (kind IN ('post', 'void', 'expire'))
        AND (expires_at IS NULL OR kind = 'pending') AND octet_length(reason) <= 256
        AND octet_length(fingerprint) = 32
        AND num_nulls(debit_version, debit_after, credit_version, credit_after)
            = CASE WHEN kind IN ('transfer', 'post') THEN 0 ELSE 4 END)
);
-- A pending transfer is resolved once, for ever.
CREATE UNIQUE INDEX transfer_resolves_once ON ledger.transfer (pending_id) WHERE pending_id IS NOT NULL;
CREATE INDEX transfer_expiry ON ledger.transfer (expires_at) WHERE expires_at IS NOT NULL;
CREATE UNIQUE INDEX transfer_seq ON ledger.transfer (seq);
CREATE UNIQUE INDEX transfer_debit ON ledger.transfer (debit_account, debit_version)
    WHERE debit_version IS NOT NULL;
CREATE UNIQUE INDEX transfer_credit ON ledger.transfer (credit_account, credit_version)
    WHERE credit_version IS NOT NULL;
-- Transfers that only reserve or release have no version; statements find them by account and number.
CREATE INDEX transfer_debit_still ON ledger.transfer (debit_account, seq) WHERE debit_version IS NULL;
CREATE INDEX transfer_credit_still ON ledger.transfer (credit_account, seq) WHERE credit_version IS NULL;

-- The entries one by one.
CREATE VIEW ledger.entry AS
    SELECT debit_account AS account_id, debit_version AS version, id AS transfer_id, -amount::numeric AS delta,
           debit_after::numeric AS balance_after
    FROM ledger.transfer WHERE debit_version IS NOT NULL
    UNION ALL
    SELECT credit_account, credit_version, id, amount::numeric, credit_after::numeric
    FROM ledger.transfer WHERE credit_version IS NOT NULL;

CREATE FUNCTION ledger.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'ledger.% is immutable: % refused; book a correcting transfer', TG_TABLE_NAME, TG_OP
        USING ERRCODE = 'insufficient_privilege';
END
$$;
CREATE TRIGGER immutable BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger.transfer
    FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse();
CREATE TRIGGER immutable BEFORE DELETE OR TRUNCATE ON ledger.account
    FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse();
CREATE TRIGGER only_forward BEFORE UPDATE ON ledger.account FOR EACH ROW
    WHEN (old.id <> new.id OR old.owner <> new.owner OR old.asset <> new.asset OR old.kind <> new.kind
          OR new.debits < old.debits OR new.credits < old.credits OR new.version < old.version
          OR (old.closed AND NOT new.closed))
    EXECUTE FUNCTION ledger.refuse();

-- Rules that no single row can check, checked once per statement, whoever writes: both sides hold one asset (neither
-- an account's asset nor its existence ever changes), the versions of an account continue without a gap or a
-- repetition, and a resolution moves what its pending transfer reserved. Foreign keys would check less, row by row.
CREATE FUNCTION ledger.check_transfers() RETURNS trigger LANGUAGE plpgsql AS $$
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
CREATE TRIGGER fits AFTER INSERT ON ledger.transfer REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION ledger.check_transfers();

CREATE FUNCTION ledger.open_account(p_owner text, p_asset text, p_kind text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
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

CREATE FUNCTION ledger.close_account(p_id bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE ledger.account SET closed = true
        WHERE id = p_id AND credits = debits AND debits_pending = 0 AND credits_pending = 0;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'account % does not exist or is not empty', p_id;
    END IF;
END
$$;

-- The fields that a retry must repeat exactly.
CREATE FUNCTION ledger.fingerprint(kind text, debit bigint, credit bigint, amount numeric, pending uuid,
                                   expires bigint, group_id uuid, reason text) RETURNS bytea
    LANGUAGE sql STABLE AS $$  -- as convert_to is; the planner inlines it then
    SELECT sha256(convert_to(
        kind || '|' || coalesce(debit::text, '') || '|' || coalesce(credit::text, '') || '|' ||
        coalesce(amount::text, '') || '|' || coalesce(pending::text, '') || '|' ||
        coalesce(expires::text, '') || '|' || coalesce(group_id::text, '') || '|' || reason, 'UTF8'))
$$;

-- One transfer that nothing speaks against, in a quarter of the time that a batch of one takes. False: nothing was
-- done, ledger.book() says why.
CREATE FUNCTION ledger.book_one(
    p_id uuid, p_debit bigint, p_credit bigint, p_amount numeric, p_pending uuid, p_expires bigint, p_group uuid,
    p_reason text) RETURNS boolean
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
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
REVOKE ALL ON FUNCTION ledger.book_one FROM PUBLIC;

-- Books a batch: locks the accounts in the order of their ids (no deadlock between batches), decides item by
-- item in order, then writes all accepted items with one statement per table. `created`, `exists`,
-- `exists_different`, `insufficient`, `closed`, `unknown`, `invalid` or `group_failed` for each item.
-- An amount has one fingerprint however it is written ("7.0").
CREATE FUNCTION ledger.book(
    p_ids uuid[], p_kinds text[], p_debits bigint[], p_credits bigint[], p_amounts numeric[],
    p_pendings uuid[], p_expires bigint[], p_groups uuid[], p_reasons text[], p_now bigint,
    p_may_expire boolean, p_any_kind boolean) RETURNS text[]
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
    -- A plan made while the tables were small must not scan them once they are large.
    SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
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
REVOKE ALL ON FUNCTION ledger.book FROM PUBLIC;

-- gym_api funds jobs and moves money one way only: from what a job's owner has available into that job's escrow. What is
-- left of a budget goes back by gym_rewards.
CREATE FUNCTION ledger.require_own_job(p_kinds text[], p_debits bigint[], p_credits bigint[]) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF EXISTS (
        SELECT FROM unnest(p_kinds, p_debits, p_credits) AS i (kind, debit, credit)
        LEFT JOIN ledger.account d ON d.id = i.debit
        LEFT JOIN ledger.account c ON c.id = i.credit
        LEFT JOIN registry.job j
            ON j.id = CASE WHEN c.owner ~ '^job:0x[0-9a-f]{64}$' THEN decode(substr(c.owner, 7), 'hex') END
        WHERE (i.kind = 'transfer' AND d.kind = 'available' AND c.kind = 'escrow'
               AND d.owner = '0x' || encode(j.owner, 'hex')) IS NOT TRUE) THEN
        RAISE EXCEPTION 'this role may only move what a job''s owner has available into the job''s escrow'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
END
$$;
REVOKE ALL ON FUNCTION ledger.require_own_job FROM PUBLIC;

-- The way in for programs. gym_rewards may book anything; other roles may only fund jobs and take what is
-- left of a job's budget back.
CREATE FUNCTION ledger.submit(
    p_ids uuid[], p_kinds text[], p_debits bigint[], p_credits bigint[], p_amounts numeric[],
    p_pendings uuid[], p_expires bigint[], p_groups uuid[], p_reasons text[], p_now bigint) RETURNS text[]
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    any_kind constant boolean := pg_has_role(session_user, 'gym_rewards', 'MEMBER');
BEGIN
    IF NOT any_kind THEN
        PERFORM ledger.require_own_job(p_kinds, p_debits, p_credits);
    END IF;
    FOR attempt IN 1 .. 8 LOOP
        BEGIN
            RETURN ledger.book(p_ids, p_kinds, p_debits, p_credits, p_amounts, p_pendings, p_expires,
                               p_groups, p_reasons, p_now, false, any_kind);
        EXCEPTION WHEN unique_violation OR SQLSTATE 'GL001' THEN
            -- Another session booked one of these ids, or a pending transfer that is named here, meanwhile;
            -- now it is visible. What this attempt had locked is free again.
            IF attempt = 8 THEN RAISE; END IF;
        END;
    END LOOP;
END
$$;

CREATE FUNCTION ledger.expire(p_now bigint, p_count_max integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
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

-- An owner's statement is read by account, newest first (docs/LEDGER.md, "Statements"). What moves something is found by
-- its version, in the same order as by `seq`: a transaction that draws a number holds the locks of both accounts.
--
-- The numbers of an account's newest transfers below p_before. However long the history and however deep the page, it
-- reads 4 * p_limit rows at the most, besides a few to find where to begin.
CREATE FUNCTION ledger.newest_transfers(p_account bigint, p_before bigint, p_limit integer) RETURNS SETOF bigint
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
    -- A plan made while the tables were small must not scan them once they are large.
    SET enable_seqscan = off SET enable_bitmapscan = off AS $$
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

-- Seals -------------------------------------------------------------------------------------------
-- Seals over committed transfers (docs/LEDGER.md): each covers those with a sequence number above the last of the
-- seal before, up to its own last, and names the seal before by its hash. The sealer computes root and signature;
-- the database refuses a seal that does not continue the chain or that a transfer could still slip under.
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

-- The hash of a seal, as src/ledger/seal.cpp computes it.
CREATE FUNCTION ledger.seal_hash(s ledger.seal) RETURNS bytea
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT sha256(convert_to('gym.seal.v1', 'UTF8') || int8send(s.number) || int8send(s.first_seq) ||
                  int8send(s.last_seq) || int8send(s.transfers) || s.root || s.previous ||
                  int8send(s.sealed_at_ms) || s.signer)
$$;

-- Up to where no running transaction can still commit a transfer. Sequence numbers are drawn in one order and
-- committed in another, and a rollback leaves a gap that looks like a transfer yet to come. Whoever holds a number
-- holds a lock on ledger.transfer from before drawing it until after its end; so once everyone who held that lock
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

-- Privileges ----------------------------------------------------------------------------------------
GRANT SELECT ON ledger.account, ledger.transfer, ledger.entry, ledger.seal TO gym_rewards, gym_api, gym_auditor;
REVOKE ALL ON FUNCTION ledger.open_account, ledger.close_account, ledger.submit, ledger.expire, ledger.newest_transfers,
    ledger.writers, ledger.settle, ledger.append_seal FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ledger.open_account, ledger.submit TO gym_rewards, gym_api;
GRANT EXECUTE ON FUNCTION ledger.close_account, ledger.expire, ledger.settle, ledger.append_seal TO gym_rewards;
GRANT EXECUTE ON FUNCTION ledger.newest_transfers TO gym_api;

RESET ROLE;

-- Invariants: every view is empty -------------------------------------------------------------------
CREATE VIEW audit.ledger_account_totals AS
    WITH leg AS (
        SELECT t.debit_account AS account, t.kind, t.amount, 'debit' AS side FROM ledger.transfer t
        UNION ALL
        SELECT t.credit_account, t.kind, t.amount, 'credit' FROM ledger.transfer t),
    expected AS (
        SELECT account,
               coalesce(sum(amount) FILTER (WHERE side = 'debit' AND kind IN ('transfer', 'post')), 0) AS d,
               coalesce(sum(amount) FILTER (WHERE side = 'credit' AND kind IN ('transfer', 'post')), 0) AS c,
               coalesce(sum(CASE kind WHEN 'pending' THEN amount WHEN 'transfer' THEN 0 ELSE -amount END)
                        FILTER (WHERE side = 'debit'), 0) AS dp,
               coalesce(sum(CASE kind WHEN 'pending' THEN amount WHEN 'transfer' THEN 0 ELSE -amount END)
                        FILTER (WHERE side = 'credit'), 0) AS cp
        FROM leg GROUP BY account)
    SELECT format('account %s: totals differ from its transfers', a.id) AS problem
    FROM ledger.account a LEFT JOIN expected e ON e.account = a.id
    WHERE (a.debits, a.credits, a.debits_pending, a.credits_pending)
          IS DISTINCT FROM (coalesce(e.d, 0), coalesce(e.c, 0), coalesce(e.dp, 0), coalesce(e.cp, 0));

CREATE VIEW audit.ledger_entry_chain AS
    SELECT format('account %s, entry %s: version or balance does not follow from the one before',
                  s.account_id, s.version) AS problem
    FROM (SELECT e.*, row_number() OVER w AS expected_version, sum(e.delta) OVER w AS expected_balance
          FROM ledger.entry e WINDOW w AS (PARTITION BY e.account_id ORDER BY e.version)) s
    WHERE s.version <> s.expected_version OR s.balance_after <> s.expected_balance
    UNION ALL
    SELECT format('account %s: balance differs from its last entry', a.id)
    FROM ledger.account a
    LEFT JOIN ledger.entry e ON e.account_id = a.id AND e.version = a.version
    WHERE a.credits - a.debits <> coalesce(e.balance_after, 0) OR (a.version > 0 AND e.version IS NULL);

CREATE VIEW audit.ledger_assets AS
    SELECT format('transfer %s: an account is missing or holds another asset', t.id) AS problem
    FROM ledger.transfer t
    LEFT JOIN ledger.account d ON d.id = t.debit_account
    LEFT JOIN ledger.account c ON c.id = t.credit_account
    WHERE d.asset IS NULL OR c.asset IS NULL OR d.asset <> c.asset;

CREATE VIEW audit.ledger_resolutions AS
    SELECT format('transfer %s: does not resolve a pending transfer of the same accounts and amount', r.id)
               AS problem
    FROM ledger.transfer r LEFT JOIN ledger.transfer p ON p.id = r.pending_id
    WHERE r.pending_id IS NOT NULL
      AND (p.kind, p.debit_account, p.credit_account, p.amount::numeric)
          IS DISTINCT FROM ('pending', r.debit_account, r.credit_account, r.amount::numeric);

CREATE VIEW audit.ledger_overdrafts AS
    SELECT format('account %s: overdrawn', id) AS problem
    FROM ledger.account WHERE no_overdraft AND credits < debits + debits_pending;

CREATE VIEW audit.ledger_zero_sum AS
    SELECT format('asset %s: balances add up to %s instead of 0', asset, sum(credits - debits)) AS problem
    FROM ledger.account GROUP BY asset HAVING sum(credits - debits) <> 0;

CREATE VIEW audit.ledger_fingerprints AS
    SELECT format('transfer %s: content differs from its fingerprint', t.id) AS problem
    FROM ledger.transfer t
    WHERE t.fingerprint <> CASE WHEN t.pending_id IS NULL
        THEN ledger.fingerprint(t.kind, t.debit_account, t.credit_account, t.amount, NULL, t.expires_at,
                                t.group_id, t.reason)
        ELSE ledger.fingerprint(t.kind, NULL, NULL, NULL, t.pending_id, NULL, t.group_id, t.reason) END;

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
