-- What agents have declared they will do. A plan belongs to one organization
-- and one key; user, agent, context and session are '' where not stated.
CREATE TABLE plan (
  id             TEXT   PRIMARY KEY,
  org_id         TEXT   NOT NULL REFERENCES organization (id),
  key_id         TEXT   NOT NULL REFERENCES api_key (id),
  owner_id       TEXT   NOT NULL,       -- of the key
  user_id        TEXT   NOT NULL,
  email          TEXT   NOT NULL,
  agent_id       TEXT   NOT NULL,
  context_id     TEXT   NOT NULL,
  session_id     TEXT   NOT NULL,
  parent_id      TEXT,                  -- the registered plan that a plugin's own plan was allowed under
  status         TEXT   NOT NULL,       -- active, completed, failed, expired
  goal           TEXT   NOT NULL,       -- redacted
  source         TEXT   NOT NULL,
  steps          BIGINT NOT NULL,
  anchor         BIGINT NOT NULL,       -- number of the latest plan_anchor, which is judged
  signature      TEXT   NOT NULL,       -- of the token that was issued
  signature_hash BYTEA  NOT NULL,       -- SHA-256, for clients that send nothing else
  jwt_hash       BYTEA  NOT NULL,       -- SHA-256
  issued_at      BIGINT NOT NULL,
  expires_at     BIGINT NOT NULL,
  created_at     BIGINT NOT NULL,
  ended_at       BIGINT
);
CREATE INDEX plan_by_time ON plan (org_id, created_at, id);
CREATE INDEX plan_by_agent ON plan (org_id, agent_id, created_at, id);
CREATE INDEX plan_by_user ON plan (org_id, user_id, created_at, id);
CREATE INDEX plan_by_holder ON plan (key_id, user_id, agent_id, context_id, expires_at);
CREATE INDEX plan_by_context ON plan (key_id, context_id, created_at, id) WHERE context_id <> '';
CREATE INDEX plan_by_signature ON plan (signature_hash, created_at);
CREATE INDEX plan_by_parent ON plan (parent_id) WHERE parent_id IS NOT NULL;

-- The versions of a plan, numbered from 1. Their text never changes.
CREATE TABLE plan_anchor (
  plan_id    TEXT   NOT NULL REFERENCES plan (id) ON DELETE CASCADE,
  number     BIGINT NOT NULL,
  root       TEXT   NOT NULL,           -- of the plan's Merkle tree, hex; it is the plan's hash
  sealed     BYTEA  NOT NULL,           -- exact plan, token and JWT, sealed with the master key
  shown      TEXT   NOT NULL,           -- the plan as JSON, redacted
  position   BIGINT NOT NULL,           -- of the step of an ordered plan used last, -1 before the first
  created_at BIGINT NOT NULL,
  PRIMARY KEY (plan_id, number)
);

-- How often limited steps were used. A step that never was has no row.
CREATE TABLE plan_step (
  plan_id TEXT   NOT NULL,
  anchor  BIGINT NOT NULL,
  step    BIGINT NOT NULL,              -- index, from 0
  uses    BIGINT NOT NULL,
  PRIMARY KEY (plan_id, anchor, step),
  FOREIGN KEY (plan_id, anchor) REFERENCES plan_anchor (plan_id, number) ON DELETE CASCADE
);

-- Answers that are given again to the same Idempotency-Key.
CREATE TABLE plan_request (
  key_id     TEXT   NOT NULL REFERENCES api_key (id),
  request    BYTEA  NOT NULL,           -- SHA-256 of the Idempotency-Key
  body       BYTEA  NOT NULL,           -- SHA-256 of what was asked
  plan_id    TEXT   NOT NULL REFERENCES plan (id) ON DELETE CASCADE,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (key_id, request)
);
CREATE INDEX plan_request_by_time ON plan_request (created_at);

-- The key of an organization's digests of arguments. It never changes: equal
-- arguments must have equal digests for as long as anyone compares them.
CREATE TABLE digest_key (
  org_id     TEXT   PRIMARY KEY REFERENCES organization (id),
  sealed     BYTEA  NOT NULL,
  created_at BIGINT NOT NULL
);
