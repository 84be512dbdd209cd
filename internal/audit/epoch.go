package audit

import (
	"context"
	"errors"
	"fmt"

	"writ/internal/audit/ledger"
	"writ/internal/database"
	"writ/internal/principal"
)

// Lost is how many entries of a log a restore lost, as far as is known.
type Lost struct {
	// Known is false without the replaced database to compare with.
	Known bool `json:"known"`
	// Entries is how many were not restored. They began at index From.
	Entries int64 `json:"entries"`
	From    int64 `json:"from"`
	// Unproved: the head that was restored is not signed by this installation, or is not
	// the one that was signed.
	Unproved bool `json:"unproved,omitzero"`
	// Epoch is that of the replaced log, which the new one must exceed.
	Epoch int64 `json:"-"`
}

// BeginEpoch continues a log after a restore. The epoch is part of every later record
// and of the log's origin, and its first entry says what is lost: a log that silently
// went on from an older size would be a fork.
func (l *Log) BeginEpoch(ctx context.Context, tx *database.Tx, log string, lost Lost) error {
	r, err := l.runningIn(ctx, tx, log)
	if err != nil {
		return err
	}
	// At least the present second: restoring a backup twice, with nothing to compare
	// with, must not begin the same epoch twice.
	r.head.Epoch = max(r.head.Epoch+1, lost.Epoch+1, tx.Now().Unix())
	lost.From = r.tree.Size()
	if r.head.Size > 0 && !r.head.isSealed(l.trust.sealKeys()) {
		read := newStateReader(log)
		if err := read.until(ctx, tx, r.head.Size); err != nil && !errors.Is(err, errNoRoot) {
			return err
		}
		r.head.state = read.state.text() // as far as what is stored tells
	}
	_, err = l.Append(ctx, tx, Entry{
		Log: log, Action: ledger.Restored, Actor: principal.Operator(),
		Subject: Subject{Type: "log", ID: log}, Payload: lost,
	})
	return err
}

// LastRestore is the index of the entry that began the present epoch of a log; 0 if it
// was never restored.
func LastRestore(ctx context.Context, r database.Reader, log string) (index int64, err error) {
	err = r.QueryRow(ctx, `
		SELECT COALESCE(MAX(position), 0)
		FROM audit_entry
		WHERE log = $1 AND action = $2 AND verdict IS NULL`, log, ledger.Restored).Scan(&index)
	if err != nil {
		return 0, fmt.Errorf("find the last restore of log %s: %w", log, err)
	}
	return index, nil
}

// CountLogs has System say that there are as many logs as are stored: after a restore,
// those of both databases.
func (l *Log) CountLogs(ctx context.Context, tx *database.Tx) error {
	r, err := l.runningIn(ctx, tx, System)
	if err != nil {
		return err
	}
	now, err := r.head.readState()
	if err != nil {
		return err
	}
	if err := tx.QueryRow(ctx, `SELECT COUNT(*) FROM audit_head WHERE log <> $1`, System).Scan(&now.Logs); err != nil {
		return fmt.Errorf("count the logs: %w", err)
	}
	r.head.state = now.text()
	return nil
}
