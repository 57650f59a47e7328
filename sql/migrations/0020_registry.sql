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

-- For tables to which rows are only added.
CREATE FUNCTION registry.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%.% is append-only', TG_TABLE_SCHEMA, TG_TABLE_NAME USING ERRCODE = 'P0001';
END
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

-- Uptime: questions at moments that a node cannot foresee (docs/PROTOCOL.md, "Uptime").
CREATE TABLE registry.challenge (
    node registry.address NOT NULL REFERENCES registry.node,
    nonce registry.digest PRIMARY KEY,
    issued_at_ms bigint NOT NULL,
    deadline_ms bigint NOT NULL CHECK (deadline_ms > issued_at_ms),
    answered_at_ms bigint CHECK (answered_at_ms BETWEEN issued_at_ms AND deadline_ms),
    signature bytea CHECK (octet_length(signature) = 65),  -- the node's, over the EIP-712 UptimeAnswer
    late_at_ms bigint CHECK (late_at_ms > deadline_ms),    -- of the first answer that came too late: for people
    withdrawn boolean NOT NULL DEFAULT false,              -- it could not be answered: the coordinator was down
    CHECK ((answered_at_ms IS NULL) = (signature IS NULL)),
    CHECK (answered_at_ms IS NULL OR NOT withdrawn)
);
CREATE INDEX challenge_node ON registry.challenge (node, issued_at_ms);
CREATE INDEX challenge_open ON registry.challenge (node, deadline_ms) WHERE answered_at_ms IS NULL AND NOT withdrawn;
CREATE INDEX challenge_issued ON registry.challenge (issued_at_ms);

-- When each node is asked next. Nobody but the coordinator may know.
CREATE TABLE registry.challenge_schedule (
    node registry.address PRIMARY KEY REFERENCES registry.node,
    next_at_ms bigint NOT NULL
);

-- When challenges were issued last: a gap means that no coordinator was there to take answers.
CREATE TABLE registry.challenge_pass (
    id boolean PRIMARY KEY DEFAULT true CHECK (id),
    at_ms bigint NOT NULL
);

-- Questions and answers are not rewritten: an answer, a late answer and a withdrawal each come once.
CREATE FUNCTION registry.challenge_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (new.node, new.nonce, new.issued_at_ms, new.deadline_ms)
       IS DISTINCT FROM (old.node, old.nonce, old.issued_at_ms, old.deadline_ms)
       OR (old.answered_at_ms IS NOT NULL AND (new.answered_at_ms, new.signature)
           IS DISTINCT FROM (old.answered_at_ms, old.signature))
       OR (old.late_at_ms IS NOT NULL AND new.late_at_ms IS DISTINCT FROM old.late_at_ms)
       OR (old.withdrawn AND NOT new.withdrawn) THEN
        RAISE EXCEPTION 'what a challenge says does not change' USING ERRCODE = 'check_violation';
    END IF;
    RETURN new;
END
$$;
CREATE TRIGGER challenge_is_kept BEFORE UPDATE ON registry.challenge
    FOR EACH ROW EXECUTE FUNCTION registry.challenge_is_kept();

