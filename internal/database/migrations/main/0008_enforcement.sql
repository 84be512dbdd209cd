-- How calls of an organization are judged, beside its policies. One without a
-- row has the defaults.
CREATE TABLE enforcement_settings (
  org_id               TEXT   PRIMARY KEY REFERENCES organization (id),
  intent_required      BIGINT NOT NULL, -- 1: a call without a plan is denied
  max_plan_ttl_seconds BIGINT NOT NULL,
  updated_at           BIGINT NOT NULL
);

-- The plan that a session declared, for calls that present no token.
CREATE INDEX plan_by_session ON plan (key_id, session_id, created_at, id) WHERE session_id <> '';

-- Decisions are found by time, agent and policy in the audit log and in telemetry;
-- each index costs every decision.
DROP INDEX decision_by_time;
DROP INDEX decision_by_agent;
DROP INDEX decision_by_policy;

-- For conditions that ask how many calls a session has made.
CREATE INDEX decision_by_session ON decision (org_id, session_id) WHERE session_id <> '';
