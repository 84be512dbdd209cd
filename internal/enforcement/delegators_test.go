package enforcement_test

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"writ/internal/approval"
	"writ/internal/enforcement"
	"writ/internal/fault"
	"writ/internal/intent"
	"writ/internal/intent/plan"
	"writ/internal/policy"
	"writ/internal/principal"
	"writ/internal/testenv"
	"writ/internal/verdict"
)

// TestTokensOfDelegationsHoldNoCredential: nothing in a delegate's token lets anybody act as whoever delegated it, on
// the routes where the token of a plan is the only credential.
func TestTokensOfDelegationsHoldNoCredential(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		parent := e.mint(e.agent, `{"steps":[{"action":"read","mcp":"fs"},{"action":"wipe","mcp":"fs"}]}`)
		verify := func(shown plan.Presented) enforcement.StepAnswer {
			answer, err := e.decisions.VerifyStep(t.Context(), principal.Principal{}, enforcement.Step{
				Tool: "wipe", Presented: shown,
			})
			if err != nil {
				t.Fatal(err)
			}
			return answer
		}
		if got := verify(parent); got.Verdict != verdict.Allow {
			t.Fatalf("the plan's own token: %s", got.Reason)
		}
		h, err := e.delegate(e.agent, parent, nil, func(r *intent.DelegateRequest) { r.Actions = []string{"read"} })
		if err != nil {
			t.Fatal(err)
		}
		texts := []string{h.Token}
		for _, part := range strings.Split(h.Token, "~") {
			texts = append(texts, part)
			for _, piece := range strings.Split(part, ".") {
				raw, err := base64.RawURLEncoding.DecodeString(piece)
				if err != nil {
					t.Fatal(err)
				}
				texts = append(texts, string(raw))
			}
		}
		for _, text := range texts {
			if strings.Contains(text, parent.Signature) {
				t.Errorf("it has the signature of the plan's token: %.60s", text)
			}
			for _, shown := range []plan.Presented{
				plan.ParsePresented([]byte(text)), {PlanID: parent.PlanID, JWT: text},
				{PlanID: parent.PlanID, PlanHash: parent.PlanHash, Signature: text}, {JWT: text},
			} {
				if got := verify(shown); got.Verdict != verdict.Deny {
					t.Errorf("%.60s: %s", text, got.Verdict)
				}
				if _, err := e.plans.Issued(t.Context(), shown); err == nil {
					t.Errorf("%.60s is taken for a credential", text)
				}
			}
		}
	})
}

// TestDelegatorsAreAskedAboutAsTheyAre: rules about the environment, the session and the goal of whoever delegated hold
// for the delegate, who differs in all of them.
func TestDelegatorsAreAskedAboutAsTheyAre(t *testing.T) {
	t.Parallel()
	const readFile = `{"goal":"tidy","steps":[{"action":"read","mcp":"fs"}]}`
	each(t, func(t *testing.T, e *env) {
		rules := e.active("rules", `id: prod; effect: allow; tools: ["*"]; when: environment == "production"`)
		e.Exec(`UPDATE api_key SET environment = 'production' WHERE id = $1`, e.other.KeyID)
		e.agent.Environment, e.other.Environment = "sandbox", "production"
		shown := e.mint(e.agent, readFile)
		want(t, e.decide(planned(shown, "read", `{}`)), verdict.Deny, "", "")
		h := e.delegated(e.agent, shown, nil)
		want(t, e.asOther(e.asks(h, "read", `{}`)), verdict.Deny, "", "")
		own := e.delegated(e.other, e.mint(e.other, readFile), nil)
		want(t, e.asOther(e.asks(own, "read", `{}`)), verdict.Allow, "", "")
		if _, err := e.policies.Deactivate(t.Context(), e.owner, rules.ID); err != nil {
			t.Fatal(err)
		}

		rules = e.active("goals", allowAll, `id: no; effect: deny; tools: ["*"]; when: intent.goal == "tidy"`)
		h, err := e.delegate(e.agent, shown, nil, func(r *intent.DelegateRequest) { r.Goal = "something else" })
		if err != nil {
			t.Fatal(err)
		}
		want(t, e.asOther(e.asks(h, "read", `{}`)), verdict.Deny, "goals", "")
		if _, err := e.policies.Deactivate(t.Context(), e.owner, rules.ID); err != nil {
			t.Fatal(err)
		}

		e.active("few", `id: few; effect: allow; tools: ["*"]; when: session.calls < 2`)
		shown = e.mint(e.agent, readFile, func(r *intent.Request) { r.SessionID = "s1" })
		h = e.delegated(e.agent, shown, nil)
		last := e.delegated(e.other, plan.Presented{}, &h)
		want(t, e.decide(planned(shown, "read", `{}`)), verdict.Allow, "", "")
		want(t, e.asOther(e.asks(last, "read", `{}`)), verdict.Allow, "", "")
		want(t, e.asOther(e.asks(last, "read", `{}`)), verdict.Deny, "", "")
		want(t, e.asOther(e.asks(h, "read", `{}`)), verdict.Deny, "", "")
		elsewhere := e.asks(h, "read", `{}`)
		elsewhere.SessionID = "another"
		want(t, e.asOther(elsewhere), verdict.Deny, "", "")
		want(t, e.decide(planned(shown, "read", `{}`)), verdict.Deny, "", "")
	})
}

