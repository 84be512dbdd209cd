package accessrequest

import (
	"context"

	"writ/internal/database"
)

// IDsOf are the requests of an address.
func IDsOf(ctx context.Context, r database.Reader, address string) ([]string, error) {
	ids, err := database.Collect(ctx, r, database.Column[string],
		`SELECT id FROM access_request WHERE email = $1 ORDER BY id`, address)
	return ids, database.Wrap(err, "list the requests of a person")
}

// Forget removes the requests of an address, within the change that deletes the account it led to.
func Forget(ctx context.Context, tx *database.Tx, address string) error {
	_, err := tx.Exec(ctx, `DELETE FROM access_request WHERE email = $1`, address)
	return database.Wrap(err, "forget the requests of a person")
}
