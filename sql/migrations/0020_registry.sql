-- Nodes, jobs, rounds, units, datasets (src/registry is the only writer). The constraints repeat what the
-- state machines of src/protocol enforce, so that no other program and no bug can write around them.
-- Times ending in _ms are Unix milliseconds.
CREATE SCHEMA registry;

CREATE DOMAIN registry.digest AS bytea CHECK (octet_length(VALUE) = 32);
CREATE DOMAIN registry.address AS bytea CHECK (octet_length(VALUE) = 20);
CREATE DOMAIN registry.ppm AS integer CHECK (VALUE BETWEEN 0 AND 1000000);
CREATE DOMAIN registry.wei AS numeric(78, 0) CHECK (VALUE >= 0);
CREATE DOMAIN registry.counter AS bigint CHECK (VALUE >= 0);

-- Numbers that must have no gaps and be visible in order: the row lock is held until commit, so whoever
-- sees number n committed sees every number below it.
CREATE TABLE registry.sequence (
    name text PRIMARY KEY,
    last registry.counter NOT NULL DEFAULT 0
);
INSERT INTO registry.sequence (name) VALUES ('unit_event'), ('accepted_report'), ('epoch');

CREATE FUNCTION registry.next_number(which text) RETURNS bigint
LANGUAGE sql VOLATILE AS $$
    UPDATE registry.sequence SET last = last + 1 WHERE name = which RETURNING last::bigint
$$;

-- Nodes ---------------------------------------------------------------------------------------------
CREATE TABLE registry.node (
    address registry.address PRIMARY KEY,
    role text NOT NULL CHECK (role IN ('worker', 'verifier')),
    owner registry.address NOT NULL,
    name text NOT NULL CHECK (char_length(name) <= 64),
    hardware jsonb NOT NULL CHECK (jsonb_typeof(hardware) = 'object'),
    software text NOT NULL CHECK (char_length(software) <= 128),
    benchmark_flops registry.counter NOT NULL,
    registered_at_ms bigint NOT NULL,
    last_seen_at_ms bigint NOT NULL,
    valid_run registry.counter NOT NULL DEFAULT 0,
    has_left boolean NOT NULL DEFAULT false,
    excluded_at_ms bigint,
    excluded_code text,
    excluded_reason text,
    excluded_unit registry.digest,
    CHECK ((excluded_at_ms IS NULL) = (excluded_code IS NULL)),
    CHECK ((excluded_at_ms IS NULL) = (excluded_reason IS NULL)),
    CHECK (excluded_at_ms IS NULL OR valid_run = 0)
);
CREATE INDEX node_owner ON registry.node (owner);

CREATE TABLE registry.heartbeat (
    address registry.address NOT NULL REFERENCES registry.node,
    time_window bigint NOT NULL,
    PRIMARY KEY (address, time_window)
);

-- Datasets ------------------------------------------------------------------------------------------
CREATE TABLE registry.dataset (
    root registry.digest PRIMARY KEY,
    blob registry.digest NOT NULL,
    owner registry.address NOT NULL,
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 128),
    tokens bigint NOT NULL CHECK (tokens > 0),
    vocabulary integer NOT NULL CHECK (vocabulary BETWEEN 1 AND 65536),
    price_wei_per_mtoken registry.wei NOT NULL,
    quality_ppm registry.ppm NOT NULL,
    registered_at_ms bigint NOT NULL
);

-- Jobs ----------------------------------------------------------------------------------------------
CREATE TABLE registry.job_transition (
    from_status text NOT NULL,
    to_status text NOT NULL,
    PRIMARY KEY (from_status, to_status)
);
INSERT INTO registry.job_transition VALUES
    ('submitted', 'running'), ('submitted', 'failed'), ('submitted', 'cancelled'),
    ('running', 'paused'), ('running', 'completed'), ('running', 'cancelled'), ('running', 'failed'),
    ('paused', 'running'), ('paused', 'cancelled');

