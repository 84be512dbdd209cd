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

-- What an agent's manifest says beside what it lists, which is a policy. A key
-- registers one agent.
CREATE TABLE agent_manifest (
  key_id           TEXT   PRIMARY KEY REFERENCES api_key (id) ON DELETE CASCADE,
  org_id           TEXT   NOT NULL REFERENCES organization (id),
  agent_id         TEXT   NOT NULL,
  plan_ttl_seconds BIGINT,              -- life of a plan whose client does not say; NULL: not stated
  updated_at       BIGINT NOT NULL
);
