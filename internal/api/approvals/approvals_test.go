package approvals_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"writ/client"
	"writ/internal/testserver"
)

// clientApprovals asks for all requests.
func clientApprovals() client.ApprovalFilter { return client.ApprovalFilter{} }

// decide asks enforce about a payment, as h.enforce, and wants an answer.
func (h *holding) decide(what, arguments, action string) m {
	h.T.Helper()
	answer := h.enforce(arguments)
	if answer["enforcementAction"] != action || answer["allowed"] != (action == "allow") {
		h.T.Errorf("%s: %v, want %s", what, answer, action)
	}
	return answer
}

// TestShowsWhatHelpsToDecide reads one request.
func TestShowsWhatHelpsToDecide(t *testing.T) {
	t.Parallel()
	eachHolding(t, func(t *testing.T, h *holding) {
		earlier := h.decide("another call", `{"to":"a","amount":1}`, "hold")
		id := h.decide("the call", `{"to":"landlord","amount":5000,"password":"hunter2"}`,
			"hold")["approvalId"].(string)
		got, err := h.approver.ApprovalRequest(t.Context(), h.Org, id)
		if err != nil {
			t.Fatal(err)
		}
		if got.ID != id || got.Status != "pending" || got.Kind != "hold" || got.Server != "bank" ||
			got.Tool != "pay" || got.Email != userEmail || got.Needed != 1 {
			t.Errorf("the request: %+v", got.ApprovalRequest)
		}
		if text := string(got.Arguments); !strings.Contains(text, `"landlord"`) || strings.Contains(text, "hunter2") {
			t.Errorf("its arguments: %s", text)
		}
		if got.PolicyName != "wired" || got.PolicyRule == nil || got.PolicyRule.ID != "pays" ||
			got.Message != "A person must approve payments." {
			t.Errorf("its rule: %q %+v %q", got.PolicyName, got.PolicyRule, got.Message)
		}
		if got.PlanGoal != "agent task" || len(got.PlanSteps) != 1 || got.PlanSteps[0].Index != 1 ||
			got.PlanSteps[0].Description != "Call pay on bank" {
			t.Errorf("its plan: %q %+v", got.PlanGoal, got.PlanSteps)
		}
		if got.Risk.Level == "" || len(got.Risk.Reasons) == 0 || got.Risk.Reasons[0].Words == "" {
			t.Errorf("its risk: %+v", got.Risk)
		}
		if got.History == nil ||
			!slices.ContainsFunc(got.History.Decisions, func(d client.PastDecision) bool {
				return d.Decision == "hold"
			}) {
			t.Errorf("what was decided before (%v): %+v", earlier["decisionId"], got.History)
		}
		var kinds []string
		for _, scope := range got.Scopes {
			kinds = append(kinds, scope.Kind)
			if !strings.Contains(scope.Words, "call") {
				t.Errorf("the words of %s: %q", scope.Kind, scope.Words)
			}
		}
		if strings.Join(kinds, " ") != "once minutes plan" { // the client named no session
			t.Errorf("the scopes are %v", kinds)
		}
		if len(got.Votes) != 0 {
			t.Errorf("votes: %+v", got.Votes)
		}
	})
}

