package decisions_test

import (
	"net/http"
	"strings"
	"testing"

	"writ/internal/testserver"
)

// TestAGoalIsPayload: whoever may not read payloads does not read the goal of a plan either, in a list, alone, or in
// the answer to a change.
func TestAGoalIsPayload(t *testing.T) {
	t.Parallel()
	testserver.EachPublished(t, func(t *testing.T, w *testserver.Published) {
		minted := w.Mint(strings.Replace(testserver.BuilderPlan, "agent task", "find Rosebud", 1))
		plan, _ := minted["plan_id"].(string)
		for _, c := range []struct {
			role  string
			reads bool
		}{{"viewer", false}, {"member", true}} {
			person := w.Join(w.Owner, w.Org, c.role)
			for _, path := range []string{
				"/iap/plan/" + plan, "/iap/plans?organizationId=" + w.Org, "/iap/plan/" + plan + "/report",
				"/iap/plan/" + plan + "/merkle-tree", "/iap/plan/" + plan + "/steps/0/proof",
			} {
				answer := w.Request(t, "GET", path, "", testserver.Credentials(person.Client)...)
				shown := strings.Contains(string(answer.Body), "Rosebud")
				if shown && !c.reads {
					t.Errorf("a %s reads the goal on %s: %s", c.role, path, answer.Body)
				}
				if isPlan := strings.HasSuffix(path, plan) || strings.Contains(path, "/iap/plans"); isPlan &&
					(answer.Status != http.StatusOK || shown != c.reads) {
					t.Errorf("%s as a %s: %d %s", path, c.role, answer.Status, answer.Body)
				}
			}
		}
	})
}