-- Datasets ------------------------------------------------------------------------------------------
-- The worth of a dataset (docs/REWARDS.md, "Data"): its licence, how much of it was not registered before, how useful
-- it is, and the keys by which near-duplicates are found without looking at all datasets.
CREATE TABLE registry.dataset (
    root registry.digest PRIMARY KEY,
    blob registry.digest NOT NULL,
    owner registry.address NOT NULL,
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 128),
    tokens bigint NOT NULL CHECK (tokens > 0),
    vocabulary integer NOT NULL CHECK (vocabulary BETWEEN 1 AND 1048576),
    -- Root of the tokenizer that the token file names; NULL: a token is a byte, or nobody said.
    tokenizer registry.digest,
    price_wei_per_mtoken registry.wei NOT NULL,
    registered_at_ms bigint NOT NULL,
    -- Order of registration: each dataset is compared with those before it.
    number bigint NOT NULL CONSTRAINT dataset_number UNIQUE,
    -- An SPDX license expression; its syntax is checked by the registry.
    licence text NOT NULL CHECK (char_length(licence) <= 256 AND licence ~ '^[A-Za-z0-9.+:() -]+$'),
    novelty_ppm registry.ppm NOT NULL,
    usefulness_ppm registry.ppm NOT NULL,
    -- The sketch whose keys are in dataset_key. NULL: nothing is compared with this dataset.
    sketch_level integer CHECK (sketch_level BETWEEN 0 AND 64),
    sketch_chunks integer CHECK (sketch_chunks BETWEEN 0 AND 65536),
    compared_tokens bigint CHECK (compared_tokens BETWEEN 0 AND tokens),
    nearest registry.digest REFERENCES registry.dataset CHECK (nearest <> root),
    nearest_ppm registry.ppm CHECK (nearest_ppm > 0),
    -- Of a mix: how many datasets it is made of (registry.dataset_part). 0: it is a dataset of its own.
    parts integer NOT NULL DEFAULT 0 CHECK (parts = 0 OR parts BETWEEN 2 AND 64),
    -- quality::quality_ppm(): no one can store one that does not follow from its factors.
    quality_ppm integer NOT NULL
        GENERATED ALWAYS AS ((novelty_ppm::bigint * usefulness_ppm / 1000000)::integer) STORED,
    CONSTRAINT dataset_number_positive CHECK (number >= 1),
    CONSTRAINT dataset_nearest CHECK ((nearest IS NULL) = (nearest_ppm IS NULL)),
    CONSTRAINT dataset_sketch CHECK (num_nonnulls(sketch_level, sketch_chunks, compared_tokens) IN (0, 3)),
    CONSTRAINT dataset_licence CHECK ((licence = 'NOASSERTION') = (sketch_level IS NULL)),
    -- Price and quality of a mix follow from its parts (registry.data_terms): it has none of its own.
    CONSTRAINT dataset_mix CHECK (parts = 0 OR (price_wei_per_mtoken = 0 AND novelty_ppm = 0 AND usefulness_ppm = 0)),
    -- A price that no product with it can overflow: 10^12 tokens of money for a million tokens of text.
    CONSTRAINT dataset_price CHECK (price_wei_per_mtoken <= 1000000000000000000000000000000)
);
CREATE INDEX dataset_owner ON registry.dataset (owner, number);

CREATE FUNCTION registry.guard_dataset() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        -- Of generated columns a BEFORE trigger sees nothing: quality follows usefulness.
        NEW.quality_ppm := OLD.quality_ppm;
        IF to_jsonb(NEW) - 'usefulness_ppm' = to_jsonb(OLD) - 'usefulness_ppm'
           AND EXISTS (SELECT FROM registry.measurement m
                       WHERE m.dataset = NEW.root AND m.usefulness_ppm = NEW.usefulness_ppm) THEN
            RETURN NEW;
        END IF;
    END IF;
    RAISE EXCEPTION 'what was registered as a dataset never changes, except that its usefulness is measured once'
        USING ERRCODE = 'P0001';
END
$$;
CREATE TRIGGER guard_dataset BEFORE UPDATE OR DELETE ON registry.dataset
    FOR EACH ROW EXECUTE FUNCTION registry.guard_dataset();

-- Band keys of sampled chunks (quality::band_keys), each with the first dataset that had it.
CREATE TABLE registry.dataset_key (
    key bigint PRIMARY KEY,  -- the 64 bits as a signed number
    dataset bigint NOT NULL REFERENCES registry.dataset (number)
);
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON registry.dataset_key
    FOR EACH STATEMENT EXECUTE FUNCTION registry.refuse_change();

-- The files of a dataset's tokenizer (docs/TOKENIZERS.md, "Files"), as the dataset's owner gave them.
CREATE TABLE registry.dataset_tokenizer (
    dataset registry.digest PRIMARY KEY REFERENCES registry.dataset,
    blob registry.digest NOT NULL,
    bytes bigint NOT NULL CHECK (bytes > 0),
    added_at_ms bigint NOT NULL
);
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON registry.dataset_tokenizer
    FOR EACH STATEMENT EXECUTE FUNCTION registry.refuse_change();

