package decisions_test

import (
	"net/http"
	"strings"
	"testing"

	"writ/client"
	"writ/internal/testserver"
)

// TestTheListOfPlansSaysWhoseAndWhy: a delegation is listed with the agent that it is for, and a plan that did not come
// to its end with what ended it.
func TestTheListOfPlansSaysWhoseAndWhy(t *testing.T) {
	t.Parallel()
	testserver.EachPublished(t, func(t *testing.T, w *testserver.Published) {
		ctx := t.Context()
		minted := w.Mint(trustPlan)
		status, part := w.Call("/iap/trust/delegate", testserver.JSON(t, m{
			"token": minted["token"], "delegate_public_key": strings.Repeat("ab", 32), "target_agent": "helper",
		}), trustBearer(w.Key)...)
		if status != http.StatusCreated {
			t.Fatalf("delegate: %d %v", status, part)
		}
		wantListed := func(when, id, status, delegatedTo, endedBy string) {
			t.Helper()
			listed, err := w.Owner.Plans(ctx, w.Org, client.PlanFilter{})
			if err != nil {
				t.Fatal(err)
			}
			one, err := w.Owner.Plan(ctx, id)
			if err != nil {
				t.Fatal(err)
			}
			shown := append(listed.Items, one)
			for _, p := range shown {
				if p.ID == id && (p.Status != status || p.DelegatedTo != delegatedTo || p.EndedBy != endedBy) {
					t.Errorf("%s: %s for %q, ended by %q; want %s for %q, ended by %q", when, p.Status, p.DelegatedTo,
						p.EndedBy, status, delegatedTo, endedBy)
				}
			}
		}
		root, child := minted["plan_id"].(string), part["delegation"].(m)["plan_id"].(string)
		wantListed("the plan", root, "active", "", "")
		wantListed("the delegation", child, "active", "helper", "")

		// No agent is kept from the plan above by a kill of the one that it was delegated to.
		if _, err := w.Owner.KillAgent(ctx, w.Org, "helper", "r"); err != nil {
			t.Fatal(err)
		}
		wantListed("the delegation of a killed agent", child, "failed", "helper", "kill")
		wantListed("the plan above", root, "active", "", "")
		status, revoked := w.Call("/iap/trust/revoke", testserver.JSON(t, m{"trustId": root, "reason": "over"}),
			trustBearer(w.Key)...)
		if status != http.StatusOK {
			t.Fatalf("revoke: %d %v", status, revoked)
		}
		wantListed("a revoked plan", root, "failed", "", "revocation")
	})
}
