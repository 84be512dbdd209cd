package notification

import (
	"context"

	"writ/internal/database"
	"writ/internal/notification/notice"
)

// NotifyHandOver notifies a person of the keys that somebody who leaves hands over to them, within that change. It is
// theirs alone: webhooks do not have it, and the log does.
func (s *Service) NotifyHandOver(ctx context.Context, tx *database.Tx, heirID string, h notice.HandedOver) error {
	return s.tell(ctx, tx, []Person{{UserID: heirID}}, h.Event(), "handover/"+database.NewID())
}
