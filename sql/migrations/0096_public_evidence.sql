-- What an auditor needs to count an epoch again from what nodes signed (docs/REWARDS.md, "Auditing an epoch"), and the
-- fee that a job owner can be told of.

-- Reports on units that have ended, as their verifiers revealed them: before that a trace could be copied by whoever is
-- drawn next. Step records and audits are not in it.
CREATE VIEW registry.published_report AS
    SELECT u.job_id, u.round, p.unit_id, p.draw, p.verifier, p.digest, p.records_root, p.final_state_root, p.delta_root,
           p.trace, p.challenge_signature, p.salt, p.is_equal, p.accepted_seq IS NOT NULL AS accepted
    FROM registry.report p JOIN registry.unit u ON u.id = p.unit_id
    WHERE p.revealed_at_ms IS NOT NULL AND u.ended_at_ms IS NOT NULL;
GRANT SELECT ON registry.published_report TO gym_api;

-- Over which span a round's uptime credits count. NULL: finished before it was kept.
ALTER TABLE rewards.finished_round
    ADD COLUMN uptime_from_ms bigint CHECK (uptime_from_ms >= 0),
    ADD COLUMN uptime_to_ms bigint CHECK (uptime_to_ms >= uptime_from_ms),
    ADD CONSTRAINT finished_round_uptime CHECK ((uptime_from_ms IS NULL) = (uptime_to_ms IS NULL));

-- What gym-rewards was last configured with; credits keep the terms that they were booked by.
CREATE TABLE rewards.fee_terms (
    id boolean PRIMARY KEY DEFAULT true CHECK (id),
    fee_ppm bigint NOT NULL CHECK (fee_ppm BETWEEN 0 AND 1000000),
    burned_ppm bigint NOT NULL CHECK (burned_ppm BETWEEN 0 AND 1000000),
    changed_at_ms bigint NOT NULL
);
GRANT SELECT, INSERT, UPDATE ON rewards.fee_terms TO gym_rewards;
GRANT SELECT ON rewards.fee_terms TO gym_api;
