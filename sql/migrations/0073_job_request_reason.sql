-- Not only a job's owner asks for a pause: gym-rewards does when the escrow cannot cover a unit. Whoever asks in the
-- owner's place says why; the sentence becomes the job's status_reason when the coordinator acts.
ALTER TABLE registry.job ADD COLUMN request_reason text NOT NULL DEFAULT '';
ALTER TABLE registry.job ADD CONSTRAINT job_request_reason_check CHECK (request IS NOT NULL OR request_reason = '');

-- A coordinator or API from before this migration writes the request alone: a request that is gone takes its reason
-- along, whoever takes it back.
CREATE FUNCTION registry.drop_request_reason() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.request_reason := '';
    RETURN NEW;
END
$$;
CREATE TRIGGER drop_request_reason BEFORE UPDATE OF request ON registry.job
    FOR EACH ROW WHEN (NEW.request IS NULL) EXECUTE FUNCTION registry.drop_request_reason();

GRANT UPDATE (request_reason) ON registry.job TO gym_api, gym_rewards;
