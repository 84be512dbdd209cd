package decision

import (
	"runtime"
	"testing"
	"weak"

	"writ/internal/audit"
)

// commit tells of decisions as a transaction does.
func (r *Recent) commit(log string, epoch, from int64, count int) {
	notes := make([]any, count)
	for i := range notes {
		notes[i] = &Record{OrgID: log, Index: from + int64(i)}
	}
	r.Committed(log, epoch, from, from+int64(count), notes)
}

func (r *Recent) held() (n int) {
	for _, kept := range r.runs {
		n += len(kept.records)
	}
	return n
}

// Whoever takes nothing costs no more than so much memory.
func TestRecentIsBounded(t *testing.T) {
	t.Parallel()
	r, most := NewRecent(), 0
	for i := range int64(3 * mostRecent / 64) {
		r.commit([]string{"a", "b", "b"}[i%3], 0, i/3*64, 64) // of b with gaps
		if r.held() != r.kept || r.kept > mostRecent {
			t.Fatalf("%d held, counted as %d", r.held(), r.kept)
		}
		most = max(most, r.kept)
	}
	if most < mostRecent/2 {
		t.Errorf("no more than %d were ever held", most)
	}
	first := r.runs["a"].records[0].Index
	got := r.Take(audit.Head{Log: "a", Version: audit.Version{Epoch: 0}}, first+10, 1)
	if len(got) != 1 || r.held() != r.kept {
		t.Errorf("%d taken, %d held, counted as %d", len(got), r.held(), r.kept)
	}
	for i := range int64(mostRecent + 10) {
		r.Committed(string(rune(i+1000)), 0, 0, 1, nil) // many logs without a decision
	}
	if len(r.runs) > mostRecent || r.held() != r.kept {
		t.Errorf("%d logs are known, %d held, counted as %d", len(r.runs), r.held(), r.kept)
	}
}

// A restore begins an epoch, in which an index is another decision.
func TestRecentIsOfOneEpoch(t *testing.T) {
	t.Parallel()
	r := NewRecent()
	r.commit("a", 0, 0, 3)
	r.commit("a", 1, 3, 2)
	if got := r.Take(audit.Head{Log: "a", Version: audit.Version{Epoch: 0}}, 0, 9); len(got) > 0 {
		t.Errorf("of the epoch before: %+v", got)
	}
	if got := r.Take(audit.Head{Log: "a", Version: audit.Version{Epoch: 1}}, 3, 9); len(got) != 2 || r.kept != 2 {
		t.Errorf("of this epoch: %+v, %d kept", got, r.kept)
	}
}

// What was taken is let go, with what people wrote in it: also where nothing more is
// decided in that log.
func TestRecentLetsGoOfWhatWasTaken(t *testing.T) {
	t.Parallel()
	r := NewRecent()
	words := &[4]Shadow{}
	told := weak.Make(words)
	r.Committed("a", 0, 0, 2, []any{&Record{Index: 0, Details: Details{Shadows: words[:]}}, &Record{Index: 1}})
	words = nil
	r.Take(audit.Head{Log: "a", Version: audit.Version{Epoch: 0}}, 2, 1)
	runtime.GC()
	if told.Value() != nil || r.kept != 0 {
		t.Errorf("%d are kept, and those taken are still held", r.kept)
	}
	runtime.KeepAlive(r)
}
