-- How the services beside gym-api are: each tells of itself every few seconds, and gym-api's health is that of all of them. `problem` is
-- the kind of error that stops or hinders the service, empty while it works; what happened exactly is in its log.
CREATE TABLE registry.service_health (
    service text PRIMARY KEY CHECK (service IN ('gym-coordinator', 'gym-rewards')),
    problem text NOT NULL CHECK (octet_length(problem) <= 64),
    seen_at_ms bigint NOT NULL
);
GRANT SELECT, INSERT, UPDATE ON registry.service_health TO gym_coordinator, gym_rewards;
GRANT SELECT ON registry.service_health TO gym_api;

-- Neither speaks for the other.
ALTER TABLE registry.service_health ENABLE ROW LEVEL SECURITY;
CREATE POLICY coordinators_own ON registry.service_health TO gym_coordinator
    USING (service = 'gym-coordinator') WITH CHECK (service = 'gym-coordinator');
CREATE POLICY rewards_own ON registry.service_health TO gym_rewards
    USING (service = 'gym-rewards') WITH CHECK (service = 'gym-rewards');
CREATE POLICY read_all ON registry.service_health FOR SELECT TO gym_api USING (true);
