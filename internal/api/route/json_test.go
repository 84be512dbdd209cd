package route_test

import (
	"bytes"
	"testing"

	"writ/internal/api/route"
)

// Whoever keeps answers, or compares two, must not see a difference where there is none.
func TestAnswersAreTheSameBytes(t *testing.T) {
	body := map[string]map[string]int{"counts": {}}
	for _, kind := range []string{"sequence_gap", "execution_without_decision", "amended", "late", "lost", "unknown"} {
		body["counts"][kind] = len(kind)
	}
	var first bytes.Buffer
	if err := route.Marshal(&first, body); err != nil {
		t.Fatal(err)
	}
	for range 50 {
		var again bytes.Buffer
		if err := route.Marshal(&again, body); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(again.Bytes(), first.Bytes()) {
			t.Fatalf("one body was answered as %s and as %s", first.Bytes(), again.Bytes())
		}
	}
}
