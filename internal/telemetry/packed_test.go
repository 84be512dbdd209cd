package telemetry

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// What stands between fields may be in a kind or a name, and what may be absent is.
func TestUnpack(t *testing.T) {
	t.Parallel()
	at := time.UnixMicro(1_790_000_000_123_456).UTC()
	before := time.UnixMicro(-5).UTC()
	ms := int64(20)
	full := strings.Join([]string{
		"id", "parent", "session", "1790000000123456", "-5", "20", "ok", "7500000", "3", "5",
		"a\x1fbé\x1e\x1fx" + `{"a":1}`,
	}, fieldEnd)
	bare := strings.Join([]string{"id", "", "", "1790000000123456", "", "", "error", "0", "0", "1", "n{}"}, fieldEnd)
	want := []StoredSpan{
		{
			ID:         "id",
			ParentID:   "parent",
			SessionID:  "session",
			Start:      at,
			End:        &before,
			DurationMs: &ms,
			Status:     "ok",
			CostNanos:  7500000,
			Kind:       "a\x1fb",
			Name:       "é\x1e\x1fx",
			Attributes: `{"a":1}`,
		},
		{
			ID:         "id",
			Start:      at,
			Status:     "error",
			Name:       "n",
			Attributes: "{}",
		},
	}
	for _, count := range []int64{-1, 0, 1, 2, 1 << 40} { // it is a hint
		got, err := unpack(full+betweenSpans+bare, count)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("count %d: %s", count, diff)
		}
	}
	if none, err := unpack("", 0); err != nil || none == nil || len(none) > 0 {
		t.Errorf("no spans are %v, %v; want an empty list", none, err)
	}
}

// A text that was not packed here is an error, wherever it ends or goes wrong.
func TestUnpackRefuses(t *testing.T) {
	t.Parallel()
	fields := []string{"id", "parent", "session", "1", "2", "3", "ok", "0", "1", "1", "kn{}"}
	good := strings.Join(fields, fieldEnd)
	if _, err := unpack(good, 1); err != nil {
		t.Fatal(err)
	}
	for end := 1; end < len(good)-len("{}"); end++ {
		if spans, err := unpack(good[:end], 1); err == nil {
			t.Errorf("%q is %v", good[:end], spans)
		}
	}
	for _, wrong := range []struct {
		field int
		text  string
	}{
		{3, ""}, {3, "x"}, {3, "9223372036854775808"}, {4, "x"}, {5, "1.5"}, {7, ""}, {7, "x"}, {8, ""}, {8, "-1"},
		{8, "5"}, {9, "9223372036854775807"},
	} {
		changed := append([]string{}, fields...)
		changed[wrong.field] = wrong.text
		if spans, err := unpack(strings.Join(changed, fieldEnd), 1); err == nil {
			t.Errorf("field %d = %q is %v", wrong.field, wrong.text, spans)
		}
	}
}
