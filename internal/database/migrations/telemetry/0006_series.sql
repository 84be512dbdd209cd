-- Decisions by hour, counted from the log itself: in all, by agent, by tool with its server (part), and denials by what
-- decided with its rule (part).
CREATE TABLE rollup_decision (
  org_id        TEXT   NOT NULL,
  dimension     TEXT   NOT NULL,            -- all, agent, tool, denial
  item          TEXT   NOT NULL,
  part          TEXT   NOT NULL,
  bucket        BIGINT NOT NULL,
  writer        BIGINT NOT NULL,
  allowed       BIGINT NOT NULL,
  asked         BIGINT NOT NULL,
  held          BIGINT NOT NULL,
  denied        BIGINT NOT NULL,
  last_position BIGINT NOT NULL,            -- of the latest in the log
  PRIMARY KEY (org_id, dimension, item, part, bucket, writer)
);
CREATE INDEX rollup_decision_by_hour   ON rollup_decision (org_id, dimension, bucket);
CREATE INDEX rollup_decision_by_bucket ON rollup_decision (bucket);

-- Decisions from before this table are counted backwards, until counted_from is 0.
ALTER TABLE projected ADD COLUMN counted_from  BIGINT NOT NULL DEFAULT 0; -- decisions from this entry on are counted
ALTER TABLE projected ADD COLUMN counted_since BIGINT NOT NULL DEFAULT 0; -- and so are all that were made since then
UPDATE projected SET counted_from = position, counted_since = 9223372036854775807 WHERE position > 0;

-- Usage by agent: of spans, by their trace's agent; of reports, by the agent that the session had then.
ALTER TABLE reported_usage ADD COLUMN agent_id TEXT NOT NULL DEFAULT '';
INSERT INTO rollup_usage (org_id, dimension, bucket, item, writer, spans, input_tokens, output_tokens, cache_read, cache_write, cost_nanos)
SELECT org_id, 'agent', at / 3600000000 - CASE WHEN at % 3600000000 < 0 THEN 1 ELSE 0 END, agent_id, 0, CAST(SUM(spans) AS BIGINT),
  CAST(CASE WHEN SUM(input_tokens / 1000000000) >= 9000000000 THEN 9000000000000000000 ELSE SUM(input_tokens / 1000000000) * 1000000000 + SUM(input_tokens % 1000000000) END AS BIGINT),
  CAST(CASE WHEN SUM(output_tokens / 1000000000) >= 9000000000 THEN 9000000000000000000 ELSE SUM(output_tokens / 1000000000) * 1000000000 + SUM(output_tokens % 1000000000) END AS BIGINT),
  CAST(CASE WHEN SUM(cache_read / 1000000000) >= 9000000000 THEN 9000000000000000000 ELSE SUM(cache_read / 1000000000) * 1000000000 + SUM(cache_read % 1000000000) END AS BIGINT),
  CAST(CASE WHEN SUM(cache_write / 1000000000) >= 9000000000 THEN 9000000000000000000 ELSE SUM(cache_write / 1000000000) * 1000000000 + SUM(cache_write % 1000000000) END AS BIGINT),
  CAST(CASE WHEN SUM(cost_nanos / 1000000000) >= 9000000000 THEN 9000000000000000000 ELSE SUM(cost_nanos / 1000000000) * 1000000000 + SUM(cost_nanos % 1000000000) END AS BIGINT)
FROM (
  SELECT t.org_id, t.agent_id, 1 AS spans, s.input_tokens, s.output_tokens, s.cache_read, s.cache_write, s.cost_nanos,
    -- when it started, but never after it was received, which the key tells
    CASE WHEN s.start_time < CASE WHEN s.seq >= 500 THEN s.seq ELSE t.pk END / 1024
      THEN s.start_time ELSE CASE WHEN s.seq >= 500 THEN s.seq ELSE t.pk END / 1024 END AS at
  FROM trace t
  JOIN span s ON s.received_day = t.received_day AND s.trace_pk = t.pk
  WHERE s.kind = 'generation'
  UNION ALL
  SELECT org_id, '', 0, input_tokens, output_tokens, cache_read, cache_write, cost_nanos, bucket * 3600000000
  FROM reported_usage
  WHERE superseded = 0
) AS used
GROUP BY org_id, agent_id, at / 3600000000 - CASE WHEN at % 3600000000 < 0 THEN 1 ELSE 0 END;
