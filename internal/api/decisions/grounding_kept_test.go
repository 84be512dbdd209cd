package decisions_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"writ/internal/testserver"
)

// TestErasedEntriesGroundNothing: erasing the entry of a report, a decision or a prompt erases what it told.
func TestErasedEntriesGroundNothing(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		w := newGroundingEnv(t, s)
		erase := func(action string) {
			t.Helper()
			var index int
			if err := s.Database.QueryRow(t.Context(),
				`SELECT max(position) FROM audit_entry WHERE log = $1 AND action = $2`,
				w.org, action).Scan(&index); err != nil {
				t.Fatal(err)
			}
			path := fmt.Sprintf("/audit-log/entries/%d/erase?organizationId=%s", index, w.org)
			if err := w.owner.Call(t.Context(), http.MethodPost, path, nil, map[string]string{"reason": "asked for"},
				nil); err != nil {
				t.Fatal(err)
			}
		}
		for _, action := range []string{"call.executed", "call.decided"} {
			w.begun(t, action)
			w.returns(t, "read", "contacts", byName, ptr(contact))
			erase(action)
			w.wants(t, action+" erased", "ungrounded to:nowhere", w.ask(t, "write", "pay", toDana))
			w.wants(t, action+" erased, the user's value", "allow",
				w.ask(t, "write", "pay", json.RawMessage(`{"to":"Dana"}`)))
		}
		w.session = "prompted"
		w.begun(t, "prompted")
		w.state(t, map[string]any{"session_id": "prompted", "prompt": "To dana@x.example!"})
		erase("session.prompted")
		w.wants(t, "a prompt erased", "ungrounded to:nowhere", w.ask(t, "write", "pay", toDana))
	})
}

// state states a prompt.
func (w *groundingEnv) state(t *testing.T, body map[string]any) {
	t.Helper()
	if status, raw := w.post(t, "/iap/sdk/prompt", body); status != http.StatusCreated {
		t.Fatalf("state a prompt: %d %s", status, raw)
	}
}

// TestRetiredEntriesGroundNothing: what the operator does not keep is gone from what is known too.
func TestRetiredEntriesGroundNothing(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		w := newGroundingEnv(t, s)
		w.begun(t, "s")
		w.returns(t, "read", "contacts", byName, ptr(contact))
		s.Advance(2 * time.Hour)
		if err := s.Audit.RetirePayloads(t.Context(), time.Hour); err != nil {
			t.Fatal(err)
		}
		for _, table := range []string{
			`known_output WHERE LENGTH(sealed_output) > 0 OR LENGTH(sealed_call) > 0`, `known_prompt`,
		} {
			var n int
			if err := s.Database.QueryRow(t.Context(), `SELECT COUNT(*) FROM `+table).Scan(&n); err != nil || n != 0 {
				t.Errorf("%d rows are left in %s: %v", n, table, err)
			}
		}
		w.begun(t, "s")
		w.wants(t, "a new plan of the session", "ungrounded to:nowhere", w.ask(t, "write", "pay", toDana))
	})
}

// TestVerifiedStepsAreHeldAfterText: nobody sees their arguments, so that only reads and what comes before
// any text pass.
func TestVerifiedStepsAreHeldAfterText(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		w := newGroundingEnv(t, s)
		plan := map[string]any{"goal": "g", "steps": []any{
			map[string]any{"action": "pay", "mcp": "write", "params": map[string]string{"to": "Dana"}},
			map[string]any{"action": "look", "mcp": "read", "params": map[string]string{"for": "Dana"}},
		}}
		verify := func(tool string) (answer groundedAnswer) {
			t.Helper()
			status, raw := w.post(t, "/iap/verify-step", map[string]any{
				"token": w.plan["jwt_token"], "tool_name": tool,
			})
			if err := json.Unmarshal(raw, &answer); err != nil || status != http.StatusOK {
				t.Fatalf("verify %s: %d %s", tool, status, raw)
			}
			return answer
		}
		w.settings(t, `{"intentRequired":false,"maxPlanTtlSeconds":86400,"grounding":"ask","plannedArguments":"allow"}`)
		w.session = "clean"
		w.declare(t, map[string]any{"prompt": "Pay Dana.", "plan": plan})
		if a := verify("pay"); !a.Allowed {
			t.Errorf("before any text: %+v", a)
		}
		if a := verify("pay"); a.Allowed || a.Rule != "ungrounded" {
			t.Errorf("after a call that nobody reported: %+v", a)
		}
		w.session = "spoken"
		w.declare(t, map[string]any{"prompt": "Pay Dana.", "plan": plan})
		w.returns(t, "read", "look", json.RawMessage(`{"for":"Dana"}`), ptr(groundingNoise))
		if a := verify("pay"); a.Allowed || a.Rule != "ungrounded" || a.DecidedBy != "writ:intent" ||
			a.ApprovalID == "" {
			t.Errorf("after text: %+v", a)
		}
		if a := verify("look"); !a.Allowed {
			t.Errorf("a read after text: %+v", a)
		}
	})
}