-- Names of datasets: a name belongs to the owner who used it first; its versions follow each other and never change.
CREATE TABLE registry.dataset_name (
    -- Not hexadecimal: roots are, or begin so.
    name text PRIMARY KEY CHECK (char_length(name) <= 64 AND name ~ '^[a-z0-9][a-z0-9._-]*$'
                                 AND name !~ '^(0x)?[0-9a-f]*$'),
    owner registry.address NOT NULL,
    registered_at_ms bigint NOT NULL
);
CREATE TABLE registry.dataset_version (
    name text NOT NULL REFERENCES registry.dataset_name,
    version integer NOT NULL CHECK (version BETWEEN 1 AND 1000000),
    root registry.digest NOT NULL REFERENCES registry.dataset,
    registered_at_ms bigint NOT NULL,
    PRIMARY KEY (name, version)
);
CREATE FUNCTION registry.guard_dataset_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.version <> (SELECT coalesce(max(version), 0) + 1 FROM registry.dataset_version WHERE name = NEW.name) THEN
        RAISE EXCEPTION 'the versions of a name follow each other' USING ERRCODE = 'P0001';
    END IF;
    IF (SELECT owner FROM registry.dataset WHERE root = NEW.root)
       IS DISTINCT FROM (SELECT owner FROM registry.dataset_name WHERE name = NEW.name) THEN
        RAISE EXCEPTION 'a name stands for datasets of its owner' USING ERRCODE = 'P0001';
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER guard_dataset_version BEFORE INSERT ON registry.dataset_version
    FOR EACH ROW EXECUTE FUNCTION registry.guard_dataset_version();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON registry.dataset_name
    FOR EACH STATEMENT EXECUTE FUNCTION registry.refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON registry.dataset_version
    FOR EACH STATEMENT EXECUTE FUNCTION registry.refuse_change();

-- Mixes (docs/DATA.md, "Mixing") --------------------------------------------------------------------
-- What was taken of each part of a mix, in the mix's order. The parts' providers are paid by it.
CREATE TABLE registry.dataset_part (
    mix registry.digest NOT NULL REFERENCES registry.dataset,
    position integer NOT NULL CHECK (position >= 0),
    part registry.digest NOT NULL REFERENCES registry.dataset,
    tokens bigint NOT NULL CHECK (tokens > 0),
    weight_ppm bigint NOT NULL CHECK (weight_ppm > 0),  -- as it was asked for: a share of the sum of all
    PRIMARY KEY (mix, position),
    CONSTRAINT dataset_part_once UNIQUE (mix, part)
);
-- A mix is a pure function of its recipe: parts, weights and wanted tokens. Several recipes may give the same tokens.
CREATE TABLE registry.mix_recipe (
    recipe registry.digest PRIMARY KEY,
    mix registry.digest NOT NULL REFERENCES registry.dataset,
    manifest_root registry.digest NOT NULL,  -- names every piece of the mix
    manifest_blob registry.digest NOT NULL,
    made_at_ms bigint NOT NULL
);

CREATE FUNCTION registry.guard_dataset_part() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.position >= (SELECT d.parts FROM registry.dataset d WHERE d.root = NEW.mix) THEN
        RAISE EXCEPTION 'a dataset has as many parts as it was registered with' USING ERRCODE = 'P0001';
    END IF;
    IF (SELECT d.parts FROM registry.dataset d WHERE d.root = NEW.part) > 0 THEN
        RAISE EXCEPTION 'a part of a mix is not a mix' USING ERRCODE = 'P0001';
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER guard_dataset_part BEFORE INSERT ON registry.dataset_part
    FOR EACH ROW EXECUTE FUNCTION registry.guard_dataset_part();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON registry.dataset_part
    FOR EACH STATEMENT EXECUTE FUNCTION registry.refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON registry.mix_recipe
    FOR EACH STATEMENT EXECUTE FUNCTION registry.refuse_change();

-- Price and quality of a dataset's tokens; of a mix the mean of its parts, by the tokens taken of each. Both round up, so
-- that price * quality is never below what the parts are paid (docs/REWARDS.md, "Mixes").
CREATE FUNCTION registry.data_terms(dataset bytea, OUT price numeric, OUT quality integer)
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    tokens numeric;
    cost numeric;
    worth numeric;
    weighted numeric;