// TestWiderYeses: a yes for some time lifts holds of that tool, until it is taken
// back.
func TestWiderYeses(t *testing.T) {
	t.Parallel()
	eachHolding(t, func(t *testing.T, h *holding) {
		ctx := t.Context()
		id := h.decide("the first", `{"to":"landlord","amount":5000}`, "hold")["approvalId"].(string)
		pattern := &client.ApprovalScope{Kind: "pattern", Minutes: 30, Uses: 2, Pattern: map[string]json.RawMessage{
			"to": json.RawMessage(`{"equals":"landlord"}`), "amount": json.RawMessage(`{"max":6000}`),
		}}
		_, err := h.approver.Approve(ctx, h.Org,
			client.Approval{ID: id, Scope: &client.ApprovalScope{Kind: "pattern", Pattern: map[string]json.RawMessage{
				"to": json.RawMessage(`{"equals":"landlord"}`), "amount": json.RawMessage(`{"max":600}`),
			}}})
		testserver.WantStatus(t, "a yes that leaves the call waiting", err, http.StatusBadRequest)
		words, err := h.approver.PreviewApproval(ctx, h.Org, client.Approval{ID: id, Scope: pattern})
		if err != nil || !strings.Contains(words, `amount is at most 6000`) {
			t.Errorf("preview: %q, %v", words, err)
		}
		done, err := h.approver.Approve(ctx, h.Org, client.Approval{ID: id, Scope: pattern})
		if err != nil || done.Permits != words {
			t.Fatalf("approve: %+v, %v, want what was previewed", done, err)
		}
		h.decide("it fits", `{"to":"landlord","amount":5999}`, "allow")
		h.decide("too much", `{"to":"landlord","amount":6001}`, "hold")
		h.decide("to another", `{"to":"mallory","amount":1}`, "hold")
		standing, err := h.approver.StandingApprovals(ctx, h.Org)
		if err != nil || len(standing) != 1 || standing[0].Used != 1 || standing[0].Uses != 2 ||
			standing[0].Permits != words || standing[0].DelegationID != id {
			t.Fatalf("standing: %+v, %v", standing, err)
		}
		if err := h.approver.RevokeStandingApproval(ctx, h.Org, standing[0].ID); err != nil {
			t.Fatal(err)
		}
		h.decide("taken back", `{"to":"landlord","amount":5999}`, "hold")
		if standing, err = h.approver.StandingApprovals(ctx, h.Org); err != nil || len(standing) != 0 {
			t.Errorf("standing: %+v, %v", standing, err)
		}
	})
}

// TestYesesLapse: a yes whose giver may not give it any more permits nothing, and
// the list says so; it can be taken back before they may again.
func TestYesesLapse(t *testing.T) {
	t.Parallel()
	eachHolding(t, func(t *testing.T, h *holding) {
		ctx := t.Context()
		id := h.decide("the first", payment, "hold")["approvalId"].(string)
		if _, err := h.approver.Approve(ctx, h.Org, client.Approval{
			ID: id, Scope: &client.ApprovalScope{Kind: "minutes", Minutes: 30},
		}); err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct {
			role, action string
			lapsed       bool
		}{{"approver", "allow", false}, {"member", "hold", true}, {"admin", "allow", false}, {"viewer", "hold", true}} {
			if _, err := h.Owner.ChangeRole(ctx, h.Org, h.approver.ID, step.role); err != nil {
				t.Fatal(err)
			}
			h.decide("given by a "+step.role, `{"to":"landlord","amount":5001}`, step.action)
			standing, err := h.Owner.StandingApprovals(ctx, h.Org)
			if err != nil || len(standing) != 1 || standing[0].Lapsed != step.lapsed {
				t.Fatalf("given by a %s: %+v, %v, want lapsed %t", step.role, standing, err, step.lapsed)
			}
		}
		standing, err := h.Owner.StandingApprovals(ctx, h.Org)
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Owner.RevokeStandingApproval(ctx, h.Org, standing[0].ID); err != nil {
			t.Fatalf("take back what has lapsed: %v", err)
		}
	})
}

