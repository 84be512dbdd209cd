package audit

import (
	"context"
	"fmt"

	"writ/internal/database"
)

// Latest are the newest entries of a log that fit a filter, at most so many,
// newest first. It reads within a transaction too, for those who decide by what
// was done before; the filter's cursor and limit do not count.
func Latest(ctx context.Context, r database.Reader, log string, f Filter, most int) ([]Stored, error) {
	q := &entryQuery{args: []any{log}}
	q.narrow(f)
	entries, err := database.Collect(ctx, r, scanEntry, q.text(most), q.args...)
	if err != nil {
		return nil, fmt.Errorf("read the latest entries of log %s: %w", log, err)
	}
	return entries, nil
}
