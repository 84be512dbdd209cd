package auth

import (
	"context"
	"fmt"
	"time"

	"writ/internal/database"
)

const sessionColumns = `s.id, s.user_id, s.org_id, s.address, s.user_agent, s.created_at, s.last_used_at, s.expires_at,
	s.revoked_at, s.proved_at,
	(SELECT COUNT(*) FROM second_factor f WHERE f.user_id = s.user_id AND f.confirmed_at IS NOT NULL)`

// scanSession reads sessionColumns, and more after them. It gives the zero Session
// when there is none.
func scanSession(row database.Scanner, more ...any) (s Session, err error) {
	err = row.Scan(append([]any{
		&s.ID, &s.UserID, &s.OrgID, &s.Address, &s.UserAgent, database.ToTime(&s.CreatedAt),
		database.ToTime(&s.LastUsedAt), database.ToTime(&s.ExpiresAt), database.ToOptionalTime(&s.RevokedAt),
		database.ToOptionalTime(&s.ProvedAt), database.ToBool(&s.enrolled),
	}, more...)...)
	return s, database.OrMissing(err, nil, "load a session")
}

func findSession(ctx context.Context, r database.Reader, id string) (Session, error) {
	return scanSession(r.QueryRow(ctx, `SELECT `+sessionColumns+` FROM user_session s WHERE s.id = $1`, id))
}

func listSessions(ctx context.Context, r database.Reader, userID, limitedTo string, now time.Time) ([]Session, error) {
	sessions, err := database.Collect(ctx, r, func(row database.Scanner) (Session, error) { return scanSession(row) }, `
		SELECT `+sessionColumns+`
		FROM user_session s
		WHERE s.user_id = $1 AND s.revoked_at IS NULL AND s.expires_at > $2 AND ($3 = '' OR s.org_id = $3)
		ORDER BY s.created_at DESC, s.id DESC
		LIMIT 200`, userID, database.Micros(now), limitedTo)
	return sessions, database.Wrap(err, "list sessions")
}

func insertSession(ctx context.Context, tx *database.Tx, s Session) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO user_session (id, user_id, org_id, address, user_agent, created_at, last_used_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		s.ID, s.UserID, s.OrgID, s.Address, s.UserAgent, database.Micros(s.CreatedAt), database.Micros(s.LastUsedAt),
		database.Micros(s.ExpiresAt))
	return database.Wrap(err, "store a session")
}

func touchSession(ctx context.Context, tx *database.Tx, id string) error {
	_, err := tx.Exec(ctx, `UPDATE user_session SET last_used_at = $2 WHERE id = $1`, id, database.Micros(tx.Now()))
	return err
}

// revokeSession ends one live session of a person. The id comes from a path, and may
// hold what PostgreSQL does not accept as text.
func revokeSession(ctx context.Context, tx *database.Tx, userID, id, limitedTo string) (bool, error) {
	if !database.IsID(id) {
		return false, nil
	}
	n, err := tx.Exec(ctx, `
		UPDATE user_session
		SET revoked_at = $3
		WHERE user_id = $1 AND id = $2 AND revoked_at IS NULL AND ($4 = '' OR org_id = $4)`,
		userID, id, database.Micros(tx.Now()), limitedTo)
	return n == 1, err
}

// EndOtherSessions ends every session of a person but one, within a change, and the keys of all their terminals, which
// package apikey compares with the instant written here. It also ends what could still become a session: approvals of
// terminals that were not collected, sign-in codes that no page has exchanged, and challenges. The caller has apikey
// forget what it knows.
func EndOtherSessions(ctx context.Context, tx *database.Tx, userID, except string) error {
	_, err := tx.Exec(ctx, `UPDATE user_account SET terminals_since = $2 WHERE id = $1`, userID,
		database.Micros(tx.Now()))
	if err == nil {
		_, err = tx.Exec(ctx, `UPDATE device_login SET status = 'denied' WHERE user_id = $1 AND status = 'approved'`,
			userID)
	}
	for _, table := range []string{"sign_in_code", "login_challenge"} {
		if err == nil {
			_, err = tx.Exec(ctx, `DELETE FROM `+table+` WHERE user_id = $1`, userID)
		}
	}
	if err == nil {
		_, err = tx.Exec(ctx,
			`UPDATE user_session SET revoked_at = $3 WHERE user_id = $1 AND id <> $2 AND revoked_at IS NULL`,
			userID, except, database.Micros(tx.Now()))
	}
	return database.Wrap(err, "end the other sessions of %s", userID)
}

