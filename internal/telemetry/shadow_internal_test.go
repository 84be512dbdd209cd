package telemetry

import "testing"

// TestOddShadowSpans: what is no change of an answer is not counted as one.
func TestOddShadowSpans(t *testing.T) {
	t.Parallel()
	var f ShadowStats
	for _, change := range []string{"", "r1", "allow", "allow>", ">", "allow>maybe", "allow>deny>allow"} {
		f.add(change, 1)
	}
	if f != (ShadowStats{}) {
		t.Errorf("%+v, want nothing", f)
	}
	f.add("ask>deny", 3)
	if want := (ShadowStats{Calls: 3, Denied: 3, WouldDeny: 3}); f != want || ShadowChange("allow", "", 1) != "" {
		t.Errorf("%+v, want %+v", f, want)
	}
}
