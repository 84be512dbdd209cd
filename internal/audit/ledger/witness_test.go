package ledger_test

import (
	"bytes"
	"strings"
	"testing"

	"writ/internal/audit/ledger"
)

// TestVerifyAgainstAWitness compares an export with everything a witness has seen.
func TestVerifyAgainstAWitness(t *testing.T) {
	t.Parallel()
	h := newHistory(t, 5)
	var seen []string
	for range 15 {
		h.add("call.decided", "x")
		seen = append(seen, h.checkpoint(signing))
	}
	other := &history{t: t, log: "org-2"}
	other.add("x", nil)
	rewritten := newHistory(t, 9)
	for range 20 {
		rewritten.add("call.decided", "another")
	}
	shrunk := newHistory(t, 5)
	restored := newHistory(t, 5)
	for range 5 {
		restored.add("call.decided", "x")
	}
	restored.restore(10, 7, map[string]any{"known": true, "entries": 10, "unproved": true})
	stranger := h.checkpoint(another)
	for name, c := range map[string]struct {
		export    []byte
		witnessed []string
		want      string // in the error; empty: it verifies
	}{
		"as it was seen":              {h.export(0), append([]string{other.checkpoint(signing)}, seen...), ""},
		"from later on":               {h.export(17), seen, ""},
		"in another order":            {h.export(0), []string{seen[9], seen[2], seen[14], seen[2]}, ""},
		"rewritten and longer":        {rewritten.export(0), seen, "rewritten, or forked"},
		"cut":                         {shrunk.export(0), seen, "shrunk"},
		"restored, with some gone":    {restored.export(0), seen, "is gone: the log was restored"},
		"restored, with nothing gone": {restored.export(0), seen[:5], ""},
		"nothing of this log":         {h.export(0), []string{other.checkpoint(signing)}, "no checkpoint of this log"},
		"nothing at all":              {h.export(0), []string{}, "no checkpoint of this log"},
		"everything before":           {h.export(20), seen[:3], "no checkpoint of this log"},
		"by another key":              {h.export(0), []string{stranger}, "signature"},
		"no checkpoint":               {h.export(0), []string{"hello"}, "checkpoint 1 of the witness"},
	} {
		trust := ledger.Trust{Keys: keys(t, signing), Witnessed: c.witnessed}
		report, err := ledger.Verify(bytes.NewReader(c.export), trust)
		switch {
		case c.want == "" && (err != nil || report.Witnessed == nil || report.Compared == 0):
			t.Errorf("%s: %+v, %v", name, report, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
