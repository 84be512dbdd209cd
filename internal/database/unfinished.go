package database

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// errUnfinished keeps a server from a database whose logs would silently go on from a backup.
var errUnfinished = errors.New("a backup was loaded into the PostgreSQL database, and the restore did not end: run " +
	"writd restore --loaded")

// unfinished is the comment on a table by which a database says so. A comment changes nothing that migrations know, and
// a copy of the database has it too.
const unfinished = "Writ: a restore has not ended"

// markUnfinished marks a database that was just loaded.
func markUnfinished(ctx context.Context, config *pgx.ConnConfig) error {
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return classify(err)
	}
	_, err = conn.Exec(ctx, `COMMENT ON TABLE audit_head IS '`+unfinished+`'`)
	return errors.Join(classify(err), conn.Close(context.WithoutCancel(ctx)))
}

// EndRestore takes the mark away, in the change that restores the rest.
func EndRestore(ctx context.Context, tx *Tx) error {
	if tx.engine != PostgreSQL {
		return nil
	}
	_, err := tx.Exec(ctx, `COMMENT ON TABLE audit_head IS NULL`)
	return err
}

func refuseUnfinished(ctx context.Context, conn *pgx.Conn) error {
	var is bool
	if err := conn.QueryRow(ctx, `
		SELECT coalesce(obj_description(to_regclass('audit_head'), 'pg_class'), '') = '`+unfinished+`'`).
		Scan(&is); err != nil {
		return fmt.Errorf("look for an unfinished restore: %w", err)
	}
	if is {
		return errUnfinished
	}
	return nil
}
