-- What a dataset is worth (docs/REWARDS.md, "Data"): its licence, how much of it was not registered before, how useful
-- it is, and the keys by which near-duplicates are found without looking at all datasets. Before, every dataset had
-- quality 1,000,000 and no licence.

-- Order of registration: what came first is what the rest is compared with.
ALTER TABLE registry.dataset ADD COLUMN number bigint;
UPDATE registry.dataset d SET number = o.number
FROM (SELECT root, row_number() OVER (ORDER BY registered_at_ms, root) AS number FROM registry.dataset) o
WHERE o.root = d.root;

ALTER TABLE registry.dataset
    ALTER COLUMN number SET NOT NULL,
    ADD CONSTRAINT dataset_number UNIQUE (number),
    ADD CONSTRAINT dataset_number_positive CHECK (number >= 1),
    -- An SPDX license expression; its syntax is checked by the registry.
    ADD COLUMN licence text NOT NULL DEFAULT 'NOASSERTION'
        CHECK (char_length(licence) <= 256 AND licence ~ '^[A-Za-z0-9.+:() -]+$'),
    ADD COLUMN novelty_ppm registry.ppm,
    ADD COLUMN usefulness_ppm registry.ppm NOT NULL DEFAULT 1000000,
    -- The sketch whose keys are in dataset_key. NULL: registered before there were any; nothing is compared with it.
    ADD COLUMN sketch_level integer CHECK (sketch_level BETWEEN 0 AND 64),
    ADD COLUMN sketch_chunks integer CHECK (sketch_chunks BETWEEN 0 AND 65536),
    ADD COLUMN compared_tokens bigint CHECK (compared_tokens BETWEEN 0 AND tokens),
    ADD COLUMN nearest registry.digest REFERENCES registry.dataset CHECK (nearest <> root),
    ADD COLUMN nearest_ppm registry.ppm CHECK (nearest_ppm > 0),
    ADD CONSTRAINT dataset_nearest CHECK ((nearest IS NULL) = (nearest_ppm IS NULL)),
    ADD CONSTRAINT dataset_sketch CHECK (num_nonnulls(sketch_level, sketch_chunks, compared_tokens) IN (0, 3)),
    -- Only what was registered before says nothing about its licence.
    ADD CONSTRAINT dataset_licence CHECK ((licence = 'NOASSERTION') = (sketch_level IS NULL)),
    -- A price that no product with it can overflow: 10^12 tokens of money for a million tokens of text.
    ADD CONSTRAINT dataset_price CHECK (price_wei_per_mtoken <= 1000000000000000000000000000000);
UPDATE registry.dataset SET novelty_ppm = quality_ppm;
ALTER TABLE registry.dataset
    ALTER COLUMN novelty_ppm SET NOT NULL,
    ALTER COLUMN licence DROP DEFAULT,
    ALTER COLUMN usefulness_ppm DROP DEFAULT,
    DROP COLUMN quality_ppm;
-- quality::quality_ppm(): nobody can store one that does not follow from its factors.
ALTER TABLE registry.dataset
    ADD COLUMN quality_ppm integer NOT NULL
        GENERATED ALWAYS AS ((novelty_ppm::bigint * usefulness_ppm / 1000000)::integer) STORED;
CREATE INDEX dataset_owner ON registry.dataset (owner, number);

CREATE FUNCTION registry.guard_dataset() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        -- Of generated columns a BEFORE trigger sees nothing: quality follows usefulness.
        NEW.quality_ppm := OLD.quality_ppm;
        IF to_jsonb(NEW) - 'usefulness_ppm' = to_jsonb(OLD) - 'usefulness_ppm' THEN
            RETURN NEW;
        END IF;
    END IF;
    RAISE EXCEPTION 'what was registered as a dataset never changes, except for its usefulness'
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

-- What a job pays for its data is fixed when it is submitted: a measurement afterwards changes what later jobs pay.
ALTER TABLE registry.job
    ADD COLUMN data_price_wei_per_mtoken registry.wei,
    ADD COLUMN data_quality_ppm registry.ppm;
ALTER TABLE registry.job DISABLE TRIGGER guard_job;
UPDATE registry.job j SET data_price_wei_per_mtoken = d.price_wei_per_mtoken, data_quality_ppm = d.quality_ppm
FROM registry.dataset d WHERE d.root = j.dataset_root;
ALTER TABLE registry.job ENABLE TRIGGER guard_job;
ALTER TABLE registry.job
    ALTER COLUMN data_price_wei_per_mtoken SET NOT NULL,
    ALTER COLUMN data_quality_ppm SET NOT NULL;

CREATE FUNCTION registry.fix_data_terms() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        SELECT price_wei_per_mtoken, quality_ppm INTO NEW.data_price_wei_per_mtoken, NEW.data_quality_ppm
        FROM registry.dataset WHERE root = NEW.dataset_root;
        IF NOT FOUND THEN
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

-- Invariants: every view is empty -------------------------------------------------------------------
CREATE VIEW audit.rewards_data_terms AS
    SELECT format('data credit %s was booked with other terms than job %s has', c.id, encode(j.id, 'hex')) AS problem
    FROM rewards.credit c JOIN registry.job j ON j.id = c.job_id
    WHERE c.kind = 'data'
      AND (c.price, c.quality_ppm) IS DISTINCT FROM (j.data_price_wei_per_mtoken, j.data_quality_ppm);

CREATE VIEW audit.rewards_data_paid_twice AS
    SELECT format('unit %s has %s data credits', encode(unit_id, 'hex'), count(*)) AS problem
    FROM rewards.credit WHERE kind = 'data' GROUP BY unit_id HAVING count(*) > 1;

CREATE VIEW audit.registry_dataset_nearest AS
    SELECT format('dataset %s names one as nearest that was registered later', encode(d.root, 'hex')) AS problem
    FROM registry.dataset d JOIN registry.dataset n ON n.root = d.nearest
    WHERE n.number >= d.number;

-- Who may do what -----------------------------------------------------------------------------------
-- Datasets are registered by the API alone.
REVOKE INSERT, UPDATE ON registry.dataset FROM gym_coordinator;
GRANT SELECT ON registry.dataset_key TO gym_api, gym_coordinator, gym_rewards;
GRANT INSERT ON registry.dataset_key TO gym_api;
