-- For those who follow what comes in. A trace is found by its receipt, which its
-- key tells; what it got later, by a row for each time.
CREATE INDEX trace_by_receipt ON trace (org_id, pk);

CREATE TABLE trace_growth (
  org_id       TEXT   NOT NULL,
  at           BIGINT NOT NULL,             -- of receipt
  trace_pk     BIGINT NOT NULL,
  received_day BIGINT NOT NULL,             -- of the trace, with which this goes
  first_seq    BIGINT NOT NULL,             -- of the spans that came
  last_seq     BIGINT NOT NULL,
  PRIMARY KEY (org_id, at, trace_pk)
);
CREATE INDEX trace_growth_by_day ON trace_growth (received_day);
