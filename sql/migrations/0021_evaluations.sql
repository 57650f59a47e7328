-- Measured usefulness (docs/REWARDS.md, "Usefulness"): evaluations, which are published before the datasets that they
-- measure, and one measurement a dataset. A role of its own writes both; the rest follows from the losses.

-- The bits of a finite binary32 that is not negative: their order is that of the numbers.
CREATE DOMAIN registry.loss AS integer CHECK (VALUE BETWEEN 0 AND 2139095039);

CREATE TABLE registry.evaluation (
    id registry.digest PRIMARY KEY,
    number bigint NOT NULL UNIQUE CHECK (number >= 1),  -- in the order of publication
    -- The parts of the id (measure::EvaluationTerms).
    program_root registry.digest NOT NULL,
    seed registry.digest NOT NULL,
    vocabulary integer NOT NULL CHECK (vocabulary BETWEEN 2 AND 1048576),
    base_steps integer NOT NULL CHECK (base_steps BETWEEN 0 AND 1048576),
    steps integer NOT NULL CHECK (steps BETWEEN 1 AND 1048576),
    windows integer NOT NULL CHECK (windows BETWEEN 1 AND 65536),
    -- Registered, so that a copy of it is not new.
    reference registry.digest NOT NULL REFERENCES registry.dataset,
    held_out registry.digest NOT NULL,
    CHECK (id = sha256('GYMUSEF1'::bytea || program_root::bytea || seed::bytea || int4send(vocabulary)
                       || int4send(base_steps) || int4send(steps) || int4send(windows)
                       || reference::bytea || held_out::bytea)),
    model_yaml text NOT NULL CHECK (octet_length(model_yaml) BETWEEN 1 AND 65536),  -- what makes the program
    base_state_root registry.digest NOT NULL,
    before_bits registry.loss NOT NULL,
    baseline_state_root registry.digest NOT NULL,
    baseline_bits registry.loss NOT NULL CHECK (baseline_bits < before_bits),
    datasets_before bigint NOT NULL,  -- the number of the last dataset that was registered before
    published_at_ms bigint NOT NULL,
    -- Retirement opens the commitment `held_out`.
    salt registry.digest,
    held_out_root registry.digest,
    datasets_until bigint CHECK (datasets_until >= datasets_before),
    retired_at_ms bigint,
    CHECK (num_nonnulls(salt, held_out_root, datasets_until, retired_at_ms) IN (0, 4)),
    CHECK (salt IS NULL OR held_out = sha256('GYMHELD1'::bytea || salt::bytea || held_out_root::bytea))
);
CREATE INDEX evaluation_vocabulary ON registry.evaluation (vocabulary, number);

CREATE FUNCTION registry.last_dataset() RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    -- Behind every registration that has begun (registry::lock_registrations): registrants may know the terms.
    PERFORM pg_advisory_xact_lock(7456110914561995873);
    RETURN (SELECT coalesce(max(d.number), 0) FROM registry.dataset d);
END
$$;
REVOKE ALL ON FUNCTION registry.last_dataset FROM PUBLIC;

CREATE FUNCTION registry.publish_evaluation() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF num_nonnulls(NEW.salt, NEW.held_out_root, NEW.datasets_until, NEW.retired_at_ms) > 0 THEN
        RAISE EXCEPTION 'an evaluation is retired after it was published' USING ERRCODE = 'P0001';
    END IF;
    NEW.datasets_before := registry.last_dataset();
    NEW.number := (SELECT coalesce(max(e.number), 0) + 1 FROM registry.evaluation e);
    IF NOT EXISTS (SELECT FROM registry.dataset d
                   WHERE d.root = NEW.reference AND d.vocabulary = NEW.vocabulary) THEN
        RAISE EXCEPTION 'the reference is not a registered dataset with the evaluation''s vocabulary'
            USING ERRCODE = 'P0001';
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER publish_evaluation BEFORE INSERT ON registry.evaluation
    FOR EACH ROW EXECUTE FUNCTION registry.publish_evaluation();

CREATE FUNCTION registry.retire_evaluation() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    retirement constant text[] := '{salt,held_out_root,datasets_until,retired_at_ms}';
BEGIN
    IF OLD.retired_at_ms IS NOT NULL OR NEW.retired_at_ms IS NULL
       OR to_jsonb(NEW) - retirement <> to_jsonb(OLD) - retirement THEN
        RAISE EXCEPTION 'an evaluation never changes, except that it is retired once' USING ERRCODE = 'P0001';
    END IF;
    NEW.datasets_until := registry.last_dataset();
    RETURN NEW;
END
$$;
CREATE TRIGGER retire_evaluation BEFORE UPDATE ON registry.evaluation
    FOR EACH ROW EXECUTE FUNCTION registry.retire_evaluation();
CREATE TRIGGER append_only BEFORE DELETE OR TRUNCATE ON registry.evaluation
    FOR EACH STATEMENT EXECUTE FUNCTION registry.refuse_change();

-- The one evaluation that measures a dataset: the newest of its vocabulary that was published before the dataset was
-- registered and not retired by then. Nobody chooses it afterwards.
CREATE FUNCTION registry.evaluation_for(dataset bytea) RETURNS bytea
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT e.id FROM registry.dataset d JOIN registry.evaluation e ON e.vocabulary = d.vocabulary
    WHERE d.root = dataset AND e.datasets_before < d.number
      AND (e.datasets_until IS NULL OR e.datasets_until >= d.number)
    ORDER BY e.number DESC LIMIT 1
$$;

