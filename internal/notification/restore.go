package notification

import (
	"context"

	"writ/internal/database"
	"writ/internal/notification/notice"
	"writ/internal/notification/webhook"
)

// EndAll ends pending notifications, mails and deliveries, after a restore: the
// requests have ended, and what was queued may have been sent since the backup was
// made. Deliveries to webhooks can be replayed by hand.
func EndAll(ctx context.Context, tx *database.Tx) error {
	_, err := tx.Exec(ctx, `UPDATE notification SET read_at = $1 WHERE kind = $2 AND read_at IS NULL`,
		database.Micros(tx.Now()), string(notice.Opened))
	if err == nil {
		_, err = tx.Exec(ctx, `DELETE FROM notification_mail`)
	}
	if err != nil {
		return database.Wrap(err, "end notifications of requests")
	}
	return webhook.EndAll(ctx, tx)
}
