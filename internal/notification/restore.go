package notification

import (
	"context"
	"fmt"

	"writ/internal/database"
	"writ/internal/notification/notice"
	"writ/internal/notification/webhook"
)

// EndAll ends what was under way, after a restore: the requests it was about are
// over, and what waited to be sent may have arrived since the backup was made. What
// waited at webhooks can be replayed by hand.
func EndAll(ctx context.Context, tx *database.Tx) error {
	_, err := tx.Exec(ctx, `UPDATE notification SET read_at = $1 WHERE kind = $2 AND read_at IS NULL`,
		database.Micros(tx.Now()), string(notice.Opened))
	if err != nil {
		return fmt.Errorf("end notifications of requests: %w", err)
	}
	if _, err := tx.Exec(ctx, `DELETE FROM notification_mail`); err != nil {
		return fmt.Errorf("end mails of requests: %w", err)
	}
	return webhook.EndAll(ctx, tx)
}
