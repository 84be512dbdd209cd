package auth

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"writ/internal/database"
)

const sessionColumns = `s.id, s.user_id, s.org_id, s.address, s.user_agent, s.created_at, s.last_used_at, s.expires_at, s.revoked_at`

func scanSession(row database.Scanner, more ...any) (Session, error) {
	var s Session
	var created, used, expires int64
	var revoked sql.NullInt64
	columns := []any{&s.ID, &s.UserID, &s.OrgID, &s.Address, &s.UserAgent, &created, &used, &expires, &revoked}
	if err := row.Scan(append(columns, more...)...); err != nil {
		return Session{}, absent(err)
	}
	s.CreatedAt, s.LastUsedAt, s.ExpiresAt = database.Time(created), database.Time(used), database.Time(expires)
	s.RevokedAt = database.OptionalTime(revoked)
	return s, nil
}

// findSession gives the zero Session when there is none.
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
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	return sessions, nil
}

func insertSession(ctx context.Context, tx *database.Tx, s Session) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO user_session (id, user_id, org_id, address, user_agent, created_at, last_used_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		s.ID, s.UserID, s.OrgID, s.Address, s.UserAgent, database.Micros(s.CreatedAt), database.Micros(s.LastUsedAt),
		database.Micros(s.ExpiresAt))
	return err
}

func touchSession(ctx context.Context, tx *database.Tx, id string) error {
	_, err := tx.Exec(ctx, `UPDATE user_session SET last_used_at = $2 WHERE id = $1`, id, database.Micros(tx.Now()))
	return err
}

// revokeSession ends one live session of a person. The id comes from a path: it
// may hold what PostgreSQL takes for no text at all.
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

// turnOut ends whatever another password let in: sessions but one, and the keys of
// terminals, which package apikey compares with the instant that is written here.
func turnOut(ctx context.Context, tx *database.Tx, userID, except string) error {
	_, err := tx.Exec(ctx, `UPDATE user_account SET terminals_since = $2 WHERE id = $1`, userID,
		database.Micros(tx.Now()))
	if err != nil {
		return err
	}
	return revokeSessions(ctx, tx, userID, except)
}

// revokeSessions ends every session of a person but one, and what was to become
// one: a yes to a terminal that has not come for it yet, and a code that no page
// has exchanged.
func revokeSessions(ctx context.Context, tx *database.Tx, userID, except string) error {
	if err := denyDevices(ctx, tx, userID); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `DELETE FROM sign_in_code WHERE user_id = $1`, userID); err != nil {
		return err
	}
	_, err := tx.Exec(ctx,
		`UPDATE user_session SET revoked_at = $3 WHERE user_id = $1 AND id <> $2 AND revoked_at IS NULL`,
		userID, except, database.Micros(tx.Now()))
	return err
}

func insertRefresh(ctx context.Context, tx *database.Tx, sessionID string, hash []byte) error {
	_, err := tx.Exec(ctx, `INSERT INTO refresh_token (hash, session_id, created_at) VALUES ($1, $2, $3)`,
		hash, sessionID, database.Micros(tx.Now()))
	return err
}

// findByRefresh gives the session of a refresh token and whether the token was
// used; the zero Session when there is no such token.
func findByRefresh(ctx context.Context, r database.Reader, hash []byte) (Session, bool, error) {
	var used sql.NullInt64
	session, err := scanSession(r.QueryRow(ctx, `
		SELECT `+sessionColumns+`, t.used_at
		FROM refresh_token t
		JOIN user_session s ON s.id = t.session_id
		WHERE t.hash = $1`, hash), &used)
	return session, used.Valid, err
}

// useRefresh marks a token used, and tells whether it was unused until now.
func useRefresh(ctx context.Context, tx *database.Tx, hash []byte) (bool, error) {
	n, err := tx.Exec(ctx, `UPDATE refresh_token SET used_at = $2 WHERE hash = $1 AND used_at IS NULL`, hash,
		database.Micros(tx.Now()))
	return n == 1, err
}

// deleteEnded removes a slice of sessions (their tokens go with them) and codes
// that ended before an instant, and of tokens used long ago, and tells how many
// rows.
func deleteEnded(ctx context.Context, tx *database.Tx, before time.Time) (int64, error) {
	sessions, err := tx.Exec(ctx, `
		DELETE FROM user_session
		WHERE id IN (SELECT id FROM user_session WHERE expires_at < $1 OR revoked_at < $1 LIMIT 200)`,
		database.Micros(before))
	if err != nil {
		return 0, err
	}
	tokens, err := tx.Exec(ctx, `
		DELETE FROM refresh_token
		WHERE hash IN (SELECT hash FROM refresh_token WHERE used_at < $1 LIMIT 500)`,
		database.Micros(tx.Now().Add(-reuseMemory)))
	if err != nil {
		return 0, err
	}
	codes, err := tx.Exec(ctx, `
		DELETE FROM mail_code
		WHERE id IN (SELECT id FROM mail_code WHERE expires_at < $1 LIMIT 200)`, database.Micros(before))
	if err != nil {
		return 0, err
	}
	signIns, err := tx.Exec(ctx, `
		DELETE FROM sign_in_code
		WHERE hash IN (SELECT hash FROM sign_in_code WHERE expires_at < $1 LIMIT 200)`, database.Micros(before))
	if err != nil {
		return 0, err
	}
	devices, err := deleteDevices(ctx, tx, tx.Now().Add(-deviceMemory))
	return sessions + tokens + codes + signIns + devices, err
}

// EndSessions ends every session and mailed code, within a restore: some had
// ended since the backup.
func EndSessions(ctx context.Context, tx *database.Tx) (int64, error) {
	now := database.Micros(tx.Now())
	sessions, err := tx.Exec(ctx, `UPDATE user_session SET revoked_at = $1 WHERE revoked_at IS NULL`, now)
	if err != nil {
		return 0, fmt.Errorf("end sessions: %w", err)
	}
	if _, err := tx.Exec(ctx, `UPDATE mail_code SET used_at = $1 WHERE used_at IS NULL`, now); err != nil {
		return 0, fmt.Errorf("end mailed codes: %w", err)
	}
	if _, err := tx.Exec(ctx, `DELETE FROM sign_in_code`); err != nil {
		return 0, fmt.Errorf("end sign-in codes: %w", err)
	}
	if _, err := tx.Exec(ctx, `DELETE FROM device_login`); err != nil {
		return 0, fmt.Errorf("end sign-ins of terminals: %w", err)
	}
	return sessions, nil
}