BEGIN
    SELECT sum(p.tokens), sum(p.tokens * d.price_wei_per_mtoken), sum(p.tokens * d.price_wei_per_mtoken * d.quality_ppm),
           sum(p.tokens::numeric * d.quality_ppm)
    INTO tokens, cost, worth, weighted
    FROM registry.dataset_part p JOIN registry.dataset d ON d.root = p.part WHERE p.mix = dataset;
    IF tokens IS NULL THEN
        SELECT d.price_wei_per_mtoken, d.quality_ppm INTO price, quality FROM registry.dataset d WHERE d.root = dataset;
    ELSE
        price := div(cost + tokens - 1, tokens);
        -- Of free parts no provider is paid: then the mean says only how good the text is.
        quality := CASE WHEN cost = 0 THEN div(weighted, tokens) ELSE div(worth + cost - 1, cost) END;
    END IF;
END
$$;

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

-- Orders: what an owner signed before money was locked (docs/PROTOCOL.md, "Orders"). Each row holds all that the signed
-- digest is made of, so that anyone who can read it can check the signature again.
CREATE TABLE registry.job_order (
    job_id registry.digest PRIMARY KEY,
    owner registry.address NOT NULL,
    nonce registry.digest NOT NULL,
    spec registry.digest NOT NULL,  -- SHA-256 of the job's text
    datasets bytea NOT NULL CHECK (octet_length(datasets) > 0 AND octet_length(datasets) % 32 = 0),  -- roots, joined
    budget_wei registry.wei NOT NULL,
    price_wei_per_pflop registry.wei NOT NULL,
    max_data_price_wei registry.wei NOT NULL,
    expiry_s registry.counter NOT NULL,
    chain_id registry.counter NOT NULL,
    escrow registry.address NOT NULL,
    signature bytea NOT NULL CHECK (octet_length(signature) = 65),
    received_at_ms bigint NOT NULL,
    CONSTRAINT job_order_nonce UNIQUE (owner, nonce),
    CONSTRAINT job_order_owner UNIQUE (job_id, owner)
);
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON registry.job_order
    FOR EACH STATEMENT EXECUTE FUNCTION registry.refuse_change();

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
    -- Not only a job's owner asks for a pause: gym-rewards does when the escrow cannot cover a unit. A service that asks in
    -- the owner's place says why; the sentence becomes status_reason when the coordinator acts.
    request_reason text NOT NULL DEFAULT '',
    -- The price of a job's data is fixed at submission: a later measurement changes the prices of later jobs only.
    data_price_wei_per_mtoken registry.wei NOT NULL,
    data_quality_ppm registry.ppm NOT NULL,
    CONSTRAINT job_has_order FOREIGN KEY (id, owner) REFERENCES registry.job_order (job_id, owner),
    -- The base state of round 1, if its owner gave one: the root of its tensors, and of its bytes.
    init_root registry.digest,
    init_blob registry.digest,
    CONSTRAINT job_init_check CHECK (num_nonnulls(init_root, init_blob) IN (0, 2)),
    CONSTRAINT job_request_reason_check CHECK (request IS NOT NULL OR request_reason = ''),
    CHECK (num_nonnulls(seed, program_root, program_blob, evaluate_program_root, evaluate_program_blob,
                        logits_program_root, logits_program_blob, base_state_root, base_state_blob,
                        momentum_root, momentum_blob, tokens_per_step, flops_per_step, parameters,
                        started_at_ms) IN (0, 15)),
    CHECK (status IN ('submitted', 'failed', 'cancelled') OR started_at_ms IS NOT NULL),
    CHECK ((ended_at_ms IS NOT NULL) = (status IN ('completed', 'cancelled', 'failed')))
);
CREATE INDEX job_owner ON registry.job (owner, submitted_at_ms);
CREATE INDEX job_status ON registry.job (status, submitted_at_ms);

