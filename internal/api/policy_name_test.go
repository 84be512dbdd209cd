package api_test

import "testing"

// A policy that never decided anything has a name all the same, in its own organization alone.
func TestStatisticsNameAPolicyThatWasNeverCalled(t *testing.T) {
	t.Parallel()
	eachWired(t, func(t *testing.T, w *wireWorld) {
		id := w.activePolicy(w.owner, w.org, "version: v1\nname: unused\ndefault: deny\nrules: []\n")
		other := w.organization(w.owner, "Other")
		for _, c := range []struct{ org, policy, name string }{
			{w.org, id, "unused"}, {other, id, ""}, {w.org, "never heard of", ""},
		} {
			got, err := w.owner.PolicyStats(t.Context(), c.org, c.policy, 7)
			if err != nil || got.PolicyName != c.name || got.Calls != 0 {
				t.Errorf("%+v: %+v, %v", c, got, err)
			}
		}
	})
}