-- quality::usefulness_ppm(), in whole multiples of 2^-149. These run with the rights of their owner so that whoever may
-- read the audit views needs none in this schema.
CREATE FUNCTION registry.loss_units(bits integer) RETURNS numeric
    LANGUAGE sql IMMUTABLE STRICT SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN bits >> 23 = 0 THEN bits::numeric
                ELSE (bits & 8388607 | 8388608) * trunc(power(2::numeric, ((bits >> 23) - 1)::numeric)) END
$$;
CREATE FUNCTION registry.usefulness_ppm(before_bits integer, after_bits integer, baseline_bits integer) RETURNS integer
    LANGUAGE sql IMMUTABLE STRICT SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE
        WHEN after_bits >= before_bits THEN 0
        WHEN after_bits <= baseline_bits THEN 1000000
        ELSE div(1000000 * (registry.loss_units(before_bits) - registry.loss_units(after_bits)),
                 registry.loss_units(before_bits) - registry.loss_units(baseline_bits))::integer END
$$;

CREATE TABLE registry.measurement (
    dataset registry.digest PRIMARY KEY REFERENCES registry.dataset,
    evaluation registry.digest NOT NULL REFERENCES registry.evaluation,
    state_root registry.digest NOT NULL,  -- of the training state after the steps on the dataset
    before_bits registry.loss NOT NULL,
    after_bits registry.loss NOT NULL,
    baseline_bits registry.loss NOT NULL,
    -- Nobody can store one that does not follow from the losses.
    usefulness_ppm integer NOT NULL CHECK (usefulness_ppm BETWEEN 0 AND 1000000)
        GENERATED ALWAYS AS (registry.usefulness_ppm(before_bits, after_bits, baseline_bits)) STORED,
    measured_at_ms bigint NOT NULL
);
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON registry.measurement
    FOR EACH STATEMENT EXECUTE FUNCTION registry.refuse_change();

CREATE FUNCTION registry.check_measurement() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    used registry.evaluation;
    measured registry.dataset;
BEGIN
    SELECT * INTO used FROM registry.evaluation e WHERE e.id = NEW.evaluation;
    SELECT * INTO measured FROM registry.dataset d WHERE d.root = NEW.dataset;
    IF used.id IS NULL OR measured.root IS NULL THEN
        RETURN NEW;  -- the foreign keys say which
    END IF;
    IF measured.parts > 0 THEN
        RAISE EXCEPTION 'a mix is worth what its parts are: measure these' USING ERRCODE = 'P0001';
    END IF;
    IF measured.vocabulary <> used.vocabulary THEN
        RAISE EXCEPTION 'the dataset''s vocabulary has % tokens, the evaluation is for %', measured.vocabulary,
            used.vocabulary USING ERRCODE = 'P0001';
    END IF;
    IF registry.evaluation_for(NEW.dataset) IS DISTINCT FROM NEW.evaluation THEN
        RAISE EXCEPTION 'the evaluation of a dataset is the newest that was in force when it was registered: %',
            coalesce('0x' || encode(registry.evaluation_for(NEW.dataset), 'hex'), 'none') USING ERRCODE = 'P0001';
    END IF;
    NEW.before_bits := used.before_bits;
    NEW.baseline_bits := used.baseline_bits;
    RETURN NEW;
END
$$;
CREATE TRIGGER check_measurement BEFORE INSERT ON registry.measurement
    FOR EACH ROW EXECUTE FUNCTION registry.check_measurement();

-- Of datasets the evaluator's role may change nothing by itself.
CREATE FUNCTION registry.apply_measurement() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE registry.dataset SET usefulness_ppm = NEW.usefulness_ppm WHERE root = NEW.dataset;
    RETURN NULL;
END
$$;
CREATE TRIGGER apply_measurement AFTER INSERT ON registry.measurement
    FOR EACH ROW EXECUTE FUNCTION registry.apply_measurement();

-- Invariants: every view is empty -------------------------------------------------------------------
CREATE VIEW audit.registry_dataset_usefulness AS
    SELECT format('dataset %s has usefulness %s, it was measured as %s', encode(d.root, 'hex'), d.usefulness_ppm,
                  registry.usefulness_ppm(m.before_bits, m.after_bits, m.baseline_bits)) AS problem
    FROM registry.dataset d JOIN registry.measurement m ON m.dataset = d.root
    WHERE d.usefulness_ppm <> registry.usefulness_ppm(m.before_bits, m.after_bits, m.baseline_bits)
       OR m.usefulness_ppm <> d.usefulness_ppm;

CREATE VIEW audit.registry_measurement AS
    SELECT format('dataset %s was measured with another evaluation or other losses than it should be',
                  encode(m.dataset, 'hex')) AS problem
    FROM registry.measurement m JOIN registry.evaluation e ON e.id = m.evaluation
    WHERE registry.evaluation_for(m.dataset) IS DISTINCT FROM m.evaluation
       OR (m.before_bits, m.baseline_bits) IS DISTINCT FROM (e.before_bits, e.baseline_bits);

-- Privileges ----------------------------------------------------------------------------------------
GRANT USAGE ON SCHEMA registry TO gym_evaluator;
GRANT SELECT ON registry.evaluation, registry.measurement TO gym_api, gym_coordinator, gym_rewards, gym_evaluator;
GRANT SELECT ON registry.dataset, registry.dataset_part TO gym_evaluator;
GRANT INSERT ON registry.evaluation, registry.measurement TO gym_evaluator;
GRANT UPDATE (salt, held_out_root, retired_at_ms) ON registry.evaluation TO gym_evaluator;
