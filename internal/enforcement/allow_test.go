package enforcement_test

import (
	"strings"
	"testing"
	"time"

	"writ/internal/approval"
	"writ/internal/approval/pattern"
	"writ/internal/audit"
	"writ/internal/decision"
	"writ/internal/enforcement"
	"writ/internal/policy"
	"writ/internal/testenv"
	"writ/internal/verdict"
)

// say answers the request that a call waits for.
func (e *env) say(a enforcement.Answer, yes approval.Approval) approval.Request {
	e.T.Helper()
	r, err := e.approvals.Approve(e.T.Context(), testenv.Person(e.bob, e.acme, "approver"), a.ApprovalID, yes)
	if err != nil {
		e.T.Fatal(err)
	}
	return r
}

func (e *env) standing() []approval.StandingApproval {
	e.T.Helper()
	allows, err := e.approvals.ListStanding(e.T.Context(), e.owner)
	if err != nil {
		e.T.Fatal(err)
	}
	return allows
}

// from is a call by an agent for a user in a session.
func from(agent, user, session string, r enforcement.Request) enforcement.Request {
	r.AgentID, r.UserEmail, r.SessionID = agent, user, session
	return r
}

// TestAYesForTheSession lifts the hold of one tool for one caller in one session,
// a number of times, and nothing else.
func TestAYesForTheSession(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.approver()
		e.active("rules", holdPay, `id: send; effect: hold; tools: ["mail.send", "bank.move"]`, allowAll)
		pay := func(args string) enforcement.Request {
			return from("a", "u@example.org", "s1", call("bank", "pay", args))
		}
		held := e.decide(pay(`{"n":1}`))
		other := e.decide(pay(`{"n":2}`))
		r := e.say(held, approval.Approval{Scope: approval.Scope{Kind: approval.Session, Uses: 3}})
		if r.Status != approval.Approved || r.GrantExpiresAt() != nil || r.Granted(e.DB.Now()) {
			t.Errorf("approved: %+v", r)
		}
		for name, r := range map[string]enforcement.Request{
			"another session": from("a", "u@example.org", "s2", call("bank", "pay", `{"n":3}`)),
			"no session":      from("a", "u@example.org", "", call("bank", "pay", `{"n":4}`)),
			"another agent":   from("b", "u@example.org", "s1", call("bank", "pay", `{"n":5}`)),
			"no agent":        from("", "u@example.org", "s1", call("bank", "pay", `{"n":6}`)),
			"another user":    from("a", "v@example.org", "s1", call("bank", "pay", `{"n":7}`)),
			"another tool":    from("a", "u@example.org", "s1", call("bank", "move", `{"n":8}`)),
			"another server":  from("a", "u@example.org", "s1", call("shop", "pay", `{"n":9}`)),
		} {
			if got := e.decide(r); name != "another server" && got.Verdict != verdict.Hold ||
				got.PolicyID == policy.ByApproval {
				t.Errorf("%s: %+v", name, got)
			}
		}
		if got := e.decisions.Decide(t.Context(), e.other, pay(`{"n":1}`)); got.Verdict != verdict.Hold {
			t.Errorf("another key: %+v", got)
		}
		for i, args := range []string{`{"n":1}`, `{"n":2}`, `{"n":99}`} {
			got := e.decide(pay(args))
			want(t, got, verdict.Allow, policy.ByApproval, "approved for more than one call")
			if got.ApprovalID != held.ApprovalID {
				t.Errorf("use %d names request %s", i, got.ApprovalID)
			}
		}
		covered, err := e.approvals.Get(t.Context(), e.owner, other.ApprovalID)
		if err != nil || covered.Status != approval.Approved || covered.CoveredBy == "" || covered.DecidedBy != "" {
			t.Errorf("the request that waited: %+v, %v", covered, err)
		}
		want(t, e.decide(pay(`{"n":1}`)), verdict.Hold, "rules", "")
		if left := e.standing(); len(left) != 0 {
			t.Errorf("used up, and still standing: %+v", left)
		}
		e.recordedUses(covered.CoveredBy, 3)
		e.verified()
	})
}