CREATE TABLE registry.job (
    id registry.digest PRIMARY KEY,
    owner registry.address NOT NULL,
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 128),
    spec_yaml text NOT NULL CHECK (octet_length(spec_yaml) <= 1048576),
    dataset_root registry.digest NOT NULL REFERENCES registry.dataset,
    budget_wei registry.wei NOT NULL,
    status text NOT NULL DEFAULT 'submitted' CHECK (status IN
        ('submitted', 'running', 'paused', 'completed', 'cancelled', 'failed')),
    status_reason text NOT NULL DEFAULT '',
    request text CHECK (request IN ('pause', 'resume', 'cancel')),
    -- terms
    rounds bigint NOT NULL CHECK (rounds BETWEEN 1 AND 1000000),
    slots_max integer NOT NULL CHECK (slots_max BETWEEN 1 AND 65536),
    workers_min integer NOT NULL CHECK (workers_min BETWEEN 1 AND slots_max),
    steps integer NOT NULL CHECK (steps BETWEEN 1 AND 1048576),
    checkpoint_every integer NOT NULL CHECK (checkpoint_every >= 1),
    evaluate_windows integer NOT NULL CHECK (evaluate_windows >= 1),
    delta_norm_max double precision CHECK (delta_norm_max > 0),
    price_wei_per_pflop registry.wei NOT NULL,
    unit_ms bigint NOT NULL CHECK (unit_ms > 0),
    report_ms bigint NOT NULL CHECK (report_ms > 0),
    reveal_ms bigint NOT NULL CHECK (reveal_ms > 0),
    defence_ms bigint NOT NULL CHECK (defence_ms > 0),
    challenge_ms bigint NOT NULL CHECK (challenge_ms > 0),
    draws_max integer NOT NULL CHECK (draws_max BETWEEN 1 AND 1000),
    sampling_floor_ppm registry.ppm NOT NULL,
    sampling_aggregate_ppm registry.ppm NOT NULL,
    -- artifacts, all or none
    seed registry.digest,
    program_root registry.digest,
    program_blob registry.digest,
    evaluate_program_root registry.digest,
    evaluate_program_blob registry.digest,
    logits_program_root registry.digest,
    logits_program_blob registry.digest,
    base_state_root registry.digest,
    base_state_blob registry.digest,
    momentum_root registry.digest,
    momentum_blob registry.digest,
    tokens_per_step registry.counter,
    flops_per_step registry.counter,
    parameters registry.counter,
    submitted_at_ms bigint NOT NULL,
    started_at_ms bigint,
    ended_at_ms bigint,
    CHECK (num_nonnulls(seed, program_root, program_blob, evaluate_program_root, evaluate_program_blob,
                        logits_program_root, logits_program_blob, base_state_root, base_state_blob,
                        momentum_root, momentum_blob, tokens_per_step, flops_per_step, parameters,
                        started_at_ms) IN (0, 15)),
    CHECK (status IN ('submitted', 'failed', 'cancelled') OR started_at_ms IS NOT NULL),
    CHECK ((ended_at_ms IS NOT NULL) = (status IN ('completed', 'cancelled', 'failed')))
);
CREATE INDEX job_owner ON registry.job (owner, submitted_at_ms);
CREATE INDEX job_status ON registry.job (status, submitted_at_ms);

CREATE FUNCTION registry.guard_job() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.status <> 'submitted' THEN
            RAISE EXCEPTION 'a job begins as submitted' USING ERRCODE = 'P0001';
        END IF;
        RETURN NEW;
    END IF;
    IF NEW.status <> OLD.status AND NOT EXISTS (
        SELECT FROM registry.job_transition
        WHERE from_status = OLD.status AND to_status = NEW.status) THEN
        RAISE EXCEPTION 'a job that is % cannot become %', OLD.status, NEW.status
            USING ERRCODE = 'P0001';
    END IF;
    IF NEW.budget_wei < OLD.budget_wei THEN
        RAISE EXCEPTION 'the budget of a job never shrinks' USING ERRCODE = 'P0001';
    END IF;
    IF NEW.id <> OLD.id OR NEW.owner <> OLD.owner OR NEW.spec_yaml <> OLD.spec_yaml
       OR NEW.price_wei_per_pflop <> OLD.price_wei_per_pflop
       OR (OLD.seed IS NOT NULL AND NEW.seed IS DISTINCT FROM OLD.seed) THEN
        RAISE EXCEPTION 'the terms of a job never change' USING ERRCODE = 'P0001';
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER guard_job BEFORE INSERT OR UPDATE ON registry.job
    FOR EACH ROW EXECUTE FUNCTION registry.guard_job();