// TestScopesThatAreRefused names the field.
func TestScopesThatAreRefused(t *testing.T) {
	t.Parallel()
	eachHolding(t, func(t *testing.T, h *holding) {
		id := h.decide("the call", payment, "hold")["approvalId"].(string)
		for _, c := range []struct{ name, more, field string }{
			{"an unknown kind", `"scope":{"kind":"forever"}`, "scope.kind"},
			{"no kind", `"scope":{"minutes":5}`, "scope.kind"},
			{"once for a time", `"scope":{"kind":"once","minutes":5}`, "scope"},
			{"a session that is not named", `"scope":{"kind":"session"}`, "scope.kind"},
			{"too long", `"scope":{"kind":"minutes","minutes":481}`, "scope.minutes"},
			{"for no time", `"scope":{"kind":"minutes"}`, "scope.minutes"},
			{"too often", `"scope":{"kind":"minutes","minutes":5,"uses":1001}`, "scope.uses"},
			{"a pattern of nothing", `"scope":{"kind":"pattern","pattern":{}}`, "scope.pattern"},
			{"an unknown check", `"scope":{"kind":"pattern","pattern":{"to":{"like":"x"}}}`, "scope.pattern"},
			{"two checks", `"scope":{"kind":"pattern","pattern":{"to":{"equals":1,"max":2}}}`, "scope.pattern.to"},
			{
				"changed arguments with a wider yes", `"scope":{"kind":"minutes","minutes":5},"arguments":{}`,
				"arguments",
			},
			{"arguments that are none", `"arguments":[1]`, "arguments"},
		} {
			t.Run(c.name, func(t *testing.T) {
				body := fmt.Sprintf(`{"delegationId":%q,%s}`, id, c.more)
				answer := h.Request(t, "POST", "/delegation/approve?organizationId="+h.Org, body,
					testserver.Credentials(h.approver.Client)...)
				if fields := answer.ErrorFields(t, http.StatusBadRequest); len(fields) != 1 || fields[0] != c.field {
					t.Errorf("it complains of %v, want %s", fields, c.field)
				}
			})
		}
		if got, err := h.approver.ApprovalRequest(t.Context(), h.Org, id); err != nil || got.Status != "pending" {
			t.Errorf("what was refused has changed it: %+v, %v", got, err)
		}
	})
}

// TestChangedArguments: the yes is for what the approver wrote.
func TestChangedArguments(t *testing.T) {
	t.Parallel()
	eachHolding(t, func(t *testing.T, h *holding) {
		id := h.decide("the call", `{"to":"landlord","amount":5000}`, "hold")["approvalId"].(string)
		h.answer("approve", id, `,"arguments":{"amount":4000,"to":"landlord"}`)
		told := h.decide("the original", `{"to":"landlord","amount":5000}`, "block")
		if reason := told["reason"].(string); !strings.Contains(reason, "approved with changes") ||
			!strings.Contains(reason, `{"amount":4000,"to":"landlord"}`) {
			t.Errorf("the agent is told %q", reason)
		}
		polled, err := h.Public.WithKey(h.Key).PollApproval(t.Context(), id, 0)
		if err != nil || polled.Status != "approved" ||
			string(polled.EditedArguments) != `{"amount":4000,"to":"landlord"}` {
			t.Errorf("poll: %+v, %v", polled, err)
		}
		h.decide("as it was changed", `{"to":"landlord","amount":4e3}`, "allow")
		h.decide("again", `{"to":"landlord","amount":4000}`, "hold")
	})
}

// TestSeveralApprovers: each counts once, and the role is the rule's.
func TestSeveralApprovers(t *testing.T) {
	t.Parallel()
	const policy = `
version: v1
name: two
rules:
  - {id: pays, effect: hold, tools: ["*.pay"], approvers: {role: admin, count: 2}}
`
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ctx, owner := t.Context(), s.Person("owner")
		org := s.Organization(owner, "Two")
		s.ActivePolicy(owner, org, policy)
		agent := s.Public.WithKey(s.AgentKey(owner, org).APIKey)
		one, two, lower := s.Join(owner, org, "admin"), s.Join(owner, org, "admin"), s.Join(owner, org, "approver")
		token := s.Declared(agent.APIKey, testserver.PlanRequest(`{"steps":[{"action":"pay","mcp":"bank"}]}`))
		call := client.PlannedCall{Tool: "pay", Arguments: json.RawMessage(`{"amount":1}`), IntentToken: token}
		held, err := agent.Enforce(ctx, call)
		if err != nil || held.Decision != "hold" {
			t.Fatalf("enforce: %+v, %v", held, err)
		}
		_, err = lower.Approve(ctx, org, client.Approval{ID: held.ApprovalID})
		testserver.WantStatus(t, "a lower role", err, http.StatusForbidden)
		done, err := one.Approve(ctx, org, client.Approval{ID: held.ApprovalID})
		if err != nil || done.Status != "pending" || done.Permits != "" {
			t.Fatalf("the first yes: %+v, %v", done, err)
		}
		_, err = one.Approve(ctx, org, client.Approval{ID: held.ApprovalID})
		testserver.WantStatus(t, "the same person again", err, http.StatusConflict)
		if shown, err := two.ApprovalRequest(ctx, org, held.ApprovalID); err != nil || len(shown.Votes) != 1 ||
			shown.Votes[0].UserID != one.ID {
			t.Errorf("votes: %+v, %v", shown.Votes, err)
		}
		if d, err := agent.Enforce(ctx, call); err != nil || d.Allowed {
			t.Errorf("with one yes of two: %+v, %v", d, err)
		}
		if done, err = two.Approve(ctx, org, client.Approval{ID: held.ApprovalID}); err != nil ||
			done.Status != "approved" {
			t.Fatalf("the second yes: %+v, %v", done, err)
		}
		if d, err := agent.Enforce(ctx, call); err != nil || !d.Allowed {
			t.Errorf("with both: %+v, %v", d, err)
		}
	})
}

