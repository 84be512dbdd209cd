package page_test

import (
	stdjson "encoding/json"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"writ/internal/page"
)

type row struct {
	ID string `json:"id"`
	at int64
}

func position(r row) page.Cursor {
	return page.Cursor{List: "traces", Scope: "org-1", Micros: r.at, ID: r.ID}
}

func TestOf(t *testing.T) {
	t.Parallel()
	a, b, c := row{"a", 3}, row{"b", 2}, row{"c", 1}
	tests := []struct {
		name  string
		rows  []row
		limit int
		want  page.Page[row]
	}{
		{"no rows", nil, 2, page.Page[row]{Items: []row{}}},
		{"fewer than the limit", []row{a}, 2, page.Page[row]{Items: []row{a}}},
		{"exactly the limit", []row{a, b}, 2, page.Page[row]{Items: []row{a, b}}},
		{
			"one more", []row{a, b, c}, 2,
			page.Page[row]{Items: []row{a, b}, NextCursor: position(b).Encode(), HasMore: true},
		},
		{
			"limit of one", []row{a, b}, 1,
			page.Page[row]{Items: []row{a}, NextCursor: position(a).Encode(), HasMore: true},
		},
		{
			"limit below one counts as one", []row{a, b}, 0,
			page.Page[row]{Items: []row{a}, NextCursor: position(a).Encode(), HasMore: true},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := page.Of(tt.rows, tt.limit, position)
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(row{})); diff != "" {
				t.Errorf("Of (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPagesCoverTheList(t *testing.T) {
	t.Parallel()
	var list []row
	for i := range 23 {
		list = append(list, row{ID: string(rune('a' + i)), at: int64(100 - i/3)}) // threes share a time
	}
	const limit = 5
	var seen []row
	text := ""
	for range 10 {
		after, err := page.Decode(text, "traces", "org-1")
		if err != nil {
			t.Fatalf("Decode: %v", err)
		}
		p := page.Of(rowsAfter(list, after, limit+1), limit, position)
		seen = append(seen, p.Items...)
		if p.HasMore != (p.NextCursor != "") {
			t.Fatalf("hasMore %t with cursor %q", p.HasMore, p.NextCursor)
		}
		if text = p.NextCursor; text == "" {
			break
		}
	}
	if diff := cmp.Diff(list, seen, cmp.AllowUnexported(row{})); diff != "" {
		t.Errorf("all pages together (-want +got):\n%s", diff)
	}
}

// rowsAfter reads as the database does: newest first, then by id.
func rowsAfter(list []row, after page.Cursor, n int) []row {
	var rows []row
	for _, r := range list {
		if after.IsZero() || r.at < after.Micros || r.at == after.Micros && r.ID > after.ID {
			rows = append(rows, r)
		}
	}
	return rows[:min(n, len(rows))]
}

func TestPageJSON(t *testing.T) {
	t.Parallel()
	more := page.Of([]row{{"a", 1}, {"b", 0}}, 1, position)
	tests := []struct {
		name string
		give page.Page[row]
		want string
	}{
		{"empty", page.Of(nil, 1, position), `{"items":[],"hasMore":false}`},
		{"final", page.Of([]row{{"a", 1}}, 1, position), `{"items":[{"id":"a"}],"hasMore":false}`},
		{"more", more, `{"items":[{"id":"a"}],"nextCursor":"` + more.NextCursor + `","hasMore":true}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v1, err1 := stdjson.Marshal(tt.give)
			v2, err2 := json.Marshal(tt.give)
			if err1 != nil || err2 != nil {
				t.Fatalf("encode: %v, %v", err1, err2)
			}
			if string(v1) != tt.want || string(v2) != tt.want {
				t.Errorf("JSON = %s and %s, want %s", v1, v2, tt.want)
			}
		})
	}
}
