-- Double-entry ledger (docs/REWARDS.md). The only writer is ledger.submit() and its companions below; the
-- tables refuse everything else, whoever asks.
CREATE SCHEMA ledger AUTHORIZATION gym_ledger_owner;
GRANT USAGE ON SCHEMA ledger TO gym_rewards, gym_api;
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
    UNIQUE (id, asset),
    CONSTRAINT account_is_covered CHECK (NOT no_overdraft OR credits >= debits + debits_pending),
    CONSTRAINT closed_account_is_empty
        CHECK (NOT closed OR (credits = debits AND debits_pending = 0 AND credits_pending = 0))
) WITH (fillfactor = 70);  -- room for updates in place

CREATE TABLE ledger.transfer (
    id uuid PRIMARY KEY,
    seq bigint GENERATED ALWAYS AS IDENTITY,
    group_id uuid,
    kind text NOT NULL CHECK (kind IN ('transfer', 'pending', 'post', 'void', 'expire')),
    asset text NOT NULL,
    debit_account bigint NOT NULL,
    credit_account bigint NOT NULL,
    amount ledger.amount NOT NULL CHECK (amount > 0),
    pending_id uuid REFERENCES ledger.transfer (id),
    expires_at bigint,  -- Unix milliseconds
    reason text NOT NULL CHECK (octet_length(reason) <= 256),
    fingerprint bytea NOT NULL CHECK (octet_length(fingerprint) = 32),
    created_at timestamptz NOT NULL DEFAULT now(),
    CHECK (debit_account <> credit_account),
    CHECK ((pending_id IS NOT NULL) = (kind IN ('post', 'void', 'expire'))),
    CHECK (expires_at IS NULL OR kind = 'pending'),
    -- Composite keys: both sides hold the transfer's asset.
    FOREIGN KEY (debit_account, asset) REFERENCES ledger.account (id, asset),
    FOREIGN KEY (credit_account, asset) REFERENCES ledger.account (id, asset)
);
-- A pending transfer is resolved once, for ever.
CREATE UNIQUE INDEX transfer_resolves_once ON ledger.transfer (pending_id) WHERE pending_id IS NOT NULL;
CREATE INDEX transfer_expiry ON ledger.transfer (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE ledger.entry (
    account_id bigint NOT NULL,
    version bigint NOT NULL,
    transfer_id uuid NOT NULL,  -- checked by the trigger `balanced`
    delta numeric(78, 0) NOT NULL CHECK (delta <> 0),
    balance_after numeric(79, 0) NOT NULL,
    PRIMARY KEY (account_id, version)
);

CREATE FUNCTION ledger.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'ledger.% is immutable: % refused; book a correcting transfer', TG_TABLE_NAME, TG_OP
        USING ERRCODE = 'insufficient_privilege';
END
$$;
CREATE TRIGGER immutable BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger.transfer
    FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse();
CREATE TRIGGER immutable BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger.entry
    FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse();
CREATE TRIGGER immutable BEFORE DELETE OR TRUNCATE ON ledger.account
    FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse();
CREATE TRIGGER only_forward BEFORE UPDATE ON ledger.account FOR EACH ROW
    WHEN (old.id <> new.id OR old.owner <> new.owner OR old.asset <> new.asset OR old.kind <> new.kind
          OR new.debits < old.debits OR new.credits < old.credits OR new.version < old.version
          OR (old.closed AND NOT new.closed))
    EXECUTE FUNCTION ledger.refuse();

-- Entries come in pairs that cancel: one per side of a transfer that moves something. Checked for a whole
-- statement at once; a foreign key would ask row by row for less.
CREATE FUNCTION ledger.check_entries() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT FROM added a LEFT JOIN ledger.transfer t ON t.id = a.transfer_id
        GROUP BY a.transfer_id
        HAVING sum(a.delta) <> 0 OR count(*) <> 2 OR count(t.id) <> 2
            OR NOT bool_and(t.kind IN ('transfer', 'post')
                            AND a.delta = CASE a.account_id WHEN t.debit_account THEN -t.amount
                                                            WHEN t.credit_account THEN t.amount
                                                            ELSE 0 END)) THEN
        RAISE EXCEPTION 'entries do not mirror their transfer' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER balanced AFTER INSERT ON ledger.entry REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION ledger.check_entries();

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

