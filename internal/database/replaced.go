package database

import (
	"context"
	"fmt"
	"slices"
)

// ReplacedHas reports whether a database that a backup replaces has a table. An SQLite database of an earlier Writ may
// lack it; one that has it without one of these columns is refused, because what it says could not be read whole.
func ReplacedHas(ctx context.Context, r Reader, table string, columns ...string) (bool, error) {
	if db, known := r.(*DB); known && db.Engine() == PostgreSQL {
		return true, nil // it was migrated when it was opened
	}
	has, err := Collect(ctx, r, Column[string], `SELECT name FROM pragma_table_info($1)`, table)
	if err != nil || len(has) == 0 {
		return false, Wrap(err, "look for the table %s", table)
	}
	for _, column := range columns {
		if !slices.Contains(has, column) {
			return false, fmt.Errorf("it was made by an earlier version (%s has no %s): start the server once, and restore then",
				table, column)
		}
	}
	return true, nil
}
