-- How long a fault can be taken to the chain, as the coordinator publishes it: a job whose checks take longer is refused before it is
-- paid for. The coordinator asks the chain itself before it starts a job.
CREATE TABLE registry.dispute_window (
    id boolean PRIMARY KEY DEFAULT true CHECK (id),
    window_ms bigint NOT NULL CHECK (window_ms >= 0),
    changed_at_ms bigint NOT NULL
);
GRANT SELECT, INSERT, UPDATE ON registry.dispute_window TO gym_coordinator;
GRANT SELECT ON registry.dispute_window TO gym_api;
