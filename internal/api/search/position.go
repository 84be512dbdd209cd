package search

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/page"
)

// Ranks of results.
const (
	exact     = iota + 1 // the text is its name or id
	named                // the text is a part of its name or id
	described            // its words match
)

// position is a place in the order of results: by rank, then the newest, then by kind and key. The zero position is
// before all.
type position struct {
	rank int
	at   time.Time
	kind string
	key  string // in the order in which the finder of the kind returns what has the same time
}

func (p position) compare(q position) int {
	return cmp.Or(cmp.Compare(p.rank, q.rank), q.at.Compare(p.at), cmp.Compare(p.kind, q.kind),
		cmp.Compare(p.key, q.key))
}

// behind are the things after a position.
func behind(found []FoundBody, after position) []FoundBody {
	return slices.DeleteFunc(found, func(f FoundBody) bool { return after.rank != 0 && f.place.compare(after) <= 0 })
}

// falling is a key that puts higher numbers first.
func falling(n int64) string { return fmt.Sprintf("%019d", math.MaxInt64-n) }

// keyOf is a short key of an id that may be long.
func keyOf(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:8])
}

// listName binds the cursors.
const listName = "search"

func (p position) cursor(scope string) page.Cursor {
	return page.Cursor{
		List: listName, Scope: scope, Micros: database.Micros(p.at),
		ID: strings.Join([]string{string(rune('0' + p.rank)), p.kind, p.key}, " "),
	}
}

func decode(text, scope string) (p position, err error) {
	c, err := page.Decode(text, listName, scope)
	if err != nil || c.IsZero() {
		return position{}, err
	}
	parts := strings.SplitN(c.ID, " ", 3)
	if len(parts) != 3 || len(parts[0]) != 1 || parts[0] < "1" || parts[0] > "3" {
		return position{}, fault.New(fault.Invalid, "Invalid cursor")
	}
	return position{int(parts[0][0] - '0'), database.Time(c.Micros), parts[1], parts[2]}, nil
}
