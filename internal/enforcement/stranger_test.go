package enforcement_test

import (
	"testing"

	"writ/internal/agent"
	"writ/internal/agent/lease"
	"writ/internal/approval"
	"writ/internal/enforcement"
	"writ/internal/fault"
	"writ/internal/intent"
	"writ/internal/intent/plan"
	"writ/internal/policy"
	"writ/internal/principal"
	"writ/internal/testenv"
	"writ/internal/toolcall"
	"writ/internal/toolname"
	"writ/internal/verdict"
)

// askedEverywhere asks every surface whether a key may read a file as billing, and gives the answers.
func (e *env) askedEverywhere(by principal.Principal) map[string]bool {
	e.T.Helper()
	ctx, read := e.T.Context(), toolname.Name{Server: "fs", Tool: "read"}
	decides := func(r enforcement.Request) bool { return e.decideAs(by, r).Allowed() }
	planned := as("billing")
	planned.Presented = e.mintFor(by, "billing")
	silent := as("") // its plan names the agent
	silent.Presented = planned.Presented
	step, err := e.decisions.VerifyStep(ctx, by, enforcement.Step{Tool: "read", Presented: planned.Presented})
	if err != nil {
		e.T.Fatal(err)
	}
	x, err := e.decisions.Explain(ctx, e.owner, toolcall.Call{
		Server: "fs", Tool: "read", Agent: toolcall.Agent{ID: "billing"},
		Key: toolcall.Key{ID: by.KeyID, OwnerID: e.ada},
	})
	if err != nil {
		e.T.Fatal(err)
	}
	pre, err := e.decisions.Preflight(ctx, by, enforcement.Preflight{
		AgentID: "billing", Calls: []enforcement.PreflightCall{{Server: "fs", Name: "read", Input: []byte(`{}`)}},
	})
	if err != nil {
		e.T.Fatal(err)
	}
	declared := &plan.Plan{Steps: []plan.Step{{Server: "fs", Tool: "read"}}}
	foreseen, _ := e.decisions.Foresee(ctx, by, declared, nil, enforcement.Parties{AgentID: "billing"})
	_, leaseErr := e.lease(by, enforcement.LeaseRequest{AgentID: "billing", Tools: []lease.Tool{readTool}})
	_, sightErr := e.decisions.Visible(ctx, by, enforcement.Request{AgentID: "billing"}, []toolname.Name{read})
	return map[string]bool{
		"enforce":              decides(as("billing")),
		"with a plan":          decides(planned),
		"as its plan's agent":  decides(silent),
		"verify-step":          step.Allowed(),
		"check-access":         x.Decision.Verdict == verdict.Allow,
		"preflight":            pre.Outcome == intent.Accepted,
		"what a token permits": len(foreseen.AllowedTools) > 0,
		"lease":                leaseErr == nil,
		"the proxy's list":     sightErr == nil,
	}
}

// mintFor declares a plan of one step as an agent.
func (e *env) mintFor(by principal.Principal, agentID string) plan.Presented {
	e.T.Helper()
	return e.mint(by, `{"steps":[{"action":"read","mcp":"fs"}]}`, func(r *intent.Request) { r.AgentID = agentID })
}

// TestASuspendedIDActsWithNoKey, on no surface: neither one that was never bound to it nor one that was taken from it.
func TestASuspendedIDActsWithNoKey(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll, `id: held; effect: hold; tools: ["bank.*"]`)
		e.leases()
		bob := e.approver()
		third := e.key(e.ada, e.acme)
		e.register("billing", agent.Profile{Keys: []string{e.agent.KeyID, third.KeyID}})
		kept := []string{third.KeyID}
		if _, err := e.agents.Update(t.Context(), e.owner, "billing", agent.Changes{Keys: &kept}); err != nil {
			t.Fatal(err)
		}
		held := call("bank", "pay", `{"n":1}`)
		held.AgentID, held.UserEmail = "billing", "u@example.org"
		e.approve(bob, e.decide(held).ApprovalID, approval.Approval{})
		strangers := []principal.Principal{e.agent, e.other}
		for _, by := range strangers {
			for surface, may := range e.askedEverywhere(by) {
				if !may {
					t.Errorf("%s: a stranger is denied for that alone", surface)
				}
			}
		}
		e.suspend("billing", agent.Suspended)
		for _, by := range strangers {
			for surface, may := range e.askedEverywhere(by) {
				if may {
					t.Errorf("%s: a stranger may act as a suspended agent", surface)
				}
			}
			want(t, e.decideAs(by, as("billing")), verdict.Deny, policy.ByAgent, "agent billing is suspended")
			want(t, e.decideAs(by, as("another")), verdict.Allow, "", "")
		}
		if got := e.released(approval.Question{Tool: "pay", Email: "u@example.org"}); got != nil {
			t.Errorf("check-approved releases a call of a suspended agent: %+v", got)
		}
		_, err := e.lease(e.other, enforcement.LeaseRequest{AgentID: "billing", Tools: []lease.Tool{readTool}})
		testenv.WantFault(t, "a lease", err, fault.Forbidden)
	})
}

// TestConditionsSeeThatAStrangersIDIsSuspended, although it counts as unregistered.
func TestConditionsSeeThatAStrangersIDIsSuspended(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.register("billing", agent.Profile{Name: "Billing", Keys: []string{e.agent.KeyID}})
		e.suspend("billing", agent.Suspended)
		st, err := e.agents.StandingOf(t.Context(), e.acme, "billing", e.other.KeyID)
		if err != nil || st.Status != agent.Suspended || st.Registered || st.Proven || st.Name != "" {
			t.Errorf("%+v, %v", st, err)
		}
	})
}

// TestNoApprovalReplacesARequiredPlan: what was asked before any decision has been compared with no plan.
func TestNoApprovalReplacesARequiredPlan(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		bob := e.holdsEverything()
		e.register("billing", agent.Profile{Keys: []string{e.other.KeyID}})
		asked, _ := e.ask(approval.Asked{
			Tool: "pay", Arguments: []byte(`{"n":1}`), Amount: amount(5), AgentID: "billing",
		})
		e.approve(bob, asked.ID, approval.Approval{})
		require := func(of bool) {
			t.Helper()
			_, err := e.agents.Update(t.Context(), e.owner, "billing", agent.Changes{IntentRequired: &of})
			if err != nil {
				t.Fatal(err)
			}
		}
		require(true)
		if got := e.released(approval.Question{Tool: "pay", Amount: 5}); got != nil {
			t.Errorf("released without a plan: %+v", got)
		}
		require(false)
		if got := e.released(approval.Question{Tool: "pay", Amount: 5}); got == nil {
			t.Error("not released, although no plan is needed")
		}
	})
}
