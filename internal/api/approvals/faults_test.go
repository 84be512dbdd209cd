package approvals_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"writ/client"
	"writ/internal/testserver"
)

// TestOneAnswerWins: yes and no at the same instant, by several, and the calls that
// follow at once. A yes lets one call run, and never one beside a no.
func TestOneAnswerWins(t *testing.T) {
	t.Parallel()
	eachHolding(t, func(t *testing.T, h *holding) {
		other := h.Join(h.Owner, h.Org, "admin")
		for round := range 8 {
			arguments := fmt.Sprintf(`{"amount":%d}`, round)
			id := h.decide("the call", arguments, "hold")["approvalId"].(string)
			var won, lost atomic.Int32
			var all sync.WaitGroup
			for i, p := range []*testserver.Person{h.approver, other, h.approver, other} {
				all.Go(func() {
					var err error
					if i < 2 {
						_, err = p.Approve(t.Context(), h.Org, client.Approval{ID: id})
					} else {
						_, err = p.Reject(t.Context(), h.Org, id, "")
					}
					switch client.StatusOf(err) {
					case 0:
						won.Add(1)
					case http.StatusConflict:
						lost.Add(1)
					default:
						t.Errorf("round %d: %v", round, err)
					}
				})
			}
			all.Wait()
			if won.Load() != 1 || lost.Load() != 3 {
				t.Errorf("round %d: %d answers won, %d lost", round, won.Load(), lost.Load())
			}
			h.wantRuns(round, id, arguments)
		}
	})
}

// wantRuns asks about the call four times at once. It must run once where the
// answer was yes, and not at all where it was no.
func (h *holding) wantRuns(round int, id, arguments string) {
	h.T.Helper()
	shown, err := h.approver.ApprovalRequest(h.T.Context(), h.Org, id)
	if err != nil {
		h.T.Fatal(err)
	}
	want := int32(0)
	if shown.Status == "approved" {
		want = 1
	}
	agent := h.Public.WithKey(h.Key)
	call := client.PlannedCall{
		Tool: "pay", Arguments: json.RawMessage(arguments), IntentToken: json.RawMessage(h.token), UserEmail: userEmail,
	}
	var runs atomic.Int32
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			d, err := agent.Enforce(h.T.Context(), call)
			if err != nil {
				h.T.Errorf("round %d: %v", round, err)
			}
			if d.Allowed {
				runs.Add(1)
			}
		})
	}
	all.Wait()
	if runs.Load() != want {
		h.T.Errorf("round %d: %s, and %d calls ran", round, shown.Status, runs.Load())
	}
}

// TestLoopingAgent: five hundred equal questions are one request, counted.
func TestLoopingAgent(t *testing.T) {
	t.Parallel()
	eachHolding(t, func(t *testing.T, h *holding) {
		const calls, at = 500, 10
		agent := h.Public.WithKey(h.Key)
		call := client.PlannedCall{
			Tool: "pay", Arguments: json.RawMessage(payment), IntentToken: json.RawMessage(h.token),
		}
		var all sync.WaitGroup
		for range at {
			all.Go(func() {
				for range calls / at {
					if d, err := agent.Enforce(t.Context(), call); err != nil || d.Decision != "hold" {
						t.Errorf("enforce: %+v, %v", d, err)
						return
					}
				}
			})
		}
		all.Wait()
		list, err := h.approver.ApprovalRequests(t.Context(), h.Org, clientApprovals())
		if err != nil || len(list.Items) != 1 || list.Items[0].Repeats != calls-1 {
			t.Errorf("the queue: %+v, %v", list.Items, err)
		}
	})
}

// TestAsksAreForTheOwner: the person the agent works for answers, whatever their
// role, and an approver does not.
func TestAsksAreForTheOwner(t *testing.T) {
	t.Parallel()
	eachHolding(t, func(t *testing.T, h *holding) {
		ctx, member := t.Context(), h.Join(h.Owner, h.Org, "member")
		agent := h.Public.WithKey(h.AgentKey(member, h.Org).APIKey)
		token := h.Declared(agent.APIKey, testserver.PlanRequest(`{"steps":[{"action":"mail","mcp":"post"}]}`))
		call := client.PlannedCall{Tool: "mail", Arguments: json.RawMessage(`{"to":"x"}`), IntentToken: token}
		asked, err := agent.Enforce(ctx, call)
		if err != nil || asked.Decision != "ask" || asked.EnforcementAction != "hold" {
			t.Fatalf("enforce: %+v, %v", asked, err)
		}
		_, err = h.approver.Approve(ctx, h.Org, client.Approval{ID: asked.ApprovalID})
		testserver.WantStatus(t, "an approver", err, http.StatusForbidden)
		list, err := member.ApprovalRequests(ctx, h.Org, client.ApprovalFilter{Kind: "ask"})
		if err != nil || len(list.Items) != 1 || list.Items[0].ID != asked.ApprovalID {
			t.Errorf("what the member sees: %+v, %v", list.Items, err)
		}
		if done, err := member.Approve(ctx, h.Org, client.Approval{ID: asked.ApprovalID}); err != nil ||
			done.SelfApproved {
			t.Fatalf("the owner of the key: %+v, %v", done, err)
		}
		if d, err := agent.Enforce(ctx, call); err != nil || !d.Allowed {
			t.Errorf("after the yes: %+v, %v", d, err)
		}
	})
}

// TestPluginsHoldFlow is the flow of coding agents, which only ask again.
func TestPluginsHoldFlow(t *testing.T) {
	t.Parallel()
	eachHolding(t, func(t *testing.T, h *holding) {
		const body = `{"tool_name":"pay","tool_input":{"amount":%d},"source":"armorgemini","session_id":"s-1","policy":{},"intent":null}`
		ask := func(amount int) m {
			status, answer := h.Call("/iap/enforce", fmt.Sprintf(body, amount), h.Gemini()...)
			if status != http.StatusOK {
				t.Fatalf("enforce: %d %v", status, answer)
			}
			return answer
		}
		held := ask(1)
		if held["action"] != "hold" || held["allowed"] != false {
			t.Fatalf("before: %v", held)
		}
		h.answer("approve", held["approvalId"].(string), `,"scope":{"kind":"session","uses":2}`)
		for i, want := range []string{"allow", "allow", "hold"} {
			if got := ask(i); got["action"] != want {
				t.Errorf("call %d of the session: %v, want %s", i, got, want)
			}
		}
		other := strings.Replace(fmt.Sprintf(body, 1), "s-1", "s-2", 1)
		if _, got := h.Call("/iap/enforce", other, h.Gemini()...); got["action"] != "hold" {
			t.Errorf("another session: %v", got)
		}
	})
}