-- Rounds --------------------------------------------------------------------------------------------
CREATE TABLE registry.round (
    job_id registry.digest NOT NULL REFERENCES registry.job,
    round bigint NOT NULL CHECK (round >= 1),
    state text NOT NULL DEFAULT 'recorded' CHECK (state IN
        ('recorded', 'open', 'sealed', 'posted', 'verifying', 'aggregated', 'closed')),
    record bytea NOT NULL,
    record_hash registry.digest NOT NULL UNIQUE,
    base_state_root registry.digest NOT NULL,
    base_state_blob registry.digest NOT NULL,
    momentum_root registry.digest NOT NULL,
    momentum_blob registry.digest NOT NULL,
    epoch bigint NOT NULL UNIQUE CHECK (epoch >= 1),
    recorded_at_ms bigint NOT NULL,
    opened_at_ms bigint,
    unit_deadline_ms bigint,
    sealed_at_ms bigint,
    commitments_root registry.digest,
    commitment_count integer CHECK (commitment_count >= 0),
    posted_block registry.counter,
    beacon_block registry.counter,
    beacon registry.digest,
    next_base_root registry.digest,
    next_base_blob registry.digest,
    next_momentum_root registry.digest,
    next_momentum_blob registry.digest,
    aggregate_program_root registry.digest,
    aggregate_program_blob registry.digest,
    validation_loss double precision,
    aggregated_at_ms bigint,
    closed_at_ms bigint,
    PRIMARY KEY (job_id, round),
    CHECK (state = 'recorded' OR num_nonnulls(opened_at_ms, unit_deadline_ms) = 2),
    CHECK (state IN ('recorded', 'open')
           OR num_nonnulls(sealed_at_ms, commitments_root, commitment_count) = 3),
    CHECK (state IN ('recorded', 'open', 'sealed') OR num_nonnulls(posted_block, beacon_block) = 2),
    CHECK (state IN ('recorded', 'open', 'sealed', 'posted') OR beacon IS NOT NULL),
    CHECK (beacon_block > posted_block),
    CHECK (state NOT IN ('aggregated', 'closed')
           OR num_nonnulls(next_base_root, next_base_blob, next_momentum_root, next_momentum_blob,
                           validation_loss, aggregated_at_ms) = 6),
    CHECK ((aggregate_program_root IS NULL) = (aggregate_program_blob IS NULL)),
    CHECK ((closed_at_ms IS NOT NULL) = (state = 'closed'))
);
CREATE INDEX round_open ON registry.round (job_id) WHERE state <> 'closed';

-- Units ---------------------------------------------------------------------------------------------
CREATE TABLE registry.unit_transition (
    from_state text NOT NULL,
    to_state text NOT NULL,
    PRIMARY KEY (from_state, to_state)
);
INSERT INTO registry.unit_transition VALUES
    ('assigned', 'committed'), ('assigned', 'expired'), ('assigned', 'void'),
    ('committed', 'sampled'), ('committed', 'unsampled'), ('committed', 'rejected'),
    ('committed', 'void'),
    ('sampled', 'reported'), ('sampled', 'sampled'), ('sampled', 'unpaid'), ('sampled', 'rejected'),
    ('sampled', 'void'),
    ('reported', 'revealed'), ('reported', 'sampled'), ('reported', 'unpaid'),
    ('reported', 'rejected'), ('reported', 'void'),
    ('revealed', 'verified'), ('revealed', 'disputed'), ('revealed', 'rejected'), ('revealed', 'void'),
    ('unsampled', 'final'), ('unsampled', 'disputed'), ('unsampled', 'rejected'), ('unsampled', 'void'),
    ('verified', 'final'), ('verified', 'disputed'), ('verified', 'rejected'), ('verified', 'void'),
    ('disputed', 'upheld'), ('disputed', 'slashed'), ('disputed', 'rejected'), ('disputed', 'void'),
    ('upheld', 'final'), ('upheld', 'rejected'), ('upheld', 'void');

