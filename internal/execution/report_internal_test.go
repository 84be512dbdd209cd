package execution

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// TestSlices cuts reports into the changes they are appended by.
func TestSlices(t *testing.T) {
	t.Parallel()
	items := func(n, bytes int) (all []*item) {
		for range n {
			all = append(all, &item{row: row{payload: payload{
				Input:  jsontext.Value(strings.Repeat("x", bytes/2)),
				Output: jsontext.Value(strings.Repeat("x", bytes-bytes/2)),
			}}})
		}
		return all
	}
	for _, tt := range []struct {
		n, bytes int
		want     string
	}{
		{120, 0, "[50 50 20]"},
		{120, 1000, "[50 50 20]"},
		{12, 200 << 10, "[5 5 2]"},
		{3, 512 << 10, "[2 1]"},
		{2, 3 << 20, "[1 1]"},
	} {
		var sizes []int
		for left := items(tt.n, tt.bytes); len(left) > 0; left = left[sizes[len(sizes)-1]:] {
			sizes = append(sizes, sliceOf(left))
		}
		if got := fmt.Sprint(sizes); got != tt.want {
			t.Errorf("%d rows of %d bytes: %s, want %s", tt.n, tt.bytes, got, tt.want)
		}
	}
}
