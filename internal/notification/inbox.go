package notification

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/page"
	"writ/internal/principal"
)

// inboxList names the list of notifications in its cursors.
const inboxList = "notifications"

// maxCounted is where counting the unread ends: nobody reads on.
const maxCounted = 1000

// reader refuses who has no inbox: only people do, in an organization of theirs.
func reader(p principal.Principal) error {
	if p.Kind != principal.User || p.OrgID == "" {
		return fault.New(fault.Forbidden, "only members of an organization are notified")
	}
	return p.Require(principal.ReadOrganization)
}

// List gives the caller's notifications, the newest first.
func (s *Service) List(
	ctx context.Context, p principal.Principal, unread bool, cursor string, limit int,
) (page.Page[Notification], error) {
	var none page.Page[Notification]
	if err := reader(p); err != nil {
		return none, err
	}
	scope := fmt.Sprintf("%s/%s/%t", p.OrgID, p.UserID, unread)
	after, err := page.Decode(cursor, inboxList, scope)
	if err != nil {
		return none, err
	}
	if limit < 1 {
		limit = page.DefaultLimit
	}
	limit = min(limit, page.MaxLimit)
	only := ""
	if unread {
		only = ` AND read_at IS NULL`
	}
	rows, err := database.Collect(ctx, s.db, scanNotification, `
		SELECT id, kind, subject_id, title, risk, created_at, read_at
		FROM notification
		WHERE org_id = $1 AND user_id = $2 AND ($3 = '' OR created_at < $4 OR (created_at = $4 AND id < $3))`+only+`
		ORDER BY created_at DESC, id DESC
		LIMIT $5`, p.OrgID, p.UserID, after.ID, after.Micros, limit+1)
	if err != nil {
		return none, fmt.Errorf("list notifications: %w", err)
	}
	return page.Of(rows, limit, func(n Notification) page.Cursor {
		return page.Cursor{List: inboxList, Scope: scope, Micros: database.Micros(n.CreatedAt), ID: n.ID}
	}), nil
}

func scanNotification(s database.Scanner) (n Notification, err error) {
	var created int64
	var read sql.NullInt64
	err = s.Scan(&n.ID, &n.Kind, &n.SubjectID, &n.Title, &n.Risk, &created, &read)
	n.CreatedAt, n.ReadAt = database.Time(created), database.OptionalTime(read)
	return n, err
}

// Unread is how many notifications the caller has not read, up to a thousand.
func (s *Service) Unread(ctx context.Context, p principal.Principal) (n int, err error) {
	if err := reader(p); err != nil {
		return 0, err
	}
	err = s.db.QueryRow(ctx, `
		SELECT COUNT(*)
		FROM (SELECT id FROM notification WHERE org_id = $1 AND user_id = $2 AND read_at IS NULL LIMIT $3) AS unread`,
		p.OrgID, p.UserID, maxCounted).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count unread notifications: %w", err)
	}
	return n, nil
}

// MarkRead says that the caller has read a notification. Saying it again changes
// nothing.
func (s *Service) MarkRead(ctx context.Context, p principal.Principal, id string) error {
	if err := reader(p); err != nil {
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

// MarkAllRead says that the caller has read everything there is now, and how many
// were unread.
func (s *Service) MarkAllRead(ctx context.Context, p principal.Principal) (marked int, err error) {
	if err := reader(p); err != nil {
		return 0, err
	}
	until := s.db.Now()
	for {
		changed, err := s.inSlices(ctx, `
			UPDATE notification
			SET read_at = $3
			WHERE id IN (
				SELECT id FROM notification
				WHERE org_id = $1 AND user_id = $2 AND read_at IS NULL AND created_at <= $3
				ORDER BY created_at, id
				LIMIT $4)`, p.OrgID, p.UserID, database.Micros(until), rowsAtOnce)
		if err != nil {
			return 0, fmt.Errorf("mark all notifications as read: %w", err)
		}
		if marked += int(changed); changed < rowsAtOnce {
			return marked, nil
		}
	}
}

// inSlices runs one statement in a change of its own.
func (s *Service) inSlices(ctx context.Context, query string, args ...any) (changed int64, err error) {
	err = s.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		changed, err = tx.Exec(ctx, query, args...)
		return err
	}})
	return changed, err
}

// Prune forgets notifications that are too old to matter.
func (s *Service) Prune(ctx context.Context) error {
	for {
		removed, err := s.inSlices(ctx, `
			DELETE FROM notification
			WHERE id IN (SELECT id FROM notification WHERE created_at < $1 ORDER BY created_at LIMIT $2)`,
			database.Micros(s.db.Now().Add(-kept)), rowsAtOnce)
		if err != nil {
			return fmt.Errorf("forget old notifications: %w", err)
		}
		if removed < rowsAtOnce {
			return nil
		}
	}
}

// Preferences are how the caller wants to be told.
func (s *Service) Preferences(ctx context.Context, p principal.Principal) (Preferences, error) {
	if err := reader(p); err != nil {
		return Preferences{}, err
	}
	var off int
	err := s.db.QueryRow(ctx, `SELECT mail_off FROM notification_reader WHERE org_id = $1 AND user_id = $2`, p.OrgID,
		p.UserID).Scan(&off)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return Preferences{}, fmt.Errorf("read how a person wants to be told: %w", err)
	}
	return Preferences{Mail: off == 0}, nil
}

// SetPreferences changes how the caller wants to be told. Who wants no mail gets
// none that waits either.
func (s *Service) SetPreferences(ctx context.Context, p principal.Principal, wants Preferences) error {
	if err := reader(p); err != nil {
		return err
	}
	return s.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		off := 1
		if wants.Mail {
			off = 0
		}
		_, err := tx.Exec(ctx, `
			INSERT INTO notification_reader (org_id, user_id, mail_off, mailed_at)
			VALUES ($1, $2, $3, 0)
			ON CONFLICT (org_id, user_id) DO UPDATE SET mail_off = $3`, p.OrgID, p.UserID, off)
		if err == nil && !wants.Mail {
			_, err = tx.Exec(ctx, `DELETE FROM notification_mail WHERE org_id = $1 AND user_id = $2`, p.OrgID, p.UserID)
		}
		if err != nil {
			return fmt.Errorf("store how a person wants to be told: %w", err)
		}
		return nil
	}})
}
