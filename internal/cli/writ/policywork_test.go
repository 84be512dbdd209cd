package writ_test

import (
	"strings"
	"testing"
)

// TestShadowsAndSuggestionsArePrinted: with their counts, and whatever the server
// calls things, each on a line of its own.
func TestShadowsAndSuggestionsArePrinted(t *testing.T) {
	t.Setenv("WRIT_ACCESS_TOKEN", "token")
	const orgID, policyID = "01a1e0c6-77ef-7541-ba59-2b43e21633b2", "01a1e0c6-815a-7595-a045-fe37e44d6d36"
	answers := map[string]string{
		"/policies": `{"items":[{"id":"` + policyID +
			`","name":"n\u001b[2J\nforged","shadowVersion":3,"activeVersion":2},{"id":"other","name":"none"}],"hasMore":false}`,
		"/organization/" + orgID + "/observability/policies/" +
			policyID: `{"shadow":{"calls":40,"wouldDeny":6,"wouldHold":3,"wouldAllow":1}}`,
	}
	out, err := run(t, answers, "policy", "shadow", "list", "--organization", orgID)
	want := "ID NAME VERSION ACTIVE SINCE CALLS WOULD DENY WOULD HOLD WOULD ALLOW\n" + policyID +
		" n\uFFFD[2J\uFFFDforged 3 2 - 40 6 3 1\n"
	if err != nil || squeezed(out) != squeezed(want) {
		t.Errorf("shadows: %q, %v, want %q", out, err, want)
	}
	suggests := newAsked(t, map[string]string{
		"POST /policies/suggest": `{"id":"i\n","name":"n\u0007","status":"draft","calls":9,"incomplete":true,
			"rules":[{"id":"r","effect":"allow","tools":["a.b","c\u001b"],"when":"args.x == 1\nforged"},{"id":"unseen","effect":"hold","tools":["d.e"]}],
			"evidence":[{"rule":"r","calls":7,"decisions":["d1","d2"]}],"leftOut":[{"server":"s","tool":"t\u001b","reason":"why\nforged","calls":2}]}`,
	})
	out, err = command(t, "policy", "suggest", "worker", "--organization", orgID, "--url", suggests.URL)
	if err != nil || strings.ContainsAny(out, "\x1b\x07") || strings.Contains(out, "\nforged") {
		t.Errorf("suggestion: %q, %v", out, err)
	}
	for _, line := range []string{
		"i\uFFFD n\uFFFD: 2 rules of 9 calls, stored as a draft", "7 allow a.b c\uFFFD d1 args.x == 1\uFFFDforged",
		"0 hold d.e - -",
		"writ: left out: 2 calls of s.t\uFFFD: why\uFFFDforged", "writ: there were more calls than were read",
	} {
		if !strings.Contains(squeezed(out), line) {
			t.Errorf("suggestion: %q, want %q", squeezed(out), line)
		}
	}
}
