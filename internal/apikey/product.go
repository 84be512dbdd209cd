package apikey

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"writ/internal/database"
)

// ProductOf is the product of a key, whatever became of the key; empty for one
// that has none, or is not there.
func (*Service) ProductOf(ctx context.Context, r database.Reader, id string) (product string, err error) {
	err = r.QueryRow(ctx, `SELECT product FROM api_key WHERE id = $1`, id).Scan(&product)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("read the product of API key %s: %w", id, err)
	}
	return product, nil
}