CREATE TABLE registry.unit (
    id registry.digest PRIMARY KEY,
    job_id registry.digest NOT NULL,
    round bigint NOT NULL,
    slot bigint NOT NULL CHECK (slot BETWEEN 0 AND 4294967295),
    attempt bigint NOT NULL CHECK (attempt BETWEEN 0 AND 4294967295),
    kind text NOT NULL CHECK (kind IN ('train', 'aggregate', 'evaluate')),
    worker registry.address NOT NULL,
    owner registry.address NOT NULL,
    sampling_rate_ppm registry.ppm NOT NULL,
    state text NOT NULL DEFAULT 'assigned',
    deadline_ms bigint NOT NULL CHECK (deadline_ms >= 0),
    draws integer NOT NULL DEFAULT 0 CHECK (draws >= 0),
    defended boolean NOT NULL DEFAULT false,
    verifier registry.address,
    assigned_at_ms bigint NOT NULL,
    committed_at_ms bigint,
    changed_at_ms bigint NOT NULL,
    ended_at_ms bigint,
    tokens registry.counter NOT NULL DEFAULT 0,
    flops registry.counter NOT NULL DEFAULT 0,
    delta_root registry.digest,
    epoch bigint,
    leaf_index integer CHECK (leaf_index >= 0),
    included boolean NOT NULL DEFAULT false,
    reason_code text NOT NULL DEFAULT '',
    reason text NOT NULL DEFAULT '',
    UNIQUE (job_id, round, slot, attempt),
    UNIQUE (epoch, leaf_index),
    FOREIGN KEY (job_id, round) REFERENCES registry.round,
    CHECK ((kind = 'train') = (slot < 65536)),
    CHECK (verifier IS NULL OR verifier <> worker),
    CHECK ((epoch IS NULL) = (leaf_index IS NULL)),
    CHECK ((reason_code = '') = (reason = '')),
    CHECK (NOT defended OR state = 'disputed'),
    CHECK (state NOT IN ('sampled', 'reported', 'revealed') OR draws >= 1),
    CHECK (state NOT IN ('rejected', 'slashed', 'void', 'expired', 'unpaid', 'disputed')
           OR reason_code <> ''),
    CHECK ((ended_at_ms IS NOT NULL)
           = (state IN ('expired', 'rejected', 'slashed', 'final', 'unpaid', 'void'))),
    CHECK (state IN ('assigned', 'expired', 'void') OR committed_at_ms IS NOT NULL)
);
CREATE INDEX unit_worker ON registry.unit (worker, round DESC);
CREATE INDEX unit_verifier ON registry.unit (verifier) WHERE ended_at_ms IS NULL;
CREATE INDEX unit_deadline ON registry.unit (deadline_ms) WHERE ended_at_ms IS NULL AND deadline_ms > 0;
CREATE INDEX unit_open ON registry.unit (job_id, round) WHERE ended_at_ms IS NULL;

-- The feed of unit states, read in order by whoever credits.
CREATE TABLE registry.unit_event (
    seq bigint PRIMARY KEY CHECK (seq >= 1),
    unit_id registry.digest NOT NULL REFERENCES registry.unit,
    from_state text,
    to_state text NOT NULL,
    at_ms bigint NOT NULL,
    detail jsonb NOT NULL,
    FOREIGN KEY (from_state, to_state) REFERENCES registry.unit_transition,
    CHECK (from_state IS NOT NULL OR to_state = 'assigned')
);
CREATE INDEX unit_event_unit ON registry.unit_event (unit_id, seq);

