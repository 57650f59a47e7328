-- A resolution (post, void, expire) moves what its pending transfer reserved, on that transfer's accounts. A
-- batch locks the accounts of the pending transfers that it can see; one that another batch commits while this
-- one waits for its locks is seen only afterwards, and then its accounts are not locked. The batch must begin
-- again, never book on the accounts that it happens to hold.
SET LOCAL ROLE gym_ledger_owner;

-- The rule itself, whoever writes: checked for a whole statement at once.
CREATE FUNCTION ledger.check_resolutions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM added a JOIN ledger.transfer p ON p.id = a.pending_id
               WHERE p.kind <> 'pending'
                  OR (p.debit_account, p.credit_account, p.amount, p.asset)
                     IS DISTINCT FROM (a.debit_account, a.credit_account, a.amount, a.asset)) THEN
        RAISE EXCEPTION 'a resolution differs from its pending transfer' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER resolves_alike AFTER INSERT ON ledger.transfer REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION ledger.check_resolutions();

-- ledger.book with one case more; the rest of its text stays what it was.
DO $patch$
DECLARE
    before constant text := $text$
            ELSIF item.is_resolved OR resolved[item.pending_slot]$text$;
    added constant text := $text$
            ELSIF d IS NULL OR c IS NULL OR d = 0 OR c = 0
                  OR account_ids[d] <> item.debit OR account_ids[c] <> item.credit THEN
                -- Committed by somebody else after this batch locked its accounts.
                RAISE EXCEPTION 'transfer % appeared while the batch waited', item.pending
                    USING ERRCODE = 'GL001';$text$;
    definition constant text := pg_get_functiondef('ledger.book'::regproc);
BEGIN
    IF strpos(definition, before) = 0 THEN
        RAISE EXCEPTION 'ledger.book is not the function that this migration knows';
    END IF;
    EXECUTE replace(definition, before, added || before);
END
$patch$;

CREATE OR REPLACE FUNCTION ledger.submit(
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
        EXCEPTION WHEN unique_violation OR SQLSTATE 'GL001' THEN
            -- Another session booked one of these ids, or a pending transfer that is named here, meanwhile;
            -- now it is visible. What this attempt had locked is free again.
            IF attempt = 8 THEN RAISE; END IF;
        END;
    END LOOP;
END
$$;

RESET ROLE;
