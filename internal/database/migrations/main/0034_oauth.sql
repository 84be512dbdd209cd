-- 1: the key stands for a consent. Nobody has its secret, and it ends with the membership of its owner.
ALTER TABLE api_key ADD COLUMN hidden BIGINT NOT NULL DEFAULT 0;

-- OAuth clients that registered themselves. Anyone may: what they say of themselves proves nothing.
CREATE TABLE oauth_client (
  id            TEXT   PRIMARY KEY,
  name          TEXT   NOT NULL,
  redirect_uris TEXT   NOT NULL,        -- a JSON list
  created_at    BIGINT NOT NULL,
  used_at       BIGINT                  -- when somebody last consented; NULL: never
);
CREATE INDEX oauth_client_unused ON oauth_client (created_at) WHERE used_at IS NULL;

-- What people let OAuth clients do: act as one agent of one organization, at one address of this server.
CREATE TABLE oauth_consent (
  id            TEXT   PRIMARY KEY,
  org_id        TEXT   NOT NULL REFERENCES organization (id),
  user_id       TEXT   NOT NULL REFERENCES user_account (id),
  agent_id      TEXT   NOT NULL,
  key_id        TEXT   NOT NULL UNIQUE REFERENCES api_key (id),
  client_id     TEXT   NOT NULL,
  client_name   TEXT   NOT NULL,        -- as the client said
  redirect_uri  TEXT   NOT NULL,
  resource      TEXT   NOT NULL,        -- the audience of its tokens
  created_at    BIGINT NOT NULL,
  expires_at    BIGINT NOT NULL,
  ended_at      BIGINT,
  ended_for     TEXT   NOT NULL         -- '' while it is not ended
);
CREATE INDEX oauth_consent_by_org ON oauth_consent (org_id, created_at, id);
CREATE INDEX oauth_consent_live ON oauth_consent (created_at) WHERE ended_at IS NULL;

-- Codes that a client changes for tokens, once. Used ones stay for a while, so that a second use is noticed.
CREATE TABLE oauth_code (
  hash          BYTEA  PRIMARY KEY,
  consent_id    TEXT   NOT NULL REFERENCES oauth_consent (id),
  challenge     TEXT   NOT NULL,        -- of PKCE: the SHA-256 of the verifier, in base64url
  expires_at    BIGINT NOT NULL,
  used_at       BIGINT
);
CREATE INDEX oauth_code_by_consent ON oauth_code (consent_id);
CREATE INDEX oauth_code_by_end ON oauth_code (expires_at);

CREATE TABLE oauth_token (
  hash          BYTEA  PRIMARY KEY,
  consent_id    TEXT   NOT NULL REFERENCES oauth_consent (id),
  kind          TEXT   NOT NULL,        -- access, refresh
  expires_at    BIGINT NOT NULL,
  used_at       BIGINT                  -- of refresh: when another replaced it
);
CREATE INDEX oauth_token_by_consent ON oauth_token (consent_id, kind);
CREATE INDEX oauth_token_by_end ON oauth_token (expires_at);
