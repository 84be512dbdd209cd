-- A session that an organization's own identity provider vouched for is good for
-- that organization alone.
ALTER TABLE user_session ADD COLUMN org_id TEXT NOT NULL DEFAULT ''; -- '' is no limit
CREATE INDEX user_session_limited ON user_session (org_id) WHERE org_id <> '' AND revoked_at IS NULL;

-- Keys of a person's terminals that are older count no more: a new password turns
-- out whoever had the one before, terminals included.
ALTER TABLE user_account ADD COLUMN terminals_since BIGINT NOT NULL DEFAULT 0;

-- With what an organization's people sign in.
CREATE TABLE identity_provider (
  org_id        TEXT   PRIMARY KEY REFERENCES organization (id),
  issuer        TEXT   NOT NULL,
  client_id     TEXT   NOT NULL,
  sealed_secret BYTEA  NOT NULL,
  slug          TEXT   UNIQUE,          -- NULL: people name the organization by its id
  default_role  TEXT   NOT NULL,        -- of who signs in for the first time
  enforced      BIGINT NOT NULL,        -- 1: who is no owner must sign in with it
  tested_at     BIGINT,                 -- the last success with this issuer and client
  created_at    BIGINT NOT NULL,
  updated_at    BIGINT NOT NULL
);

-- The mail domains a provider speaks of. Anyone may name any domain: only one that
-- was proven by a record in the domain name system leads people to the provider.
CREATE TABLE identity_provider_domain (
  org_id    TEXT   NOT NULL REFERENCES identity_provider (org_id) ON DELETE CASCADE,
  domain    TEXT   NOT NULL,            -- lower case
  proven_at BIGINT,
  PRIMARY KEY (org_id, domain)
);
CREATE INDEX identity_provider_domain_proven ON identity_provider_domain (domain) WHERE proven_at IS NOT NULL;

-- Who somebody else says a person is. The same subject of the same issuer is
-- another identity for each organization, and for the server at large.
CREATE TABLE external_identity (
  id         TEXT   PRIMARY KEY,
  org_id     TEXT   NOT NULL,           -- '' for Google, which the operator chose
  issuer     TEXT   NOT NULL,
  subject    TEXT   NOT NULL,
  user_id    TEXT   NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
  email      TEXT   NOT NULL,           -- as the provider told it
  linked     BIGINT NOT NULL,           -- 1: the account's owner, signed in, asked for it
  created_at BIGINT NOT NULL,
  UNIQUE (org_id, issuer, subject)
);
CREATE INDEX external_identity_by_user ON external_identity (user_id, created_at);

-- What a browser brings back from a provider's page and exchanges for tokens, once.
CREATE TABLE sign_in_code (
  hash       BYTEA  PRIMARY KEY,        -- SHA-256 of the code and the browser's half of it
  user_id    TEXT   NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
  org_id     TEXT   NOT NULL,           -- '' is no limit
  expires_at BIGINT NOT NULL
);
CREATE INDEX sign_in_code_by_end ON sign_in_code (expires_at);
