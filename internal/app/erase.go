package app

import (
	"context"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/intent"
	"writ/internal/policy"
)

// eraseCopies takes away what the tables of areas copy of payloads of the log: the
// calls of decisions, and the texts of plans.
func eraseCopies(ctx context.Context, tx *database.Tx, log string, positions []int64) error {
	if err := policy.EraseCalls(ctx, tx, log, positions); err != nil {
		return err
	}
	for _, position := range positions {
		entries, err := audit.ReadEntries(ctx, tx, log, position, 1)
		if err != nil {
			return err
		}
		if len(entries) != 1 || entries[0].Index != position || entries[0].Action != intent.MintedAction {
			continue
		}
		record, err := entries[0].Parse()
		if err != nil {
			return err
		}
		if err := intent.EraseText(ctx, tx, log, record.Subject.ID); err != nil {
			return err
		}
	}
	return nil
}
