package telemetry

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"

	"writ/internal/database"
)

// each calls read for every row of a query.
func each(
	ctx context.Context, r database.Reader, read func(row database.Scanner) error, query string, args ...any,
) error {
	_, err := database.Collect(ctx, r, func(row database.Scanner) (none struct{}, err error) {
		return none, read(row)
	}, query, args...)
	return err
}

// unlessMissing wraps an error, except that of a row that is missing.
func unlessMissing(doing string, err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// scanOptional scans a row that may be missing.
func scanOptional(row database.Row, dest ...any) error {
	if err := row.Scan(dest...); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	return nil
}

// The state of a session follows from its end and from later activity, in whatever order they become known. SQLite and
// PostgreSQL have different functions for the greater of two values, hence CASE.
const (
	newActivity = `CASE WHEN excluded.last_activity_at > session.last_activity_at THEN excluded.last_activity_at ELSE session.last_activity_at END`
	endsLater   = `(excluded.ended_at IS NOT NULL AND (session.ended_at IS NULL OR excluded.ended_at >= session.ended_at))`
	newEnd      = `CASE WHEN ` + endsLater + ` THEN excluded.ended_at ELSE session.ended_at END`
	newEndState = `CASE WHEN ` + endsLater + ` THEN excluded.end_state ELSE session.end_state END`
)

const insertSession = `
	INSERT INTO session (org_id, id, user_id, agent_id, product, started_at, last_activity_at, ended_at, end_state, state,
		trace_count, input_tokens, output_tokens, cache_read, cache_write, cost_nanos)`

var updateSession = `
	ON CONFLICT (org_id, id) DO UPDATE SET
		user_id = COALESCE(session.user_id, excluded.user_id),
		agent_id = CASE WHEN session.agent_id = '' THEN excluded.agent_id ELSE session.agent_id END,
		started_at = CASE WHEN excluded.started_at < session.started_at THEN excluded.started_at ELSE session.started_at END,
		last_activity_at = ` + newActivity + `,
		ended_at = ` + newEnd + `,
		end_state = ` + newEndState + `,
		state = CASE WHEN (` + newEnd + `) >= (` + newActivity + `) THEN (` + newEndState + `) ELSE 'open' END,
		` + plus("session", "trace_count", "input_tokens", "output_tokens", "cache_read", "cache_write", "cost_nanos")

// upsertSessions writes the sessions of a commit, and counts in the tally which hour each belongs to now. To know the
// hour it moves from, new sessions are inserted first; the others are locked before they are read. A session that
// retention removes in between is new again.
func upsertSessions(ctx context.Context, tx *database.Tx, orgID string, t *tally) error {
	for ids := slices.Sorted(maps.Keys(t.sessions)); len(ids) > 0; {
		fresh, err := database.InsertReturning(ctx, tx, scanText, insertSession, sessionRows(orgID, ids, t),
			`ON CONFLICT DO NOTHING RETURNING id`)
		if err != nil {
			return err
		}
		isFresh := map[string]bool{}
		for _, id := range fresh {
			isFresh[id] = true
			t.active[floor(t.sessions[id].lastActivity, hourMicros)]++
		}
		ids = slices.DeleteFunc(ids, func(id string) bool { return isFresh[id] })
		before, err := readActivity(ctx, tx, orgID, ids)
		if err != nil {
			return err
		}
		known := slices.Sorted(maps.Keys(before))
		for _, id := range known {
			t.active[floor(before[id], hourMicros)]--
			t.active[floor(max(before[id], t.sessions[id].lastActivity), hourMicros)]++
		}
		if err := tx.Insert(ctx, insertSession, sessionRows(orgID, known, t), updateSession); err != nil {
			return err
		}
		ids = slices.DeleteFunc(ids, func(id string) bool { _, is := before[id]; return is })
	}
	return nil
}

func sessionRows(orgID string, ids []string, t *tally) [][]any {
	var rows [][]any
	for _, id := range ids {
		c := t.sessions[id]
		state := "open"
		if c.endedAt != nil && c.lastActivity <= *c.endedAt {
			state = c.endState
		}
		rows = append(rows,
			[]any{orgID, id, textOrNull(c.userID), c.agentID, c.product, c.startedAt, c.lastActivity,
				intOrNull(c.endedAt),
				c.endState, state,
				c.traces, c.usage.Input, c.usage.Output, c.usage.CacheRead, c.usage.CacheWrite, c.usage.CostNanos})
	}
	return rows
}

// readActivity reads when sessions were last active, and locks them in the order of their ids, so that nobody can
// deadlock.
func readActivity(ctx context.Context, tx *database.Tx, orgID string, ids []string) (map[string]int64, error) {
	found := map[string]int64{}
	for some := range slices.Chunk(ids, readAtOnce) {
		args := []any{orgID}
		for i := range readAtOnce {
			args = append(args, some[i%len(some)])
		}
		_, err := database.Collect(ctx, tx.Prepared(), func(row database.Scanner) (none struct{}, err error) {
			var id string
			var at int64
			err = row.Scan(&id, &at)
			found[id] = at
			return none, err
		},
			`SELECT id, last_activity_at FROM session WHERE org_id = $1 AND id IN (`+marks(2, readAtOnce)+
				`) ORDER BY id`+forUpdate(tx), args...)
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

func scanText(row database.Scanner) (text string, err error) {
	err = row.Scan(&text)
	return text, err
}
