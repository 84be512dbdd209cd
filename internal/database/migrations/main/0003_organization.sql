CREATE TABLE organization (
  id         TEXT   PRIMARY KEY,
  name       TEXT   NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  closed_at  BIGINT                     -- closed, not deleted: its log must stay provable
);

CREATE TABLE organization_member (
  org_id    TEXT   NOT NULL REFERENCES organization (id),
  user_id   TEXT   NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
  role      TEXT   NOT NULL,            -- owner, admin, approver, member, viewer
  joined_at BIGINT NOT NULL,
  PRIMARY KEY (org_id, user_id)
);
CREATE INDEX organization_member_by_user ON organization_member (user_id);

CREATE TABLE organization_invite (
  id           TEXT   PRIMARY KEY,
  org_id       TEXT   NOT NULL REFERENCES organization (id),
  email        TEXT   NOT NULL,
  role         TEXT   NOT NULL,
  token_hash   BYTEA  NOT NULL UNIQUE,
  invited_by   TEXT   NOT NULL,
  created_at   BIGINT NOT NULL,
  expires_at   BIGINT NOT NULL,
  accepted_at  BIGINT,
  withdrawn_at BIGINT
);
-- One open invitation a person and organization.
CREATE UNIQUE INDEX organization_invite_open ON organization_invite (org_id, email)
  WHERE accepted_at IS NULL AND withdrawn_at IS NULL;

CREATE INDEX organization_invite_by_email ON organization_invite (email, created_at);

CREATE TABLE api_key (
  id           TEXT   PRIMARY KEY,
  org_id       TEXT   REFERENCES organization (id), -- NULL: bound to none
  owner_id     TEXT   NOT NULL REFERENCES user_account (id),
  name         TEXT   NOT NULL,
  environment  TEXT   NOT NULL,         -- sandbox, production
  product      TEXT   NOT NULL,         -- '' where any
  scopes       TEXT   NOT NULL,         -- space-separated, sorted
  prefix       TEXT   NOT NULL,         -- shown in lists
  hash         BYTEA  NOT NULL UNIQUE,  -- SHA-256 of the whole key
  created_at   BIGINT NOT NULL,
  expires_at   BIGINT,
  last_used_at BIGINT,
  revoked_at   BIGINT
);
CREATE INDEX api_key_by_org ON api_key (org_id, created_at, id);
CREATE INDEX api_key_by_owner ON api_key (owner_id, created_at, id);
