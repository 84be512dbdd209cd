-- The certificate authorities of organizations. One of each signs; those before it are trusted for a while.
CREATE TABLE certificate_authority (
  id            TEXT   PRIMARY KEY,
  org_id        TEXT   NOT NULL REFERENCES organization (id),
  algorithm     TEXT   NOT NULL,        -- p256, ed25519
  certificate   BYTEA  NOT NULL,        -- X.509, DER
  sealed        BYTEA  NOT NULL,        -- the private key
  created_at    BIGINT NOT NULL,
  expires_at    BIGINT NOT NULL,
  retired_at    BIGINT,                 -- since when another one signs; NULL: it signs
  trusted_until BIGINT                  -- of a retired one; NULL while it signs
);
CREATE UNIQUE INDEX certificate_authority_current ON certificate_authority (org_id) WHERE retired_at IS NULL;
CREATE INDEX certificate_authority_by_org ON certificate_authority (org_id, created_at, id);

-- What the authorities have signed. Rows stay for a while after they have expired.
CREATE TABLE certificate (
  id            TEXT   PRIMARY KEY,
  org_id        TEXT   NOT NULL REFERENCES organization (id),
  authority_id  TEXT   NOT NULL REFERENCES certificate_authority (id),
  serial        TEXT   NOT NULL UNIQUE, -- hexadecimal
  kind          TEXT   NOT NULL,        -- agent, server
  subject       TEXT   NOT NULL,        -- the id of the agent or of the MCP server
  spiffe_id     TEXT   NOT NULL,
  certificate   BYTEA  NOT NULL,        -- X.509, DER
  fingerprint   TEXT   NOT NULL UNIQUE, -- of that, SHA-256 in hexadecimal
  key_hash      TEXT   NOT NULL,        -- of its public key, SHA-256 in hexadecimal
  issued_by     TEXT   NOT NULL,        -- a person, or the owner of key_id
  key_id        TEXT   NOT NULL,        -- the API key that asked for it; '': a person did
  replaces      TEXT   NOT NULL,        -- the certificate that it replaces; '': none
  created_at    BIGINT NOT NULL,
  begins_at     BIGINT NOT NULL,
  expires_at    BIGINT NOT NULL,
  revoked_at    BIGINT,
  revoked_by    TEXT   NOT NULL,        -- '' while it is not
  cause         TEXT   NOT NULL,        -- as revocation lists say it; '' while it is not
  reason        TEXT   NOT NULL,
  definitions   TEXT   NOT NULL,        -- of a server: the hash of its pinned tools
  statement     TEXT   NOT NULL,        -- of a server: what binds the certificate to that, a JWT
  statement_ended_at BIGINT             -- since when a definition differs
);
CREATE INDEX certificate_by_org ON certificate (org_id, created_at, id);
CREATE INDEX certificate_by_subject ON certificate (org_id, kind, subject, created_at);
CREATE INDEX certificate_by_key ON certificate (org_id, key_hash);
CREATE INDEX certificate_revoked ON certificate (authority_id, expires_at) WHERE revoked_at IS NOT NULL;
CREATE INDEX certificate_by_end ON certificate (expires_at);
