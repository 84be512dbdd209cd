// Package page owns how Writ's lists are cut into pages: the envelope of a
// page and the opaque cursor that leads to the next one.
//
// Lists are ordered by time and then id, and a page is read from the position
// of the last row of the page before (a keyset), so rows that come or go in
// between neither repeat nor hide others. To learn whether there is more, a
// list reads one row beyond the limit and leaves the rest to [Of].
//
// A cursor is bound to its list and its scope, in most cases the organization.
// One of another list or scope, or one that Writ did not make, is refused as
// "Invalid cursor". The binding finds mistakes and is not a signature: a
// forged cursor only chooses where to start in a list that the caller may read
// anyway, because the query itself is limited to the caller's organization.
package page

// How many rows a page has when the caller does not say, and at most.
const (
	DefaultLimit = 50
	MaxLimit     = 200
)

// Page is one page of a list, as it is sent. Make it with Of, which never
// leaves Items nil.
type Page[T any] struct {
	Items      []T    `json:"items" nullable:"false" doc:"The items of this page."`
	NextCursor string `json:"nextCursor,omitempty" doc:"Sent back as cursor, it gives the next page; absent on the final one."`
	HasMore    bool   `json:"hasMore" doc:"Whether there is a next page."`
}

// Of makes a page of at most limit rows. The rows are what the list found when
// asked for limit+1 of them; the one too many is cut off and says that there is
// more. The limit is at least 1. Cursor gives the position of a row.
func Of[T any](rows []T, limit int, cursor func(T) Cursor) Page[T] {
	limit = max(limit, 1)
	if len(rows) > limit {
		rows = rows[:limit:limit]
		return Page[T]{Items: rows, NextCursor: cursor(rows[limit-1]).Encode(), HasMore: true}
	}
	if rows == nil {
		rows = []T{}
	}
	return Page[T]{Items: rows}
}
