-- Decisions that a proxy in a process of its own has asked for, and whether it was given the secret of the server for
-- them. Rows are written with the decision, and removed when nobody can ask for them any more.
CREATE TABLE proxy_decision (
  decision_id TEXT   PRIMARY KEY,
  org_id      TEXT   NOT NULL REFERENCES organization (id),
  key_id      TEXT   NOT NULL,
  user_id     TEXT   NOT NULL,          -- the owner of the key
  agent_id    TEXT   NOT NULL,
  verdict     TEXT   NOT NULL,
  server_id   TEXT   NOT NULL,          -- '': the server cannot be reached
  server      TEXT   NOT NULL,          -- its name
  registered  BIGINT NOT NULL,          -- when its registration was last changed, as the decision saw it
  approval_id TEXT   NOT NULL,
  obligations TEXT   NOT NULL,          -- JSON; '': none
  decided_at  BIGINT NOT NULL,
  report_hash BYTEA  NOT NULL,          -- of the token with which what came of the call is reported
  released_at BIGINT                    -- when the secret was given; NULL: it was not
);
CREATE INDEX proxy_decision_by_time ON proxy_decision (decided_at);
