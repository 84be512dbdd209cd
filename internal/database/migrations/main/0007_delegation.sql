-- Calls that a person must say yes to before they run. One request is one key,
-- tool and digest of arguments; what the client does not state is ''.
CREATE TABLE approval_request (
  id             TEXT   PRIMARY KEY,
  org_id         TEXT   NOT NULL REFERENCES organization (id),
  key_id         TEXT   NOT NULL REFERENCES api_key (id),
  owner_id       TEXT   NOT NULL,       -- of the key: who may not approve a hold alone
  kind           TEXT   NOT NULL,       -- hold: an approver answers; ask: the owner of the key
  server         TEXT   NOT NULL,
  tool           TEXT   NOT NULL,
  digest         BYTEA  NOT NULL,       -- of the canonical arguments; empty where the client stated none
  arguments      TEXT   NOT NULL,       -- redacted JSON, for who decides
  user_id        TEXT   NOT NULL,
  email          TEXT   NOT NULL,
  agent_id       TEXT   NOT NULL,
  session_id     TEXT   NOT NULL,
  plan_id        TEXT   NOT NULL,
  policy_id      TEXT   NOT NULL,       -- what wants an approval
  policy_version BIGINT NOT NULL,
  rule           TEXT   NOT NULL,
  reason         TEXT   NOT NULL,
  message        TEXT   NOT NULL,
  role           TEXT   NOT NULL,       -- that an approver must have; '': any that may approve
  needed         BIGINT NOT NULL,       -- different persons that must say yes
  status         TEXT   NOT NULL,       -- pending, approved, rejected, cancelled, expired
  note           TEXT   NOT NULL,       -- of who decided
  self_approved  BIGINT NOT NULL,       -- 1: by the owner of the key, alone in the organization
  created_at     BIGINT NOT NULL,
  expires_at     BIGINT NOT NULL,
  decided_at     BIGINT
);
CREATE INDEX approval_request_by_call ON approval_request (key_id, tool, digest, created_at);
CREATE INDEX approval_request_pending ON approval_request (key_id, expires_at) WHERE status = 'pending';
CREATE INDEX approval_request_by_time ON approval_request (org_id, created_at, id);
CREATE INDEX approval_request_by_status ON approval_request (org_id, status, created_at, id);

-- Who said yes. One person counts once.
CREATE TABLE approval_vote (
  request_id TEXT   NOT NULL REFERENCES approval_request (id) ON DELETE CASCADE,
  user_id    TEXT   NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (request_id, user_id)
);

-- What an approval gives: one run of the very call, for a short time.
CREATE TABLE approval_grant (
  id          TEXT   PRIMARY KEY,
  request_id  TEXT   NOT NULL UNIQUE REFERENCES approval_request (id) ON DELETE CASCADE,
  org_id      TEXT   NOT NULL REFERENCES organization (id),
  created_at  BIGINT NOT NULL,
  expires_at  BIGINT NOT NULL,
  used_at     BIGINT,                   -- NULL: not used yet
  decision_id TEXT   NOT NULL           -- that used it, '' before
);
