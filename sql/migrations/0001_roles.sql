-- Group roles without login. A deployment creates login users and grants them one group each; a program can
-- then do what its job needs and nothing else. Roles belong to the cluster, so another database may have
-- created them already.
DO $$
DECLARE
    role_name text;
BEGIN
    FOREACH role_name IN ARRAY ARRAY['gym_coordinator', 'gym_rewards', 'gym_api', 'gym_ledger_owner'] LOOP
        BEGIN
            EXECUTE format('CREATE ROLE %I NOLOGIN', role_name);
        EXCEPTION WHEN duplicate_object OR unique_violation THEN
            NULL;  -- created by another database of this cluster, perhaps at this moment
        END;
    END LOOP;
END
$$;

REVOKE CREATE ON SCHEMA public FROM PUBLIC;

-- Views here state invariants: each must be empty.
CREATE SCHEMA audit;
GRANT USAGE ON SCHEMA audit TO gym_rewards, gym_api;
ALTER DEFAULT PRIVILEGES IN SCHEMA audit GRANT SELECT ON TABLES TO gym_rewards, gym_api;
