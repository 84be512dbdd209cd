package decision

import "testing"

func numbered(orgID string, from int64, count int) []Record {
	records := make([]Record, count)
	for i := range records {
		records[i] = Record{OrgID: orgID, Index: from + int64(i)}
	}
	return records
}

// Whoever takes nothing costs no more than so much memory.
func TestRecentIsBounded(t *testing.T) {
	t.Parallel()
	r := &Recent{runs: map[string]run{}}
	held := func() (n int) {
		for _, kept := range r.runs {
			n += len(kept.records)
		}
		return n
	}
	for i := range 3 * mostRecent / 64 {
		log := "a"
		if i%3 == 0 {
			log = "b"
		}
		next := int64(0)
		if kept := r.runs[log].records; len(kept) > 0 {
			next = kept[len(kept)-1].Index + 1
		}
		r.add(0, numbered(log, next, 64))
		if held() != r.kept || r.kept > mostRecent {
			t.Fatalf("%d held, counted as %d", held(), r.kept)
		}
	}
	first := r.runs["a"].records[0].Index
	r.Take("a", 0, first+10, 1)
	if held() != r.kept {
		t.Errorf("%d held, counted as %d", held(), r.kept)
	}
}

// A restore begins an epoch, in which an index is another decision.
func TestRecentIsOfOneEpoch(t *testing.T) {
	t.Parallel()
	r := &Recent{runs: map[string]run{}}
	r.add(0, numbered("a", 0, 3))
	r.add(1, numbered("a", 3, 2))
	if got := r.Take("a", 0, 0, 9); got != nil {
		t.Errorf("of the epoch before: %+v", got)
	}
	if got := r.Take("a", 1, 3, 9); len(got) != 2 || r.kept != 2 {
		t.Errorf("of this epoch: %+v, %d kept", got, r.kept)
	}
}
