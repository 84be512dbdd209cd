package decisions_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"writ/internal/testserver"
)

// TestErasedPlansAreGone erases the entry of a plan, live and then ended: what the
// plan said is gone with it, and calls are judged by it as long as it lives.
func TestErasedPlansAreGone(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		w := newCaseEnv(t, s, &caseFile{
			Policy: json.RawMessage(`{"version":"v1","name":"all","rules":[{"id":"all","effect":"allow","tools":["*"]}]}`),
			Plans: map[string]json.RawMessage{
				"work": json.RawMessage(`{"plan":{"goal":"find Rosebud","steps":[{"action":"a","mcp":"x","params":{"who":"Rosebud"}}]}}`),
			},
		})
		r := w.begin(t)
		token := r.mint("work")
		path := "/iap/plan/" + token.text("plan_id")
		ask := func(path string) string {
			t.Helper()
			return string(s.Request(t, "GET", path, "", testserver.Credentials(w.owner.Client)...).Body)
		}
		erase := func() {
			t.Helper()
			index := -1
			if err := s.Database.QueryRow(t.Context(),
				`SELECT position FROM audit_entry WHERE log = $1 AND action = 'plan.minted'`,
				w.org).Scan(&index); err != nil {
				t.Fatal(err)
			}
			where := fmt.Sprintf("/audit-log/entries/%d/erase?organizationId=%s", index, w.org)
			if err := w.owner.Call(t.Context(), http.MethodPost, where, nil, map[string]string{"reason": "asked for"},
				nil); err != nil {
				t.Fatal(err)
			}
		}
		allowed := func() bool {
			t.Helper()
			call := map[string]json.RawMessage{
				"tool": quoteJSON("a"), "arguments": json.RawMessage(`{"who":"Rosebud"}`),
			}
			_, raw := r.post(surfacePath(surfaceSDK), r.key, callBody(surfaceSDK, call, r.token("", token, nil)))
			return strings.Contains(string(raw), `"allowed":true`)
		}
		if !strings.Contains(ask(path), "Rosebud") {
			t.Fatal("the plan is not shown")
		}
		erase()
		if got := ask(path); strings.Contains(got, "Rosebud") || !strings.Contains(got, `"plan":null`) {
			t.Errorf("after its entry was erased: %s", got)
		}
		if !allowed() {
			t.Error("a live plan authorizes nothing after its entry was erased")
		}
		if status, raw := r.post("/iap/plans/"+token.text("plan_id")+"/status", r.key,
			[]byte(`{"status":"completed"}`)); status != http.StatusOK {
			t.Fatalf("end the plan: %d %s", status, raw)
		}
		wantGone := func() {
			t.Helper()
			if allowed() || strings.Contains(ask(path), "Rosebud") {
				t.Error("an erased plan that ended is shown, or authorizes")
			}
			for _, more := range []string{"/merkle-tree", "/steps/0/proof", "/report"} {
				if got := ask(path + more); !strings.Contains(got, "was erased") || !strings.Contains(got, "404") {
					t.Errorf("%s: %s", more, got)
				}
			}
			var sealed []byte
			if err := s.Database.QueryRow(t.Context(), `SELECT sealed FROM plan_anchor WHERE plan_id = $1`,
				token.text("plan_id")).Scan(&sealed); err != nil || len(sealed) > 0 {
				t.Errorf("%d bytes of its text are kept, %v", len(sealed), err)
			}
		}
		wantGone()

		// By age, after its time is over.
		token = r.mint("work")
		path = "/iap/plan/" + token.text("plan_id")
		s.Advance(2 * time.Hour)
		w.owner = s.SignIn(w.owner.Email)
		if !strings.Contains(ask(path), "Rosebud") {
			t.Fatal("the second plan is not shown")
		}
		if err := s.Audit.RetirePayloads(t.Context(), time.Hour); err != nil {
			t.Fatal(err)
		}
		wantGone()
	})
}
