-- Traces that come by OpenTelemetry, in pieces. Others are 0 here: they are closed,
-- or the server's own.
ALTER TABLE trace ADD COLUMN growth BIGINT NOT NULL DEFAULT 0; -- 1: its root span is not there yet; 2: it is

-- A span that was sent before is found by its id. Only spans that came by themselves
-- are in this index, those with a key for their place; a client's own batches, which
-- number their spans from 0 to 499, do not pay for it.
CREATE INDEX span_by_id ON span (trace_pk, id) WHERE seq >= 500;
