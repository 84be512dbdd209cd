package auth

import (
	"context"
	"database/sql"
	"time"

	"writ/internal/database"
)

const selectDevice = `
	SELECT id, device_hash, status, wants_session, product, address, user_agent, created_at, expires_at, polled_at,
		user_id, org_id, session_allowed, limited
	FROM device_login
	`

// scanDevice gives the zero DeviceLogin when there is none.
func scanDevice(row database.Scanner) (DeviceLogin, error) {
	var d DeviceLogin
	var wants, allowed, limited, created, expires int64
	var polled sql.NullInt64
	var user, org sql.NullString
	err := row.Scan(&d.ID, &d.hash, &d.status, &wants, &d.Product, &d.From.Address, &d.From.UserAgent, &created,
		&expires, &polled,
		&user, &org, &allowed, &limited)
	if err != nil {
		return DeviceLogin{}, absent(err)
	}
	d.WantsSession, d.SessionAllowed, d.Limited = wants == 1, allowed == 1, limited == 1
	d.CreatedAt, d.ExpiresAt, d.polledAt = database.Time(created), database.Time(expires), database.OptionalTime(polled)
	d.UserID, d.OrgID = user.String, org.String
	return d, nil
}

func findDeviceByHash(ctx context.Context, r database.Reader, hash []byte) (DeviceLogin, error) {
	return scanDevice(r.QueryRow(ctx, selectDevice+`WHERE device_hash = $1`, hash))
}

func findDeviceByUserCode(ctx context.Context, r database.Reader, hash []byte) (DeviceLogin, error) {
	return scanDevice(r.QueryRow(ctx, selectDevice+`WHERE user_hash = $1`, hash))
}

func insertDevice(ctx context.Context, tx *database.Tx, d DeviceLogin, userHash []byte) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO device_login (id, device_hash, user_hash, status, wants_session, product, address, user_agent,
			created_at, expires_at, session_allowed, limited)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0, 0)`,
		d.ID, d.hash, userHash, d.status, bit(d.WantsSession), d.Product, d.From.Address, d.From.UserAgent,
		database.Micros(d.CreatedAt), database.Micros(d.ExpiresAt))
	return err
}

// setAnswer stores what a person said, if nobody has yet.
func setAnswer(ctx context.Context, tx *database.Tx, d DeviceLogin) (bool, error) {
	n, err := tx.Exec(ctx, `
		UPDATE device_login
		SET status = $2, user_id = $3, org_id = $4, session_allowed = $5, limited = $6
		WHERE id = $1 AND status = 'pending'`,
		d.ID, d.status, d.UserID, sql.NullString{String: d.OrgID, Valid: d.OrgID != ""}, bit(d.SessionAllowed),
		bit(d.Limited))
	return n == 1, err
}

// useDevice marks an approved code used, and tells whether it was approved and
// unused until now.
func useDevice(ctx context.Context, tx *database.Tx, id string) (bool, error) {
	n, err := tx.Exec(ctx,
		`UPDATE device_login SET status = 'used' WHERE id = $1 AND status = 'approved' AND expires_at > $2`,
		id, database.Micros(tx.Now()))
	return n == 1, err
}

func touchDevice(ctx context.Context, tx *database.Tx, id string) error {
	_, err := tx.Exec(ctx, `UPDATE device_login SET polled_at = $2 WHERE id = $1`, id, database.Micros(tx.Now()))
	return err
}

// denyDevices takes back every yes of a person that no terminal has collected yet.
func denyDevices(ctx context.Context, tx *database.Tx, userID string) error {
	_, err := tx.Exec(ctx, `UPDATE device_login SET status = 'denied' WHERE user_id = $1 AND status = 'approved'`,
		userID)
	return err
}

// denyLimitedDevices takes back every such yes of somebody whom only the
// organization's provider vouched for.
func denyLimitedDevices(ctx context.Context, tx *database.Tx, orgID, userID string) error {
	_, err := tx.Exec(ctx, `
		UPDATE device_login
		SET status = 'denied'
		WHERE org_id = $1 AND ($2 = '' OR user_id = $2) AND limited = 1 AND status = 'approved'`, orgID, userID)
	return err
}

// deleteDevices removes a slice of the requests that expired before an instant.
func deleteDevices(ctx context.Context, tx *database.Tx, before time.Time) (int64, error) {
	return tx.Exec(ctx, `
		DELETE FROM device_login
		WHERE id IN (SELECT id FROM device_login WHERE expires_at < $1 LIMIT 500)`, database.Micros(before))
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
