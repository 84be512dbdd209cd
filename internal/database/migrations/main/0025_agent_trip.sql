-- What trips the kill switch by itself, as JSON. '': nothing; of an agent: what the organization says
ALTER TABLE agent ADD COLUMN trips TEXT NOT NULL DEFAULT '';
ALTER TABLE agent_settings ADD COLUMN trips TEXT NOT NULL DEFAULT '';

-- How near an agent, or a key that is bound to none, is to a trip.
CREATE TABLE agent_trip_count (
  org_id  TEXT   NOT NULL REFERENCES organization (id),
  scope   TEXT   NOT NULL,              -- agent, key
  subject TEXT   NOT NULL,
  rule    TEXT   NOT NULL,              -- callsPerMinute, denialsPerMinute, rejectedInARow
  since   BIGINT NOT NULL,              -- when its count began
  count   BIGINT NOT NULL,
  PRIMARY KEY (org_id, scope, subject, rule)
);
CREATE INDEX agent_trip_count_by_time ON agent_trip_count (since);

-- The rule that tripped. '': a person stopped it
ALTER TABLE agent_stop ADD COLUMN trip TEXT NOT NULL DEFAULT '';
