-- What organizations used, by day of receipt, UTC. Retention does not remove it: yesterday's figures stay when
-- yesterday's rows are gone. bucket is the first hour of the day, since 1970.
CREATE TABLE metered_day (
  org_id        TEXT   NOT NULL,
  bucket        BIGINT NOT NULL,
  writer        BIGINT NOT NULL,
  allowed       BIGINT NOT NULL,            -- decisions, from the log
  asked         BIGINT NOT NULL,
  held          BIGINT NOT NULL,
  denied        BIGINT NOT NULL,
  spans         BIGINT NOT NULL,            -- that clients sent
  input_tokens  BIGINT NOT NULL,
  output_tokens BIGINT NOT NULL,
  cache_read    BIGINT NOT NULL,
  cache_write   BIGINT NOT NULL,
  cost_nanos    BIGINT NOT NULL,
  bytes         BIGINT NOT NULL,            -- of the texts of traces received that day, with all their spans
  PRIMARY KEY (org_id, bucket, writer)
);
CREATE INDEX metered_day_by_bucket ON metered_day (bucket);

-- Agents about which there were decisions, by day.
CREATE TABLE metered_agent (
  org_id        TEXT   NOT NULL,
  bucket        BIGINT NOT NULL,
  agent         TEXT   NOT NULL,
  writer        BIGINT NOT NULL,
  decisions     BIGINT NOT NULL,
  PRIMARY KEY (org_id, bucket, agent, writer)
);
CREATE INDEX metered_agent_by_bucket ON metered_agent (bucket);

-- What is kept is counted now. Texts are not: what they take is known of traces that come from now on.
INSERT INTO metered_day (org_id, bucket, writer, allowed, asked, held, denied, spans, input_tokens, output_tokens, cache_read, cache_write, cost_nanos, bytes)
SELECT org_id, at * 24, 0, CAST(SUM(allowed) AS BIGINT), CAST(SUM(asked) AS BIGINT), CAST(SUM(held) AS BIGINT), CAST(SUM(denied) AS BIGINT), CAST(SUM(spans) AS BIGINT),
  CAST(CASE WHEN SUM(input_tokens / 1000000000) >= 9000000000 THEN 9000000000000000000 ELSE SUM(input_tokens / 1000000000) * 1000000000 + SUM(input_tokens % 1000000000) END AS BIGINT),
  CAST(CASE WHEN SUM(output_tokens / 1000000000) >= 9000000000 THEN 9000000000000000000 ELSE SUM(output_tokens / 1000000000) * 1000000000 + SUM(output_tokens % 1000000000) END AS BIGINT),
  CAST(CASE WHEN SUM(cache_read / 1000000000) >= 9000000000 THEN 9000000000000000000 ELSE SUM(cache_read / 1000000000) * 1000000000 + SUM(cache_read % 1000000000) END AS BIGINT),
  CAST(CASE WHEN SUM(cache_write / 1000000000) >= 9000000000 THEN 9000000000000000000 ELSE SUM(cache_write / 1000000000) * 1000000000 + SUM(cache_write % 1000000000) END AS BIGINT),
  CAST(CASE WHEN SUM(cost_nanos / 1000000000) >= 9000000000 THEN 9000000000000000000 ELSE SUM(cost_nanos / 1000000000) * 1000000000 + SUM(cost_nanos % 1000000000) END AS BIGINT),
  0
FROM (
  SELECT org_id, bucket / 24 AS at, allowed, asked, held, denied, 0 AS spans, 0 AS input_tokens, 0 AS output_tokens, 0 AS cache_read, 0 AS cache_write, 0 AS cost_nanos
  FROM rollup_decision
  WHERE dimension = 'all'
  UNION ALL
  SELECT t.org_id, CASE WHEN s.seq >= 500 THEN s.seq ELSE t.pk END / 1024 / 86400000000, 0, 0, 0, 0, 1,
    CASE WHEN s.kind = 'generation' THEN s.input_tokens ELSE 0 END, CASE WHEN s.kind = 'generation' THEN s.output_tokens ELSE 0 END,
    CASE WHEN s.kind = 'generation' THEN s.cache_read ELSE 0 END, CASE WHEN s.kind = 'generation' THEN s.cache_write ELSE 0 END,
    CASE WHEN s.kind = 'generation' THEN s.cost_nanos ELSE 0 END
  FROM trace t
  JOIN span s ON s.received_day = t.received_day AND s.trace_pk = t.pk
  WHERE NOT (t.growth = 0 AND s.seq >= 500) -- the server's own
  UNION ALL
  SELECT org_id, bucket / 24, 0, 0, 0, 0, 0, input_tokens, output_tokens, cache_read, cache_write, cost_nanos
  FROM reported_usage
  WHERE superseded = 0
) AS used
GROUP BY org_id, at;

INSERT INTO metered_agent (org_id, bucket, agent, writer, decisions)
SELECT org_id, bucket / 24 * 24, item, 0, CAST(SUM(allowed + asked + held + denied) AS BIGINT)
FROM rollup_decision
WHERE dimension = 'agent' AND item <> ''
GROUP BY org_id, bucket / 24 * 24, item;
