package database

import "context"

// ExecInSlices repeats a statement, which changes at most slice rows, until it
// finds fewer, each time in a change of its own: none holds the writer for long.
func (db *DB) ExecInSlices(ctx context.Context, slice int64, query string, args ...any) (changed int64, err error) {
	for n := slice; n >= slice; changed += n {
		err := db.Write(ctx, Change{Do: func(ctx context.Context, tx *Tx) (err error) {
			n, err = tx.Exec(ctx, query, args...)
			return err
		}})
		if err != nil {
			return changed, err
		}
	}
	return changed, nil
}
