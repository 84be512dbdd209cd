package telemetry

import (
	"context"

	"writ/internal/database"
	"writ/internal/telemetry/decode"
)

// storedTrace is a stored trace without attributes and previews: these are only ever replaced.
type storedTrace struct {
	trace         decode.Trace
	pk, day       int64
	spans, growth int64
}

// storedColumns are what scanStored reads.
const storedColumns = `t.id, t.pk, t.received_day, COALESCE(t.session_id, ''), t.name, t.start_time, t.end_time, t.duration_ms, t.status,
	COALESCE(t.user_id, ''), t.agent_id, t.input_tokens, t.output_tokens, t.cache_read, t.cache_write, t.cost_nanos, t.span_count,
	t.error_count, t.growth`

func scanStored(row database.Scanner) (*storedTrace, error) {
	g := &storedTrace{}
	t := &g.trace
	err := row.Scan(&t.ID, &g.pk, &g.day, &t.SessionID, &t.Name, &t.Start, &t.End, &t.DurationMs, &t.Status,
		&t.UserID, &t.AgentID, &t.Usage.Input, &t.Usage.Output, &t.Usage.CacheRead, &t.Usage.CacheWrite,
		&t.Usage.CostNanos, &g.spans, &t.Errors, &g.growth)
	return g, err
}

// readStored reads a trace and locks it; nil: it is removed.
func readStored(ctx context.Context, tx *database.Tx, orgID, id string) (*storedTrace, error) {
	var pk, day int64
	err := tx.Prepared().QueryRow(ctx, `SELECT pk, received_day FROM trace_key WHERE org_id = $1 AND id = $2`, orgID,
		uuidBytes(id)).Scan(&pk, &day)
	if err != nil {
		return nil, unlessMissing("read a stored trace", err)
	}
	g, err := scanStored(tx.Prepared().QueryRow(ctx, `
		SELECT `+storedColumns+`
		FROM trace t
		WHERE t.received_day = $1 AND t.pk = $2 AND t.org_id = $3`+forUpdate(tx), day, pk, orgID))
	if err != nil {
		return nil, unlessMissing("read a stored trace", err)
	}
	return g, nil
}

// withoutKnown is a batch without the spans that the trace already has, with its totals counted again.
func withoutKnown(known map[string]bool, b readyBatch) readyBatch {
	if len(known) == 0 {
		return b
	}
	rest := readyBatch{batch: &decode.Batch{Trace: b.batch.Trace}, product: b.product, growth: b.growth}
	rest.batch.Trace.Usage, rest.batch.Trace.Errors = Usage{}, 0
	for i := range b.batch.Spans {
		if span := b.batch.Spans[i]; !known[span.ID] {
			rest.batch.Spans = append(rest.batch.Spans, span)
			rest.batch.Trace.Count(&span)
			rest.spanRows = append(rest.spanRows, b.spanRows[i])
		}
	}
	return rest
}

// updateTrace writes a changed trace.
const updateTrace = `
	UPDATE trace
	SET session_id = $1, name = $2, start_time = $3, end_time = $4, duration_ms = $5, duration_class = $6, status = $7,
		user_id = $8, agent_id = $9, input_tokens = $10, output_tokens = $11, cache_read = $12, cache_write = $13, cost_nanos = $14,
		span_count = $15, error_count = $16, growth = $17, attributes = COALESCE($18, attributes),
		input_preview = COALESCE($19, input_preview), output_preview = COALESCE($20, output_preview)
	WHERE received_day = $21 AND pk = $22`

// update is what updateTrace needs. Attributes and previews are written when the root comes.
func (g *storedTrace) update(rootCame bool) []any {
	t := &g.trace
	var attributes, input, output any
	if rootCame {
		attributes, input, output = t.Attributes, t.Input, t.Output
	}
	return []any{
		textOrNull(t.SessionID), t.Name, t.Start, intOrNull(t.End), intOrNull(t.DurationMs),
		durationClass(t.DurationMs), t.Status,
		textOrNull(t.UserID), t.AgentID, t.Usage.Input, t.Usage.Output, t.Usage.CacheRead, t.Usage.CacheWrite,
		t.Usage.CostNanos,
		g.spans, t.Errors, g.growth, attributes, input, output, g.day, g.pk,
	}
}

