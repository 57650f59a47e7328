-- The API funds jobs; what is left of a budget goes back by gym_rewards. So its role moves money one way only:
-- from what a job's owner has available into that job's escrow. Before, whoever held the role could pass anybody's
-- money on by way of some job's escrow.
GRANT USAGE ON SCHEMA registry TO gym_ledger_owner;
GRANT SELECT (id, owner) ON registry.job TO gym_ledger_owner;
SET LOCAL ROLE gym_ledger_owner;

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

CREATE OR REPLACE FUNCTION ledger.submit(
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

RESET ROLE;
