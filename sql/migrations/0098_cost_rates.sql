-- What a job can cost at most (docs/REWARDS.md): a quote was less than what the coordinator asked for before it began a
-- round. It now publishes its rates, and gym-rewards all that it takes.
CREATE TABLE registry.cost_rates (
    id boolean PRIMARY KEY DEFAULT true CHECK (id),
    cost_bound_ppm bigint NOT NULL CHECK (cost_bound_ppm >= 1000000),
    fee_ppm bigint NOT NULL CHECK (fee_ppm BETWEEN 0 AND 1000000),
    changed_at_ms bigint NOT NULL
);
GRANT SELECT, INSERT, UPDATE ON registry.cost_rates TO gym_coordinator;
GRANT SELECT ON registry.cost_rates TO gym_api;

ALTER TABLE rewards.fee_terms  -- NULL: a gym-rewards of before has not said it
    ADD COLUMN verification_premium_ppm bigint CHECK (verification_premium_ppm >= 0),
    ADD COLUMN uptime_bonus_max_ppm bigint CHECK (uptime_bonus_max_ppm >= 0);
