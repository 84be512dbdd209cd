-- The words by which plans and approvals are found. secure-delete: what is erased is taken out of the index at once, and not
-- when it is merged the next time.
CREATE VIRTUAL TABLE search_word USING fts5(words, tokenize='ascii', detail='none', columnsize=0);
INSERT INTO search_word (search_word, rank) VALUES ('secure-delete', 1);

CREATE TABLE search_segment (
  number    BIGINT PRIMARY KEY,         -- with which the words in it begin
  kind      TEXT   NOT NULL,
  org_id    TEXT   NOT NULL,
  first_doc BIGINT NOT NULL,
  last_doc  BIGINT NOT NULL,
  docs      BIGINT NOT NULL
);
CREATE UNIQUE INDEX search_segment_by_org ON search_segment (kind, org_id, first_doc);

-- What has words, and its number.
CREATE TABLE search_thing (
  org_id TEXT   NOT NULL,
  kind   TEXT   NOT NULL,               -- plan, approval
  id     TEXT   NOT NULL,
  doc    BIGINT NOT NULL UNIQUE,
  PRIMARY KEY (org_id, kind, id)
);

-- What waits to be indexed: all that is there already, and then what comes.
CREATE TABLE search_queue (
  kind    TEXT   NOT NULL,
  id      TEXT   NOT NULL,
  ticket  BIGINT NOT NULL,
  org_id  TEXT   NOT NULL,
  made_at BIGINT NOT NULL,
  PRIMARY KEY (kind, id, ticket)
);
CREATE INDEX search_queue_by_time ON search_queue (kind, made_at);
CREATE INDEX search_queue_by_org ON search_queue (kind, org_id);
INSERT INTO search_queue (kind, id, ticket, org_id, made_at) SELECT 'plan', id, 0, org_id, created_at FROM plan;
INSERT INTO search_queue (kind, id, ticket, org_id, made_at) SELECT 'approval', id, 0, org_id, created_at FROM approval_request;