-- The same for money that is added to a job's budget.
CREATE TABLE registry.job_funding (
    job_id registry.digest NOT NULL REFERENCES registry.job,
    owner registry.address NOT NULL,
    nonce registry.digest NOT NULL,
    amount_wei registry.wei NOT NULL CHECK (amount_wei > 0),
    expiry_s registry.counter NOT NULL,
    chain_id registry.counter NOT NULL,
    escrow registry.address NOT NULL,
    signature bytea NOT NULL CHECK (octet_length(signature) = 65),
    received_at_ms bigint NOT NULL,
    PRIMARY KEY (owner, nonce)
);
CREATE INDEX job_funding_job ON registry.job_funding (job_id);
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON registry.job_funding
    FOR EACH STATEMENT EXECUTE FUNCTION registry.refuse_change();

CREATE FUNCTION registry.guard_job() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.status <> 'submitted' THEN
            RAISE EXCEPTION 'a job begins as submitted' USING ERRCODE = 'P0001';
        END IF;
        IF NOT EXISTS (
            SELECT FROM registry.job_order o
            WHERE o.job_id = NEW.id AND o.owner = NEW.owner AND o.budget_wei = NEW.budget_wei
              AND o.price_wei_per_pflop = NEW.price_wei_per_pflop
              AND o.spec = sha256(convert_to(NEW.spec_yaml, 'UTF8'))
              AND substring(o.datasets FROM 1 FOR 32) = NEW.dataset_root) THEN
            RAISE EXCEPTION 'no order of its owner covers the job' USING ERRCODE = 'P0001';
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
    IF NEW.budget_wei > OLD.budget_wei AND NEW.budget_wei > (
        SELECT o.budget_wei + coalesce((SELECT sum(f.amount_wei) FROM registry.job_funding f
                                        WHERE f.job_id = NEW.id AND f.owner = NEW.owner), 0)
        FROM registry.job_order o WHERE o.job_id = NEW.id) THEN
        RAISE EXCEPTION 'no order of its owner covers the budget of the job' USING ERRCODE = 'P0001';
    END IF;
    IF NEW.id <> OLD.id OR NEW.owner <> OLD.owner OR NEW.spec_yaml <> OLD.spec_yaml
       OR NEW.price_wei_per_pflop <> OLD.price_wei_per_pflop
       OR (NEW.init_root, NEW.init_blob) IS DISTINCT FROM (OLD.init_root, OLD.init_blob)
       OR (OLD.seed IS NOT NULL AND NEW.seed IS DISTINCT FROM OLD.seed) THEN
        RAISE EXCEPTION 'the terms of a job never change' USING ERRCODE = 'P0001';
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER guard_job BEFORE INSERT OR UPDATE ON registry.job
    FOR EACH ROW EXECUTE FUNCTION registry.guard_job();

-- A request that is withdrawn loses its reason.
CREATE FUNCTION registry.drop_request_reason() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.request_reason := '';
    RETURN NEW;
END
$$;
CREATE TRIGGER drop_request_reason BEFORE UPDATE OF request ON registry.job
    FOR EACH ROW WHEN (NEW.request IS NULL) EXECUTE FUNCTION registry.drop_request_reason();

CREATE FUNCTION registry.fix_data_terms() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        SELECT t.price, t.quality INTO NEW.data_price_wei_per_mtoken, NEW.data_quality_ppm
        FROM registry.data_terms(NEW.dataset_root) t;
        IF NEW.data_price_wei_per_mtoken IS NULL THEN
            RAISE EXCEPTION 'the dataset is not registered' USING ERRCODE = 'foreign_key_violation';
        END IF;
    ELSIF (NEW.dataset_root, NEW.data_price_wei_per_mtoken, NEW.data_quality_ppm)
          IS DISTINCT FROM (OLD.dataset_root, OLD.data_price_wei_per_mtoken, OLD.data_quality_ppm) THEN
        RAISE EXCEPTION 'the terms of a job never change' USING ERRCODE = 'P0001';
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER fix_data_terms BEFORE INSERT OR UPDATE ON registry.job
    FOR EACH ROW EXECUTE FUNCTION registry.fix_data_terms();

