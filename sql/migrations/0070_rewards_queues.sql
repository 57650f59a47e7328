-- Trims go out in the order of their requests, whatever their ids hash to: an owner who leaves many behind must
-- not push back anybody else's.
ALTER TABLE rewards.trim ADD COLUMN seq bigint GENERATED ALWAYS AS IDENTITY;
CREATE INDEX trim_open ON rewards.trim (seq) WHERE NOT done;
CREATE INDEX trim_owner ON rewards.trim (owner) WHERE NOT done;
