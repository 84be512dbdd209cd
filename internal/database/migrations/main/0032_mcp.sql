-- MCP servers that an organization has registered, or that API keys want registered. What is pending decides nothing.
CREATE TABLE mcp_server (
  id            TEXT   PRIMARY KEY,
  org_id        TEXT   NOT NULL REFERENCES organization (id),
  name          TEXT   NOT NULL,        -- as policies and harnesses call it
  description   TEXT   NOT NULL,
  transport     TEXT   NOT NULL,        -- http, sse, stdio; '' where not known
  url           TEXT   NOT NULL,        -- '' where it has none
  command       TEXT   NOT NULL,        -- of stdio: a JSON list
  auth          TEXT   NOT NULL,        -- none, bearer, api_key
  auth_header   TEXT   NOT NULL,        -- of api_key
  sealed_secret BYTEA,
  metadata      TEXT   NOT NULL,        -- JSON: what people say of its tools and roles; '' for none
  status        TEXT   NOT NULL,        -- pending, approved, denied
  source        TEXT   NOT NULL,        -- the client that found it; '' where not stated
  key_id        TEXT   NOT NULL,        -- that proposed it; '' if a person registered it
  registered_by TEXT   NOT NULL,        -- a person, or the owner of the key
  decided_by    TEXT   NOT NULL,        -- who approved or denied it; '' while it is pending
  decided_at    BIGINT,
  reason        TEXT   NOT NULL,        -- of that
  created_at    BIGINT NOT NULL,
  updated_at    BIGINT NOT NULL,
  revision      BIGINT NOT NULL,        -- raised by every change of a person
  about         TEXT   NOT NULL,        -- JSON: what it says of itself, without its tools; '' where it was not asked
  listed_hash   TEXT   NOT NULL,        -- of all that it listed last
  pinned        BIGINT NOT NULL,        -- 1: its tools were pinned once
  unreadable    BIGINT NOT NULL,        -- 1: it answers, and nobody can tell what it offers
  checked_at    BIGINT,
  healthy       BIGINT,                 -- NULL: it was never asked
  since         BIGINT,                 -- since when it is healthy, or not
  latency       BIGINT NOT NULL,        -- of the last check, in microseconds
  problem       TEXT   NOT NULL,
  watched       BIGINT NOT NULL,        -- 1: it is asked when check_at has come
  check_at      BIGINT NOT NULL,        -- moved on by whoever asks it, so that no other replica does
  UNIQUE (org_id, name)
);
CREATE INDEX mcp_server_due ON mcp_server (check_at) WHERE watched = 1;
CREATE INDEX mcp_server_by_key ON mcp_server (key_id) WHERE status = 'pending';

-- The tools of servers. A decision holds those that are neither pinned nor only listed.
CREATE TABLE mcp_tool (
  server_id     TEXT   NOT NULL REFERENCES mcp_server (id),
  org_id        TEXT   NOT NULL,
  name          TEXT   NOT NULL,
  state         TEXT   NOT NULL,        -- listed, pinned, changed, new, moved, returned, gone
  moved_from    TEXT   NOT NULL,        -- the server that has it too, of moved
  since         BIGINT NOT NULL,        -- when it came into this state
  listed_hash   TEXT   NOT NULL,        -- '' of gone
  listed        TEXT   NOT NULL,        -- JSON: as the server describes it
  accepted_hash TEXT   NOT NULL,        -- '' where nobody has accepted it
  accepted      TEXT   NOT NULL,
  accepted_by   TEXT   NOT NULL,
  accepted_at   BIGINT,
  PRIMARY KEY (server_id, name)
);
CREATE INDEX mcp_tool_by_name ON mcp_tool (org_id, name);
CREATE INDEX mcp_tool_held ON mcp_tool (org_id) WHERE state NOT IN ('listed', 'pinned');

-- How servers answered, for some days.
CREATE TABLE mcp_check (
  server_id TEXT   NOT NULL REFERENCES mcp_server (id),
  at        BIGINT NOT NULL,
  healthy   BIGINT NOT NULL,
  latency   BIGINT NOT NULL,            -- in microseconds
  problem   TEXT   NOT NULL,
  PRIMARY KEY (server_id, at)
);
CREATE INDEX mcp_check_by_time ON mcp_check (at);

-- What scans found. A finding that a person accepted is quiet until its text, and so its fingerprint, changes.
CREATE TABLE mcp_finding (
  server_id     TEXT   NOT NULL REFERENCES mcp_server (id),
  fingerprint   TEXT   NOT NULL,
  rule          TEXT   NOT NULL,
  severity      TEXT   NOT NULL,        -- critical, high, medium, low, info
  place         TEXT   NOT NULL,
  title         TEXT   NOT NULL,
  evidence      TEXT   NOT NULL,
  advice        TEXT   NOT NULL,
  refs          TEXT   NOT NULL,        -- JSON: ids of other catalogues
  present       BIGINT NOT NULL,        -- 1: the last scan found it
  first_seen_at BIGINT NOT NULL,
  last_seen_at  BIGINT NOT NULL,
  accepted_by   TEXT   NOT NULL,        -- '' while it is open
  accepted_at   BIGINT,
  accepted_for  TEXT   NOT NULL,
  PRIMARY KEY (server_id, fingerprint)
);
