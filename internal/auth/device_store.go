package auth

import (
	"context"

	"writ/internal/database"
)

const selectDevice = `
	SELECT id, device_hash, status, wants_session, product, address, user_agent, created_at, expires_at, polled_at,
		user_id, org_id, session_allowed, limited, proved_at
	FROM device_login
	`

// scanDevice gives the zero DeviceLogin when there is none.
func scanDevice(row database.Scanner) (d DeviceLogin, err error) {
	err = row.Scan(&d.ID, &d.hash, &d.status, database.ToBool(&d.WantsSession), &d.Product, &d.From.Address,
		&d.From.UserAgent, database.ToTime(&d.CreatedAt), database.ToTime(&d.ExpiresAt),
		database.ToOptionalTime(&d.polledAt), database.ToText(&d.UserID), database.ToText(&d.OrgID),
		database.ToBool(&d.SessionAllowed), database.ToBool(&d.Limited), database.ToOptionalTime(&d.provedAt))
	return d, database.OrMissing(err, nil, "load the sign-in of a terminal")
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
		d.ID, d.hash, userHash, d.status, database.Bit(d.WantsSession), d.Product, d.From.Address, d.From.UserAgent,
		database.Micros(d.CreatedAt), database.Micros(d.ExpiresAt))
	return err
}

// setAnswer stores a person's answer, unless there is one already.
func setAnswer(ctx context.Context, tx *database.Tx, d DeviceLogin) (bool, error) {
	n, err := tx.Exec(ctx, `
		UPDATE device_login
		SET status = $2, user_id = $3, org_id = $4, session_allowed = $5, limited = $6, proved_at = $7
		WHERE id = $1 AND status = 'pending'`,
		d.ID, d.status, d.UserID, database.OptionalText(d.OrgID), database.Bit(d.SessionAllowed),
		database.Bit(d.Limited), database.OptionalMicros(d.provedAt))
	return n == 1, err
}

// useDevice marks an approved code as used. It reports whether the code was approved
// and unused until now.
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
