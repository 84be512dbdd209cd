package audit

import (
	"context"
	"fmt"
	"strings"
	"time"

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

// AboutQuery chooses entries of an action about a subject.
type AboutQuery struct {
	Log, Action string
	Subject     Subject
	After       int64     // the index behind which they stand
	Until       time.Time // when the last of them was recorded
	Limit       int
}

// About reads the entries that a query chooses, in their order.
func About(ctx context.Context, r database.Reader, q AboutQuery) ([]Stored, error) {
	entries, err := database.Collect(ctx, r, scanEntry, selectEntry+`
		WHERE log = $1 AND subject = $2 AND action = $3 AND position > $4 AND recorded_at <= $5
		ORDER BY position
		LIMIT $6`, q.Log, found(subjectText(q.Subject)), q.Action, q.After, database.Micros(q.Until), q.Limit)
	return entries, database.Wrap(err, "read the entries about a %s", q.Subject.Type)
}

// HasDecided reports whether a log has a decision about a server, and one about a tool, of one of these names, as given
// or in small letters. No names: whichever.
func HasDecided(ctx context.Context, r database.Reader, log string, servers, tools []string) (bool, error) {
	for _, of := range []struct {
		column string
		names  []string
	}{{"server", servers}, {"tool", tools}} {
		if len(of.names) == 0 {
			continue
		}
		var where database.Where
		where.And(`log = ?`, log)
		marks := make([]string, 0, 2*len(of.names))
		for _, name := range of.names {
			marks = append(marks, where.Bind(found(name)), where.Bind(found(strings.ToLower(name))))
		}
		var any bool
		err := r.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM audit_entry`+where.String()+`AND verdict IS NOT NULL AND `+
			of.column+` IN (`+strings.Join(marks, ", ")+`))`, where.Args...).Scan(&any)
		if err != nil || !any {
			return false, database.Wrap(err, "look for decisions about a %s", of.column)
		}
	}
	return true, nil
}
