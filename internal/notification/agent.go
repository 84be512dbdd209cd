package notification

import (
	"context"

	"writ/internal/database"
	"writ/internal/notification/notice"
	"writ/internal/principal"
)

// NotifyAgent notifies the people who manage agents of what happened to one, within the
// change that it tells of.
func (s *Service) NotifyAgent(ctx context.Context, tx *database.Tx, people []Person, a notice.Agent) error {
	return s.notify(ctx, tx, allowed(people, principal.ManageAgents), a.Event(), "agent/"+database.NewID())
}

// notify writes the notifications, mails and deliveries of an event without a number.
func (s *Service) notify(ctx context.Context, tx *database.Tx, to []Person, e notice.Event, cause string) error {
	if err := s.tell(ctx, tx, to, e, cause); err != nil {
		return err
	}
	return s.Webhooks.Enqueue(ctx, tx, e.OrgID, []notice.Event{e})
}

// tell writes its notifications and mails.
func (s *Service) tell(ctx context.Context, tx *database.Tx, to []Person, e notice.Event, cause string) error {
	err := insertNotifications(ctx, tx, to, row{
		orgID:   e.OrgID,
		cause:   cause,
		kind:    e.Kind,
		subject: e.Subject(),
		title:   e.Title(),
		at:      e.At,
	})
	if err != nil || s.Mail == nil {
		return err
	}
	off, err := mailOff(ctx, tx, e.OrgID)
	if err != nil {
		return err
	}
	return queueMails(ctx, tx, e, to, off)
}
