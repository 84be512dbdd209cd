package observability

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"

	"writ/internal/database"
)

// scanOptional scans a row that may not be there.
func scanOptional(row database.Row, dest ...any) error {
	if err := row.Scan(dest...); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	return nil
}

// The state of a session follows from when it ended and what came after, in
// whatever order that is learnt. SQLite and PostgreSQL name the greater of two
// differently, hence CASE.
const (
	newActivity = `CASE WHEN excluded.last_activity_at > session.last_activity_at THEN excluded.last_activity_at ELSE session.last_activity_at END`
	endsLater   = `(excluded.ended_at IS NOT NULL AND (session.ended_at IS NULL OR excluded.ended_at >= session.ended_at))`
	newEnd      = `CASE WHEN ` + endsLater + ` THEN excluded.ended_at ELSE session.ended_at END`
	newEndState = `CASE WHEN ` + endsLater + ` THEN excluded.end_state ELSE session.end_state END`
)

func upsertSessions(ctx context.Context, tx *database.Tx, orgID string, sessions map[string]*sessionChange) error {
	var rows [][]any
	for _, id := range slices.Sorted(maps.Keys(sessions)) {
		c := sessions[id]
		state := "open"
		if c.endedAt != nil && c.lastActivity <= *c.endedAt {
			state = c.endState
		}
		rows = append(rows, []any{orgID, id, null(c.userID), c.agentID, c.product, c.startedAt, c.lastActivity, c.endedAt, c.endState, state,
			c.traces, c.usage.Input, c.usage.Output, c.usage.CacheRead, c.usage.CacheWrite, c.usage.CostNanos})
	}
	return tx.Insert(ctx, `
		INSERT INTO session (org_id, id, user_id, agent_id, product, started_at, last_activity_at, ended_at, end_state, state,
			trace_count, input_tokens, output_tokens, cache_read, cache_write, cost_nanos)`, rows, `
		ON CONFLICT (org_id, id) DO UPDATE SET
			user_id = COALESCE(session.user_id, excluded.user_id),
			agent_id = CASE WHEN session.agent_id = '' THEN excluded.agent_id ELSE session.agent_id END,
			started_at = CASE WHEN excluded.started_at < session.started_at THEN excluded.started_at ELSE session.started_at END,
			last_activity_at = `+newActivity+`,
			ended_at = `+newEnd+`,
			end_state = `+newEndState+`,
			state = CASE WHEN (`+newEnd+`) >= (`+newActivity+`) THEN (`+newEndState+`) ELSE 'open' END,
			`+plus("session", "trace_count", "input_tokens", "output_tokens", "cache_read", "cache_write", "cost_nanos"))
}
