-- What an attack on the books found (docs/SECURITY.md).
SET LOCAL ROLE gym_ledger_owner;

-- ledger.book as before, but for two answers that were wrong:
-- 'exists' for a repeat, within its group, of an item that the group's failure took back: nothing is in the ledger;
-- 'created' for the post of a pending transfer with an expiry when no time is given: it may have expired.
DO $patch$
DECLARE
    definition text := pg_get_functiondef('ledger.book'::regproc);
    change record;
BEGIN
    FOR change IN SELECT * FROM (VALUES
        ($old$
            FOR k IN group_start .. item.ord - 1 LOOP
                CONTINUE WHEN statuses[k] <> 'created';$old$,
         $new$
            FOR k IN group_start .. item.ord - 1 LOOP
                IF statuses[k] = 'exists' AND EXISTS (SELECT FROM generate_series(group_start, k - 1) AS j
                                                      WHERE p_ids[j] = p_ids[k] AND statuses[j] = 'group_failed') THEN
                    statuses[k] := 'group_failed';
                END IF;
                CONTINUE WHEN statuses[k] <> 'created';$new$),
        ($old$(item.kind = 'post' AND item.pending_expires <= p_now)$old$,
         $new$(item.kind = 'post' AND item.pending_expires IS NOT NULL
                      AND (item.pending_expires > p_now) IS NOT TRUE)$new$)) AS c (before, after)
    LOOP
        IF strpos(definition, change.before) = 0 THEN
            RAISE EXCEPTION 'ledger.book is not the function that this migration knows';
        END IF;
        definition := replace(definition, change.before, change.after);
    END LOOP;
    EXECUTE definition;
END
$patch$;

RESET ROLE;

-- Anybody can send tokens to the distributor: one base unit made books and contracts differ for ever. What must hold:
-- the escrow's own total and the claims that were paid, to the last unit, and tokens for all that is owed.
ALTER TABLE rewards.reconciliation
    ADD COLUMN claimed_ledger ledger.amount,  -- NULL: before this migration
    ADD COLUMN claimed_chain ledger.amount,
    ADD CHECK ((claimed_ledger IS NULL) = (claimed_chain IS NULL));

CREATE OR REPLACE VIEW audit.rewards_reconciliation AS
    SELECT format('block %s: contracts hold %s and %s and paid %s, the ledger says %s and %s and %s', r.block,
                  r.escrow_chain, r.distributor_chain, r.claimed_chain, r.escrow_ledger, r.distributor_ledger,
                  r.claimed_ledger) AS problem
    FROM rewards.reconciliation r
    WHERE r.block = (SELECT max(block) FROM rewards.reconciliation)
      AND (r.escrow_chain <> r.escrow_ledger OR r.claimed_chain <> r.claimed_ledger
           OR r.distributor_chain < r.distributor_ledger);

-- A round that the contracts' limits let no epoch pay waits by itself, until a limit is raised; the rest is paid.
ALTER TABLE rewards.finished_round ADD COLUMN held text NOT NULL DEFAULT '';  -- why
CREATE INDEX finished_round_held ON rewards.finished_round (job_id, round) WHERE held <> '';

-- Whoever may log in could hold the locks by which coordinators and registrations take turns, and fill the disk with
-- large objects: gym_auditor, who reads, too.
DO $$
DECLARE
    name regprocedure;
BEGIN
    FOR name IN SELECT p.oid FROM pg_proc p
                WHERE p.pronamespace = 'pg_catalog'::regnamespace
                  AND (p.proname ~ '^pg_(try_)?advisory_' OR p.proname IN ('lo_creat', 'lo_create', 'lo_from_bytea')) LOOP
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', name);
    END LOOP;
END
$$;
GRANT EXECUTE ON FUNCTION pg_try_advisory_xact_lock(integer, integer) TO gym_coordinator;
GRANT EXECUTE ON FUNCTION pg_advisory_xact_lock(bigint) TO gym_api;
