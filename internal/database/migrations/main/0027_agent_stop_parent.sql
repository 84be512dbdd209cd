-- A stop of keys also stops what these made in other organizations: each of those has a stop of scope 'key' that
-- follows from it, and is lifted with it.
ALTER TABLE agent_stop ADD COLUMN parent_id TEXT;
CREATE INDEX agent_stop_by_parent ON agent_stop (parent_id) WHERE parent_id IS NOT NULL;
