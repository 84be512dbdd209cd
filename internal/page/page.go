// Package page cuts Writ's lists into pages: the envelope of a page and the opaque cursor
// to the next one.
//
// Lists are ordered by time and then id, and a page begins after the last row of the page
// before (a keyset), so rows that come or go in between neither repeat nor hide others. To
// learn whether there is more, a list reads one row beyond the limit and calls [Of].
//
// A cursor is bound to its list and its scope, in most cases the organization, and has a
// checksum of all it says. Any other cursor is refused as "Invalid cursor", also one that
// was cut or mistyped. The checksum is no signature: a forged cursor only chooses where to
// start in a list that the caller may read anyway, because the query is limited to the
// caller's organization.
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

// Of makes a page of at most limit rows out of limit+1: the one too many is cut off and
// means that there is more. The limit is at least 1. Cursor is the position of a row.
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
