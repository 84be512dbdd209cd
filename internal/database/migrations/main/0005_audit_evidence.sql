-- Which installation this is: a part of the origin of every log's checkpoints.
CREATE TABLE audit_installation (
  id TEXT PRIMARY KEY
);

ALTER TABLE audit_head ADD COLUMN checkpoint TEXT NOT NULL DEFAULT ''; -- signed, of this very size; '' while nobody has signed it
ALTER TABLE audit_head ADD COLUMN erased_until BIGINT NOT NULL DEFAULT 0; -- retention has erased the payloads recorded before

-- What entries are found by. The record holds the same and is what counts;
-- values too long for an index stand here as their hash.
ALTER TABLE audit_entry ADD COLUMN actor TEXT;
ALTER TABLE audit_entry ADD COLUMN subject TEXT;  -- type/id
ALTER TABLE audit_entry ADD COLUMN agent TEXT;    -- from here on of decisions and executions
ALTER TABLE audit_entry ADD COLUMN session TEXT;
ALTER TABLE audit_entry ADD COLUMN plan TEXT;
ALTER TABLE audit_entry ADD COLUMN step TEXT;
ALTER TABLE audit_entry ADD COLUMN server TEXT;
ALTER TABLE audit_entry ADD COLUMN tool TEXT;
ALTER TABLE audit_entry ADD COLUMN verdict TEXT;  -- of decisions only: NULL marks everything else

DROP INDEX audit_entry_by_time;
CREATE INDEX audit_entry_by_time ON audit_entry (log, recorded_at, position);
-- Decisions are nearly all entries, and each index costs every one of them:
-- they have those that single them out, and changes have those of who and what.
CREATE INDEX audit_entry_by_agent ON audit_entry (log, agent, recorded_at, position) WHERE agent IS NOT NULL;
CREATE INDEX audit_entry_by_tool ON audit_entry (log, tool, recorded_at, position) WHERE tool IS NOT NULL;
CREATE INDEX audit_entry_by_plan ON audit_entry (log, plan, recorded_at, position) WHERE plan IS NOT NULL;
CREATE INDEX audit_entry_by_session ON audit_entry (log, session) WHERE session IS NOT NULL AND verdict = 'allow';
CREATE INDEX audit_entry_by_refusal ON audit_entry (log, verdict, recorded_at, position) WHERE verdict <> 'allow';
CREATE INDEX audit_entry_by_action ON audit_entry (log, action, recorded_at, position) WHERE verdict IS NULL;
CREATE INDEX audit_entry_by_actor ON audit_entry (log, actor, recorded_at, position) WHERE verdict IS NULL;
CREATE INDEX audit_entry_by_subject ON audit_entry (log, subject, recorded_at, position) WHERE verdict IS NULL;

-- 256 hashes of one level of a log's tree, written once when there are so many.
-- Level 0 holds leaves; each hash of level n+1 is the root of a tile of level n.
CREATE TABLE audit_tile (
  log      TEXT   NOT NULL REFERENCES audit_head (log),
  level    BIGINT NOT NULL,
  position BIGINT NOT NULL,             -- 0 for the first 256 hashes
  root     BYTEA  NOT NULL,             -- the hash of all 256
  hashes   BYTEA  NOT NULL,             -- 32 bytes each
  PRIMARY KEY (log, level, position)
);
