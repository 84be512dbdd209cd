package notification

import (
	"context"
	"fmt"
	"time"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/page"
	"writ/internal/principal"
)

// maxCounted is where counting the unread ones stops.
const maxCounted = 1000

// requireReader refuses callers without an inbox: only members of an organization
// have one.
func requireReader(p principal.Principal) error {
	if p.Kind != principal.User || p.OrgID == "" {
		return fault.New(fault.Forbidden, "only members of an organization are notified")
	}
	return p.Require(principal.ReadOrganization)
}

// List gives the caller's notifications, newest first.
func (s *Service) List(
	ctx context.Context, p principal.Principal, unread bool, cursor string, limit int,
) (page.Page[Notification], error) {
	if err := requireReader(p); err != nil {
		return page.Page[Notification]{}, err
	}
	scope := fmt.Sprintf("%s/%s/%t", p.OrgID, p.UserID, unread)
	only := ""
	if unread {
		only = ` AND read_at IS NULL`
	}
	q := page.Query{List: "notifications", Scope: scope, Cursor: cursor, Limit: limit}
	return page.Read(q, func(after page.Cursor, limit int) ([]Notification, error) {
		rows, err := database.Collect(ctx, s.db, scanNotification, `
			SELECT id, kind, subject_id, title, risk, created_at, read_at
			FROM notification
			WHERE org_id = $1 AND user_id = $2 AND ($3 = '' OR created_at < $4 OR (created_at = $4 AND id < $3))`+only+`
			ORDER BY created_at DESC, id DESC
			LIMIT $5`, p.OrgID, p.UserID, after.ID, after.Micros, limit)
		return rows, database.Wrap(err, "list notifications")
	}, func(n Notification) (time.Time, string) { return n.CreatedAt, n.ID })
}

func scanNotification(s database.Scanner) (n Notification, err error) {
	err = s.Scan(&n.ID, &n.Kind, &n.SubjectID, &n.Title, &n.Risk, database.ToTime(&n.CreatedAt),
		database.ToOptionalTime(&n.ReadAt))
	return n, err
}

// Unread counts the notifications that the caller has not read, up to a thousand.
func (s *Service) Unread(ctx context.Context, p principal.Principal) (n int, err error) {
	if err := requireReader(p); err != nil {
		return 0, err
	}
	err = s.db.QueryRow(ctx, `
		SELECT COUNT(*)
		FROM (SELECT id FROM notification WHERE org_id = $1 AND user_id = $2 AND read_at IS NULL LIMIT $3) AS unread`,
		p.OrgID, p.UserID, maxCounted).Scan(&n)
	return n, database.Wrap(err, "count unread notifications")
}

// MarkRead marks a notification of the caller as read. Marking it again changes
// nothing.
func (s *Service) MarkRead(ctx context.Context, p principal.Principal, id string) error {
	if err := requireReader(p); err != nil {
		return err
	}
	if !database.IsID(id) {
		return noSuchNotification()
	}
	return s.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		changed, err := tx.Exec(ctx, `
			UPDATE notification
			SET read_at = COALESCE(read_at, $4)
			WHERE org_id = $1 AND user_id = $2 AND id = $3`, p.OrgID, p.UserID, id, database.Micros(tx.Now()))
		if err != nil {
			return fmt.Errorf("mark notification %s as read: %w", id, err)
		}
		if changed == 0 {
			return noSuchNotification()
		}
		return nil
	}})
}

// rowsAtOnce is how many rows one change marks or removes.
const rowsAtOnce = 500

// MarkAllRead marks everything in the caller's inbox as read, and counts what was
// unread.
func (s *Service) MarkAllRead(ctx context.Context, p principal.Principal) (marked int, err error) {
	if err := requireReader(p); err != nil {
		return 0, err
	}
	changed, err := s.db.ExecInSlices(ctx, rowsAtOnce, `
		UPDATE notification
		SET read_at = $3
		WHERE id IN (
			SELECT id FROM notification
			WHERE org_id = $1 AND user_id = $2 AND read_at IS NULL AND created_at <= $3
			ORDER BY created_at, id
			LIMIT $4)`, p.OrgID, p.UserID, database.Micros(s.db.Now()), rowsAtOnce)
	return int(changed), database.Wrap(err, "mark all notifications as read")
}

// Prune removes old notifications.
func (s *Service) Prune(ctx context.Context) error {
	_, err := s.db.ExecInSlices(ctx, rowsAtOnce, `
		DELETE FROM notification
		WHERE id IN (SELECT id FROM notification WHERE created_at < $1 ORDER BY created_at LIMIT $2)`,
		database.Micros(s.db.Now().Add(-retention)), rowsAtOnce)
	return database.Wrap(err, "remove old notifications")
}

// Preferences are how the caller wants to be notified.
func (s *Service) Preferences(ctx context.Context, p principal.Principal) (Preferences, error) {
	if err := requireReader(p); err != nil {
		return Preferences{}, err
	}
	var off bool
	err := s.db.QueryRow(ctx, `SELECT mail_off FROM notification_reader WHERE org_id = $1 AND user_id = $2`, p.OrgID,
		p.UserID).Scan(database.ToBool(&off))
	return Preferences{Mail: !off}, database.OrMissing(err, nil, "read a person's preferences")
}

// SetPreferences changes how the caller wants to be notified. Turning mail off also
// removes mail that was queued.
func (s *Service) SetPreferences(ctx context.Context, p principal.Principal, wants Preferences) error {
	if err := requireReader(p); err != nil {
		return err
	}
	return s.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.Exec(ctx, `
			INSERT INTO notification_reader (org_id, user_id, mail_off, mailed_at)
			VALUES ($1, $2, $3, 0)
			ON CONFLICT (org_id, user_id) DO UPDATE SET mail_off = $3`, p.OrgID, p.UserID, database.Bit(!wants.Mail))
		if err == nil && !wants.Mail {
			_, err = tx.Exec(ctx, `DELETE FROM notification_mail WHERE org_id = $1 AND user_id = $2`, p.OrgID, p.UserID)
		}
		return database.Wrap(err, "store a person's preferences")
	}})
}
