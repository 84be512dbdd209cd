-- How many agents there were decisions about, of months that are closed: metered_agent, which names them, has no rows of
-- those any more. A month has a row of its own and one for each of its days that had an agent.
CREATE TABLE metered_agents (
  org_id TEXT   NOT NULL,
  period TEXT   NOT NULL,                   -- day, month
  bucket BIGINT NOT NULL,                   -- the first hour of the period, since 1970
  agents BIGINT NOT NULL,
  PRIMARY KEY (org_id, period, bucket)
);
CREATE INDEX metered_agents_by_bucket ON metered_agents (period, bucket);

-- Whether something of an organization waits to be indexed is asked with every search.
CREATE INDEX search_trace_queue_by_org ON search_trace_queue (org_id, doc);
