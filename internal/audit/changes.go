package audit

import (
	"context"

	"writ/internal/database"
)

// Changed is the last of the entries of one kind about one subject.
type Changed struct {
	Index           int64
	Action, Subject string // the subject as type/id
}

// ReadChanges reads what was last changed about each subject from an index of a log on, by action and subject.
func ReadChanges(ctx context.Context, r database.Reader, log string, from int64, actions []string) ([]Changed, error) {
	var all []Changed
	for _, action := range actions {
		found, err := database.Collect(ctx, r, func(s database.Scanner) (c Changed, err error) {
			err = s.Scan(&c.Index, &c.Action, database.ToText(&c.Subject))
			return c, err
		}, `
			SELECT MAX(position), action, subject
			FROM audit_entry
			WHERE log = $1 AND action = $2 AND position >= $3 AND verdict IS NULL
			GROUP BY action, subject
			ORDER BY subject`, log, action, from)
		if err != nil {
			return nil, database.Wrap(err, "read what changed in log %s", log)
		}
		all = append(all, found...)
	}
	return all, nil
}
