-- Sessions of coding agents whose hooks tell of every turn. Their calls need a plan of the turn. A session without a row
-- is not guarded.
CREATE TABLE guarded_session (
  key_id     TEXT   NOT NULL REFERENCES api_key (id),
  session_id TEXT   NOT NULL,           -- the host's
  org_id     TEXT   NOT NULL REFERENCES organization (id),
  agent_id   TEXT   NOT NULL,           -- '' where not stated
  turn       BIGINT NOT NULL,           -- from 1; 0: before the first
  since      BIGINT NOT NULL,           -- plans of this turn and of later ones count
  ended      BIGINT NOT NULL,           -- 1: until the next turn nothing runs
  used_at    BIGINT NOT NULL,
  PRIMARY KEY (key_id, session_id)
);
CREATE INDEX guarded_session_by_use ON guarded_session (used_at);

-- Tickets that were used, until they would have expired.
CREATE TABLE ticket_use (
  id         TEXT   PRIMARY KEY,
  expires_at BIGINT NOT NULL
);
CREATE INDEX ticket_use_by_end ON ticket_use (expires_at);

-- The turn that a plan was registered in. 0: its session was not guarded
ALTER TABLE plan ADD COLUMN turn BIGINT NOT NULL DEFAULT 0;

ALTER TABLE enforcement_settings ADD COLUMN carry_plans BIGINT NOT NULL DEFAULT 0;   -- 1: a turn may keep the plans before it
ALTER TABLE enforcement_settings ADD COLUMN allow_monitor BIGINT NOT NULL DEFAULT 0; -- 1: hooks may log instead of deny
