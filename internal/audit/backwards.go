package audit

import (
	"context"
	"fmt"
	"time"

	"writ/internal/database"
)

// Place is between two entries of a log. The zero value is behind the last.
type Position struct{ micros, index int64 }

// Before is the place before an entry.
func (e *Stored) Before() Position { return Position{e.Time, e.Index} }

// DecisionsBefore reads up to limit decisions that were recorded since an instant
// and stand before a place, newest first; of an agent alone, where one is named.
func DecisionsBefore(
	ctx context.Context, r database.Reader, log, agent string, since time.Time, place Position, limit int,
) ([]Stored, error) {
	q := &entryQuery{args: []any{log}}
	q.narrow(Filter{From: since, Agent: agent})
	q.and("verdict IS NOT NULL")
	if place != (Position{}) {
		q.and("(recorded_at, position) < (?, ?)", place.micros, place.index)
	}
	entries, err := database.Collect(ctx, r, scanEntry, q.text(limit), q.args...)
	if err != nil {
		return nil, fmt.Errorf("read the latest decisions of log %s: %w", log, err)
	}
	return entries, nil
}
