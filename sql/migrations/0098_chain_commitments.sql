-- Commitments that somebody published on chain (docs/adr/0049-withheld-data-on-chain.md): each has to be in an epoch. One that a
-- unit was committed with is there as the unit's; the others, of units that had ended, have a place of their own behind the units'.
CREATE TABLE registry.chain_commitment (
    leaf registry.digest PRIMARY KEY,
    unit_id registry.digest NOT NULL UNIQUE REFERENCES registry.unit,
    commitment bytea NOT NULL CHECK (octet_length(commitment) = 226),
    block registry.counter NOT NULL,
    epoch bigint,
    leaf_index integer CHECK (leaf_index >= 0),
    CHECK ((epoch IS NULL) = (leaf_index IS NULL)),
    UNIQUE (epoch, leaf_index)
);
-- How far the log was read.
CREATE TABLE registry.chain_commitment_watch (
    contract registry.address PRIMARY KEY,
    seen_block registry.counter NOT NULL
);
-- A published commitment names no mirror that has its delta: its worker is asked for it.
ALTER TABLE registry.delta_place DROP CONSTRAINT delta_place_mirrors_check,
    ADD CONSTRAINT delta_place_mirrors_check CHECK (octet_length(mirrors) <= 4096);

-- Whether the games about it ask for data: its asserter has signed no such unit.
ALTER TABLE registry.disputed_unit ADD COLUMN asks_data boolean NOT NULL DEFAULT false;

-- The leaves of an epoch's tree: its units' commitments, then the others.
CREATE VIEW registry.epoch_leaf AS
    SELECT u.epoch, u.leaf_index, u.id AS unit_id, c.leaf, c.commitment
    FROM registry.unit u JOIN registry.unit_commitment c ON c.unit_id = u.id WHERE u.epoch IS NOT NULL
    UNION ALL
    SELECT k.epoch, k.leaf_index, k.unit_id, k.leaf, k.commitment
    FROM registry.chain_commitment k WHERE k.epoch IS NOT NULL;

GRANT SELECT ON registry.chain_commitment, registry.chain_commitment_watch TO gym_coordinator;
GRANT INSERT, UPDATE (epoch, leaf_index) ON registry.chain_commitment TO gym_coordinator;
GRANT INSERT, UPDATE (seen_block) ON registry.chain_commitment_watch TO gym_coordinator;
GRANT SELECT ON registry.epoch_leaf TO gym_coordinator, gym_api, gym_rewards;
