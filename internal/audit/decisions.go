package audit

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"writ/internal/database"
)

// ReadDecisions reads up to limit decisions of a log, from an index on.
func ReadDecisions(ctx context.Context, r database.Reader, log string, from int64, limit int) ([]Stored, error) {
	entries, err := database.Collect(ctx, r, scanEntry, selectEntry+`
		WHERE log = $1 AND position >= $2 AND verdict IS NOT NULL
		ORDER BY position
		LIMIT $3`, log, from, limit)
	if err != nil {
		return nil, fmt.Errorf("read the decisions of log %s from %d: %w", log, from, err)
	}
	return entries, nil
}

// ReadDecisionsBefore reads up to limit decisions of a log that stand before an index, the latest first.
func ReadDecisionsBefore(
	ctx context.Context, r database.Reader, log string, before int64, limit int,
) ([]Stored, error) {
	entries, err := database.Collect(ctx, r, scanEntry, selectEntry+`
		WHERE log = $1 AND position < $2 AND verdict IS NOT NULL
		ORDER BY position DESC
		LIMIT $3`, log, before, limit)
	if err != nil {
		return nil, fmt.Errorf("read the decisions of log %s before %d: %w", log, before, err)
	}
	return entries, nil
}

// FirstSince is the index of the first entry that was recorded at an instant or later,
// in microseconds since 1970. Not ok: there is none.
func FirstSince(ctx context.Context, r database.Reader, log string, micros int64) (index int64, ok bool, err error) {
	err = r.QueryRow(ctx, `
		SELECT position
		FROM audit_entry
		WHERE log = $1 AND recorded_at >= $2
		ORDER BY recorded_at, position
		LIMIT 1`, log, micros).Scan(&index)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("find where log %s was at a time: %w", log, err)
	}
	return index, true, nil
}

// CountAllowed counts the decisions of a session that allowed a call, up to most.
func CountAllowed(ctx context.Context, r database.Reader, log, session string, most int) (count int64, err error) {
	err = r.QueryRow(ctx, `
		SELECT COUNT(*)
		FROM (
			SELECT 1
			FROM audit_entry
			WHERE log = $1 AND session = $2 AND verdict = 'allow'
			LIMIT $3
		) AS allowed`, log, found(session), most).Scan(&count)
	return count, err
}

// Tallied counts equal decisions of one plan. Times are microseconds since 1970, UTC.
type Tallied struct {
	Step, Server, Tool, Verdict string
	Count, First, Last          int64
}

// TallyOf counts the decisions under a plan, in at most so many lines.
func TallyOf(ctx context.Context, r database.Reader, log, plan string, most int) ([]Tallied, error) {
	return database.Collect(ctx, r, func(s database.Scanner) (t Tallied, err error) {
		err = s.Scan(&t.Step, &t.Server, &t.Tool, &t.Verdict, &t.Count, &t.First, &t.Last)
		return t, err
	}, `
		SELECT COALESCE(step, ''), COALESCE(server, ''), COALESCE(tool, ''), verdict, COUNT(*), MIN(recorded_at), MAX(recorded_at)
		FROM audit_entry
		WHERE log = $1 AND plan = $2 AND verdict IS NOT NULL
		GROUP BY step, server, tool, verdict
		ORDER BY MIN(recorded_at), step, server, tool, verdict
		LIMIT $3`, log, found(plan), most)
}
