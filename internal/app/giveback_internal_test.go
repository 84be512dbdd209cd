package app

import (
	"testing"
	"time"
)

func TestMemoryIsGivenBackAfterBursts(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	r := rest{allocated: 1 << 20}
	allocated := uint64(1 << 20)
	look := func(more uint64) bool {
		allocated += more
		now = now.Add(restEvery)
		return r.isDue(allocated, now)
	}
	if look(restBytes - 1) {
		t.Error("it is due before anything happened")
	}
	for range 10 {
		if look(4 * restBytes) {
			t.Fatal("it is due while the server works")
		}
	}
	if !look(1) {
		t.Fatal("it is not due when the server rests after a burst")
	}
	r.given(allocated, now)
	look(burstBytes)
	if look(1) {
		t.Fatal("it is due again at once")
	}
	now = now.Add(restAfter)
	if !look(1) {
		t.Fatal("it is never due again")
	}
	r.given(allocated, now)
	for range 100 {
		if look(1000) {
			t.Fatal("it is due though next to nothing was allocated since")
		}
	}
}

// TestAllocatedGrows holds the name of the runtime's metric: without it nothing would ever be given back.
func TestAllocatedGrows(t *testing.T) {
	before := allocated()
	kept := make([][]byte, 0, 64)
	for range 64 {
		kept = append(kept, make([]byte, 1<<20))
	}
	if after := allocated(); before == 0 || after < before+32<<20 {
		t.Errorf("%d bytes before and %d after %d MB were allocated", before, after, len(kept))
	}
}
