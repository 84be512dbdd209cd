package database

import (
	"context"
	"database/sql"
	"strconv"
	"strings"
)

// statements keeps what the committer has compiled from one transaction to the
// next: on SQLite, compiling an insert costs as much as running it. (pgx keeps
// PostgreSQL's itself.) They belong to the goroutine of the committer.
type statements struct {
	kept    map[string]*sql.Stmt // of the writing handle, closed with it
	wanted  []string             // to be kept, once no transaction holds the connection
	here    map[string]*sql.Stmt // of the running transaction, closed with it
	inserts map[insertKey]string // their texts, which are long
	args    []any                // of the running insert: one buffer for all, which are many
}

// maxKept bounds what a mistake could fill: statements whose text varies.
const maxKept = 100

func newStatements() *statements {
	return &statements{kept: map[string]*sql.Stmt{}, here: map[string]*sql.Stmt{}, inserts: map[insertKey]string{}}
}

// prepare compiles what the last transactions wanted. It needs the connection
// for itself. What cannot be compiled now is compiled where it is used, and fails
// there.
func (s *statements) prepare(ctx context.Context, writes *sql.DB) {
	for _, query := range s.wanted {
		if _, known := s.kept[query]; known || len(s.kept) >= maxKept {
			continue
		}
		if statement, err := writes.PrepareContext(ctx, positional(query)); err == nil {
			s.kept[query] = statement
		}
	}
	s.wanted = s.wanted[:0]
}

// in is a statement within a transaction.
func (s *statements) in(ctx context.Context, tx *sql.Tx, query string) (*sql.Stmt, error) {
	if statement, ok := s.here[query]; ok {
		return statement, nil
	}
	var statement *sql.Stmt
	if kept, ok := s.kept[query]; ok {
		statement = tx.StmtContext(ctx, kept)
	} else {
		var err error
		if statement, err = tx.PrepareContext(ctx, positional(query)); err != nil {
			return nil, err
		}
		s.wanted = append(s.wanted, query)
	}
	s.here[query] = statement
	return statement, nil
}

// positional is the query with ? for $1, $2, ... where these come once each and in
// order: SQLite takes $1 for a name, and looks it up for every value.
func positional(query string) string {
	parts := strings.Split(query, "$")
	var text strings.Builder
	text.WriteString(parts[0])
	for i, part := range parts[1:] {
		rest, ok := strings.CutPrefix(part, strconv.Itoa(i+1))
		if !ok || rest != "" && '0' <= rest[0] && rest[0] <= '9' {
			return query
		}
		text.WriteByte('?')
		text.WriteString(rest)
	}
	return text.String()
}

// gather is the parameters of some rows, until it is called again.
func (s *statements) gather(rows [][]any) []any {
	s.args = s.args[:0]
	for _, row := range rows {
		s.args = append(s.args, row...)
	}
	return s.args
}

// end forgets what belonged to the transaction.
func (s *statements) end() {
	clear(s.here)
	clear(s.args[:cap(s.args)]) // else it would hold on to what was stored last
}

// prepared is a statement that is compiled once. Its text must be one of few: it
// is kept for good.
func (tx *Tx) prepared(ctx context.Context, query string) (*sql.Stmt, error) {
	return tx.statements.in(ctx, tx.tx, query)
}

// CollectKept is Collect inside a transaction with a statement that is kept: its text
// must be one of few. On SQLite it cannot be cancelled, which suits reads by key.
func CollectKept[T any](
	ctx context.Context, tx *Tx, scan func(Scanner) (T, error), query string, args ...any,
) ([]T, error) {
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
