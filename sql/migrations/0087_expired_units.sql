-- Units that their deadline ended, by job: which workers get no more of a job's units (docs/PROTOCOL.md, "Prefixes").
CREATE INDEX unit_expired ON registry.unit (job_id) WHERE state = 'expired';