-- What a retry must repeat exactly.
CREATE FUNCTION ledger.fingerprint(kind text, debit bigint, credit bigint, amount numeric, pending uuid,
                                   expires bigint, group_id uuid, reason text) RETURNS bytea
    LANGUAGE sql STABLE AS $$  -- as convert_to is; the planner inlines it then
    SELECT sha256(convert_to(
        kind || '|' || coalesce(debit::text, '') || '|' || coalesce(credit::text, '') || '|' ||
        coalesce(amount::text, '') || '|' || coalesce(pending::text, '') || '|' ||
        coalesce(expires::text, '') || '|' || coalesce(group_id::text, '') || '|' || reason, 'UTF8'))
$$;

-- Books a batch: locks the accounts in the order of their ids (no deadlock between batches), decides item by
-- item in order, then writes all accepted items with one statement per table. `created`, `exists`,
-- `exists_different`, `insufficient`, `closed`, `unknown`, `invalid` or `group_failed` for each item.
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
    free numeric[];           -- what a debit may take; NULL: no limit
    statuses text[] := array_fill('group_failed'::text, ARRAY[n]);
    fingerprints bytea[] := array_fill(NULL::bytea, ARRAY[n]);
    debits integer[] := array_fill(0, ARRAY[n]);    -- positions in account_ids
    credits integer[] := array_fill(0, ARRAY[n]);
    amounts numeric[] := array_fill(0::numeric, ARRAY[n]);
    id_owner integer[] := array_fill(0, ARRAY[n]);  -- per distinct id: the item that holds it
    resolved boolean[] := array_fill(false, ARRAY[n]);  -- per distinct pending: resolved in this batch
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
    SELECT array_agg(s.id), array_agg(s.asset), array_agg(s.kind), array_agg(s.closed), array_agg(s.free)
        INTO account_ids, assets, kinds, closed, free
        FROM (SELECT a.id, a.asset, a.kind, a.closed,
                     CASE WHEN a.no_overdraft THEN a.credits - a.debits - a.debits_pending END AS free
              FROM ledger.account a
              WHERE a.id = ANY (ARRAY(
                  SELECT unnest(p_debits) UNION SELECT unnest(p_credits)
                  UNION SELECT unnest(ARRAY[t.debit_account, t.credit_account])
                        FROM ledger.transfer t WHERE t.id = ANY (array_remove(p_pendings, NULL))))
              ORDER BY a.id FOR NO KEY UPDATE) s;

    -- From here on nobody else touches these accounts, so a later snapshot sees every earlier batch.
    FOR item IN
        WITH k AS MATERIALIZED (SELECT coalesce(account_ids, ARRAY[]::bigint[]) AS ids)
        SELECT i.ord::integer, i.id, i.kind, i.amount, i.pending, i.expires, i.group_id, i.reason,
               CASE WHEN p.id IS NULL THEN i.debit ELSE p.debit_account END AS debit,
               CASE WHEN p.id IS NULL THEN i.credit ELSE p.credit_account END AS credit,
               i.debit AS asked_debit, i.credit AS asked_credit,
               width_bucket(CASE WHEN p.id IS NULL THEN i.debit ELSE p.debit_account END, k.ids) AS d,
               width_bucket(CASE WHEN p.id IS NULL THEN i.credit ELSE p.credit_account END, k.ids) AS c,
               e.fingerprint AS old, p.kind AS pending_kind, p.amount AS pending_amount,
               p.expires_at AS pending_expires, r.id IS NOT NULL AS is_resolved,
               ledger.fingerprint(i.kind, i.debit, i.credit, i.amount, i.pending, i.expires, i.group_id,
                                  i.reason) AS fingerprint,
               (dense_rank() OVER (ORDER BY i.id))::integer AS id_slot,
               (dense_rank() OVER (ORDER BY i.pending))::integer AS pending_slot
        FROM unnest(p_ids, p_kinds, p_debits, p_credits, p_amounts, p_pendings, p_expires, p_groups,
                    p_reasons) WITH ORDINALITY
                 AS i (id, kind, debit, credit, amount, pending, expires, group_id, reason, ord)
        CROSS JOIN k
        LEFT JOIN ledger.transfer e ON e.id = i.id
        LEFT JOIN ledger.transfer p ON p.id = i.pending
        LEFT JOIN ledger.transfer r ON r.pending_id = i.pending
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
            ELSIF item.is_resolved OR resolved[item.pending_slot]
                  OR (item.kind = 'post' AND item.pending_expires <= p_now)
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

    INSERT INTO ledger.transfer (id, group_id, kind, asset, debit_account, credit_account, amount,
                                 pending_id, expires_at, reason, fingerprint)
        SELECT i.id, i.group_id, i.kind, assets[i.d], account_ids[i.d], account_ids[i.c], i.amount,
               i.pending, i.expires, i.reason, i.fingerprint
        FROM unnest(p_ids, p_groups, p_kinds, debits, credits, amounts, p_pendings, p_expires, p_reasons,
                    fingerprints, statuses) WITH ORDINALITY
                 AS i (id, group_id, kind, d, c, amount, pending, expires, reason, fingerprint, status, ord)
        WHERE i.status = 'created' ORDER BY i.ord;

    INSERT INTO ledger.entry (account_id, version, transfer_id, delta, balance_after)
        SELECT a.id, a.version + row_number() OVER w, l.id, l.delta,
               a.credits - a.debits + sum(l.delta) OVER w
        FROM (SELECT i.ord, i.id, account_ids[i.d] AS account, -i.amount AS delta
              FROM unnest(p_ids, p_kinds, debits, amounts, statuses) WITH ORDINALITY
                       AS i (id, kind, d, amount, status, ord)
              WHERE i.status = 'created' AND i.kind IN ('transfer', 'post')
              UNION ALL
              SELECT i.ord, i.id, account_ids[i.c], i.amount
              FROM unnest(p_ids, p_kinds, credits, amounts, statuses) WITH ORDINALITY
                       AS i (id, kind, c, amount, status, ord)
              WHERE i.status = 'created' AND i.kind IN ('transfer', 'post')) l
        JOIN ledger.account a ON a.id = l.account
        WINDOW w AS (PARTITION BY a.id ORDER BY l.ord);

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

