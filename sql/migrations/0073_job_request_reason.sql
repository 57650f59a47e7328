-- Not only a job's owner asks for a pause: gym-rewards does when the escrow cannot cover a unit. Whoever asks in the
-- owner's place says why; the sentence becomes the job's status_reason when the coordinator acts.
ALTER TABLE registry.job ADD COLUMN request_reason text NOT NULL DEFAULT '';
ALTER TABLE registry.job ADD CONSTRAINT job_request_reason_check CHECK (request IS NOT NULL OR request_reason = '');
GRANT UPDATE (request_reason) ON registry.job TO gym_api, gym_rewards;
