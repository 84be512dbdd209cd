-- Telemetry on SQLite. Rows are clustered by what the server makes (pk, trace_pk
-- and seq rise with time); the only random key is that of trace_key, which is
-- narrow for that reason.
CREATE TABLE trace_key (
  org_id       TEXT   NOT NULL,
  id           BLOB   NOT NULL,             -- 16 bytes
  pk           BIGINT NOT NULL,
  received_day BIGINT NOT NULL,
  PRIMARY KEY (org_id, id)
) WITHOUT ROWID;

CREATE TABLE trace (
  received_day     BIGINT NOT NULL,         -- days since 1970 of receipt
  pk               INTEGER PRIMARY KEY,     -- microseconds of receipt and a tag, made by the server: rises with time
  org_id           TEXT   NOT NULL,
  id               TEXT   NOT NULL,
  session_id       TEXT,
  name             TEXT   NOT NULL,
  start_time       BIGINT NOT NULL,
  end_time         BIGINT,
  duration_ms      BIGINT,
  duration_class   BIGINT NOT NULL,         -- bit length of duration_ms, -1 where there is none
  status           TEXT   NOT NULL,
  user_id          TEXT,
  agent_id         TEXT   NOT NULL,
  product          TEXT   NOT NULL,
  source           TEXT   NOT NULL,
  attributes       TEXT   NOT NULL,         -- JSON as it was sent
  tags             TEXT   NOT NULL,         -- JSON array
  input_preview    TEXT,
  output_preview   TEXT,
  input_tokens     BIGINT NOT NULL,
  output_tokens    BIGINT NOT NULL,
  cache_read       BIGINT NOT NULL,
  cache_write      BIGINT NOT NULL,
  cost_nanos       BIGINT NOT NULL,         -- 10^-9 US dollars
  span_count       BIGINT NOT NULL,
  error_count      BIGINT NOT NULL
);

CREATE TABLE span (
  received_day   BIGINT NOT NULL,
  trace_pk       BIGINT NOT NULL,
  seq            BIGINT NOT NULL,           -- order within the trace
  id             TEXT   NOT NULL,
  parent_id      TEXT,
  session_id     TEXT,
  kind           TEXT   NOT NULL,
  name           TEXT   NOT NULL,
  start_time     BIGINT NOT NULL,
  end_time       BIGINT,
  duration_ms    BIGINT,
  status         TEXT   NOT NULL,
  attributes     TEXT   NOT NULL,           -- JSON as it was sent; what queries need of it is below
  tool_name      TEXT,
  model          TEXT,
  input_tokens   BIGINT NOT NULL,
  output_tokens  BIGINT NOT NULL,
  cache_read     BIGINT NOT NULL,
  cache_write    BIGINT NOT NULL,
  cost_nanos     BIGINT NOT NULL,
  policy_id      TEXT,
  policy_name    TEXT,
  decision       TEXT,
  rule_id        TEXT,
  PRIMARY KEY (trace_pk, seq)
);

CREATE INDEX trace_key_by_day  ON trace_key (received_day, pk); -- pk, so that it grows at its end

-- Rollups that every summary reads, clustered by their keys: the few rows of models
-- would else lie among those of every session.
CREATE TABLE rollup_trace (
  org_id    TEXT   NOT NULL,
  bucket    BIGINT NOT NULL,
  writer    BIGINT NOT NULL,
  traces    BIGINT NOT NULL,
  errors    BIGINT NOT NULL,
  durations BLOB   NOT NULL,                -- DDSketch of milliseconds
  PRIMARY KEY (org_id, bucket, writer)
) WITHOUT ROWID;

CREATE TABLE rollup_usage (
  org_id        TEXT   NOT NULL,
  dimension     TEXT   NOT NULL,            -- model, tool, session
  bucket        BIGINT NOT NULL,
  item          TEXT   NOT NULL,            -- the model, tool or session
  writer        BIGINT NOT NULL,
  spans         BIGINT NOT NULL,
  input_tokens  BIGINT NOT NULL,
  output_tokens BIGINT NOT NULL,
  cache_read    BIGINT NOT NULL,
  cache_write   BIGINT NOT NULL,
  cost_nanos    BIGINT NOT NULL,
  PRIMARY KEY (org_id, dimension, bucket, item, writer)
) WITHOUT ROWID;
