-- The client by which this server is known to the authorization server of an MCP server; '': it registers itself.
ALTER TABLE mcp_server ADD COLUMN oauth_client_id TEXT NOT NULL DEFAULT '';

-- Connections of people with MCP servers that have an OAuth of their own: calls are made in the person's name.
CREATE TABLE mcp_connection (
  id               TEXT   PRIMARY KEY,
  org_id           TEXT   NOT NULL REFERENCES organization (id),
  user_id          TEXT   NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
  server_id        TEXT   NOT NULL REFERENCES mcp_server (id) ON DELETE CASCADE,
  url              TEXT   NOT NULL,     -- of the server when the person consented: tokens go nowhere else
  resource         TEXT   NOT NULL,     -- what the tokens are for, as the server names itself
  issuer           TEXT   NOT NULL,
  token_url        TEXT   NOT NULL,
  revocation_url   TEXT   NOT NULL,     -- '': there is none
  client_id        TEXT   NOT NULL,
  client_method    TEXT   NOT NULL,     -- how the client proves itself: none, client_secret_post, client_secret_basic
  scope            TEXT   NOT NULL,
  sealed           BYTEA  NOT NULL,     -- the tokens and the client's secret
  expires_at       BIGINT,              -- of the access token; NULL: not known
  refreshing_until BIGINT NOT NULL,     -- a replica renews the tokens until then; 0: none does
  revision         BIGINT NOT NULL,
  created_at       BIGINT NOT NULL,
  UNIQUE (server_id, user_id)
);
CREATE INDEX mcp_connection_by_org ON mcp_connection (org_id, created_at, id);
CREATE INDEX mcp_connection_by_user ON mcp_connection (user_id);

-- What people have been sent to an authorization server for, until they come back.
CREATE TABLE mcp_connecting (
  state_hash     BYTEA  PRIMARY KEY,
  org_id         TEXT   NOT NULL REFERENCES organization (id),
  user_id        TEXT   NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
  server_id      TEXT   NOT NULL REFERENCES mcp_server (id) ON DELETE CASCADE,
  url            TEXT   NOT NULL,
  resource       TEXT   NOT NULL,
  issuer         TEXT   NOT NULL,
  names_issuer   BIGINT NOT NULL,       -- 1: its answers name it (RFC 9207), and one that does not is refused
  token_url      TEXT   NOT NULL,
  revocation_url TEXT   NOT NULL,
  client_id      TEXT   NOT NULL,
  client_method  TEXT   NOT NULL,
  scope          TEXT   NOT NULL,
  sealed         BYTEA  NOT NULL,       -- the verifier of PKCE and the client's secret
  expires_at     BIGINT NOT NULL
);
CREATE INDEX mcp_connecting_by_user ON mcp_connecting (user_id);
CREATE INDEX mcp_connecting_by_end ON mcp_connecting (expires_at);

-- Clients that this server has registered with authorization servers, for one organization each.
CREATE TABLE mcp_oauth_client (
  org_id        TEXT   NOT NULL REFERENCES organization (id),
  issuer        TEXT   NOT NULL,
  redirect_uri  TEXT   NOT NULL,
  client_id     TEXT   NOT NULL,
  client_method TEXT   NOT NULL,
  sealed        BYTEA,                  -- its secret; NULL: it has none
  expires_at    BIGINT,                 -- of the secret; NULL: never
  PRIMARY KEY (org_id, issuer, redirect_uri)
);
