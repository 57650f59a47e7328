-- Rounds that do not wait for verification: the deltas of drawn units go in one round later. Jobs of before wait.
ALTER TABLE registry.job
    ADD COLUMN hold_drawn boolean NOT NULL DEFAULT false;
-- Whether an included delta went into the base state one round later than others of its round.
ALTER TABLE registry.unit
    ADD COLUMN included_late boolean NOT NULL DEFAULT false CHECK (included OR NOT included_late);
