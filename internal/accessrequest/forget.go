package accessrequest

import (
	"context"

	"writ/internal/database"
)

// Forget removes the requests of an address, within the change that deletes the account it led to.
func Forget(ctx context.Context, tx *database.Tx, address string) error {
	_, err := tx.Exec(ctx, `DELETE FROM access_request WHERE email = $1`, address)
	return database.Wrap(err, "forget the requests of a person")
}
