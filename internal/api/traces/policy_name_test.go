package traces_test

import (
	"testing"

	"writ/internal/testserver"
)

// A policy that never decided anything has a name all the same, in its own organization alone.
func TestStatisticsNameAPolicyThatWasNeverCalled(t *testing.T) {
	t.Parallel()
	testserver.EachPublished(t, func(t *testing.T, w *testserver.Published) {
		id := w.ActivePolicy(w.Owner, w.Org, "version: v1\nname: unused\ndefault: deny\nrules: []\n")
		other := w.Organization(w.Owner, "Other")
		for _, c := range []struct{ org, policy, name string }{
			{w.Org, id, "unused"}, {other, id, ""}, {w.Org, "never heard of", ""},
		} {
			got, err := w.Owner.PolicyStats(t.Context(), c.org, c.policy, 7)
			if err != nil || got.PolicyName != c.name || got.Calls != 0 {
				t.Errorf("%+v: %+v, %v", c, got, err)
			}
		}
	})
}
