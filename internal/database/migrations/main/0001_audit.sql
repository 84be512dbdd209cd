-- One append-only log per organization, and one named 'system' for what
-- belongs to none. Rows of audit_entry are never updated but to erase a payload.
CREATE TABLE audit_head (
  log        TEXT   PRIMARY KEY,        -- organization id, or 'system'
  size       BIGINT NOT NULL,
  frontier   BYTEA  NOT NULL,           -- roots of the complete subtrees, largest first, 32 bytes each
  generation BIGINT NOT NULL,           -- raised by every change that a decision depends on
  epoch      BIGINT NOT NULL,           -- raised by a restore, part of the log's origin
  updated_at BIGINT NOT NULL
);

CREATE TABLE audit_entry (
  log         TEXT   NOT NULL REFERENCES audit_head (log),
  position    BIGINT NOT NULL,          -- 0 for the first
  recorded_at BIGINT NOT NULL,
  action      TEXT   NOT NULL,
  record      TEXT   NOT NULL,          -- canonical JSON; the leaf is its hash
  payload     TEXT,                     -- canonical JSON; NULL once erased
  salt        BYTEA,                    -- of the payload's hash in record; NULL once erased
  leaf        BYTEA  NOT NULL,          -- RFC 6962 leaf hash, 32 bytes
  PRIMARY KEY (log, position)
);

CREATE INDEX audit_entry_by_time ON audit_entry (log, recorded_at);
