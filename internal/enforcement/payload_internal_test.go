package enforcement

import (
	"testing"

	"writ/internal/canonical"
	"writ/internal/policy/engine"
)

// TestPayloadsAreCanonical compares what is written by hand with what the
// canonical form itself makes of it.
func TestPayloadsAreCanonical(t *testing.T) {
	t.Parallel()
	full := recorded{
		Allow: "w", Approval: "a", Arguments: []byte(`{"a":1,"b":"\u00e9"}`), Digest: "00ff", Context: "c", Environment: "sandbox", Incomplete: true,
		Policy: "p", Version: 3, Reason: "says \"no\"\n\u00e9\u007f", Rule: "r", Server: "s", Session: "n", Source: "o", Step: 2, User: "u", Email: "e@x",
	}
	listed := full
	listed.Failed, listed.Labels, listed.Paths = []engine.Failure{{PolicyID: "p", Rule: "r", Error: "x"}}, []string{"l"}, []byte(`{"b":"1","a":"2"}`)
	for name, p := range map[string]recorded{"nothing": {Step: -1}, "everything": full, "with lists": listed} {
		got, err := p.canonical()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want, err := canonical.Marshal(&p)
		if err != nil || string(got) != string(want) {
			t.Errorf("%s:\n got %s\nwant %s, %v", name, got, want, err)
		}
	}
	if _, err := (&recorded{Reason: "\xff"}).canonical(); err == nil {
		t.Error("a text that is none was written")
	}
}
