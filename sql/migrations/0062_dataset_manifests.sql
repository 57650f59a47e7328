-- The manifests of datasets (docs/DATA.md, "The manifest"), as their owners gave them; of a mix the one that it was made with.
CREATE TABLE registry.dataset_manifest (
    dataset registry.digest PRIMARY KEY REFERENCES registry.dataset,
    root registry.digest NOT NULL,
    blob registry.digest NOT NULL,
    bytes bigint NOT NULL CHECK (bytes > 0),
    added_at_ms bigint NOT NULL
);
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON registry.dataset_manifest
    FOR EACH STATEMENT EXECUTE FUNCTION registry.refuse_change();
GRANT SELECT ON registry.dataset_manifest TO gym_coordinator, gym_rewards, gym_api, gym_evaluator;
GRANT INSERT ON registry.dataset_manifest TO gym_api;
