package api

import (
	"testing"

	"writ/internal/fault"
)

// TestStreamsAreLimited by person, by organization and at all; before limits are
// set there may be none.
func TestStreamsAreLimited(t *testing.T) {
	t.Parallel()
	o := &openStreams{}
	enter := func(user, org string, may bool) (leave func()) {
		t.Helper()
		leave, err := o.enter(user, org)
		if may != (err == nil) || err != nil && !fault.Is(err, fault.TooMany) {
			t.Errorf("%s in %s: %v, want it let in: %v", user, org, err, may)
		}
		return leave
	}
	enter("ada", "acme", false)
	o.allow(2, 3, 4)
	first := enter("ada", "acme", true)
	enter("ada", "globex", true)
	enter("ada", "acme", false) // a third of one person
	enter("bob", "acme", true)
	enter("eve", "acme", true)
	enter("bob", "acme", false) // a fourth of one organization
	enter("bob", "globex", false)
	first()
	enter("bob", "acme", true) // there is room again
	enter("sue", "initech", false)
}
