package notification

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/notification/notice"
	"writ/internal/notification/webhook"
	"writ/internal/principal"
)

const (
	slice   = 25  // events that one change processes
	maxRows = 500 // notifications after which a change takes no further event
)

// ProcessEvents makes the notifications of all events that were not processed yet.
func (s *Service) ProcessEvents(ctx context.Context) error {
	heads, err := audit.ReadHeads(ctx, s.db)
	if err != nil {
		return err
	}
	for _, head := range heads {
		// Every event comes with an entry in the log of its organization.
		if head.Log == audit.System || s.seen[head.Log] == head.Size {
			continue
		}
		done, err := s.processOrg(ctx, head.Log)
		if err != nil {
			return fmt.Errorf("process the events of %s: %w", head.Log, err)
		}
		if done {
			s.seen[head.Log] = head.Size
		}
	}
	return s.notifyDisabled(ctx)
}

// processOrg processes the events of one organization to their end. It is not done if
// another replica is processing them.
func (s *Service) processOrg(ctx context.Context, orgID string) (done bool, err error) {
	for {
		at, err := s.cursor(ctx, orgID)
		if err != nil {
			return false, err
		}
		events, err := s.Sources.Events(ctx, orgID, at, slice)
		if err != nil || len(events) == 0 {
			return err == nil, err
		}
		people, err := s.Sources.People(ctx, orgID)
		if err != nil {
			return false, err
		}
		moved, err := s.process(ctx, orgID, at, limitRows(events, people), people)
		if err != nil || !moved {
			return false, err
		}
	}
}

// limitRows leaves out the last events if all together would write too many rows for
// one change.
func limitRows(events []notice.Event, people []Person) []notice.Event {
	rows := 0
	for i, e := range events {
		if rows += len(recipients(e, people)); rows > maxRows && i > 0 {
			return events[:i]
		}
	}
	return events
}

func (s *Service) cursor(ctx context.Context, orgID string) (at int64, err error) {
	err = s.db.QueryRow(ctx, `SELECT event FROM notification_cursor WHERE org_id = $1`, orgID).Scan(&at)
	return at, database.OrMissing(err, nil, "read the last event of %s", orgID)
}

// process writes the notifications, mails and deliveries of some events, and moves
// the cursor with them. It reports whether this replica was the first.
func (s *Service) process(
	ctx context.Context, orgID string, from int64, events []notice.Event, people []Person,
) (moved bool, err error) {
	to := events[len(events)-1].Number
	err = s.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		if moved, err = moveCursor(ctx, tx, orgID, from, to); err != nil || !moved {
			return err
		}
		off, err := mailOff(ctx, tx, orgID)
		if err != nil {
			return err
		}
		for _, e := range events {
			to := recipients(e, people)
			if err := insertNotifications(ctx, tx, to, eventRow(orgID, e)); err != nil {
				return err
			}
			if e.Kind == notice.Opened && s.Mail != nil {
				if err := queueMails(ctx, tx, e, to, off); err != nil {
					return err
				}
			}
			if e.Kind.Settles() {
				if err := settle(ctx, tx, orgID, notice.Opened, e.Request.ID); err != nil {
					return err
				}
			}
		}
		return s.Webhooks.Enqueue(ctx, tx, orgID, events)
	}})
	return moved, err
}

func moveCursor(ctx context.Context, tx *database.Tx, orgID string, from, to int64) (bool, error) {
	changed, err := tx.Exec(ctx, `
		INSERT INTO notification_cursor (org_id, event)
		VALUES ($1, $3)
		ON CONFLICT (org_id) DO UPDATE
		SET event = excluded.event
		WHERE notification_cursor.event = $2`, orgID, from, to)
	return changed == 1, database.Wrap(err, "store the last event of %s", orgID)
}

// row is a notification for several people.
type row struct {
	orgID, cause, subject, title, risk string
	kind                               notice.Kind
	at                                 time.Time
}

func eventRow(orgID string, e notice.Event) row {
	return row{
		orgID:   orgID,
		cause:   "event/" + strconv.FormatInt(e.Number, 10),
		kind:    e.Kind,
		subject: e.Request.ID,
		title:   e.Title(),
		risk:    e.Request.Risk,
		at:      e.At,
	}
}

func insertNotifications(ctx context.Context, tx *database.Tx, people []Person, r row) error {
	rows := make([][]any, 0, len(people))
	for _, p := range people {
		rows = append(rows, []any{
			database.NewID(), r.orgID, p.UserID, r.cause, string(r.kind), r.subject, r.title, r.risk,
			database.Micros(r.at),
		})
	}
	err := tx.Insert(ctx,
		`INSERT INTO notification (id, org_id, user_id, cause, kind, subject_id, title, risk, created_at)`, rows,
		`ON CONFLICT (org_id, user_id, cause) DO NOTHING`)
	return database.Wrap(err, "store notifications of %s", r.kind)
}

// settle marks the notifications that asked for an answer as read, and removes queued
// mail: there is an answer.
func settle(ctx context.Context, tx *database.Tx, orgID string, asked notice.Kind, subjectID string) error {
	_, err := tx.Exec(ctx, `
		UPDATE notification
		SET read_at = $4
		WHERE org_id = $1 AND subject_id = $2 AND kind = $3 AND read_at IS NULL`,
		orgID, subjectID, string(asked), database.Micros(tx.Now()))
	if err == nil {
		_, err = tx.Exec(ctx, `DELETE FROM notification_mail WHERE org_id = $1 AND request_id = $2`, orgID, subjectID)
	}
	return database.Wrap(err, "settle the notifications about %s", subjectID)
}

// notifyDisabled notifies the people who manage webhooks that one was disabled.
func (s *Service) notifyDisabled(ctx context.Context) error {
	hooks, err := s.Webhooks.UnreportedDisabled(ctx, s.db)
	if err != nil {
		return err
	}
	for _, w := range hooks {
		people, err := s.Sources.People(ctx, w.OrgID)
		if err != nil {
			return err
		}
		to := allowed(people, principal.ManageWebhooks)
		err = s.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
			first, err := s.Webhooks.MarkReported(ctx, tx, w.OrgID, w.ID)
			if err != nil || !first || w.DisabledAt == nil {
				return err
			}
			return insertNotifications(ctx, tx, to, row{
				orgID:   w.OrgID,
				cause:   fmt.Sprintf("webhook/%s/%d", w.ID, database.Micros(*w.DisabledAt)),
				kind:    webhook.DisabledKind,
				subject: w.ID,
				title:   fmt.Sprintf("The webhook %q was disabled: %s", w.Name, w.Disabled),
				at:      tx.Now(),
			})
		}})
		if err != nil {
			return err
		}
	}
	return nil
}
