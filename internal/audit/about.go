package audit

import (
	"context"
	"fmt"

	"writ/internal/database"
)

// FirstAbout is the index of the first entry of a log about a subject, which is no
// decision; -1: there is none.
func FirstAbout(ctx context.Context, r database.Reader, log string, of Subject) (index int64, err error) {
	err = r.QueryRow(ctx, `
		SELECT COALESCE(MIN(position), -1)
		FROM audit_entry
		WHERE log = $1 AND subject = $2 AND verdict IS NULL`, log, found(subjectText(of))).Scan(&index)
	if err != nil {
		return 0, fmt.Errorf("find the first entry about %s: %w", of.Type, err)
	}
	return index, nil
}
