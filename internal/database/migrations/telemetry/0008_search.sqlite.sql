-- The words by which traces are found, by pk. The rows of trace have the texts; here they are not stored again.
CREATE VIRTUAL TABLE search_trace USING fts5(words, content='', contentless_delete=1, tokenize='ascii', detail='none');

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
) WITHOUT ROWID;
INSERT INTO search_trace_queue (doc, ticket, org_id) SELECT pk, 0, org_id FROM trace;
