-- What the coordinator has seen of games on chain (docs/PROTOCOL.md, "Disputes"): a unit is not final while its window
-- on chain is open, nor while a game about any unit of its worker is; a proven fault slashes the unit and ends its worker.
INSERT INTO registry.unit_transition VALUES
    ('committed', 'slashed'), ('sampled', 'slashed'), ('unsampled', 'slashed'), ('reported', 'slashed'),
    ('revealed', 'slashed'), ('verified', 'slashed'), ('upheld', 'slashed');

-- How far the games of a contract have been read.
CREATE TABLE registry.game_watch (
    contract registry.address PRIMARY KEY,
    seen_block registry.counter NOT NULL,
    window_blocks registry.counter NOT NULL
);

-- A unit by the chain's name for it. It may be a commitment that the coordinator never took.
CREATE TABLE registry.disputed_unit (
    contract registry.address NOT NULL REFERENCES registry.game_watch,
    name registry.digest NOT NULL,
    asserter registry.address NOT NULL,
    open_games bigint NOT NULL CHECK (open_games >= 0),
    is_faulty boolean NOT NULL,
    handled_at_ms bigint,  -- when the registry took the consequences of the fault
    PRIMARY KEY (contract, name),
    CHECK (handled_at_ms IS NULL OR is_faulty)
);
CREATE INDEX disputed_unit_open ON registry.disputed_unit (asserter)
    WHERE open_games > 0 OR (is_faulty AND handled_at_ms IS NULL);

-- Two signed commitments for one unit are a game that is won when it is opened: when that was left to the player.
ALTER TABLE registry.equivocation ADD COLUMN filed_at_ms bigint;
CREATE INDEX equivocation_unfiled ON registry.equivocation (received_at_ms) WHERE filed_at_ms IS NULL;

GRANT SELECT, INSERT, UPDATE ON registry.game_watch TO gym_coordinator;
GRANT SELECT, INSERT, UPDATE, DELETE ON registry.disputed_unit TO gym_coordinator;
GRANT UPDATE (filed_at_ms) ON registry.equivocation TO gym_coordinator;
GRANT SELECT ON registry.game_watch, registry.disputed_unit TO gym_rewards, gym_api;
