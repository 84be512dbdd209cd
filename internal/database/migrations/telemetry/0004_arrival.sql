-- When a trace last got spans of a later request. Who follows what comes in finds a
-- trace by that, or by its receipt, which its key tells: no row of a trace that
-- came whole needs another column filled.
ALTER TABLE trace ADD COLUMN grown_at BIGINT;
CREATE INDEX trace_by_arrival ON trace (org_id, (COALESCE(grown_at, pk >> 10)), pk);
