package auth

import (
	"context"
	"fmt"
	"time"

	"writ/internal/database"
)

const selectUser = `
	SELECT id, email, name, password_hash, created_at, verified_at
	FROM user_account
	`

// scanUser gives the zero User when there is none.
func scanUser(row database.Scanner) (user User, hash string, err error) {
	err = row.Scan(&user.ID, &user.Email, &user.Name, &hash, database.ToTime(&user.CreatedAt),
		database.ToOptionalTime(&user.VerifiedAt))
	return user, hash, database.OrMissing(err, nil, "load an account")
}

func findUserByEmail(ctx context.Context, r database.Reader, email string) (User, string, error) {
	return scanUser(r.QueryRow(ctx, selectUser+`WHERE email = $1`, email))
}

// findUser reads an account that must exist.
func findUser(ctx context.Context, r database.Reader, id string) (User, string, error) {
	user, hash, err := scanUser(r.QueryRow(ctx, selectUser+`WHERE id = $1`, id))
	if err == nil && user.ID == "" {
		err = fmt.Errorf("account %s does not exist", id)
	}
	return user, hash, err
}

// AddressTaken reports whether an account has this address, which must be in the
// form of email.Normalise.
func AddressTaken(ctx context.Context, r database.Reader, address string) (bool, error) {
	user, _, err := findUserByEmail(ctx, r, address)
	return user.ID != "", err
}

// countIdentitiesElsewhere counts the identities of a person for which an organization's provider does not vouch.
func countIdentitiesElsewhere(ctx context.Context, tx *database.Tx, userID, orgID string) (n int, err error) {
	err = tx.QueryRow(ctx, `SELECT COUNT(*) FROM external_identity WHERE user_id = $1 AND org_id <> $2`, userID, orgID).
		Scan(&n)
	return n, database.Wrap(err, "count the identities of %s", userID)
}

// unlinkOthers removes the external identities that could sign in to an account,
// once the owner of its address has set a password: those of an organization's
// provider, which may have made the account in the owner's name, and those that
// were linked, perhaps by a thief who was signed in. Google's identity stays on an
// account that it made.
func unlinkOthers(ctx context.Context, tx *database.Tx, userID string) error {
	_, err := tx.Exec(ctx, `DELETE FROM external_identity WHERE user_id = $1 AND (org_id <> '' OR linked = 1)`, userID)
	return database.Wrap(err, "unlink the identities of %s", userID)
}

func insertUser(ctx context.Context, tx *database.Tx, u User, hash string) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO user_account (id, email, name, password_hash, verified_at, created_at)
		VALUES ($1, $2, $3, $4, $5, $6)`,
		u.ID, u.Email, u.Name, hash, database.OptionalMicros(u.VerifiedAt), database.Micros(u.CreatedAt))
	return err
}

func markVerified(ctx context.Context, tx *database.Tx, userID string) error {
	_, err := tx.Exec(ctx, `UPDATE user_account SET verified_at = $2 WHERE id = $1 AND verified_at IS NULL`,
		userID, database.Micros(tx.Now()))
	return err
}

func replacePassword(ctx context.Context, tx *database.Tx, userID, oldHash, newHash string) (bool, error) {
	n, err := tx.Exec(ctx, `UPDATE user_account SET password_hash = $3 WHERE id = $1 AND password_hash = $2`, userID,
		oldHash, newHash)
	return n == 1, err
}

func setPassword(ctx context.Context, tx *database.Tx, userID, hash string) error {
	_, err := tx.Exec(ctx, `UPDATE user_account SET password_hash = $2 WHERE id = $1`, userID, hash)
	return err
}

// storedCode is a mailed code that is neither used nor expired. The zero value
// stands for none.
type storedCode struct {
	ID       string
	UserID   string
	Hash     []byte
	Attempts int
}

const selectCode = `
	SELECT id, user_id, hash, attempts
	FROM mail_code
	`

func scanCode(row database.Scanner) (c storedCode, err error) {
	err = row.Scan(&c.ID, &c.UserID, &c.Hash, &c.Attempts)
	return c, database.OrMissing(err, nil, "load a mailed code")
}

func findLiveCode(ctx context.Context, tx *database.Tx, userID string, p purpose) (storedCode, error) {
	return scanCode(tx.QueryRow(ctx, selectCode+`
		WHERE user_id = $1 AND purpose = $2 AND used_at IS NULL AND expires_at > $3
		ORDER BY created_at DESC, id DESC
		LIMIT 1`, userID, p, database.Micros(tx.Now())))
}

// clock is a reader that knows the time: the database, or a transaction.
type clock interface {
	database.Reader
	Now() time.Time
}

func findCodeByHash(ctx context.Context, r clock, hash []byte, p purpose) (storedCode, error) {
	return scanCode(r.QueryRow(ctx, selectCode+`
		WHERE hash = $1 AND purpose = $2 AND used_at IS NULL AND expires_at > $3`, hash, p, database.Micros(r.Now())))
}

func countCodes(ctx context.Context, tx *database.Tx, userID string, p purpose, since time.Time) (n int, err error) {
	err = tx.QueryRow(ctx, `SELECT count(*) FROM mail_code WHERE user_id = $1 AND purpose = $2 AND created_at > $3`,
		userID, p, database.Micros(since)).Scan(&n)
	return n, err
}

func insertCode(ctx context.Context, tx *database.Tx, userID string, p purpose, hash []byte, expires time.Time) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO mail_code (id, user_id, purpose, hash, attempts, created_at, expires_at)
		VALUES ($1, $2, $3, $4, 0, $5, $6)`,
		database.NewID(), userID, p, hash, database.Micros(tx.Now()), database.Micros(expires))
	return err
}

func endCodes(ctx context.Context, tx *database.Tx, userID string, p purpose) error {
	_, err := tx.Exec(ctx, `UPDATE mail_code SET used_at = $3 WHERE user_id = $1 AND purpose = $2 AND used_at IS NULL`,
		userID, p, database.Micros(tx.Now()))
	return err
}

func useCode(ctx context.Context, tx *database.Tx, id string) error {
	_, err := tx.Exec(ctx, `UPDATE mail_code SET used_at = $2 WHERE id = $1`, id, database.Micros(tx.Now()))
	return err
}

func countAttempt(ctx context.Context, tx *database.Tx, id string) error {
	_, err := tx.Exec(ctx, `UPDATE mail_code SET attempts = attempts + 1 WHERE id = $1`, id)
	return err
}
