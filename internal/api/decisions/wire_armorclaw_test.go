package decisions_test

import (
	"fmt"
	"net/http"
	"testing"

	"writ/internal/testserver"
)

// TestWireArmorclawEndsAPlan sends what armorclaw sends at the end of a run: the plan's JWT as bearer and the
// key beside it. The key is the caller, if the plan is that key's.
func TestWireArmorclawEndsAPlan(t *testing.T) {
	t.Parallel()
	testserver.EachPublished(t, func(t *testing.T, w *testserver.Published) {
		other := w.AgentKey(w.Owner, w.Org).APIKey
		minted := w.Mint(testserver.BuilderPlan)
		jwt, planID := fmt.Sprint(minted["jwt_token"]), fmt.Sprint(minted["plan_id"])
		end := "/iap/plans/" + planID + "/status"
		const body = `{"status":"completed"}`
		for name, c := range map[string]struct {
			bearer, key string
			status      int
		}{
			"another key of the organization": {jwt, other, http.StatusUnauthorized},
			"an unknown key":                  {jwt, "ak_test_" + testserver.TypedSecret, http.StatusUnauthorized},
			"an altered JWT":                  {jwt + "A", w.Key, http.StatusUnauthorized},
			"a person's token":                {w.Owner.AccessToken, w.Key, http.StatusUnauthorized},
			"any other token":                 {"a.b.c", w.Key, http.StatusUnauthorized},
			"an object":                       {`{"plan_id":"` + planID + `"}`, w.Key, http.StatusUnauthorized},
		} {
			if status, answer := w.Call(end, body, "Authorization", "Bearer "+c.bearer, "X-API-Key", c.key); status !=
				c.status {
				t.Errorf("%s: %d %v, want %d", name, status, answer, c.status)
			}
		}
		both := []string{"Authorization", "Bearer " + jwt, "X-API-Key", w.Key}
		if answer := w.Request(t, "GET", "/iap/plans", "", both...); answer.Status != http.StatusUnauthorized {
			t.Errorf("a route for people: %d, want 401", answer.Status)
		}
		if answer := w.Request(t, "GET", "/iap/plan/"+planID, "", both...); answer.Status != http.StatusOK {
			t.Errorf("read the plan: %d %s", answer.Status, answer.Body)
		}
		for range 2 { // the second time the plan has ended already
			status, answer := w.Call(end, body, both...)
			if status != http.StatusOK || answer["status"] != "completed" {
				t.Errorf("end the plan: %d %v", status, answer)
			}
		}
	})
}