// move counts a trace where it is now instead of where it was. A trace with a duration has its root and does not move:
// durations are never subtracted.
func (t *tally) move(from, to *decode.Trace, received int64) {
	isError := func(trace *decode.Trace) (n int64) {
		if trace.Status != decode.StatusOK {
			n = 1
		}
		return n
	}
	if before, now := bucketOf(from.Start, received, hourMicros),
		bucketOf(to.Start, received, hourMicros); before != now || isError(from) != isError(to) {
		old := cell(t.traces, before)
		old.traces, old.errors = old.traces-1, old.errors-isError(from)
		c := cell(t.traces, now)
		c.traces, c.errors = c.traces+1, c.errors+isError(to)
	}
	if before, now := bucketOf(from.Start, received, minuteMicros),
		bucketOf(to.Start, received, minuteMicros); before != now {
		t.minutes[before]--
		t.minutes[now]++
	}
	if from.DurationMs == nil && to.DurationMs != nil {
		c := cell(t.traces, bucketOf(to.Start, received, hourMicros))
		c.durations = observe(c.durations, float64(*to.DurationMs))
	}
}

// joinSession counts, for a session, the spans of a trace that came before its session was known.
func (t *tally) joinSession(ctx context.Context, tx *database.Tx, stored *storedTrace, sessionID string) error {
	return stored.eachGeneration(ctx, tx, func(bucket int64, model string, u Usage) {
		t.addUsage(bySession, bucket, sessionID, u, 1)
		t.models[[2]string{sessionID, model}] = true
	})
}

// moveAgent counts the stored spans of a trace for the agent that it turned out to have.
func (t *tally) moveAgent(ctx context.Context, tx *database.Tx, stored *storedTrace, agentID string) error {
	return stored.eachGeneration(ctx, tx, func(bucket int64, _ string, u Usage) {
		t.addUsage(byAgent, bucket, stored.trace.AgentID, u.Negate(), -1)
		t.addUsage(byAgent, bucket, agentID, u, 1)
	})
}

// eachGeneration passes on where the stored generation spans of a growing trace count, and what they used.
func (g *storedTrace) eachGeneration(
	ctx context.Context, tx *database.Tx, take func(bucket int64, model string, u Usage),
) error {
	return each(ctx, tx, func(row database.Scanner) error {
		var seq, start int64
		var model string
		var u Usage
		err := row.Scan(&seq, &start, &model, &u.Input, &u.Output, &u.CacheRead, &u.CacheWrite, &u.CostNanos)
		if err != nil {
			return err
		}
		take(bucketOf(start, receivedAt(seq), hourMicros), model, u)
		return nil
	}, `
		SELECT seq, start_time, COALESCE(model, ''), input_tokens, output_tokens, cache_read, cache_write, cost_nanos
		FROM span
		WHERE received_day = $1 AND trace_pk = $2 AND kind = 'generation'`, g.day, g.pk)
}

// extendSession adds more of a trace to its session: all of it if the trace joins the session only now.
func (t *tally) extendSession(before, after *decode.Trace, more readyBatch) {
	touch := func(part decode.Trace) *sessionChange {
		part.SessionID, part.UserID, part.AgentID = after.SessionID, after.UserID, after.AgentID
		return t.touchSession(&part, more.product, receivedAt(more.batch.Spans[0].Key))
	}
	s := touch(more.batch.Trace)
	s.usage = s.usage.Add(more.batch.Trace.Usage)
	if before.SessionID == "" {
		touch(*before)
		s.traces++
		s.usage = s.usage.Add(before.Usage)
	}
}
