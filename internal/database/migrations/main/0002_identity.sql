CREATE TABLE user_account (
  id            TEXT   PRIMARY KEY,
  email         TEXT   NOT NULL UNIQUE, -- lower case
  name          TEXT   NOT NULL,
  password_hash TEXT   NOT NULL,
  verified_at   BIGINT,
  created_at    BIGINT NOT NULL
);

-- A signed-in browser or terminal. Its refresh tokens are a family: the reuse
-- of an old one ends the session.
CREATE TABLE user_session (
  id           TEXT   PRIMARY KEY,
  user_id      TEXT   NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
  address      TEXT   NOT NULL,
  user_agent   TEXT   NOT NULL,
  created_at   BIGINT NOT NULL,
  last_used_at BIGINT NOT NULL,
  expires_at   BIGINT NOT NULL,
  revoked_at   BIGINT
);
CREATE INDEX user_session_by_user ON user_session (user_id, created_at);

CREATE TABLE refresh_token (
  hash       BYTEA  PRIMARY KEY,        -- SHA-256
  session_id TEXT   NOT NULL REFERENCES user_session (id) ON DELETE CASCADE,
  created_at BIGINT NOT NULL,
  used_at    BIGINT
);
CREATE INDEX refresh_token_by_session ON refresh_token (session_id);
CREATE INDEX refresh_token_by_use ON refresh_token (used_at) WHERE used_at IS NOT NULL;

-- Codes and links sent by mail.
CREATE TABLE mail_code (
  id         TEXT   PRIMARY KEY,
  user_id    TEXT   NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
  purpose    TEXT   NOT NULL,           -- verify, reset
  hash       BYTEA  NOT NULL,           -- SHA-256
  attempts   BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  used_at    BIGINT
);
CREATE INDEX mail_code_by_user ON mail_code (user_id, purpose, created_at);
CREATE INDEX mail_code_by_hash ON mail_code (hash);

-- Ed25519 keys by purpose, the private part sealed with the master key.
CREATE TABLE signing_key (
  id         TEXT   PRIMARY KEY,
  purpose    TEXT   NOT NULL,
  public     BYTEA  NOT NULL,
  sealed     BYTEA  NOT NULL,
  created_at BIGINT NOT NULL,
  retired_at BIGINT
);
CREATE UNIQUE INDEX signing_key_current ON signing_key (purpose) WHERE retired_at IS NULL;

-- Counters of the throttled routes, one row a subject and window.
CREATE TABLE throttle_counter (
  subject      BYTEA  NOT NULL,         -- hash of route, account and address
  window_start BIGINT NOT NULL,
  hits         BIGINT NOT NULL,
  PRIMARY KEY (subject, window_start)
);
CREATE INDEX throttle_counter_by_window ON throttle_counter (window_start);
