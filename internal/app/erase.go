package app

import (
	"context"

	"writ/internal/approval"
	"writ/internal/database"
	"writ/internal/intent"
	"writ/internal/intent/scope"
	"writ/internal/notification/webhook"
)

// eraseCopies erases the copies that areas hold of the payloads at these positions.
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
	if err := scope.Erase(ctx, tx, log, positions); err != nil {
		return err
	}
	return intent.EraseTexts(ctx, tx, log, positions)
}
