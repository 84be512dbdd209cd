-- Terminals that ask to sign in. One that was answered keeps its row until it is
-- swept, so that the same code works once.
CREATE TABLE device_login (
  id              TEXT   PRIMARY KEY,
  device_hash     BYTEA  NOT NULL,      -- SHA-256 of the terminal's secret
  user_hash       BYTEA  NOT NULL,      -- SHA-256 of the code a person compares
  status          TEXT   NOT NULL,      -- pending, approved, denied, used
  wants_session   BIGINT NOT NULL,      -- 1: it said that it will ask for one
  product         TEXT   NOT NULL,      -- as the terminal says; '': it did not
  address         TEXT   NOT NULL,      -- it asked from
  user_agent      TEXT   NOT NULL,
  created_at      BIGINT NOT NULL,
  expires_at      BIGINT NOT NULL,
  polled_at       BIGINT,               -- the last time that counted
  user_id         TEXT   REFERENCES user_account (id) ON DELETE CASCADE, -- who answered; NULL: nobody yet
  org_id          TEXT   REFERENCES organization (id),                   -- where it is let in
  session_allowed BIGINT NOT NULL,      -- 1: the yes includes a session
  limited         BIGINT NOT NULL       -- 1: who said yes was limited to org_id, and so is what comes of it
);
CREATE UNIQUE INDEX device_login_by_device ON device_login (device_hash);
CREATE UNIQUE INDEX device_login_by_user_code ON device_login (user_hash);
CREATE INDEX device_login_by_user ON device_login (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX device_login_by_age ON device_login (expires_at);

-- The key of a terminal that was let in by somebody whose own sign-in is good for
-- one organization alone leads to no other organization of its owner.
ALTER TABLE api_key ADD COLUMN limited BIGINT NOT NULL DEFAULT 0;
