package audit

import (
	"context"
	"fmt"

	"writ/internal/audit/ledger"
	"writ/internal/database"
	"writ/internal/principal"
)

// EraseAbout erases the payloads of all entries of a log about one subject, within a change that declares the log, and
// records each erasure. What the same change appended before keeps its payload.
func (l *Log) EraseAbout(
	ctx context.Context, tx *database.Tx, by principal.Principal, log string, about Subject, reason string,
) error {
	query := `
		SELECT position
		FROM audit_entry
		WHERE log = $1 AND subject = $2 AND payload IS NOT NULL AND action NOT IN ` + aboutTheLog + `
		ORDER BY position`
	args := []any{log, found(subjectText(about))}
	if log == System { // there is an index for these words alone
		query = `
		SELECT position
		FROM audit_entry
		WHERE log = 'system' AND subject = $1 AND payload IS NOT NULL AND action NOT IN ` + aboutTheLog + `
		ORDER BY position`
		args = args[1:]
	}
	positions, err := database.Collect(ctx, tx, database.Column[int64], query, args...)
	if err != nil {
		return fmt.Errorf("find what log %s says about %s: %w", log, about.Type, err)
	}
	for _, index := range positions {
		if err := l.erasePayload(ctx, tx, log, index, nil); err != nil {
			return err
		}
		if _, err := l.Append(ctx, tx, Entry{
			Log: log, Action: ledger.Erased, Actor: by, Subject: erasedEntry(index),
			Payload: map[string]any{"reason": reason}, Observation: true,
		}); err != nil {
			return err
		}
	}
	return nil
}

// AboutPerson reads what the system's log says about a person, after a position.
func AboutPerson(ctx context.Context, r database.Reader, userID string, after int64, limit int) ([]Stored, error) {
	entries, err := database.Collect(ctx, r, scanEntry, selectEntry+`
		WHERE log = 'system' AND subject = $1 AND position > $2
		ORDER BY position
		LIMIT $3`, found(subjectText(Subject{Type: "user", ID: userID})), after, limit)
	return entries, database.Wrap(err, "read what the log says about %s", userID)
}
