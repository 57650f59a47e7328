-- Group roles without login. A deployment creates login users and grants them one group each; a program can
-- then do what its job needs and nothing else. Roles belong to the cluster, so another database may have
-- created them already.
DO $$
DECLARE
    role_name text;
BEGIN
    FOREACH role_name IN ARRAY ARRAY['gym_coordinator', 'gym_rewards', 'gym_api', 'gym_ledger_owner',
                                     'gym_auditor',    -- reads books and seals, writes nothing
                                     'gym_evaluator'   -- publishes evaluations and records measurements
                                    ] LOOP
        BEGIN
            EXECUTE format('CREATE ROLE %I NOLOGIN', role_name);
        EXCEPTION WHEN duplicate_object OR unique_violation THEN
            NULL;  -- created by another database of this cluster, perhaps at this moment
        END;
    END LOOP;
END
$$;

REVOKE CREATE ON SCHEMA public FROM PUBLIC;

-- By default any login could hold the advisory locks by which coordinators and registrations take turns, and fill the
-- disk with large objects; even gym_auditor, which only reads.
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

-- Views here state invariants: each must be empty.
CREATE SCHEMA audit;
GRANT USAGE ON SCHEMA audit TO gym_rewards, gym_api, gym_auditor;
ALTER DEFAULT PRIVILEGES IN SCHEMA audit GRANT SELECT ON TABLES TO gym_rewards, gym_api, gym_auditor;
