package decisions_test

import (
	"slices"
	"testing"

	"writ/internal/testserver"
)

// TestMisspelledBesideThePlan: published clients send members that nobody reads, and a refusal would have some of them
// run tools unasked. So a plan with a misspelled member beside it is declared, and the answer says what was not read.
func TestMisspelledBesideThePlan(t *testing.T) {
	t.Parallel()
	testserver.EachPublished(t, func(t *testing.T, w *testserver.Published) {
		for sent, want := range map[string][]any{
			`"userId":"u"`:                  {"a member of the body is not read: did you mean user_id?"},
			`"expiresIn":60,"seesion_id":1`: {"a member of the body is not read: did you mean expires_in?", "a member of the body is not read: did you mean session_id?"},
			`"client_version":"0.4.3"`:      nil,
			`"user_id":"u"`:                 nil,
		} {
			status, answer := w.Call("/iap/sdk/token", `{"plan":`+testserver.BuilderPlan+`,`+sent+`}`, w.SDK()...)
			if got, _ := answer["warnings"].([]any); status >= 400 || !slices.Equal(got, want) {
				t.Errorf("%s: %d, warnings %q, want %q", sent, status, got, want)
			}
		}
	})
}
