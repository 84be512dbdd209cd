package audit

import (
	"context"
	"fmt"

	"writ/internal/audit/ledger"
	"writ/internal/database"
	"writ/internal/principal"
)

// Lost says how many entries of a log a restore gave up, as far as the replaced
// database could tell.
type Lost struct {
	// Known is false when the replaced database was not there to compare with.
	Known bool `json:"known"`
	// Entries is how many were there beyond those restored. They began at index From.
	Entries int64 `json:"entries"`
	From    int64 `json:"from"`
	// Epoch is that of the replaced log, which the new one must exceed.
	Epoch int64 `json:"-"`
}

// BeginEpoch continues a log after a restore. The epoch is part of every later
// record and of the log's origin, and the first entry of it says what is gone:
// a log that silently went on from an older size would be a fork.
func (l *Log) BeginEpoch(ctx context.Context, tx *database.Tx, log string, lost Lost) error {
	r, err := l.runningIn(ctx, tx, log)
	if err != nil {
		return err
	}
	// At least the present second: a backup that is restored twice, with nothing
	// left to compare with, must not begin the same epoch twice.
	r.head.Epoch = max(r.head.Epoch+1, lost.Epoch+1, tx.Now().Unix())
	lost.From = r.tree.Size()
	_, err = l.Append(ctx, tx, Entry{
		Log: log, Action: ledger.Restored, Actor: principal.Operator(),
		Subject: Subject{Type: "log", ID: log}, Payload: lost,
	})
	return err
}

// LastRestore is where the present epoch of a log began: the index of the entry
// that says so, or 0 for a log that was never restored.
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