-- The providers of a job whose dataset is a mix, and the terms of each, fixed when the job is submitted. A unit's data
-- credits are cut from weights that add up in this order (rewards::data_share_credit), so that nothing is lost between.
CREATE TABLE registry.job_data (
    job_id registry.digest NOT NULL REFERENCES registry.job,
    position integer NOT NULL CHECK (position >= 0),
    dataset registry.digest NOT NULL REFERENCES registry.dataset,
    owner registry.address NOT NULL,
    part_tokens bigint NOT NULL CHECK (part_tokens > 0),
    mix_tokens bigint NOT NULL CHECK (mix_tokens > part_tokens),
    price_wei_per_mtoken registry.wei NOT NULL,
    quality_ppm registry.ppm NOT NULL,
    weight_before registry.wei NOT NULL,  -- part_tokens * price * quality of all parts before
    PRIMARY KEY (job_id, position),
    CONSTRAINT job_data_once UNIQUE (job_id, dataset)
);
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON registry.job_data
    FOR EACH STATEMENT EXECUTE FUNCTION registry.refuse_change();

CREATE FUNCTION registry.fix_job_data() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    used registry.dataset;
    parts bigint;
    tokens numeric;
BEGIN
    SELECT * INTO used FROM registry.dataset d WHERE d.root = NEW.dataset_root;
    SELECT count(*), sum(p.tokens) INTO parts, tokens FROM registry.dataset_part p WHERE p.mix = NEW.dataset_root;
    IF used.parts <> parts OR (parts > 0 AND used.tokens <> tokens) THEN
        RAISE EXCEPTION 'the parts of the mix are not its tokens' USING ERRCODE = 'P0001';
    END IF;
    INSERT INTO registry.job_data
        SELECT NEW.id, p.position, p.part, d.owner, p.tokens, used.tokens, d.price_wei_per_mtoken, d.quality_ppm,
               coalesce(sum(p.tokens * d.price_wei_per_mtoken * d.quality_ppm) OVER (
                   ORDER BY p.position ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)
        FROM registry.dataset_part p JOIN registry.dataset d ON d.root = p.part
        WHERE p.mix = NEW.dataset_root ORDER BY p.position;
    RETURN NULL;
END
$$;
CREATE TRIGGER fix_job_data AFTER INSERT ON registry.job
    FOR EACH ROW EXECUTE FUNCTION registry.fix_job_data();

-- Rates that bound a job's cost (docs/REWARDS.md): the coordinator publishes the rates by which it decides whether a
-- round may begin, so that a quote follows the same rule.
CREATE TABLE registry.cost_rates (
    id boolean PRIMARY KEY DEFAULT true CHECK (id),
    -- Bounded: rates that no configuration allows would stop every quote and every submission.
    cost_bound_ppm bigint NOT NULL CHECK (cost_bound_ppm BETWEEN 1000000 AND 100000000),
    fee_ppm bigint NOT NULL CHECK (fee_ppm BETWEEN 0 AND 1000000),
    changed_at_ms bigint NOT NULL
);

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
    ('upheld', 'final'), ('upheld', 'rejected'), ('upheld', 'void'),
    -- A fault proven on chain slashes a unit in any state between commitment and end.
    ('committed', 'slashed'), ('sampled', 'slashed'), ('unsampled', 'slashed'), ('reported', 'slashed'),
    ('revealed', 'slashed'), ('verified', 'slashed'), ('upheld', 'slashed');

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

-- Runs as the owner: no other role may write the feed, so there is no state without its event.
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
    received_at_ms bigint NOT NULL,
    -- Two signed commitments for one unit are a game that is won when it is opened: when that was left to the player.
    filed_at_ms bigint
);
CREATE INDEX equivocation_unfiled ON registry.equivocation (received_at_ms) WHERE filed_at_ms IS NULL;

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
    -- A report that agrees with the commitment could be a copy of it: roots are in the task, records come back for the
    -- committed digest, and only a re-execution can distinguish the trace from noise. So the coordinator audits some of
    -- these reports (docs/PROTOCOL.md), and does not disclose which: gym_api may not read this column.
    audit text CHECK (audit IN ('due', 'passed', 'failed', 'impossible')),
    PRIMARY KEY (unit_id, draw),
    CHECK (num_nonnulls(records_root, final_state_root, delta_root, trace, challenge_signature, salt,
                        records, is_equal, revealed_at_ms) IN (0, 9)),
    CHECK (accepted_seq IS NULL OR revealed_at_ms IS NOT NULL),
    CHECK ((accepted_seq IS NULL) = (accepted_at_ms IS NULL)),
    CHECK (NOT found_fault OR (accepted_seq IS NOT NULL AND NOT is_equal)),
    CHECK (audit IS NULL OR (revealed_at_ms IS NOT NULL AND is_equal)),
    CHECK (audit IS DISTINCT FROM 'failed' OR accepted_seq IS NULL)
);
CREATE INDEX report_audit_due ON registry.report (unit_id) WHERE audit = 'due';
CREATE INDEX report_verifier ON registry.report (verifier) WHERE accepted_seq IS NULL;

