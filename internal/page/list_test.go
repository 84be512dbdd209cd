package page_test

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"writ/internal/fault"
	"writ/internal/page"
)

// numbered reads a list of n rows, the newest first.
func numbered(n int) func(page.Cursor, int) ([]int, error) {
	return func(after page.Cursor, limit int) ([]int, error) {
		next := n
		if !after.IsZero() {
			next = int(after.Micros) - 1
		}
		var rows []int
		for ; next > 0 && len(rows) < limit; next-- {
			rows = append(rows, next)
		}
		return rows, nil
	}
}

func positionOf(n int) (time.Time, string) { return time.UnixMicro(int64(n)), strconv.Itoa(n) }

func TestReadFollowsCursors(t *testing.T) {
	t.Parallel()
	q := page.Query{List: "numbers", Scope: "org-1", Limit: 3}
	var seen []int
	for range 10 {
		p, err := page.Read(q, numbered(7), positionOf)
		if err != nil {
			t.Fatalf("Read: %v", err)
		}
		seen = append(seen, p.Items...)
		if q.Cursor = p.NextCursor; !p.HasMore {
			break
		}
	}
	if len(seen) != 7 || seen[0] != 7 || seen[6] != 1 {
		t.Errorf("the pages hold %v", seen)
	}
}

func TestReadBoundsTheLimit(t *testing.T) {
	t.Parallel()
	for give, want := range map[int]int{
		-1: page.DefaultLimit, 0: page.DefaultLimit, 1: 1, page.MaxLimit: page.MaxLimit, 1 << 30: page.MaxLimit,
	} {
		p, err := page.Read(page.Query{List: "numbers", Limit: give}, numbered(1000), positionOf)
		if err != nil || len(p.Items) != want || !p.HasMore {
			t.Errorf("limit %d gives %d rows, %v; want %d", give, len(p.Items), err, want)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	first, err := page.Read(page.Query{List: "numbers", Scope: "org-1", Limit: 1}, numbered(2), positionOf)
	if err != nil {
		t.Fatalf("Read: %v", err)
	}
	_, err = page.Read(page.Query{List: "numbers", Scope: "org-2", Cursor: first.NextCursor}, numbered(2), positionOf)
	if !fault.Is(err, fault.Invalid) {
		t.Errorf("a cursor of another scope is answered with %v", err)
	}
	broken := errors.New("broken")
	_, err = page.Read(page.Query{List: "numbers"}, func(page.Cursor, int) ([]int, error) { return nil, broken },
		positionOf)
	if !errors.Is(err, broken) {
		t.Errorf("an error of the rows is %v", err)
	}
}
