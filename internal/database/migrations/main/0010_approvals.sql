-- What a request carries beside its call: how risky it looked when it was opened,
-- how often it was asked, and what the yes changed.
ALTER TABLE approval_request ADD COLUMN step          BIGINT NOT NULL DEFAULT -1; -- of the plan; -1: none
ALTER TABLE approval_request ADD COLUMN risk_level    TEXT   NOT NULL DEFAULT ''; -- low, medium, high, critical
ALTER TABLE approval_request ADD COLUMN risk          TEXT   NOT NULL DEFAULT '{}'; -- JSON: score and reasons
ALTER TABLE approval_request ADD COLUMN amount        DOUBLE PRECISION;           -- as the client states it; NULL: it does not
ALTER TABLE approval_request ADD COLUMN domain        TEXT   NOT NULL DEFAULT ''; -- what the client calls the server
ALTER TABLE approval_request ADD COLUMN asked_for     TEXT   NOT NULL DEFAULT ''; -- the client's own words
ALTER TABLE approval_request ADD COLUMN requested_via TEXT   NOT NULL DEFAULT 'decision'; -- decision, or request: a client asked before any decision
ALTER TABLE approval_request ADD COLUMN repeats       BIGINT NOT NULL DEFAULT 0;  -- how often it was asked again
ALTER TABLE approval_request ADD COLUMN last_asked_at BIGINT;
ALTER TABLE approval_request ADD COLUMN grant_micros  BIGINT NOT NULL DEFAULT 600000000; -- how long a yes to it lasts
ALTER TABLE approval_request ADD COLUMN scope         TEXT   NOT NULL DEFAULT ''; -- JSON of what the first yes permits
ALTER TABLE approval_request ADD COLUMN edited        TEXT   NOT NULL DEFAULT ''; -- arguments as the yes changed them; '': it did not
ALTER TABLE approval_request ADD COLUMN edited_digest BYTEA;                      -- of those; NULL: none
ALTER TABLE approval_request ADD COLUMN decided_by    TEXT   NOT NULL DEFAULT '';
ALTER TABLE approval_request ADD COLUMN decided_role  TEXT   NOT NULL DEFAULT '';
ALTER TABLE approval_request ADD COLUMN covered_by    TEXT   NOT NULL DEFAULT ''; -- the temporary allow that answered it
ALTER TABLE approval_request ADD COLUMN executed_at   BIGINT;                     -- when the client said that it ran
ALTER TABLE approval_request ADD COLUMN opened_at_entry  BIGINT;                  -- entry of the log whose payload has its arguments
ALTER TABLE approval_request ADD COLUMN decided_at_entry BIGINT;                  -- and what the yes changed of them

-- With the id, so that the newest of a call come out of it in their order: else an index that has that order is taken.
DROP INDEX approval_request_by_call;
CREATE INDEX approval_request_by_call ON approval_request (key_id, tool, digest, created_at, id);
CREATE INDEX approval_request_edited ON approval_request (key_id, tool, edited_digest, created_at, id) WHERE edited_digest IS NOT NULL;
CREATE INDEX approval_request_opened_at ON approval_request (org_id, opened_at_entry) WHERE opened_at_entry IS NOT NULL;
CREATE INDEX approval_request_decided_at ON approval_request (org_id, decided_at_entry) WHERE decided_at_entry IS NOT NULL;
CREATE INDEX approval_request_due ON approval_request (expires_at) WHERE status = 'pending';
CREATE INDEX approval_request_by_owner ON approval_request (org_id, owner_id, created_at, id);
CREATE INDEX approval_request_by_tool ON approval_request (org_id, tool, created_at, id);

-- A yes that is wider than one call. It lifts holds and asks, nothing else, and
-- ends by time, by number, or when a person takes it back.
CREATE TABLE temporary_allow (
  id         TEXT   PRIMARY KEY,
  org_id     TEXT   NOT NULL REFERENCES organization (id),
  request_id TEXT   NOT NULL REFERENCES approval_request (id), -- that was answered so
  scope      TEXT   NOT NULL,       -- session, minutes, pattern, plan
  key_id     TEXT   NOT NULL REFERENCES api_key (id),
  agent_id   TEXT   NOT NULL,       -- '': the request named none
  user_id    TEXT   NOT NULL,
  email      TEXT   NOT NULL,
  session_id TEXT   NOT NULL,       -- '': any; of scope session never ''
  plan_id    TEXT   NOT NULL,       -- '': any; of scope plan never ''
  server     TEXT   NOT NULL,       -- '' with the scope plan: every tool of it
  tool       TEXT   NOT NULL,
  pattern    TEXT   NOT NULL,       -- JSON that arguments must fit; '': any
  kind       TEXT   NOT NULL,       -- hold or ask: what it lifts
  policy_id  TEXT   NOT NULL,       -- the rule that asked; '' with the scope plan: any that wants the same of approvers
  rule       TEXT   NOT NULL,
  role       TEXT   NOT NULL,
  needed     BIGINT NOT NULL,
  words      TEXT   NOT NULL,       -- what the approver was told that this permits
  given_by   TEXT   NOT NULL,
  uses       BIGINT NOT NULL,       -- how often it may be used
  used       BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  revoked_at BIGINT,
  revoked_by TEXT   NOT NULL
);
CREATE INDEX temporary_allow_by_key ON temporary_allow (key_id, expires_at);
CREATE INDEX temporary_allow_by_time ON temporary_allow (org_id, created_at, id);

-- What happened to requests, numbered without gaps under the lock of the
-- organization's log. Whoever must hear of it follows the numbers.
CREATE TABLE approval_event (
  org_id     TEXT   NOT NULL REFERENCES organization (id),
  number     BIGINT NOT NULL,
  request_id TEXT   NOT NULL,
  kind       TEXT   NOT NULL,       -- opened, voted, approved, rejected, cancelled, expired, used, revoked
  actor      TEXT   NOT NULL,       -- a person or key; '': time
  at         BIGINT NOT NULL,
  PRIMARY KEY (org_id, number)
);
CREATE INDEX approval_event_by_request ON approval_event (request_id, number);

-- How an organization answers requests; without a row the defaults hold.
CREATE TABLE approval_settings (
  org_id          TEXT   PRIMARY KEY REFERENCES organization (id),
  self_approval   BIGINT NOT NULL,  -- 1: who asks may approve
  pending_seconds BIGINT NOT NULL,
  grant_seconds   BIGINT NOT NULL,
  updated_at      BIGINT NOT NULL
);
