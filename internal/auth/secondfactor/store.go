package secondfactor

import (
	"context"
	"time"

	"writ/internal/database"
)

// row is a stored factor. The zero value stands for none.
type row struct {
	userID       string
	sealed       []byte
	confirmedAt  *time.Time
	lastStep     int64
	failures     int64
	failingSince time.Time
	createdAt    time.Time
}

func (r row) exists() bool    { return r.userID != "" }
func (r row) confirmed() bool { return r.confirmedAt != nil }

func find(ctx context.Context, r database.Reader, userID string) (f row, err error) {
	err = r.QueryRow(ctx, `
		SELECT user_id, sealed, confirmed_at, last_step, failures, failing_since, created_at
		FROM second_factor
		WHERE user_id = $1`, userID).
		Scan(&f.userID, &f.sealed, database.ToOptionalTime(&f.confirmedAt), &f.lastStep, &f.failures,
			database.ToTime(&f.failingSince), database.ToTime(&f.createdAt))
	return f, database.OrMissing(err, nil, "load the second factor of %s", userID)
}

// StatusOf reads what a person has.
func StatusOf(ctx context.Context, r database.Reader, userID string) (Status, error) {
	f, err := find(ctx, r, userID)
	if err != nil || !f.confirmed() {
		return Status{}, err
	}
	status := Status{Enrolled: true, Since: *f.confirmedAt}
	err = r.QueryRow(ctx, `SELECT COUNT(*) FROM recovery_code WHERE user_id = $1 AND used_at IS NULL`, userID).
		Scan(&status.RecoveryCodes)
	return status, database.Wrap(err, "count the recovery codes of %s", userID)
}

func insert(ctx context.Context, tx *database.Tx, userID, orgID string, sealed []byte) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO second_factor (user_id, sealed, org_id, created_at, last_step, failures, failing_since)
		VALUES ($1, $2, $3, $4, 0, 0, 0)`, userID, sealed, orgID, database.Micros(tx.Now()))
	return database.Wrap(err, "store the second factor of %s", userID)
}

func markConfirmed(ctx context.Context, tx *database.Tx, userID string, step int64) error {
	_, err := tx.Exec(ctx, `UPDATE second_factor SET confirmed_at = $2, last_step = $3 WHERE user_id = $1`, userID,
		database.Micros(tx.Now()), step)
	return database.Wrap(err, "confirm the second factor of %s", userID)
}

// useStep accepts a step, unless it or a later one was used meanwhile, on another replica.
func useStep(ctx context.Context, tx *database.Tx, userID string, step int64) (bool, error) {
	n, err := tx.Exec(ctx, `
		UPDATE second_factor
		SET last_step = $2, failures = 0
		WHERE user_id = $1 AND last_step < $2`, userID, step)
	return n == 1, database.Wrap(err, "use a code of %s", userID)
}

func useRecovery(ctx context.Context, tx *database.Tx, userID string, hash []byte) (bool, error) {
	n, err := tx.Exec(ctx, `UPDATE recovery_code SET used_at = $3 WHERE hash = $1 AND user_id = $2 AND used_at IS NULL`,
		hash, userID, database.Micros(tx.Now()))
	return n == 1, database.Wrap(err, "use a recovery code of %s", userID)
}

// countFailure counts a wrong code, from anew when the window of the earlier ones is over. If the factor is locked with
// it, it says until when.
func countFailure(ctx context.Context, tx *database.Tx, r row) (lockedUntil time.Time, err error) {
	failures, since := r.failures+1, r.failingSince
	if r.failures == 0 || !tx.Now().Before(since.Add(failureWindow)) {
		failures, since = 1, tx.Now()
	}
	_, err = tx.Exec(ctx, `UPDATE second_factor SET failures = $2, failing_since = $3 WHERE user_id = $1`, r.userID,
		failures, database.Micros(since))
	if failures == maxFailures {
		lockedUntil = since.Add(failureWindow)
	}
	return lockedUntil, database.Wrap(err, "count a wrong code of %s", r.userID)
}

// Remove removes a factor with its recovery codes, if there is one.
func Remove(ctx context.Context, tx *database.Tx, userID string) error {
	_, err := tx.Exec(ctx, `DELETE FROM second_factor WHERE user_id = $1`, userID)
	return database.Wrap(err, "remove the second factor of %s", userID)
}

// RemoveVouched removes a factor that somebody added whom only an organization's identity provider vouched for, and
// reports whether there was one.
func RemoveVouched(ctx context.Context, tx *database.Tx, userID string) (bool, error) {
	n, err := tx.Exec(ctx, `DELETE FROM second_factor WHERE user_id = $1 AND org_id <> ''`, userID)
	return n == 1, database.Wrap(err, "remove the second factor of %s", userID)
}

func deleteRecovery(ctx context.Context, tx *database.Tx, userID string) error {
	_, err := tx.Exec(ctx, `DELETE FROM recovery_code WHERE user_id = $1`, userID)
	return database.Wrap(err, "remove the recovery codes of %s", userID)
}

func insertRecovery(ctx context.Context, tx *database.Tx, userID string, hash []byte) error {
	_, err := tx.Exec(ctx, `INSERT INTO recovery_code (hash, user_id) VALUES ($1, $2)`, hash, userID)
	return database.Wrap(err, "store a recovery code of %s", userID)
}
