-- Jobs that take commitments after their deadline into the next round's epoch. Jobs of before refuse them.
ALTER TABLE registry.job
    ADD COLUMN accept_late boolean NOT NULL DEFAULT false;
-- Whether a unit was still assigned when its deadline passed, and its job takes late commitments: its epoch, its block and its
-- beacon are those of the next round.
ALTER TABLE registry.unit
    ADD COLUMN late boolean NOT NULL DEFAULT false CHECK (kind = 'train' OR NOT late);

CREATE OR REPLACE FUNCTION registry.guard_unit() RETURNS trigger LANGUAGE plpgsql AS $$
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
    IF NEW.late IS DISTINCT FROM OLD.late AND (OLD.late OR OLD.state <> 'assigned') THEN
        RAISE EXCEPTION 'a unit is late from its deadline on, or never' USING ERRCODE = 'P0001';
    END IF;
    RETURN NEW;
END
$$;
