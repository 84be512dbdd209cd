package operator

import (
	"context"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
)

// All reads the operators with any reader.
func All(ctx context.Context, r database.Reader) ([]Operator, error) {
	all, err := database.Collect(ctx, r, func(s database.Scanner) (o Operator, err error) {
		err = s.Scan(&o.UserID, &o.Email, &o.Name, database.ToTime(&o.AddedAt))
		return o, err
	}, `
		SELECT o.user_id, u.email, u.name, o.added_at
		FROM operator o
		JOIN user_account u ON u.id = o.user_id
		ORDER BY o.added_at, o.user_id`)
	return all, database.Wrap(err, "list the operators")
}

// In reports whether a person is an operator, as the reader sees it. Nobody is none.
func In(ctx context.Context, r database.Reader, userID string) (bool, error) {
	if userID == "" {
		return false, nil
	}
	var n int
	err := r.QueryRow(ctx, `SELECT count(*) FROM operator WHERE user_id = $1`, userID).Scan(&n)
	return err == nil && n == 1, database.Wrap(err, "look for operator %s", userID)
}

// Require refuses a caller who is not an operator, as the reader sees it.
func Require(ctx context.Context, r database.Reader, p principal.Principal) error {
	if p.Kind != principal.User || p.LimitedTo != "" {
		return refused()
	}
	is, err := In(ctx, r, p.UserID)
	if err == nil && !is {
		return refused()
	}
	return err
}

func refused() error {
	return fault.New(fault.Forbidden, "this is for the operators of this installation")
}

// EndAll removes every operator, within a restore: some may have been removed since the backup was made, and a command
// on the same machine adds them again.
func EndAll(ctx context.Context, tx *database.Tx) error {
	_, err := tx.Exec(ctx, `DELETE FROM operator`)
	return database.Wrap(err, "end the operators")
}

// Leave makes a person no operator, within the change that deletes their account and declares the system log.
func (s *Service) Leave(ctx context.Context, tx *database.Tx, p principal.Principal) error {
	removed, err := tx.Exec(ctx, `DELETE FROM operator WHERE user_id = $1`, p.UserID)
	if err != nil || removed == 0 {
		return database.Wrap(err, "remove operator %s", p.UserID)
	}
	_, err = s.log.Append(ctx, tx, audit.Entry{
		Log:     audit.System,
		Action:  "operator.removed",
		Actor:   p,
		Subject: audit.Subject{Type: "user", ID: p.UserID},
	})
	return err
}
