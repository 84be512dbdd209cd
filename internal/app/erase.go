package app

import (
	"context"

	"writ/internal/approval"
	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/intent"
	"writ/internal/notification/webhook"
)

// eraseCopies takes away what areas copy of payloads that are erased.
func eraseCopies(ctx context.Context, tx *database.Tx, log string, positions []int64) error {
	requests, err := approval.RequestsAt(ctx, tx, log, positions)
	if err != nil {
		return err
	}
	if err := webhook.EraseBodies(ctx, tx, log, requests); err != nil {
		return err
	}
	if err := approval.EraseArguments(ctx, tx, log, positions); err != nil {
		return err
	}
	return erasePlans(ctx, tx, log, positions)
}

// erasePlans takes away what the plans said whose entries are erased.
func erasePlans(ctx context.Context, tx *database.Tx, log string, positions []int64) error {
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
