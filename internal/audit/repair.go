package audit

import (
	"context"
	"fmt"

	"writ/internal/audit/ledger"
	"writ/internal/database"
)

// RepairSearch writes again what entries of a log are found by, from their records, where
// it differs. Each record is proved first. It gives how many entries it repaired.
func (l *Log) RepairSearch(ctx context.Context, log string) (repaired int, err error) {
	evidence, err := l.Evidence(ctx, log)
	if err != nil {
		return 0, err
	}
	for from := int64(0); from < evidence.head.Size; from += checkRows {
		until := min(from+checkRows, evidence.head.Size)
		rows, err := database.Collect(ctx, l.db, scanChecked, selectChecked, log, from, until)
		if err != nil {
			return repaired, fmt.Errorf("read log %s from %d: %w", log, from, err)
		}
		for i := range rows {
			record, err := rows[i].Parse()
			if err == nil && rows[i].differsFrom(&record) == "" {
				continue
			}
			if _, err = evidence.Prove(&rows[i].Stored); err != nil {
				return repaired, err
			}
			if err := l.writeSearch(ctx, &record); err != nil {
				return repaired, err
			}
			repaired++
		}
	}
	return repaired, nil
}

// writeSearch writes what an entry is found by.
func (l *Log) writeSearch(ctx context.Context, r *ledger.Record) error {
	return l.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.Exec(ctx, `
			UPDATE audit_entry
			SET recorded_at = $3, action = $4, actor = $5, subject = $6, agent = $7, session = $8, plan = $9, step = $10,
				server = $11, tool = $12, verdict = $13
			WHERE log = $1 AND position = $2`, appendSearch([]any{r.Log, r.Index, r.Time, r.Action}, r)...)
		return err
	}})
}
