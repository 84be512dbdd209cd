-- The key that signs an organization's delegations. It never changes: what it signed must verify for as long as it counts.
CREATE TABLE trust_key (
  org_id     TEXT   PRIMARY KEY REFERENCES organization (id),
  id         TEXT   NOT NULL,
  sealed     BYTEA  NOT NULL,           -- the private key, sealed with the master key
  statement  TEXT   NOT NULL,           -- that it is the organization's, signed with the server's trust key
  created_at BIGINT NOT NULL
);

-- Plans that were delegated from another one, which is plan.parent_id. The steps are the plan's.
CREATE TABLE delegation (
  plan_id     TEXT   PRIMARY KEY REFERENCES plan (id) ON DELETE CASCADE,
  root_id     TEXT   NOT NULL,          -- the declared plan
  kind        TEXT   NOT NULL,          -- token, envelope
  depth       BIGINT NOT NULL,          -- from 1
  further     BIGINT NOT NULL,          -- how many delegations may follow
  delegate    TEXT   NOT NULL,          -- public key
  agent_id    TEXT   NOT NULL,          -- that may use it; '': whoever holds the key
  parent_root TEXT   NOT NULL,          -- hash of the parent when it was delegated
  subtree     TEXT   NOT NULL,          -- path in the parent of an envelope, else ''
  covered_by  TEXT   NOT NULL,          -- JSON: for each step, the index of the parent's that covers it
  budget      BIGINT NOT NULL,          -- calls; 0: any number
  uses        BIGINT NOT NULL,          -- calls under it and what was delegated from it, if it has a budget
  content     BYTEA  NOT NULL,          -- SHA-256 of what was asked, by which a repeated request is known
  created_at  BIGINT NOT NULL
);
CREATE INDEX delegation_by_root ON delegation (root_id, created_at);
CREATE INDEX delegation_by_content ON delegation (content, created_at);

-- Proofs of possession that were used. They count once.
CREATE TABLE delegation_proof (
  plan_id    TEXT   NOT NULL,           -- the delegation
  nonce      BYTEA  NOT NULL,           -- SHA-256
  expires_at BIGINT NOT NULL,           -- minutes later, so that few are there
  PRIMARY KEY (plan_id, nonce)
);

ALTER TABLE plan ADD COLUMN revoked_at BIGINT;                       -- a revoked plan never becomes active again
ALTER TABLE plan_anchor ADD COLUMN anchor TEXT NOT NULL DEFAULT '';  -- how it followed the one before, signed; '' for the first
ALTER TABLE plan_anchor ADD COLUMN entry BIGINT NOT NULL DEFAULT -1; -- its entry in the log; -1: that of the plan

-- What is done about a re-anchored plan that permits more than before.
ALTER TABLE enforcement_settings ADD COLUMN widening TEXT NOT NULL DEFAULT 'hold'; -- hold, allow, refuse
