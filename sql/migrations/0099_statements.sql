-- An owner's statement is read by account, newest first (docs/LEDGER.md, "Statements"). What moves something is found by
-- its version already, in the same order as by `seq`: whoever draws a number holds the locks of both accounts. What only
-- reserves or releases has no version.
SET LOCAL ROLE gym_ledger_owner;
CREATE INDEX transfer_debit_still ON ledger.transfer (debit_account, seq) WHERE debit_version IS NULL;
CREATE INDEX transfer_credit_still ON ledger.transfer (credit_account, seq) WHERE credit_version IS NULL;

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
REVOKE ALL ON FUNCTION ledger.newest_transfers FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ledger.newest_transfers TO gym_api;
RESET ROLE;
