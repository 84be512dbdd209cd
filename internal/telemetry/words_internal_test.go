package telemetry

import (
	"errors"
	"testing"
)

// row is a span of a trace, or an error.
type row struct {
	pk  int64
	err error
}

func (r row) Scan(to ...any) error {
	if r.err == nil {
		*to[0].(*int64), *to[1].(*string) = r.pk, "read"
	}
	return r.err
}

// TestSpansThatCannotBeRead: the job that indexes ends with the error, and the server goes on.
func TestSpansThatCannotBeRead(t *testing.T) {
	t.Parallel()
	texts := map[int64]*traceText{1: {pk: 1}}
	away := errors.New("the database is away")
	if err := addSpanText(texts, row{err: away}); !errors.Is(err, away) {
		t.Errorf("%v, want %v", err, away)
	}
	for _, pk := range []int64{1, 2} { // nobody asked for the second
		if err := addSpanText(texts, row{pk: pk}); err != nil {
			t.Errorf("trace %d: %v", pk, err)
		}
	}
	if got := texts[1].plain; len(got) != 4 || got[0] != "read" {
		t.Errorf("the trace is found by %q", got)
	}
}
