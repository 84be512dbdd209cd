package decisions_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"writ/client"
	"writ/internal/testserver"
)

// agree approves a held call, once or for more.
func (w *groundingEnv) agree(t *testing.T, held groundedAnswer, scope *client.ApprovalScope) {
	t.Helper()
	if held.ApprovalID == "" {
		t.Fatalf("nothing to approve: %+v", held)
	}
	if _, err := w.owner.Approve(t.Context(), w.org, client.Approval{ID: held.ApprovalID, Scope: scope}); err != nil {
		t.Fatal(err)
	}
}

func to(who string) json.RawMessage { return quoteJSON(map[string]string{"to": who + "@x.example"}) }

// TestAgreementToAPolicyIsNoneToAText: who let calls run that a policy holds has not agreed to values that only a text
// names, nor to calls outside of the plan.
func TestAgreementToAPolicyIsNoneToAText(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		w := newGroundingEnv(t, s)
		s.ActivePolicy(w.owner, w.org, `
version: v1
name: held
rules:
  - {id: write, effect: hold, tools: ["write.*"]}
`)
		for _, scope := range []client.ApprovalScope{
			{Kind: "session"}, {Kind: "plan"}, {Kind: "minutes", Minutes: 5}, // the last is for all sessions
		} {
			w.session = scope.Kind
			w.declare(t, map[string]any{"prompt": "Pay a@x.example and b@x.example.", "plan": payPlan})
			w.returns(t, "read", "noise", nil, ptr(groundingNoise))
			w.agree(t, w.ask(t, "write", "pay", to("a")), &scope)
			w.wants(t, scope.Kind+": the user's value", "allow", w.ask(t, "write", "pay", to("b")))
			w.report(t, "pay", to("b"), "ok")
			eve := w.ask(t, "write", "pay", to("eve"))
			if eve.Decision != "hold" || len(eve.Grounding) != 1 {
				t.Errorf("%s: a value of nobody: %+v", scope.Kind, eve)
			}
			if other := w.ask(t, "write", "refund", to("a")); other.Decision != "hold" {
				t.Errorf("%s: a call outside of the plan: %+v", scope.Kind, other)
			}
			if !strings.Contains(eve.Reason, "rule write") || !strings.Contains(eve.Reason, "to is not from the user") {
				t.Errorf("%s: the reason does not say of both the rule and the doubt: %s", scope.Kind, eve.Reason)
			}
			wider := client.Approval{ID: eve.ApprovalID, Scope: &scope}
			if _, err := w.owner.Approve(t.Context(), w.org, wider); client.StatusOf(err) != http.StatusBadRequest {
				t.Errorf("%s: an approval that would permit nothing: %v", scope.Kind, err)
			}
			w.agree(t, eve, nil)
			w.wants(t, scope.Kind+": agreed to", "allow", w.ask(t, "write", "pay", to("eve")))
			w.report(t, "pay", to("eve"), "ok")
		}
	})
}

// TestAgreementToADoubt: whoever sees the doubt can agree for more than one call of the tool, but not for a whole plan.
func TestAgreementToADoubt(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		w := newGroundingEnv(t, s)
		w.begun(t, "minutes")
		held := w.ask(t, "write", "pay", to("a"))
		whole := client.Approval{ID: held.ApprovalID, Scope: &client.ApprovalScope{Kind: "plan"}}
		if _, err := w.owner.Approve(t.Context(), w.org, whole); client.StatusOf(err) != http.StatusBadRequest ||
			!strings.Contains(err.Error(), "must not be plan") {
			t.Errorf("an approval of the whole plan: %v, want that it is refused", err)
		}
		w.agree(t, held, &client.ApprovalScope{Kind: "minutes", Minutes: 5})
		w.wants(t, "minutes", "allow", w.ask(t, "write", "pay", to("b")))
	})
}

// TestApproversSeeWhatTheOrganizationSays of a tool, and whether the plan names it.
func TestApproversSeeWhatTheOrganizationSays(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		w := newGroundingEnv(t, s)
		codes := func(held groundedAnswer) (list []string) {
			t.Helper()
			shown, err := w.owner.ApprovalRequest(t.Context(), w.org, held.ApprovalID)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range shown.Risk.Reasons {
				list = append(list, r.Code)
			}
			return list
		}
		w.begun(t, "s")
		if got := codes(w.ask(t, "write", "pay", to("a"))); !slices.Contains(got, "class_money") ||
			slices.Contains(got, "outside_plan") {
			t.Errorf("a planned payment: %v", got)
		}
		if got := codes(w.ask(t, "write", "frobnicate", to("a"))); !slices.Contains(got, "class_unknown") ||
			!slices.Contains(got, "outside_plan") {
			t.Errorf("an unplanned call: %v", got)
		}
		w.put(t, "/tool-classes", `{"classes":[{"class":"read","tools":["read.*"]},
			{"class":"execute","tools":["write.frobnicate"]},{"class":"egress","tools":["write.get_away"]}]}`)
		if got := codes(w.ask(t, "write", "frobnicate", to("b"))); !slices.Contains(got, "class_shell") {
			t.Errorf("a tool that the organization says executes: %v", got)
		}
		if got := codes(w.ask(t, "write", "get_away", to("b"))); !slices.Contains(got, "class_send") {
			t.Errorf("a tool that the organization says sends: %v", got)
		}
	})
}

// TestAReleasedCallIsUnknown: a call that runs by its approval alone may bring any text into the session of its plan.
func TestAReleasedCallIsUnknown(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		w := newGroundingEnv(t, s)
		w.session = "s"
		w.declare(t, map[string]any{"prompt": "Pay Dana.", "plan": payPlan})
		agent := *s.Public
		agent.APIKey = w.key
		asked, err := agent.RequestApproval(t.Context(), client.NewApprovalRequest{
			Tool:           "fetch",
			Action:         "fetch",
			Amount:         new(5.0),
			RequesterEmail: "u@x.example",
			PlanID:         w.plan.text("plan_id"),
			Arguments:      json.RawMessage(`{"n":1}`),
		})
		if err != nil {
			t.Fatal(err)
		}
		w.agree(t, groundedAnswer{ApprovalID: asked.ID}, nil)
		w.wants(t, "before the call", "allow", w.ask(t, "write", "pay", to("a")))
		w.report(t, "pay", to("a"), "ok")
		released := s.Request(t, http.MethodGet, "/delegation/check-approved?tool=fetch&amount=5", "",
			"X-API-Key", w.key, "X-User-Email", "u@x.example")
		if !strings.Contains(string(released.Body), `"approved":true`) {
			t.Fatalf("not released: %+v", released)
		}
		w.wants(t, "after the call", "ungrounded to:nowhere", w.ask(t, "write", "pay", to("b")))
		w.report(t, "fetch", json.RawMessage(`{"n":1}`), "ok")
		w.wants(t, "after a report of it", "ungrounded to:nowhere", w.ask(t, "write", "pay", to("b")))
		w.wants(t, "the user's value", "allow", w.ask(t, "write", "pay", json.RawMessage(`{"to":"Dana"}`)))
	})
}