// recordedUses checks that the log has a decision for each use of a wider yes.
func (e *env) recordedUses(allowID string, uses int) {
	e.T.Helper()
	entries, err := audit.ReadEntries(e.T.Context(), e.DB, e.acme, 0, 1000)
	if err != nil {
		e.T.Fatal(err)
	}
	n := 0
	for _, e := range entries {
		if e.Action == decision.Action && strings.HasPrefix(e.Payload, `{"allow":"`+allowID+`","approval":"`) {
			n++
		}
	}
	if n != uses {
		e.T.Errorf("the log has %d uses of the wider yes, want %d", n, uses)
	}
}

// TestAYesForMinutes ends by time, by being taken back, and with the rule.
func TestAYesForMinutes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		bob := e.approver()
		rules := e.active("rules", holdPay, allowAll)
		pay := call("bank", "pay", `{}`)
		quarter := approval.Approval{Scope: approval.Scope{Kind: approval.Minutes, Minutes: 15}}
		e.say(e.decide(pay), quarter)
		want(t, e.decide(pay), verdict.Allow, policy.ByApproval, "")
		e.Pass(15*time.Minute - time.Microsecond)
		want(t, e.decide(pay), verdict.Allow, policy.ByApproval, "")
		e.Pass(time.Microsecond)
		held := e.decide(pay)
		want(t, held, verdict.Hold, "rules", "")

		e.say(held, quarter)
		want(t, e.decide(pay), verdict.Allow, policy.ByApproval, "")
		allow := e.standing()[0]
		if allow.Used != 1 || allow.Uses != 100 || allow.GivenBy != e.bob ||
			!strings.Contains(allow.Words, "within 15 minutes") {
			t.Errorf("standing: %+v", allow)
		}
		for range 2 {
			if got, err := e.approvals.Revoke(t.Context(), bob, allow.ID); err != nil || got.RevokedAt == nil ||
				got.RevokedBy != e.bob {
				t.Errorf("revoke: %+v, %v", got, err)
			}
		}
		held = e.decide(pay)
		want(t, held, verdict.Hold, "rules", "")

		e.say(held, quarter)
		stop := e.active("stop", `id: stop; effect: deny; tools: ["bank.*"]`)
		want(t, e.decide(pay), verdict.Deny, "stop", "")
		if _, err := e.policies.Deactivate(t.Context(), e.owner, stop.ID); err != nil {
			t.Fatal(err)
		}
		want(t, e.decide(pay), verdict.Allow, policy.ByApproval, "")
		if _, err := e.policies.Deactivate(t.Context(), e.owner, rules.ID); err != nil {
			t.Fatal(err)
		}
		e.active("stricter", `id: pay; effect: hold; tools: ["bank.pay"]`, allowAll)
		want(t, e.decide(pay), verdict.Hold, "stricter", "")
	})
}

// TestAYesForAPattern takes the arguments it was given for, by value.
func TestAYesForAPattern(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.approver()
		e.active("rules", holdPay, `id: big; effect: deny; tools: ["bank.pay"]; when: args.amount > 90`, allowAll)
		narrow, err := pattern.Parse([]byte(`{"to":{"equals":"landlord"},"amount":{"max":100}}`))
		if err != nil {
			t.Fatal(err)
		}
		e.say(e.decide(call("bank", "pay", `{"to":"landlord","amount":5}`)), approval.Approval{
			Scope: approval.Scope{Kind: approval.ByPattern, Pattern: narrow},
		})
		for args, verdicts := range map[string]verdict.Verdict{
			`{"to":"landlord","amount":5}`:          verdict.Allow,
			`{"amount":9.0e1,"to":"landlord"}`:      verdict.Allow,
			`{"to":"landlord","amount":91}`:         verdict.Deny, // the pattern takes it, a rule denies it
			`{"to":"mallory","amount":5}`:           verdict.Hold,
			`{"to":"landlord","amount":5,"now":1}`:  verdict.Hold,
			`{"to":["landlord"],"amount":5}`:        verdict.Hold,
			`{"to":"landlord","amount":5,"to2":{}}`: verdict.Hold,
		} {
			if got := e.decide(call("bank", "pay", args)); got.Verdict != verdicts {
				t.Errorf("%s: %s, want %s: %s", args, got.Verdict, verdicts, got.Reason)
			}
		}
	})
}

