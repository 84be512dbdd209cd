package database

import (
	"context"
	"database/sql"
)

// statements keeps what the committer has parsed from one transaction to the
// next: on SQLite, parsing an insertion costs as much as making it. Only the
// committer uses it.
type statements struct {
	kept   map[string]*sql.Stmt // of the writing handle, closed with it
	wanted []string             // to be kept, once no transaction holds the connection
	here   map[string]*sql.Stmt // of the running transaction, closed with it
}

// maxKept bounds what a mistake could fill: statements whose text varies.
const maxKept = 100

// prepare parses what the last transactions wanted. It needs the connection for
// itself. What cannot be parsed now is parsed where it is used, and fails there.
func (s *statements) prepare(ctx context.Context, writes *sql.DB) {
	for _, query := range s.wanted {
		if s.kept == nil {
			s.kept = map[string]*sql.Stmt{}
		}
		if _, known := s.kept[query]; known || len(s.kept) >= maxKept {
			continue
		}
		if statement, err := writes.PrepareContext(ctx, query); err == nil {
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
		if statement, err = tx.PrepareContext(ctx, query); err != nil {
			return nil, err
		}
		s.wanted = append(s.wanted, query)
	}
	if s.here == nil {
		s.here = map[string]*sql.Stmt{}
	}
	s.here[query] = statement
	return statement, nil
}

// end forgets what belonged to the transaction.
func (s *statements) end() { clear(s.here) }