// TestWhoAsksIsNoneOfSeveralApprovers, also not while nobody else could approve: the vote would count beside the next.
func TestWhoAsksIsNoneOfSeveralApprovers(t *testing.T) {
	t.Parallel()
	const policy = `
version: v1
name: two
rules:
  - {id: pays, effect: hold, tools: ["*.pay"], approvers: {count: 2}}
`
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ctx, owner := t.Context(), s.Person("owner")
		org := s.Organization(owner, "Alone")
		s.ActivePolicy(owner, org, policy)
		agent := s.Public.WithKey(s.AgentKey(owner, org).APIKey)
		token := s.Declared(agent.APIKey, testserver.PlanRequest(`{"steps":[{"action":"pay","mcp":"bank"}]}`))
		call := client.PlannedCall{Tool: "pay", Arguments: json.RawMessage(`{"amount":1}`), IntentToken: token}
		held, err := agent.Enforce(ctx, call)
		if err != nil || held.Decision != "hold" {
			t.Fatalf("enforce: %+v, %v", held, err)
		}
		_, err = owner.Approve(ctx, org, client.Approval{ID: held.ApprovalID})
		testserver.WantStatus(t, "who asks, alone", err, http.StatusForbidden)
		done, err := s.Join(owner, org, "approver").Approve(ctx, org, client.Approval{ID: held.ApprovalID})
		if err != nil || done.Status != "pending" {
			t.Errorf("the first yes of somebody else: %+v, %v; want pending", done, err)
		}
	})
}

// TestWhoAsksDoesNotApprove, unless nobody else could or the organization says so.
func TestWhoAsksDoesNotApprove(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, b *testserver.Org) {
		ctx := t.Context()
		done, err := b.Owner.Approve(ctx, b.ID, client.Approval{ID: b.OpenedApproval(b.Agent)})
		if err != nil || !done.SelfApproved {
			t.Errorf("alone: %+v, %v", done, err)
		}
		approver := b.Join(b.Owner, b.ID, "approver")
		id := b.OpenedApproval(b.Agent)
		_, err = b.Owner.Approve(ctx, b.ID, client.Approval{ID: id})
		testserver.WantStatus(t, "not alone", err, http.StatusForbidden)
		for name, c := range map[string]*client.Client{
			"the key": b.Agent, "a terminal": b.TerminalKey(b.Owner, b.ID),
		} {
			_, err = c.Approve(ctx, "", client.Approval{ID: id})
			testserver.WantStatus(t, name, err, http.StatusUnauthorized)
		}
		settings, err := b.Owner.ApprovalSettings(ctx, b.ID)
		if want := (client.ApprovalSettings{PendingSeconds: 1800, GrantSeconds: 600}); err != nil || settings != want {
			t.Fatalf("settings: %+v, %v", settings, err)
		}
		settings.SelfApproval = true
		if _, err = b.Owner.SetApprovalSettings(ctx, b.ID, settings); err != nil {
			t.Fatal(err)
		}
		if done, err = b.Owner.Approve(ctx, b.ID, client.Approval{ID: id}); err != nil || !done.SelfApproved {
			t.Errorf("with leave: %+v, %v", done, err)
		}
		if done, err = approver.Approve(ctx, b.ID, client.Approval{ID: b.OpenedApproval(b.Agent)}); err != nil ||
			done.SelfApproved {
			t.Errorf("by another: %+v, %v", done, err)
		}
	})
}
