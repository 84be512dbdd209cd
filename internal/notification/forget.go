package notification

import (
	"context"

	"writ/internal/database"
)

// Forget removes what a person was told and wants to be mailed, within the change that deletes their account.
func Forget(ctx context.Context, tx *database.Tx, userID string) error {
	for _, table := range []string{"notification", "notification_mail", "notification_reader"} {
		if _, err := tx.Exec(ctx, `DELETE FROM `+table+` WHERE user_id = $1`, userID); err != nil {
			return database.Wrap(err, "forget the notifications of %s", userID)
		}
	}
	return nil
}
