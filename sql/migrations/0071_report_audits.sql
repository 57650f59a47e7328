-- A report that agrees with the commitment could be a copy of it: roots are in the task, records come back for
-- the committed digest, and nothing but a re-execution can tell the trace from noise. So the coordinator audits some
-- of these reports (docs/PROTOCOL.md). Which ones is not told to anybody: gym_api may not read this column.
ALTER TABLE registry.report
    ADD COLUMN audit text CHECK (audit IN ('due', 'passed', 'failed', 'impossible')),
    ADD CHECK (audit IS NULL OR (revealed_at_ms IS NOT NULL AND is_equal)),
    ADD CHECK (audit IS DISTINCT FROM 'failed' OR accepted_seq IS NULL);
CREATE INDEX report_audit_due ON registry.report (unit_id) WHERE audit = 'due';
CREATE INDEX report_verifier ON registry.report (verifier) WHERE accepted_seq IS NULL;
