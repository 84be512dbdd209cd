package audit

import (
	"context"
	"fmt"

	"writ/internal/audit/ledger"
	"writ/internal/database"
	"writ/internal/principal"
)

// maxErasedAbout is how many payloads one change erases: decisions wait for it.
const maxErasedAbout = 100

// EraseAbout erases the payloads of the first entries of a log about one subject, within a change that declares the
// log, and records each erasure. It reports whether there may be more. What the same change appended before keeps its
// payload.
func (l *Log) EraseAbout(
	ctx context.Context, tx *database.Tx, by principal.Principal, log string, about Subject, reason string,
) (more bool, err error) {
	query := `
		SELECT position
		FROM audit_entry
		WHERE log = $1 AND subject = $2 AND payload IS NOT NULL AND action NOT IN ` + aboutTheLog + `
		ORDER BY position
		LIMIT $3`
	args := []any{log, found(subjectText(about)), maxErasedAbout}
	if log == System { // there is an index for these words alone
		query = `
		SELECT position
		FROM audit_entry
		WHERE log = 'system' AND subject = $1 AND payload IS NOT NULL AND action NOT IN ` + aboutTheLog + `
		ORDER BY position
		LIMIT $2`
		args = args[1:]
	}
	positions, err := database.Collect(ctx, tx, database.Column[int64], query, args...)
	if err != nil {
		return false, fmt.Errorf("find what log %s says about %s: %w", log, about.Type, err)
	}
	for _, index := range positions {
		if err := l.erasePayload(ctx, tx, log, index, nil); err != nil {
			return false, err
		}
		if _, err := l.Append(ctx, tx, Entry{
			Log: log, Action: ledger.Erased, Actor: by, Subject: erasedEntry(index),
			Payload: map[string]any{"reason": reason}, Observation: true,
		}); err != nil {
			return false, err
		}
	}
	return len(positions) == maxErasedAbout, nil
}

// AboutPerson reads what the system's log says about a person, after a position.
func AboutPerson(ctx context.Context, r database.Reader, userID string, after int64, limit int) ([]Stored, error) {
	entries, err := database.Collect(ctx, r, scanEntry, selectEntry+`
		WHERE log = 'system' AND subject = $1 AND position > $2
		ORDER BY position
		LIMIT $3`, found(subjectText(Subject{Type: "user", ID: userID})), after, limit)
	return entries, database.Wrap(err, "read what the log says about %s", userID)
}

// StillSaidOf are the people of a list of ids, a query, about whom the system's log still has payloads that EraseAbout
// erases.
func StillSaidOf(ctx context.Context, r database.Reader, people string) ([]string, error) {
	ids, err := database.Collect(ctx, r, database.Column[string], people)
	if err != nil {
		return nil, fmt.Errorf("list people whose payloads go: %w", err)
	}
	var left []string
	for _, id := range ids {
		var said bool
		err := r.QueryRow(ctx, `
			SELECT CASE WHEN EXISTS (
				SELECT 1 FROM audit_entry
				WHERE log = 'system' AND subject = $1 AND payload IS NOT NULL AND action NOT IN `+aboutTheLog+`
			) THEN 1 ELSE 0 END`,
			found(subjectText(Subject{Type: "user", ID: id}))).Scan(database.ToBool(&said))
		if err != nil {
			return nil, fmt.Errorf("look for what the log says about %s: %w", id, err)
		}
		if said {
			left = append(left, id)
		}
	}
	return left, nil
}
