-- Entries are found by session and by server as well, and refusals by what decided. The index by session also counts the
-- allowed calls of a session, as before.
DROP INDEX audit_entry_by_session;
CREATE INDEX audit_entry_by_session ON audit_entry (log, session, recorded_at, position, verdict) WHERE session IS NOT NULL;
CREATE INDEX audit_entry_by_server ON audit_entry (log, server, recorded_at, position) WHERE server IS NOT NULL;
CREATE INDEX audit_entry_by_decider ON audit_entry (log, json_extract(record, '$.policy'), recorded_at, position) WHERE verdict <> 'allow';

-- What preflights are found and counted by, beside their entries.
CREATE TABLE preflight (
  org_id      TEXT   NOT NULL REFERENCES organization (id),
  position    BIGINT NOT NULL,          -- of its entry in the organization's log
  recorded_at BIGINT NOT NULL,
  agent_id    TEXT   NOT NULL,
  outcome     TEXT   NOT NULL,          -- accepted, rejected, escalated; '' once erased
  PRIMARY KEY (org_id, position)
);
CREATE INDEX preflight_by_time ON preflight (org_id, recorded_at, position, outcome, agent_id);
CREATE INDEX preflight_by_agent ON preflight (org_id, agent_id, recorded_at, position);

CREATE TABLE preflight_tool (
  org_id   TEXT   NOT NULL,
  position BIGINT NOT NULL,
  server   TEXT   NOT NULL,
  tool     TEXT   NOT NULL,
  PRIMARY KEY (org_id, tool, server, position)
);
CREATE INDEX preflight_tool_by_preflight ON preflight_tool (org_id, position);

INSERT INTO preflight (org_id, position, recorded_at, agent_id, outcome)
SELECT log, position, recorded_at, COALESCE(json_extract(payload, '$.agentId'), ''), COALESCE(json_extract(payload, '$.decision'), '')
FROM audit_entry
WHERE action = 'plan.preflighted' AND verdict IS NULL AND log IN (SELECT id FROM organization);
INSERT INTO preflight_tool (org_id, position, server, tool)
SELECT DISTINCT e.log, e.position, COALESCE(json_extract(t.value, '$.server'), ''), COALESCE(json_extract(t.value, '$.tool'), '')
FROM audit_entry e, json_each(e.payload, '$.tools') AS t
WHERE e.action = 'plan.preflighted' AND e.verdict IS NULL AND e.payload IS NOT NULL AND e.log IN (SELECT id FROM organization);