CREATE FUNCTION registry.guard_unit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.state <> 'assigned' THEN
            RAISE EXCEPTION 'a unit begins as assigned' USING ERRCODE = 'P0001';
        END IF;
        RETURN NEW;
    END IF;
    IF (NEW.id, NEW.job_id, NEW.round, NEW.slot, NEW.attempt, NEW.kind, NEW.worker, NEW.owner,
        NEW.sampling_rate_ppm)
       IS DISTINCT FROM
       (OLD.id, OLD.job_id, OLD.round, OLD.slot, OLD.attempt, OLD.kind, OLD.worker, OLD.owner,
        OLD.sampling_rate_ppm) THEN
        RAISE EXCEPTION 'the identity of a unit never changes' USING ERRCODE = 'P0001';
    END IF;
    IF OLD.committed_at_ms IS NOT NULL
       AND (NEW.tokens, NEW.flops, NEW.delta_root, NEW.committed_at_ms)
           IS DISTINCT FROM (OLD.tokens, OLD.flops, OLD.delta_root, OLD.committed_at_ms) THEN
        RAISE EXCEPTION 'what a unit committed to never changes' USING ERRCODE = 'P0001';
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER guard_unit BEFORE INSERT OR UPDATE ON registry.unit
    FOR EACH ROW EXECUTE FUNCTION registry.guard_unit();

-- Runs as the owner: nobody else may write the feed, so there is no state without its event.
CREATE FUNCTION registry.write_unit_event() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND NEW.state = OLD.state AND NEW.draws = OLD.draws THEN
        RETURN NULL;
    END IF;
    INSERT INTO registry.unit_event (seq, unit_id, from_state, to_state, at_ms, detail)
    VALUES (registry.next_number('unit_event'), NEW.id,
            CASE WHEN TG_OP = 'UPDATE' THEN OLD.state END, NEW.state, NEW.changed_at_ms,
            jsonb_build_object('verifier', encode(NEW.verifier, 'hex'), 'tokens', NEW.tokens,
                               'flops', NEW.flops, 'draws', NEW.draws,
                               'reason_code', NEW.reason_code, 'reason', NEW.reason));
    RETURN NULL;
END
$$;
CREATE TRIGGER write_unit_event AFTER INSERT OR UPDATE ON registry.unit
    FOR EACH ROW EXECUTE FUNCTION registry.write_unit_event();

CREATE FUNCTION registry.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%.% is append-only', TG_TABLE_SCHEMA, TG_TABLE_NAME USING ERRCODE = 'P0001';
END
$$;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON registry.unit_event
    FOR EACH STATEMENT EXECUTE FUNCTION registry.refuse_change();

-- Commitments and reports ---------------------------------------------------------------------------
CREATE TABLE registry.unit_commitment (
    unit_id registry.digest PRIMARY KEY REFERENCES registry.unit,
    commitment bytea NOT NULL,
    leaf registry.digest NOT NULL UNIQUE,
    received_at_ms bigint NOT NULL
);
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON registry.unit_commitment
    FOR EACH STATEMENT EXECUTE FUNCTION registry.refuse_change();

-- Apart from the commitment, because it is not published before the unit is decided.
CREATE TABLE registry.unit_records (
    unit_id registry.digest PRIMARY KEY REFERENCES registry.unit,
    records bytea NOT NULL
);

CREATE TABLE registry.equivocation (
    unit_id registry.digest PRIMARY KEY REFERENCES registry.unit,
    second bytea NOT NULL,
    received_at_ms bigint NOT NULL
);

