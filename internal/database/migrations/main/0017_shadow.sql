-- Shadows: a version of a policy that is judged by beside the active ones, and
-- whose answer is written down and never given.
ALTER TABLE policy ADD COLUMN shadow_version BIGINT; -- NULL: none
ALTER TABLE policy ADD COLUMN shadow_since BIGINT;   -- NULL: none

-- All that a server keeps compiled of an organization.
CREATE INDEX policy_judged ON policy (org_id) WHERE active_version IS NOT NULL OR shadow_version IS NOT NULL;

-- A replay may ask what would be with other policies gone as well.
ALTER TABLE policy_replay ADD COLUMN left_out TEXT NOT NULL DEFAULT ''; -- their ids, by spaces
