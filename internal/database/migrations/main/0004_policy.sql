-- Policies. An organization is judged by one version of each of its active
-- policies. Versions never change and are never removed, and a deleted policy
-- keeps its rows: decisions name both.
CREATE TABLE policy (
  id             TEXT   PRIMARY KEY,
  org_id         TEXT   NOT NULL REFERENCES organization (id),
  name           TEXT   NOT NULL,       -- of the latest version
  latest_version BIGINT NOT NULL,
  active_version BIGINT,                -- NULL: does not count
  activated_at   BIGINT,                -- the last time; NULL: never, a draft
  created_at     BIGINT NOT NULL,
  updated_at     BIGINT NOT NULL,
  deleted_at     BIGINT
);
CREATE UNIQUE INDEX policy_name ON policy (org_id, name) WHERE deleted_at IS NULL;
CREATE INDEX policy_by_org ON policy (org_id, created_at, id);
CREATE INDEX policy_active ON policy (org_id) WHERE active_version IS NOT NULL;

CREATE TABLE policy_version (
  org_id        TEXT   NOT NULL,
  policy_id     TEXT   NOT NULL REFERENCES policy (id),
  version       BIGINT NOT NULL,        -- 1 for the first
  format        TEXT   NOT NULL,        -- yaml, json
  source        TEXT   NOT NULL,        -- the document as it was written
  digest        TEXT   NOT NULL,        -- hex SHA-256 of source
  rules         BIGINT NOT NULL,        -- how many it has
  restored_from BIGINT,                 -- the version a rollback took it from
  author_kind   TEXT   NOT NULL,        -- user, key, system
  author_id     TEXT   NOT NULL,
  created_at    BIGINT NOT NULL,
  PRIMARY KEY (policy_id, version)
);

-- For whom a policy counts. One without bindings counts for everybody.
CREATE TABLE policy_binding (
  org_id    TEXT NOT NULL,
  policy_id TEXT NOT NULL REFERENCES policy (id),
  kind      TEXT NOT NULL,              -- member, client, role
  subject   TEXT NOT NULL,              -- id of the person, id of the agent, name of the role
  PRIMARY KEY (policy_id, kind, subject)
);

-- How many calls a limit has let pass in a window. Exact: taken by conditional
-- updates in the transaction that records the decision.
CREATE TABLE limit_use (
  org_id       TEXT   NOT NULL,
  policy_id    TEXT   NOT NULL,
  rule_id      TEXT   NOT NULL,
  counted_by   TEXT   NOT NULL,         -- agent, session, user, org
  subject      TEXT   NOT NULL,         -- id of that; '' where it is not known
  window_start BIGINT NOT NULL,
  window_end   BIGINT NOT NULL,
  used         BIGINT NOT NULL,
  PRIMARY KEY (org_id, policy_id, rule_id, counted_by, subject, window_start, window_end)
);
CREATE INDEX limit_use_by_end ON limit_use (window_end);
