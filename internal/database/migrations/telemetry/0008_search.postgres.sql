-- The words by which traces are found, partitioned as they are: what retention drops is forgotten with it. The list of
-- rows that wait to be sorted into the index is short, because every query reads it.
CREATE TABLE search_trace (
  received_day BIGINT   NOT NULL,
  doc          BIGINT   NOT NULL,       -- pk of the trace
  words        TSVECTOR NOT NULL,
  PRIMARY KEY (doc, received_day)    -- the day second: a query for days must not choose this index
) PARTITION BY RANGE (received_day);
CREATE INDEX search_trace_by_word ON search_trace USING gin (words) WITH (gin_pending_list_limit = 512);

CREATE TABLE search_segment (
  number    BIGINT PRIMARY KEY,         -- with which the words in it begin
  kind      TEXT   NOT NULL,
  org_id    TEXT   NOT NULL,
  first_doc BIGINT NOT NULL,
  last_doc  BIGINT NOT NULL,
  docs      BIGINT NOT NULL
);
CREATE UNIQUE INDEX search_segment_by_org ON search_segment (kind, org_id, first_doc);

-- Traces that wait to be indexed, and those that grew (ticket: the number of their last span): all that is there already,
-- and then what comes.
CREATE TABLE search_trace_queue (
  doc    BIGINT NOT NULL,               -- pk of the trace
  ticket BIGINT NOT NULL,
  org_id TEXT   NOT NULL,
  PRIMARY KEY (doc, ticket)
);
INSERT INTO search_trace_queue (doc, ticket, org_id) SELECT pk, 0, org_id FROM trace;
