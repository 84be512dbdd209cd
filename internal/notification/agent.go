package notification

import (
	"context"
	"slices"

	"writ/internal/database"
	"writ/internal/notification/notice"
	"writ/internal/principal"
)

// NotifyAgent notifies the people who manage agents of what happened to one, but not the person who did it, within the
// change that it tells of.
func (s *Service) NotifyAgent(ctx context.Context, tx *database.Tx, people []Person, a notice.Agent) error {
	to := allowed(people, principal.ManageAgents)
	to = slices.DeleteFunc(to, func(p Person) bool { return p.UserID == a.ActorID })
	return s.notify(ctx, tx, to, a.Event(), "agent/"+database.NewID())
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
