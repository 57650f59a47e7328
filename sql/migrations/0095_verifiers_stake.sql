-- What a verifier stakes on: its signature under a report on a train unit, in the words of a commitment, for the contract
-- with the games about reports. A run of the coordinator's checks it; one that the run refutes is false, and when it was left
-- to the player to challenge it was filed.
CREATE TABLE registry.report_claim (
    unit_id registry.digest NOT NULL,
    draw integer NOT NULL,
    signature bytea NOT NULL CHECK (octet_length(signature) = 65),
    checked_at_ms bigint,
    false_at_ms bigint CHECK (false_at_ms IS NULL OR checked_at_ms IS NOT NULL),
    filed_at_ms bigint CHECK (filed_at_ms IS NULL OR false_at_ms IS NOT NULL),
    PRIMARY KEY (unit_id, draw),
    FOREIGN KEY (unit_id, draw) REFERENCES registry.report (unit_id, draw)
);
CREATE INDEX report_claim_unfiled ON registry.report_claim (false_at_ms)
    WHERE false_at_ms IS NOT NULL AND filed_at_ms IS NULL;
CREATE INDEX report_claim_unchecked ON registry.report_claim (unit_id) WHERE checked_at_ms IS NULL;
GRANT SELECT ON registry.report_claim TO gym_coordinator;
GRANT INSERT, UPDATE (checked_at_ms, false_at_ms, filed_at_ms) ON registry.report_claim TO gym_coordinator;
