-- The agents that an organization has registered. An id is what clients send, so it is text of theirs.
CREATE TABLE agent (
  org_id          TEXT   NOT NULL REFERENCES organization (id),
  id              TEXT   NOT NULL,
  name            TEXT   NOT NULL,
  owner_id        TEXT   NOT NULL,      -- a member; the agent is suspended when they leave
  product         TEXT   NOT NULL,
  environment     TEXT   NOT NULL,      -- sandbox, production; '' where any
  description     TEXT   NOT NULL,
  public_key      BYTEA,                -- Ed25519, 32 bytes
  intent_required BIGINT NOT NULL,      -- 1: a call without a plan is denied
  suspended_at    BIGINT,
  suspended_for   TEXT   NOT NULL,      -- why; '' while it is not
  created_at      BIGINT NOT NULL,
  updated_at      BIGINT NOT NULL,
  PRIMARY KEY (org_id, id)
);
CREATE INDEX agent_by_time ON agent (org_id, created_at, id);
CREATE INDEX agent_by_owner ON agent (org_id, owner_id);

-- The keys that an agent may use. One without any is known by its id alone.
CREATE TABLE agent_key (
  org_id   TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  key_id   TEXT NOT NULL REFERENCES api_key (id),
  PRIMARY KEY (org_id, agent_id, key_id),
  FOREIGN KEY (org_id, agent_id) REFERENCES agent (org_id, id)
);
CREATE INDEX agent_key_by_key ON agent_key (org_id, key_id);

-- Which ids were seen with which keys. Nothing is decided by it.
CREATE TABLE agent_seen (
  org_id        TEXT   NOT NULL REFERENCES organization (id),
  agent_id      TEXT   NOT NULL,
  key_id        TEXT   NOT NULL,
  host          TEXT   NOT NULL,        -- the client that it ran in last: gemini-cli, ...
  first_seen_at BIGINT NOT NULL,
  last_seen_at  BIGINT NOT NULL,        -- some seconds behind
  PRIMARY KEY (org_id, agent_id, key_id)
);
CREATE INDEX agent_seen_by_time ON agent_seen (last_seen_at);

-- What an organization says about agents. One without a row has the defaults.
CREATE TABLE agent_settings (
  org_id               TEXT   PRIMARY KEY REFERENCES organization (id),
  unregistered_may_act BIGINT NOT NULL, -- 1 by default
  updated_at           BIGINT NOT NULL
);