CREATE TABLE registry.missed_draw (
    unit_id registry.digest NOT NULL REFERENCES registry.unit,
    draw integer NOT NULL CHECK (draw >= 0),
    verifier registry.address NOT NULL REFERENCES registry.node,
    at_ms bigint NOT NULL,
    PRIMARY KEY (unit_id, draw)
);

-- Games on chain (docs/PROTOCOL.md, "Disputes") -----------------------------------------------------
-- A unit is not final while its window on chain is open, nor while a game about any unit of its worker is; a proven
-- fault slashes the unit and ends its worker.

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
    -- When the first open game was opened; NULL: not known. A unit whose window was over by then does not wait for it, or
    -- games about ever newer units of one worker would keep all that it has from ever being paid.
    opened_block bigint CHECK (opened_block >= 0),
    PRIMARY KEY (contract, name),
    CHECK (handled_at_ms IS NULL OR is_faulty)
);
CREATE INDEX disputed_unit_open ON registry.disputed_unit (asserter)
    WHERE open_games > 0 OR (is_faulty AND handled_at_ms IS NULL);

-- Evidence with which an auditor recomputes an epoch (docs/REWARDS.md, "Auditing an epoch"): signed reports on units
-- that have ended, as their verifiers revealed them. Before the end a trace could be copied by the next verifier
-- drawn. Step records and audits are left out.
CREATE VIEW registry.published_report AS
    SELECT u.job_id, u.round, p.unit_id, p.draw, p.verifier, p.digest, p.records_root, p.final_state_root, p.delta_root,
           p.trace, p.challenge_signature, p.salt, p.is_equal, p.accepted_seq IS NOT NULL AS accepted
    FROM registry.report p JOIN registry.unit u ON u.id = p.unit_id
    WHERE p.revealed_at_ms IS NOT NULL AND u.ended_at_ms IS NOT NULL;

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

CREATE VIEW audit.registry_dataset_nearest AS
    SELECT format('dataset %s names one as nearest that was registered later', encode(d.root, 'hex')) AS problem
    FROM registry.dataset d JOIN registry.dataset n ON n.root = d.nearest
    WHERE n.number >= d.number;

CREATE VIEW audit.registry_mix AS
    SELECT format('mix %s has %s tokens in %s parts, registered are %s in %s', encode(d.root, 'hex'),
                  coalesce(p.tokens, 0), coalesce(p.parts, 0), d.tokens, d.parts) AS problem
    FROM registry.dataset d
    LEFT JOIN (SELECT mix, count(*) AS parts, sum(tokens) AS tokens FROM registry.dataset_part GROUP BY mix) p
        ON p.mix = d.root
    WHERE d.parts > 0 AND (d.parts, d.tokens) IS DISTINCT FROM (p.parts::integer, p.tokens::bigint)
       OR d.parts = 0 AND p.parts > 0
    UNION ALL
    SELECT format('mix %s has a part that is a mix or was registered later', encode(p.mix, 'hex'))
    FROM registry.dataset_part p JOIN registry.dataset m ON m.root = p.mix JOIN registry.dataset d ON d.root = p.part
    WHERE d.parts > 0 OR d.number >= m.number;

