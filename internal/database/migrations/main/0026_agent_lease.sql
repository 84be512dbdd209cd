ALTER TABLE agent_settings ADD COLUMN lease_seconds BIGINT NOT NULL DEFAULT 0; -- the longest lease; 0: none are given

-- Leases: what a key may call for some minutes without asking.
CREATE TABLE agent_lease (
  id         TEXT   PRIMARY KEY,
  org_id     TEXT   NOT NULL REFERENCES organization (id),
  key_id     TEXT   NOT NULL REFERENCES api_key (id),
  agent_id   TEXT   NOT NULL,           -- '' where its calls name none
  user_id    TEXT   NOT NULL,           -- '' where they are for the key's owner
  position   BIGINT NOT NULL,           -- of its entry in the organization's log
  issued_at  BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
);
CREATE INDEX agent_lease_by_end ON agent_lease (org_id, expires_at);
CREATE INDEX agent_lease_by_key ON agent_lease (key_id, expires_at);

CREATE TABLE agent_lease_tool (
  lease_id TEXT NOT NULL REFERENCES agent_lease (id),
  server   TEXT NOT NULL,               -- '' where calls name none
  tool     TEXT NOT NULL,
  PRIMARY KEY (lease_id, server, tool)
);

-- The calls that were reported under a lease, as their client numbered them.
CREATE TABLE agent_lease_use (
  lease_id     TEXT   NOT NULL REFERENCES agent_lease (id),
  number       BIGINT NOT NULL,
  execution_id TEXT   NOT NULL,
  PRIMARY KEY (lease_id, number)
);

-- The lease that a client says it decided by. '': none
ALTER TABLE execution ADD COLUMN lease_id TEXT NOT NULL DEFAULT '';

-- What does not match, in words. '': its kind says it all
ALTER TABLE finding ADD COLUMN detail TEXT NOT NULL DEFAULT '';