-- The way in for programs. gym_rewards may book anything; other roles may only fund jobs and take what is
-- left of a job's budget back.
CREATE FUNCTION ledger.submit(
    p_ids uuid[], p_kinds text[], p_debits bigint[], p_credits bigint[], p_amounts numeric[],
    p_pendings uuid[], p_expires bigint[], p_groups uuid[], p_reasons text[], p_now bigint) RETURNS text[]
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    any_kind constant boolean := pg_has_role(session_user, 'gym_rewards', 'MEMBER');
BEGIN
    FOR attempt IN 1 .. 8 LOOP
        BEGIN
            RETURN ledger.book(p_ids, p_kinds, p_debits, p_credits, p_amounts, p_pendings, p_expires,
                               p_groups, p_reasons, p_now, false, any_kind);
        EXCEPTION WHEN unique_violation THEN
            -- Another session booked one of these ids on other accounts meanwhile; now it is visible.
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

REVOKE ALL ON FUNCTION ledger.open_account, ledger.close_account, ledger.submit, ledger.expire FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ledger.open_account, ledger.submit TO gym_rewards, gym_api;
GRANT EXECUTE ON FUNCTION ledger.close_account, ledger.expire TO gym_rewards;
GRANT SELECT ON ledger.account, ledger.transfer, ledger.entry TO gym_rewards, gym_api;

RESET ROLE;

-- Auditors: each row of a view in schema audit is a violated invariant.
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

CREATE VIEW audit.ledger_entry_pairs AS
    SELECT format('transfer %s: entries do not mirror it', t.id) AS problem
    FROM ledger.transfer t
    LEFT JOIN (SELECT transfer_id, count(*) AS n, sum(delta) AS total,
                      max(account_id) FILTER (WHERE delta < 0) AS debit,
                      max(account_id) FILTER (WHERE delta > 0) AS credit, max(delta) AS amount
               FROM ledger.entry GROUP BY transfer_id) e ON e.transfer_id = t.id
    WHERE CASE WHEN t.kind IN ('transfer', 'post')
               THEN (e.n, e.total, e.debit, e.credit, e.amount)
                    IS DISTINCT FROM (2::bigint, 0::numeric, t.debit_account, t.credit_account,
                                      t.amount::numeric)
               ELSE e.n IS NOT NULL END;

CREATE VIEW audit.ledger_resolutions AS
    SELECT format('transfer %s: does not resolve a pending transfer of the same accounts and amount', r.id)
               AS problem
    FROM ledger.transfer r JOIN ledger.transfer p ON p.id = r.pending_id
    WHERE p.kind <> 'pending'
       OR (p.debit_account, p.credit_account, p.amount, p.asset)
          IS DISTINCT FROM (r.debit_account, r.credit_account, r.amount, r.asset);

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
