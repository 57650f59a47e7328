-- Rates that no configuration allows would stop every quote and every submission.
ALTER TABLE registry.cost_rates ADD CHECK (cost_bound_ppm <= 100000000);  -- a hundred times the work
ALTER TABLE rewards.fee_terms
    ADD CHECK (verification_premium_ppm <= 10000000),
    ADD CHECK (uptime_bonus_max_ppm <= 10000000);