// TestNobodyApprovesByDelegating: whoever may not approve a call may neither approve it as the call of somebody to whom
// they delegated it.
func TestNobodyApprovesByDelegating(t *testing.T) {
	t.Parallel()
	const payBank = `{"steps":[{"action":"pay","mcp":"bank"}]}`
	each(t, func(t *testing.T, e *env) {
		bob := e.approver()
		carol := e.User("carol@example.org")
		e.Member(e.acme, carol, principal.Approver)
		second := testenv.Person(carol, e.acme, principal.Approver)
		e.active("rules", holdPay, allowAll)
		bobs := e.key(e.bob, e.acme)
		h := e.delegated(bobs, e.mint(bobs, payBank), nil)
		last := e.delegated(e.other, plan.Presented{}, &h)
		pay := func(args string) enforcement.Request {
			r := e.asks(last, "pay", args)
			r.Server = "bank"
			return r
		}
		held := e.asOther(pay(`{"amount":5}`))
		want(t, held, verdict.Hold, "rules", "")
		_, err := e.approvals.Approve(t.Context(), bob, held.ApprovalID, approval.Approval{})
		testenv.WantFault(t, "who delegated it approves", err, fault.Forbidden)
		e.approve(second, held.ApprovalID, approval.Approval{})
		want(t, e.asOther(pay(`{"amount":5}`)), verdict.Allow, policy.ByApproval, "")

		// Nor is a request without the plan a way, which does not show who delegated it.
		asked, _, err := e.approvals.Ask(t.Context(), e.other, approval.Asked{
			Tool: "pay", Domain: "bank", Arguments: []byte(`{"amount":6}`),
		})
		if err != nil {
			t.Fatal(err)
		}
		e.approve(bob, asked.ID, approval.Approval{})
		want(t, e.asOther(pay(`{"amount":6}`)), verdict.Hold, "rules", "")

		// Nor is an approval for more than one call that they gave.
		own := call("bank", "pay", `{"amount":7}`)
		e.approve(bob, e.asOther(own).ApprovalID, approval.Approval{
			Scope: approval.Scope{Kind: approval.Minutes, Minutes: 9, Uses: 5},
		})
		want(t, e.asOther(own), verdict.Allow, policy.ByApproval, "")
		want(t, e.asOther(pay(`{"amount":7}`)), verdict.Hold, "rules", "")
	})
}

// TestWhatDelegatorsAreAskedIsHeld: the person whom a rule asks is not the one whom the delegate works for.
func TestWhatDelegatorsAreAskedIsHeld(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.approver()
		bobs := e.key(e.bob, e.acme)
		e.active("rules", `id: sure; effect: ask; tools: ["*"]; when: "environment == 'sandbox'"`, allowAll)
		e.Exec(`UPDATE api_key SET environment = 'sandbox' WHERE id = $1`, bobs.KeyID)
		bobs.Environment, e.other.Environment = "sandbox", "production"
		h := e.delegated(bobs, e.mint(bobs, twoSteps), nil)
		want(t, e.asOther(call("fs", "read", `{}`)), verdict.Allow, "", "")
		want(t, e.asOther(e.asks(h, "read", `{}`)), verdict.Hold, "rules", "")
		e.other.Environment = "sandbox"
		want(t, e.asOther(e.asks(h, "read", `{}`)), verdict.Ask, "rules", "")
	})
}

// TestProofsOfDelegatedStepsAreChecked: whoever proves the step of a call under a delegation proves the right one.
func TestProofsOfDelegatedStepsAreChecked(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		h := e.delegated(e.agent, e.mint(e.agent, twoSteps), nil)
		with := func(claim *plan.Claim) enforcement.Request {
			r := e.asks(h, "read", `{}`)
			r.Carried = &enforcement.Carried{Proof: claim}
			return r
		}
		step := slices.IndexFunc(h.Steps, func(s plan.Step) bool { return s.Action == "read" })
		other := len(h.Steps) - 1 - step
		want(t, e.asOther(with(nil)), verdict.Allow, "", "")
		want(t, e.asOther(with(&plan.Claim{Path: plan.ActionPath(step), Proof: h.Proofs[step]})), verdict.Allow, "", "")
		want(t, e.asOther(with(&plan.Claim{Path: plan.ActionPath(step), Proof: h.Proofs[other]})), verdict.Deny,
			policy.ByIntent, "does not lead to the plan's root")
		want(t, e.asOther(with(&plan.Claim{Path: plan.ActionPath(other), Proof: h.Proofs[other]})), verdict.Deny,
			policy.ByIntent, "another step")
	})
}
