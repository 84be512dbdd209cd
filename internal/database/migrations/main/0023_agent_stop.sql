-- What the kill switch has stopped. A stop is lifted, never deleted: what was declared or approved before it stays ended.
CREATE TABLE agent_stop (
  id              TEXT   PRIMARY KEY,
  org_id          TEXT   NOT NULL REFERENCES organization (id),
  scope           TEXT   NOT NULL,      -- agent, organization, server, tool, plan
  subject         TEXT   NOT NULL,      -- '' where it is the organization
  reason          TEXT   NOT NULL,
  position        BIGINT NOT NULL,      -- of its entry in the organization's log
  stopped_by      TEXT   NOT NULL,
  stopped_at      BIGINT NOT NULL,
  lifted_by       TEXT,
  lifted_at       BIGINT,
  lifted_position BIGINT
);
CREATE INDEX agent_stop_by_subject ON agent_stop (org_id, scope, subject);

-- The keys that stop with an agent.
CREATE TABLE agent_stop_key (
  stop_id TEXT NOT NULL REFERENCES agent_stop (id),
  key_id  TEXT NOT NULL REFERENCES api_key (id),
  PRIMARY KEY (stop_id, key_id)
);
CREATE INDEX agent_stop_key_by_key ON agent_stop_key (key_id);

ALTER TABLE agent_settings ADD COLUMN approvers_may_kill BIGINT NOT NULL DEFAULT 0; -- 1: approvers use the kill switch too

-- The key that made this one, or that this one replaced: it stops with that key.
ALTER TABLE api_key ADD COLUMN made_by TEXT;
CREATE INDEX api_key_by_maker ON api_key (made_by) WHERE made_by IS NOT NULL;
