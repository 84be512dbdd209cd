package page

import "time"

// Query says which page of a list is wanted.
type Query struct {
	List   string // which list; see Cursor
	Scope  string // whose list
	Cursor string // where the page begins; empty: at the first row
	Limit  int    // DefaultLimit unless positive, and MaxLimit at most
}

// Read reads the page through rows, which gives up to limit rows after a position.
// Position is the time and id of a row.
func Read[T any](
	q Query, rows func(after Cursor, limit int) ([]T, error), position func(T) (at time.Time, id string),
) (Page[T], error) {
	after, err := Decode(q.Cursor, q.List, q.Scope)
	if err != nil {
		return Page[T]{}, err
	}
	if q.Limit < 1 {
		q.Limit = DefaultLimit
	}
	q.Limit = min(q.Limit, MaxLimit)
	found, err := rows(after, q.Limit+1)
	if err != nil {
		return Page[T]{}, err
	}
	return Of(found, q.Limit, func(row T) Cursor {
		at, id := position(row)
		return Cursor{List: q.List, Scope: q.Scope, Micros: at.UnixMicro(), ID: id}
	}), nil
}