// EndLimited ends the sessions that are limited to one organization, of everyone or
// of one person, because their identity provider no longer vouches for them. It also
// ends what could still become such a session.
func EndLimited(ctx context.Context, tx *database.Tx, orgID, userID string) error {
	if orgID == "" {
		return nil // sessions without an organization are not limited
	}
	_, err := tx.Exec(ctx, `
		UPDATE user_session
		SET revoked_at = $3
		WHERE org_id = $1 AND ($2 = '' OR user_id = $2) AND revoked_at IS NULL`, orgID, userID,
		database.Micros(tx.Now()))
	if err == nil {
		_, err = tx.Exec(ctx, `DELETE FROM sign_in_code WHERE org_id = $1 AND ($2 = '' OR user_id = $2)`, orgID, userID)
	}
	if err == nil {
		_, err = tx.Exec(ctx, `
			UPDATE device_login
			SET status = 'denied'
			WHERE org_id = $1 AND ($2 = '' OR user_id = $2) AND limited = 1 AND status = 'approved'`, orgID, userID)
	}
	return database.Wrap(err, "end the limited sessions of %s", orgID)
}

func insertRefresh(ctx context.Context, tx *database.Tx, sessionID string, hash []byte) error {
	_, err := tx.Exec(ctx, `INSERT INTO refresh_token (hash, session_id, created_at) VALUES ($1, $2, $3)`,
		hash, sessionID, database.Micros(tx.Now()))
	return database.Wrap(err, "store a refresh token")
}

// findByRefresh gives the session of a refresh token and when the token was used;
// the zero Session when there is no such token.
func findByRefresh(ctx context.Context, r database.Reader, hash []byte) (Session, *time.Time, error) {
	var used *time.Time
	session, err := scanSession(r.QueryRow(ctx, `
		SELECT `+sessionColumns+`, t.used_at
		FROM refresh_token t
		JOIN user_session s ON s.id = t.session_id
		WHERE t.hash = $1`, hash), database.ToOptionalTime(&used))
	return session, used, err
}

// useRefresh marks a token as used, and reports whether it was unused until now.
func useRefresh(ctx context.Context, tx *database.Tx, hash []byte) (bool, error) {
	n, err := tx.Exec(ctx, `UPDATE refresh_token SET used_at = $2 WHERE hash = $1 AND used_at IS NULL`, hash,
		database.Micros(tx.Now()))
	return n == 1, err
}

// sweepSlice is how many rows one change of Sweep removes.
const sweepSlice = 200

// Sweep removes sessions and codes that ended long ago. The tokens of a session go
// with it.
func (s *Service) Sweep(ctx context.Context) error {
	for _, old := range []struct {
		table, key, ended string
		keep              time.Duration
	}{
		{"user_session", "id", "expires_at < $1 OR revoked_at < $1", SessionLife},
		{"refresh_token", "hash", "used_at < $1", reuseMemory},
		{"mail_code", "id", "expires_at < $1", SessionLife},
		{"sign_in_code", "hash", "expires_at < $1", SessionLife},
		{"login_challenge", "hash", "expires_at < $1", challengeLife},
		{"email_change", "id", "expires_at < $1", SessionLife},
		{"device_login", "id", "expires_at < $1", deviceMemory},
	} {
		_, err := s.db.ExecInSlices(ctx, sweepSlice, fmt.Sprintf(
			`DELETE FROM %[1]s WHERE %[2]s IN (SELECT %[2]s FROM %[1]s WHERE %[3]s LIMIT $2)`,
			old.table, old.key, old.ended), database.Micros(s.db.Now().Add(-old.keep)), sweepSlice)
		if err != nil {
			return fmt.Errorf("sweep %s: %w", old.table, err)
		}
	}
	return nil
}

// EndSessions ends every session and code, within a restore: some had ended since
// the backup was made.
func EndSessions(ctx context.Context, tx *database.Tx) (sessions int64, err error) {
	now := database.Micros(tx.Now())
	sessions, err = tx.Exec(ctx, `UPDATE user_session SET revoked_at = $1 WHERE revoked_at IS NULL`, now)
	if err == nil {
		_, err = tx.Exec(ctx, `UPDATE mail_code SET used_at = $1 WHERE used_at IS NULL`, now)
	}
	for _, table := range []string{"sign_in_code", "device_login", "login_challenge", "email_change"} {
		if err == nil {
			_, err = tx.Exec(ctx, `DELETE FROM `+table)
		}
	}
	return sessions, database.Wrap(err, "end all sessions and codes")
}
