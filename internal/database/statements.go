package database

import (
	"context"
	"database/sql"
)

// statements are those the committer keeps compiled on SQLite, where compiling an
// insert of many rows costs as much as running it. (pgx keeps PostgreSQL's itself.)
// They belong to the goroutine of the committer.
type statements struct {
	byText  map[string]*sql.Stmt
	wanted  []string             // used in this transaction, not kept yet
	inserts map[insertKey]string // their texts, which are long
}

func newStatements() *statements {
	return &statements{byText: map[string]*sql.Stmt{}, inserts: map[insertKey]string{}}
}

// prepared is a statement that is compiled once. Its text must be one of few: it is
// kept for good.
func (tx *Tx) prepared(ctx context.Context, text string) (*sql.Stmt, error) {
	if kept := tx.statements.byText[text]; kept != nil {
		return tx.tx.StmtContext(ctx, kept), nil
	}
	tx.statements.wanted = append(tx.statements.wanted, text)
	return tx.tx.PrepareContext(ctx, text)
}

// keepStatements compiles what the last transaction wanted for those to come. It
// runs after it, because the handle has one connection. A statement that fails is
// compiled by whoever uses it, who then learns why.
func (db *DB) keepStatements(ctx context.Context) {
	for _, text := range db.statements.wanted {
		if db.statements.byText[text] != nil {
			continue
		}
		if kept, err := db.writes.PrepareContext(ctx, text); err == nil {
			db.statements.byText[text] = kept
		}
	}
	db.statements.wanted = nil
}

// CollectKept is Collect inside a transaction with a statement that is kept: its text
// must be one of few. On SQLite it cannot be cancelled, which suits reads by key.
func CollectKept[T any](ctx context.Context, tx *Tx, scan func(Scanner) (T, error), query string, args ...any) ([]T, error) {
	if tx.engine == SQLite {
		ctx = context.WithoutCancel(ctx)
	}
	return Collect(ctx, keptStatements{tx}, scan, query, args...)
}

// keptStatements reads through statements that are kept, where that pays.
type keptStatements struct{ *Tx }

func (k keptStatements) Query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if k.engine == PostgreSQL {
		return k.Tx.Query(ctx, query, args...)
	}
	statement, err := k.prepared(ctx, query)
	if err != nil {
		return nil, err
	}
	return statement.QueryContext(ctx, args...)
}
