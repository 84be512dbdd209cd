-- Agents that API keys want registered. Until a person confirms one, its id counts as unregistered. Several keys may
-- propose the same id; the earliest is shown.
CREATE TABLE agent_proposal (
  org_id          TEXT   NOT NULL REFERENCES organization (id),
  agent_id        TEXT   NOT NULL,
  key_id          TEXT   NOT NULL REFERENCES api_key (id),
  owner_id        TEXT   NOT NULL,      -- of the key
  name            TEXT   NOT NULL,
  product         TEXT   NOT NULL,
  environment     TEXT   NOT NULL,
  description     TEXT   NOT NULL,
  public_key      BYTEA,
  intent_required BIGINT NOT NULL,
  created_at      BIGINT NOT NULL,
  PRIMARY KEY (org_id, agent_id, key_id)
);
CREATE INDEX agent_proposal_by_key ON agent_proposal (key_id);
CREATE INDEX agent_proposal_by_owner ON agent_proposal (org_id, owner_id);
CREATE INDEX agent_proposal_by_time ON agent_proposal (created_at);

-- 0: keys that a stop, or its end, concerns in other organizations are still to be stopped or freed.
ALTER TABLE agent_stop ADD COLUMN followed BIGINT NOT NULL DEFAULT 1;
CREATE INDEX agent_stop_to_follow ON agent_stop (id) WHERE followed = 0;

-- A key that sends ever new ids replaces its own sightings; and which keys have leases of an agent is looked up.
CREATE INDEX agent_seen_by_key ON agent_seen (org_id, key_id, last_seen_at);
CREATE INDEX agent_lease_by_agent ON agent_lease (org_id, agent_id, key_id);
