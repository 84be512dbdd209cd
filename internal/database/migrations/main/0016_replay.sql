-- Replays: what a draft would have done to recorded calls. A replay is a job that
-- any server may run; who runs it holds a lease, and another takes it up from the
-- beginning when the lease has run out.
CREATE TABLE policy_replay (
  id          TEXT   PRIMARY KEY,
  org_id      TEXT   NOT NULL REFERENCES organization (id),
  state       TEXT   NOT NULL,        -- waiting, running, done, cancelled, broken
  name        TEXT   NOT NULL,        -- of the draft
  policy_id   TEXT   NOT NULL,        -- '' a document beside all others
  version     BIGINT NOT NULL,        -- 0 a document that is not stored
  format      TEXT   NOT NULL,        -- of source: '' none, yaml, json
  source      TEXT   NOT NULL,        -- the document; '' once the replay has ended
  digest      TEXT   NOT NULL,        -- hex SHA-256 of source; '' none
  days        BIGINT NOT NULL,
  from_at     BIGINT NOT NULL,
  until_at    BIGINT NOT NULL,
  author_kind TEXT   NOT NULL,        -- user, key
  author_id   TEXT   NOT NULL,
  created_at  BIGINT NOT NULL,
  ended_at    BIGINT,
  attempts    BIGINT NOT NULL,
  runner      TEXT   NOT NULL,        -- who holds the lease
  lease_until BIGINT NOT NULL,
  done        BIGINT NOT NULL,        -- entries of the log that were passed
  total       BIGINT NOT NULL,        -- of those to pass; 0 not known yet
  problem     TEXT   NOT NULL,        -- why it is broken
  report      TEXT   NOT NULL         -- JSON
);
CREATE INDEX policy_replay_by_org ON policy_replay (org_id, created_at, id);
CREATE UNIQUE INDEX policy_replay_open ON policy_replay (org_id) WHERE state IN ('waiting', 'running');
CREATE INDEX policy_replay_due ON policy_replay (created_at, id) WHERE state IN ('waiting', 'running');
