-- Where an organization's traces and decisions are sent, and how far that is. What
-- waits is not copied here: it is what telemetry and the log hold behind the
-- positions.
CREATE TABLE forwarding (
  org_id             TEXT   PRIMARY KEY REFERENCES organization (id),
  endpoint           TEXT   NOT NULL,
  header_names       TEXT   NOT NULL,       -- with commas between, to be shown
  sealed_headers     BYTEA  NOT NULL,
  send_traces        BIGINT NOT NULL,       -- 1: they are sent
  send_decisions     BIGINT NOT NULL,
  content            TEXT   NOT NULL,       -- none, redacted, full
  max_age            BIGINT NOT NULL,       -- microseconds that something may wait
  enabled            BIGINT NOT NULL,
  disabled_reason    TEXT   NOT NULL,       -- '': a person did it
  created_at         BIGINT NOT NULL,
  updated_at         BIGINT NOT NULL,
  revision           BIGINT NOT NULL,       -- raised by every change of the above

  trace_position     BIGINT NOT NULL,       -- microseconds of receipt, and
  trace_row          BIGINT NOT NULL,       -- the row, up to which traces were sent
  trace_span         BIGINT NOT NULL,       -- number of the last span of the next one that was sent; -1: its root, -2: nothing
  decision_position  BIGINT NOT NULL,       -- index of the first entry of the log that was not sent

  sent_spans         BIGINT NOT NULL,
  sent_decisions     BIGINT NOT NULL,
  refused            BIGINT NOT NULL,       -- spans and decisions that the receiver did not take
  lost_traces        BIGINT NOT NULL,       -- waited too long
  lost_decisions     BIGINT NOT NULL,
  lost_until         BIGINT,                -- what was received before may be among them

  attempts           BIGINT NOT NULL,       -- that failed since the last success
  failing_since      BIGINT,                -- NULL: the last try succeeded
  http_status        BIGINT NOT NULL,       -- of the last try; 0: no answer
  problem            TEXT   NOT NULL,       -- of the last try; '': none
  sent_at            BIGINT,                -- the last success
  retry_at           BIGINT NOT NULL,       -- not before
  lease_holder       TEXT   NOT NULL,       -- the process that sends now
  lease_until        BIGINT NOT NULL
);
CREATE INDEX forwarding_due ON forwarding (retry_at) WHERE enabled = 1;