CREATE TABLE registry.report (
    unit_id registry.digest NOT NULL REFERENCES registry.unit,
    draw integer NOT NULL CHECK (draw >= 0),
    verifier registry.address NOT NULL REFERENCES registry.node,
    digest registry.digest NOT NULL,
    committed_at_ms bigint NOT NULL,
    records_root registry.digest,
    final_state_root registry.digest,
    delta_root registry.digest,
    trace registry.digest,
    challenge_signature bytea CHECK (octet_length(challenge_signature) = 65),
    salt registry.digest,
    records bytea,
    is_equal boolean,
    revealed_at_ms bigint,
    accepted_seq bigint UNIQUE CHECK (accepted_seq >= 1),
    accepted_at_ms bigint,
    found_fault boolean NOT NULL DEFAULT false,
    PRIMARY KEY (unit_id, draw),
    CHECK (num_nonnulls(records_root, final_state_root, delta_root, trace, challenge_signature, salt,
                        records, is_equal, revealed_at_ms) IN (0, 9)),
    CHECK (accepted_seq IS NULL OR revealed_at_ms IS NOT NULL),
    CHECK ((accepted_seq IS NULL) = (accepted_at_ms IS NULL)),
    CHECK (NOT found_fault OR (accepted_seq IS NOT NULL AND NOT is_equal))
);

CREATE TABLE registry.missed_draw (
    unit_id registry.digest NOT NULL REFERENCES registry.unit,
    draw integer NOT NULL CHECK (draw >= 0),
    verifier registry.address NOT NULL REFERENCES registry.node,
    at_ms bigint NOT NULL,
    PRIMARY KEY (unit_id, draw)
);

-- Invariants: every view is empty -------------------------------------------------------------------
CREATE VIEW audit.registry_feed_gaps AS
    SELECT s.last, count(e.seq) AS events, max(e.seq) AS last_event
    FROM registry.sequence s LEFT JOIN registry.unit_event e ON true
    WHERE s.name = 'unit_event'
    GROUP BY s.last
    HAVING s.last <> count(e.seq) OR s.last <> coalesce(max(e.seq), 0);

CREATE VIEW audit.registry_state_without_event AS
    SELECT u.id, u.state
    FROM registry.unit u
    LEFT JOIN LATERAL (
        SELECT to_state FROM registry.unit_event e WHERE e.unit_id = u.id ORDER BY seq DESC LIMIT 1
    ) last ON true
    WHERE last.to_state IS DISTINCT FROM u.state;

CREATE VIEW audit.registry_commitment_mismatch AS
    SELECT u.id, u.state
    FROM registry.unit u LEFT JOIN registry.unit_commitment c ON c.unit_id = u.id
    WHERE (u.committed_at_ms IS NULL) <> (c.unit_id IS NULL);

CREATE VIEW audit.registry_included_not_accepted AS
    SELECT u.id, u.state FROM registry.unit u
    WHERE u.included AND u.state IN ('assigned', 'expired', 'unpaid');

-- Who may do what -----------------------------------------------------------------------------------
GRANT USAGE ON SCHEMA registry TO gym_coordinator, gym_rewards, gym_api;
GRANT SELECT ON ALL TABLES IN SCHEMA registry TO gym_coordinator, gym_rewards;
GRANT INSERT, UPDATE ON registry.node, registry.dataset, registry.round, registry.unit, registry.report
    TO gym_coordinator;
GRANT INSERT ON registry.unit_commitment, registry.unit_records, registry.equivocation,
    registry.missed_draw TO gym_coordinator;
GRANT INSERT, DELETE ON registry.heartbeat TO gym_coordinator;
GRANT UPDATE ON registry.job, registry.sequence TO gym_coordinator;
-- The API shows everything but step records, submits jobs and datasets, and passes on what owners ask.
GRANT SELECT ON registry.node, registry.heartbeat, registry.dataset, registry.job, registry.round,
    registry.unit, registry.unit_event, registry.unit_commitment, registry.unit_transition,
    registry.job_transition TO gym_api;
GRANT SELECT (unit_id, draw, verifier, digest, committed_at_ms, records_root, final_state_root,
              delta_root, is_equal, revealed_at_ms, accepted_seq, accepted_at_ms, found_fault)
    ON registry.report TO gym_api;
GRANT INSERT ON registry.job, registry.dataset TO gym_api;
GRANT UPDATE (request, budget_wei) ON registry.job TO gym_api;
