package account

import (
	"context"
	"time"

	"writ/internal/database"
)

func findProfile(ctx context.Context, r database.Reader, userID string) (p Profile, err error) {
	err = r.QueryRow(ctx, `SELECT name, locale, time_zone FROM user_account WHERE id = $1 AND deleted_at IS NULL`,
		userID).Scan(&p.Name, &p.Locale, &p.TimeZone)
	return p, database.Wrap(err, "load the profile of %s", userID)
}

func updateProfile(ctx context.Context, tx *database.Tx, userID string, p Profile) error {
	_, err := tx.Exec(ctx, `
		UPDATE user_account
		SET name = $2, locale = $3, time_zone = $4
		WHERE id = $1 AND deleted_at IS NULL`, userID, p.Name, p.Locale, p.TimeZone)
	return database.Wrap(err, "change the profile of %s", userID)
}

func findPreferences(ctx context.Context, r database.Reader, userID string) (Preferences, error) {
	p := Preferences{"system", "compact"}
	err := r.QueryRow(ctx, `SELECT theme, density FROM user_preference WHERE user_id = $1`, userID).
		Scan(&p.Theme, &p.Density)
	return p, database.OrMissing(err, nil, "load the preferences of %s", userID)
}

func storePreferences(ctx context.Context, tx *database.Tx, userID string, p Preferences) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO user_preference (user_id, theme, density, updated_at)
		VALUES ($1, $2, $3, $4)
		ON CONFLICT (user_id) DO UPDATE
		SET theme = excluded.theme, density = excluded.density, updated_at = excluded.updated_at`, userID, p.Theme,
		p.Density, database.Micros(tx.Now()))
	return database.Wrap(err, "store the preferences of %s", userID)
}

// storedChange is a change of address that waits for its codes. The zero value stands for none.
type storedChange struct {
	id, oldEmail, newEmail string
	oldHash, newHash       []byte
	attempts               int
}

func findChange(ctx context.Context, tx *database.Tx, userID string) (c storedChange, err error) {
	err = tx.QueryRow(ctx, `
		SELECT id, old_email, new_email, old_hash, new_hash, attempts
		FROM email_change
		WHERE user_id = $1 AND used_at IS NULL AND expires_at > $2
		ORDER BY created_at DESC, id DESC
		LIMIT 1`, userID, database.Micros(tx.Now())).
		Scan(&c.id, &c.oldEmail, &c.newEmail, &c.oldHash, &c.newHash, &c.attempts)
	return c, database.OrMissing(err, nil, "load the change of address of %s", userID)
}

// countChanges counts the changes that a person began since an instant, and those to an address.
func countChanges(
	ctx context.Context, tx *database.Tx, userID, address string, since time.Time,
) (ofPerson, toAddress int, err error) {
	err = tx.QueryRow(ctx, `
		SELECT (SELECT COUNT(*) FROM email_change WHERE user_id = $1 AND created_at > $3),
			(SELECT COUNT(*) FROM email_change WHERE new_email = $2 AND created_at > $3)`,
		userID, address, database.Micros(since)).Scan(&ofPerson, &toAddress)
	return ofPerson, toAddress, database.Wrap(err, "count the changes of address of %s", userID)
}

func insertChange(ctx context.Context, tx *database.Tx, userID string, c storedChange, expires time.Time) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO email_change (id, user_id, old_email, new_email, old_hash, new_hash, attempts, created_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, 0, $7, $8)`, c.id, userID, c.oldEmail, c.newEmail, c.oldHash, c.newHash,
		database.Micros(tx.Now()), database.Micros(expires))
	return database.Wrap(err, "store a change of address of %s", userID)
}

func endChanges(ctx context.Context, tx *database.Tx, userID string) error {
	_, err := tx.Exec(ctx, `UPDATE email_change SET used_at = $2 WHERE user_id = $1 AND used_at IS NULL`, userID,
		database.Micros(tx.Now()))
	return database.Wrap(err, "end the changes of address of %s", userID)
}

func countAttempt(ctx context.Context, tx *database.Tx, id string) error {
	_, err := tx.Exec(ctx, `UPDATE email_change SET attempts = attempts + 1 WHERE id = $1`, id)
	return database.Wrap(err, "count a wrong code")
}
