-- What a person tells of themselves; '' where they tell nothing. A deleted account keeps its row, because keys and
-- entries of logs name it, without anything that tells who it was.
ALTER TABLE user_account ADD COLUMN locale TEXT NOT NULL DEFAULT '';
ALTER TABLE user_account ADD COLUMN time_zone TEXT NOT NULL DEFAULT '';
ALTER TABLE user_account ADD COLUMN deleted_at BIGINT;

-- How a person wants the dashboard to look. Without a row they have not said.
CREATE TABLE user_preference (
  user_id       TEXT   PRIMARY KEY REFERENCES user_account (id) ON DELETE CASCADE,
  theme         TEXT   NOT NULL,        -- system, light, dark
  density       TEXT   NOT NULL,        -- compact, roomy
  updated_at    BIGINT NOT NULL
);

-- When the person of a session last proved their second factor; NULL: never.
ALTER TABLE user_session ADD COLUMN proved_at BIGINT;
ALTER TABLE device_login ADD COLUMN proved_at BIGINT; -- of the session that approved it

-- 1: members act there only after they proved a second factor.
ALTER TABLE organization ADD COLUMN require_second_factor BIGINT NOT NULL DEFAULT 0;

-- Second factors: secrets of authenticator apps, one for each person.
CREATE TABLE second_factor (
  user_id       TEXT   PRIMARY KEY REFERENCES user_account (id) ON DELETE CASCADE,
  sealed        BYTEA  NOT NULL,
  org_id        TEXT   NOT NULL,        -- whose identity provider vouched for the person who added it; '': nobody's
  created_at    BIGINT NOT NULL,
  confirmed_at  BIGINT,                 -- NULL: no code of it was entered yet, it does not count
  last_step     BIGINT NOT NULL,        -- of the last code that was accepted: earlier ones are not
  failures      BIGINT NOT NULL,        -- wrong codes since failing_since
  failing_since BIGINT NOT NULL
);

CREATE TABLE recovery_code (
  hash          BYTEA  PRIMARY KEY,     -- SHA-256
  user_id       TEXT   NOT NULL REFERENCES second_factor (user_id) ON DELETE CASCADE,
  used_at       BIGINT
);
CREATE INDEX recovery_code_by_user ON recovery_code (user_id);

-- Sign-ins whose password was right and whose second factor is awaited.
CREATE TABLE login_challenge (
  hash          BYTEA  PRIMARY KEY,     -- SHA-256
  user_id       TEXT   NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
  attempts      BIGINT NOT NULL,
  created_at    BIGINT NOT NULL,
  expires_at    BIGINT NOT NULL
);
CREATE INDEX login_challenge_by_user ON login_challenge (user_id);
CREATE INDEX login_challenge_by_end ON login_challenge (expires_at);

-- Addresses that people want in place of theirs. A code goes to each of the two, and both must come back.
CREATE TABLE email_change (
  id            TEXT   PRIMARY KEY,
  user_id       TEXT   NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
  old_email     TEXT   NOT NULL,
  new_email     TEXT   NOT NULL,
  old_hash      BYTEA  NOT NULL,        -- SHA-256
  new_hash      BYTEA  NOT NULL,
  attempts      BIGINT NOT NULL,
  created_at    BIGINT NOT NULL,
  expires_at    BIGINT NOT NULL,
  used_at       BIGINT                  -- done, or replaced by a later one
);
CREATE INDEX email_change_by_user ON email_change (user_id, created_at);
CREATE INDEX email_change_by_address ON email_change (new_email, created_at);

-- The entries about one person, which lose their payloads when the account is deleted.
CREATE INDEX audit_entry_of_person ON audit_entry (subject, position) WHERE log = 'system';
