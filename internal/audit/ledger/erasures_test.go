package ledger_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"writ/internal/audit/ledger"
)

// TestErasuresAreAccountedFor takes payloads away and has the log say so, or not.
func TestErasuresAreAccountedFor(t *testing.T) {
	t.Parallel()
	about := func(kind, id string) ledger.Subject { return ledger.Subject{Type: kind, ID: id} }
	tests := map[string]struct {
		say  func(h *history)
		want string // in the error; empty: it verifies
	}{
		"nobody says so": {func(*history) {}, "entries 3-5,8 are gone"},
		"ranges": {func(h *history) {
			h.addAbout(about("entries", "3-5,8"), ledger.Retired, map[string]any{"before": 1, "entries": 4})
		}, ""},
		"wider ranges": {func(h *history) {
			h.addAbout(about("entries", "0-9"), ledger.Retired, map[string]any{"before": 1})
		}, ""},
		"a range that ends too early": {func(h *history) {
			h.addAbout(about("entries", "3-4,8"), ledger.Retired, map[string]any{"before": 1})
		}, "the payload of entry 5 is gone"},
		"one by one": {func(h *history) {
			for _, index := range []int{8, 4, 3, 5} {
				h.addAbout(about("entry", fmt.Sprint(index)), ledger.Erased, map[string]any{"reason": "r"})
			}
		}, ""},
		"all but one": {func(h *history) {
			for _, index := range []int{8, 4, 3} {
				h.addAbout(about("entry", fmt.Sprint(index)), ledger.Erased, map[string]any{"reason": "r"})
			}
		}, "the payload of entry 5 is gone"},
		"an older entry, by its cut-off": {func(h *history) {
			h.addAbout(about("log", "org-1"), ledger.Retired,
				map[string]any{"before": 1_700_000_000_000_009, "entries": 4})
		}, ""},
		"an older entry whose cut-off is earlier": {func(h *history) {
			h.addAbout(about("log", "org-1"), ledger.Retired, map[string]any{"before": 1_699_999_900_000_000})
		}, "entries 3-5,8 are gone"},
		"an older entry without a cut-off": {func(h *history) {
			h.addAbout(about("log", "org-1"), ledger.Retired, map[string]any{"entries": 4})
		}, "does not name ranges"},
		"ranges of later entries": {func(h *history) {
			h.addAbout(about("entries", "3-50"), ledger.Retired, map[string]any{"before": 1})
		}, "does not name ranges"},
		"ranges in another spelling": {func(h *history) {
			h.addAbout(about("entries", "03-5"), ledger.Retired, map[string]any{"before": 1})
		}, "does not name ranges"},
		"what says so was erased itself": {func(h *history) {
			h.addAbout(about("entries", "3-5,8"), ledger.Retired, map[string]any{"before": 1})
			h.erase(10)
		}, "about the log itself"},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHistory(t, 10)
			h.erase(3, 4, 5, 8)
			c.say(h)
			_, err := verify(t, h.export(0), "")
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("err = %v, want %q", err, c.want)
			}
		})
	}
}

// TestAccountedLikeASet compares with a set of indexes.
func TestAccountedLikeASet(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var e ledger.Erasures
		missing := map[int64]bool{}
		for i := range int64(40) {
			switch rapid.IntRange(0, 5).Draw(t, "kind") {
			case 0, 1, 2:
				missing[i] = true
				r := &ledger.Record{
					Index: i, Action: "call.decided", Time: i * rapid.Int64Range(0, 50_000_000).Draw(t, "pace"),
				}
				if err := e.Missing(r); err != nil {
					t.Fatal(err)
				}
			case 3:
				if i == 0 {
					continue
				}
				first := rapid.Int64Range(0, i-1).Draw(t, "first")
				gone := ledger.Range{First: first, Last: rapid.Int64Range(first, i-1).Draw(t, "last")}
				r := &ledger.Record{
					Index: i, Action: ledger.Retired,
					Subject: ledger.Subject{Type: "entries", ID: ledger.RangesText([]ledger.Range{gone})},
				}
				if err := e.Account(r, []byte(`{}`)); err != nil {
					t.Fatal(err)
				}
				for index := gone.First; index <= gone.Last; index++ {
					delete(missing, index)
				}
			}
		}
		var left []int64
		for _, r := range e.Unaccounted() {
			for index := r.First; index <= r.Last; index++ {
				left = append(left, index)
			}
		}
		var want []int64
		for index := range missing {
			want = append(want, index)
		}
		slices.Sort(want)
		if !slices.Equal(left, want) {
			t.Fatalf("unaccounted = %v, want %v", left, want)
		}
	})
}

func TestAnExportWithoutPayloadsSaysSo(t *testing.T) {
	t.Parallel()
	h := newHistory(t, 4)
	h.erase(0, 1, 2, 3)
	export := strings.Replace(string(h.export(0)), `"v":1}`, `"v":1,"withoutPayloads":true}`, 1)
	report, err := verify(t, []byte(export), "")
	if err != nil || !report.WithoutPayloads || report.Erased != 4 {
		t.Errorf("report = %+v, %v", report, err)
	}
	with := strings.Replace(string(newHistory(t, 4).export(0)), `"v":1}`, `"v":1,"withoutPayloads":true}`, 1)
	if _, err := verify(t, []byte(with), ""); err == nil {
		t.Error("an export without payloads may hold some")
	}
	var unaccounted *ledger.UnaccountedError
	if _, err := verify(t, h.export(0), ""); !errors.As(err, &unaccounted) {
		t.Errorf("err = %v, want what is gone", err)
	}
}
