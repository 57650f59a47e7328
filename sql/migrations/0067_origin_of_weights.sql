-- Whether a job began from weights that its owner brought itself: no model of a stranger binds those.
ALTER TABLE registry.job ADD COLUMN init_own boolean NOT NULL DEFAULT false;
