-- What is the same on both engines: indexes of the rows, sessions, reported usage,
-- rollups and jobs.
CREATE INDEX trace_by_start    ON trace (org_id, start_time, id);
CREATE INDEX trace_by_session  ON trace (org_id, session_id, start_time, id) WHERE session_id IS NOT NULL;
CREATE INDEX trace_by_name     ON trace (org_id, name, start_time, id);
CREATE INDEX trace_by_status   ON trace (org_id, status, start_time, id);
CREATE INDEX trace_by_user     ON trace (org_id, user_id, start_time, id) WHERE user_id IS NOT NULL;
CREATE INDEX trace_by_agent    ON trace (org_id, agent_id, start_time, id);
CREATE INDEX trace_by_duration ON trace (org_id, duration_class, start_time, id);

CREATE TABLE session (
  org_id           TEXT   NOT NULL,
  id               TEXT   NOT NULL,
  user_id          TEXT,
  agent_id         TEXT   NOT NULL,
  product          TEXT   NOT NULL,
  started_at       BIGINT NOT NULL,
  last_activity_at BIGINT NOT NULL,
  ended_at         BIGINT,                  -- of the last session.end event
  end_state        TEXT   NOT NULL,         -- what that event said: completed, error; '' before
  state            TEXT   NOT NULL,         -- open, or end_state while nothing came after ended_at
  trace_count      BIGINT NOT NULL,
  input_tokens     BIGINT NOT NULL,
  output_tokens    BIGINT NOT NULL,
  cache_read       BIGINT NOT NULL,
  cache_write      BIGINT NOT NULL,
  cost_nanos       BIGINT NOT NULL,
  PRIMARY KEY (org_id, id)
);
CREATE INDEX session_by_activity ON session (org_id, last_activity_at, id);
CREATE INDEX session_by_state    ON session (org_id, state, last_activity_at, id);
CREATE INDEX session_by_user     ON session (org_id, user_id, last_activity_at, id) WHERE user_id IS NOT NULL;
CREATE INDEX session_by_agent    ON session (org_id, agent_id, last_activity_at, id);

-- Running totals that clients report beside spans: replaced, never added to.
CREATE TABLE reported_usage (
  org_id        TEXT   NOT NULL,
  product       TEXT   NOT NULL,
  session_id    TEXT   NOT NULL,
  model         TEXT   NOT NULL,
  bucket        BIGINT NOT NULL,            -- the hour of the last change, where it counts
  input_tokens  BIGINT NOT NULL,
  output_tokens BIGINT NOT NULL,
  cache_read    BIGINT NOT NULL,
  cache_write   BIGINT NOT NULL,
  cost_nanos    BIGINT NOT NULL,
  superseded    BIGINT NOT NULL,            -- 1 once spans tell the same
  PRIMARY KEY (org_id, session_id, model, product)
);
CREATE INDEX reported_usage_by_bucket ON reported_usage (bucket);

-- Which models a session has generation spans of.
CREATE TABLE session_model (
  org_id     TEXT NOT NULL,
  session_id TEXT NOT NULL,
  model      TEXT NOT NULL,
  PRIMARY KEY (org_id, session_id, model)
);

-- Rollups. A row belongs to one writer (a run of one process), which alone
-- changes it; readers add the writers up. bucket counts hours since 1970. Those that
-- every summary reads are with the rows, because how they are clustered differs.
CREATE TABLE writer (
  id         BIGINT PRIMARY KEY,
  started_at BIGINT NOT NULL,
  seen_at    BIGINT NOT NULL
);

CREATE INDEX rollup_trace_by_bucket ON rollup_trace (bucket);

CREATE TABLE rollup_minute (
  org_id TEXT   NOT NULL,
  bucket BIGINT NOT NULL,                   -- minutes since 1970
  writer BIGINT NOT NULL,
  traces BIGINT NOT NULL,
  PRIMARY KEY (org_id, bucket, writer)
);
CREATE INDEX rollup_minute_by_bucket ON rollup_minute (bucket);

-- Sessions by the hour of their last activity. One that goes on is taken out of
-- the one and put into the other, by whoever writes it: a row may be below zero.
CREATE TABLE rollup_session (
  org_id   TEXT   NOT NULL,
  bucket   BIGINT NOT NULL,
  writer   BIGINT NOT NULL,
  sessions BIGINT NOT NULL,
  PRIMARY KEY (org_id, bucket, writer)
);
CREATE INDEX rollup_session_by_bucket ON rollup_session (bucket);

CREATE INDEX rollup_usage_by_bucket ON rollup_usage (bucket);

CREATE TABLE rollup_policy (
  org_id       TEXT   NOT NULL,
  policy_id    TEXT   NOT NULL,
  bucket       BIGINT NOT NULL,
  writer       BIGINT NOT NULL,
  policy_name  TEXT   NOT NULL,
  named_at     BIGINT NOT NULL,             -- when the newest named span started
  calls        BIGINT NOT NULL,
  allowed      BIGINT NOT NULL,
  denied       BIGINT NOT NULL,
  timed        BIGINT NOT NULL,             -- calls with a duration
  duration_us  BIGINT NOT NULL,             -- their sum
  durations    BYTEA  NOT NULL,
  PRIMARY KEY (org_id, policy_id, bucket, writer)
);
CREATE INDEX rollup_policy_by_org    ON rollup_policy (org_id, bucket, policy_id, denied); -- all that the summary reads
CREATE INDEX rollup_policy_by_bucket ON rollup_policy (bucket);

CREATE TABLE rollup_rule (
  org_id    TEXT   NOT NULL,
  policy_id TEXT   NOT NULL,
  bucket    BIGINT NOT NULL,
  rule_id   TEXT   NOT NULL,
  writer    BIGINT NOT NULL,
  calls     BIGINT NOT NULL,
  PRIMARY KEY (org_id, policy_id, bucket, rule_id, writer)
);
CREATE INDEX rollup_rule_by_bucket ON rollup_rule (bucket);

-- When scheduled work is due; whoever moves the time on does the work.
CREATE TABLE job (
  name       TEXT   PRIMARY KEY,
  next_run   BIGINT NOT NULL,
  last_run   BIGINT
);
