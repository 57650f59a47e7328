-- Owners that leave (JobEscrow.requestExit, docs/adr/0033-exits.md): their jobs end and they get no new ones, so that all
-- that they spent is released before they take the rest.
CREATE TABLE rewards.leaving (
    owner rewards.address PRIMARY KEY,
    available_at_s bigint NOT NULL CHECK (available_at_s > 0)
);
GRANT SELECT, INSERT, DELETE ON rewards.leaving TO gym_rewards;