CREATE VIEW audit.registry_job_data AS
    SELECT format('job %s: its providers are not those of its dataset', encode(j.id, 'hex')) AS problem
    FROM registry.job j
    WHERE EXISTS (
        SELECT FROM (SELECT * FROM registry.job_data x WHERE x.job_id = j.id) x
        FULL JOIN (
            SELECT p.position, p.part, p.tokens, d.owner, d.price_wei_per_mtoken,
                   sum(p.tokens) OVER () AS mix_tokens
            FROM registry.dataset_part p JOIN registry.dataset d ON d.root = p.part WHERE p.mix = j.dataset_root) p
            ON p.position = x.position
        WHERE (x.dataset, x.part_tokens, x.mix_tokens, x.owner, x.price_wei_per_mtoken)
              IS DISTINCT FROM (p.part, p.tokens, p.mix_tokens::bigint, p.owner, p.price_wei_per_mtoken));

-- Privileges ----------------------------------------------------------------------------------------
GRANT USAGE ON SCHEMA registry TO gym_coordinator, gym_rewards, gym_api, gym_ledger_owner;
GRANT SELECT ON registry.sequence, registry.node, registry.challenge, registry.dataset, registry.dataset_key,
    registry.dataset_part, registry.job_data,
    registry.job_transition, registry.job_order, registry.job_funding, registry.job, registry.round,
    registry.unit_transition, registry.unit, registry.unit_event,
    registry.unit_commitment, registry.unit_records, registry.equivocation, registry.report, registry.missed_draw,
    registry.game_watch, registry.disputed_unit TO gym_coordinator, gym_rewards;
-- When a node is challenged next is known to the coordinator alone.
GRANT SELECT, INSERT, UPDATE, DELETE ON registry.challenge_schedule, registry.challenge_pass TO gym_coordinator;
GRANT INSERT, DELETE, UPDATE (answered_at_ms, signature, late_at_ms, withdrawn) ON registry.challenge TO gym_coordinator;
GRANT INSERT, UPDATE ON registry.node, registry.round, registry.unit, registry.report TO gym_coordinator;
GRANT INSERT ON registry.unit_commitment, registry.unit_records, registry.equivocation, registry.missed_draw
    TO gym_coordinator;
GRANT UPDATE (filed_at_ms) ON registry.equivocation TO gym_coordinator;
GRANT UPDATE ON registry.job, registry.sequence TO gym_coordinator;
GRANT INSERT, UPDATE ON registry.game_watch TO gym_coordinator;
GRANT INSERT, UPDATE, DELETE ON registry.disputed_unit TO gym_coordinator;
GRANT SELECT, INSERT, UPDATE ON registry.cost_rates TO gym_coordinator;
-- A job without budget is paused the way its owner would pause it.
GRANT UPDATE (request, request_reason) ON registry.job TO gym_rewards;
-- The API shows everything but step records and audits, submits jobs and datasets, and passes on what owners ask.
GRANT SELECT ON registry.node, registry.challenge, registry.dataset, registry.dataset_key, registry.dataset_name,
    registry.dataset_version, registry.dataset_tokenizer, registry.dataset_part, registry.mix_recipe, registry.job_data,
    registry.job_transition, registry.job_order, registry.job_funding, registry.job, registry.cost_rates, registry.round, registry.unit_transition, registry.unit, registry.unit_event,
    registry.unit_commitment, registry.game_watch, registry.disputed_unit, registry.published_report TO gym_api;
GRANT SELECT (unit_id, draw, verifier, digest, committed_at_ms, records_root, final_state_root,
              delta_root, is_equal, revealed_at_ms, accepted_seq, accepted_at_ms, found_fault)
    ON registry.report TO gym_api;
GRANT INSERT ON registry.job_order, registry.job_funding, registry.job, registry.dataset, registry.dataset_key,
    registry.dataset_name, registry.dataset_version, registry.dataset_tokenizer, registry.dataset_part,
    registry.mix_recipe TO gym_api;
GRANT UPDATE (request, request_reason, budget_wei) ON registry.job TO gym_api;
-- ledger.require_own_job() looks up whose a job is.
GRANT SELECT (id, owner) ON registry.job TO gym_ledger_owner;