// TestAYesForThePlan covers what else the plan holds, of any tool, and neither
// another plan nor what wants more approvers.
func TestAYesForThePlan(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.approver()
		e.active("rules", holdPay, `id: send; effect: hold; tools: ["mail.send"]`,
			`id: two; effect: hold; tools: ["bank.close"]; approvers: {role: approver, count: 2}`,
			`id: sure; effect: ask; tools: ["bank.look"]`, allowAll)
		steps := `{"steps":[{"action":"pay","mcp":"bank"},{"action":"send","mcp":"mail","params":{"to":"x"}},{"action":"close","mcp":"bank"},{"action":"look","mcp":"bank"}]}`
		shown, second := e.mint(e.agent, steps), e.mint(e.agent, steps)
		e.say(e.decide(planned(shown, "pay", `{}`)), approval.Approval{Scope: approval.Scope{Kind: approval.Plan}})
		want(t, e.decide(planned(shown, "pay", `{"n":2}`)), verdict.Allow, policy.ByApproval, "")
		want(t, e.decide(planned(shown, "send", `{"to":"x"}`)), verdict.Allow, policy.ByApproval, "")
		want(t, e.decide(planned(shown, "send", `{"to":"y"}`)), verdict.Deny, policy.ByIntent, "")
		want(t, e.decide(planned(shown, "close", `{}`)), verdict.Hold, "rules", "")
		want(t, e.decide(planned(shown, "look", `{}`)), verdict.Ask, "rules", "")
		want(t, e.decide(planned(second, "send", `{"to":"x"}`)), verdict.Hold, "rules", "")
		want(t, e.decide(call("mail", "send", `{"to":"x"}`)), verdict.Hold, "rules", "")
	})
}

// TestANoGoesBeforeAWiderYes: what a person said about the very call counts.
func TestANoGoesBeforeAWiderYes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		bob := e.approver()
		e.active("rules", holdPay, allowAll)
		bad := e.decide(call("bank", "pay", `{"to":"mallory"}`))
		if _, err := e.approvals.Reject(t.Context(), bob, bad.ApprovalID, "never"); err != nil {
			t.Fatal(err)
		}
		e.say(e.decide(call("bank", "pay", `{}`)), approval.Approval{
			Scope: approval.Scope{Kind: approval.Minutes, Minutes: 60},
		})
		want(t, e.decide(call("bank", "pay", `{"n":1}`)), verdict.Allow, policy.ByApproval, "")
		want(t, e.decide(call("bank", "pay", `{"to":"mallory"}`)), verdict.Deny, policy.ByApproval, "never")
	})
}

// TestUsesOfAWiderYesAreExact, however many ask at once.
func TestUsesOfAWiderYesAreExact(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.approver()
		e.active("rules", holdPay, allowAll)
		pay := call("bank", "pay", `{}`)
		e.say(e.decide(pay), approval.Approval{Scope: approval.Scope{Kind: approval.Minutes, Minutes: 60, Uses: 7}})
		if n := allowed(e.together(100, func(int) enforcement.Request { return pay }, e.decisions)); n != 7 {
			t.Errorf("%d calls ran on a yes for 7", n)
		}
		if n := e.count(`temporary_allow WHERE used = 7`); n != 1 {
			t.Errorf("%d yeses used 7 times", n)
		}
		if n := e.count(`approval_event WHERE kind = 'used'`); n != 7 {
			t.Errorf("%d uses announced", n)
		}
	})
}

// TestARefusedStepTakesNoWiderYes: what does not run uses nothing up.
func TestARefusedStepTakesNoWiderYes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.approver()
		e.active("rules", holdPay, allowAll)
		shown := e.mint(e.agent, `{"steps":[{"action":"pay","mcp":"bank","max_calls":1}]}`)
		e.say(e.decide(planned(shown, "pay", `{}`)), approval.Approval{Scope: approval.Scope{Kind: approval.Plan}})
		want(t, e.decide(planned(shown, "pay", `{}`)), verdict.Allow, policy.ByApproval, "")
		want(t, e.decide(planned(shown, "pay", `{}`)), verdict.Deny, policy.ByIntent, "used up")
		if n := e.count(`temporary_allow WHERE used = 1`); n != 1 {
			t.Error("a call that did not run was counted")
		}
	})
}
