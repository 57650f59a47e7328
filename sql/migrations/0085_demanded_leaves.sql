-- Leaves of a pending payout root that somebody demanded on chain (docs/REWARDS.md, "Settlement"): gym-rewards shows each
-- before the root is active, or the root never pays.
CREATE TABLE rewards.demand (
    epoch bigint NOT NULL REFERENCES rewards.settlement,
    earner rewards.address NOT NULL,
    done boolean NOT NULL DEFAULT false,  -- shown on chain
    seq bigint GENERATED ALWAYS AS IDENTITY,
    PRIMARY KEY (epoch, earner)
);
CREATE INDEX demand_open ON rewards.demand (seq) WHERE NOT done;
GRANT SELECT, INSERT, UPDATE ON rewards.demand TO gym_rewards;
