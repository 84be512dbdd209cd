package enforcement_test

import (
	"strings"
	"testing"
	"time"

	"writ/internal/approval"
	"writ/internal/audit"
	"writ/internal/decision"
	"writ/internal/enforcement"
	"writ/internal/policy"
	"writ/internal/verdict"
)

// say answers the request that a call waits for.
func (w *world) say(a enforcement.Answer, yes approval.Approval) approval.Request {
	w.t.Helper()
	r, err := w.approvals.Approve(w.t.Context(), person(w.bob, w.acme, "approver"), a.ApprovalID, yes)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func (w *world) standing() []approval.StandingApproval {
	w.t.Helper()
	allows, err := w.approvals.ListStanding(w.t.Context(), w.owner)
	if err != nil {
		w.t.Fatal(err)
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
	each(t, func(t *testing.T, w *world) {
		w.approver()
		w.active("rules", holdPay, `id: send; effect: hold; tools: ["mail.send", "bank.move"]`, allowAll)
		pay := func(args string) enforcement.Request {
			return from("a", "u@example.org", "s1", call("bank", "pay", args))
		}
		held := w.decide(pay(`{"n":1}`))
		other := w.decide(pay(`{"n":2}`))
		r := w.say(held, approval.Approval{Scope: approval.Scope{Kind: approval.Session, Uses: 3}})
		if r.Status != approval.Approved || r.GrantExpiresAt() != nil || r.Granted(w.db.Now()) {
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
			if got := w.decide(r); name != "another server" && got.Verdict != verdict.Hold ||
				got.PolicyID == policy.ByApproval {
				t.Errorf("%s: %+v", name, got)
			}
		}
		if got := w.decisions.Decide(t.Context(), w.other, pay(`{"n":1}`)); got.Verdict != verdict.Hold {
			t.Errorf("another key: %+v", got)
		}
		for i, args := range []string{`{"n":1}`, `{"n":2}`, `{"n":99}`} {
			got := w.decide(pay(args))
			want(t, got, verdict.Allow, policy.ByApproval, "approved for more than one call")
			if got.ApprovalID != held.ApprovalID {
				t.Errorf("use %d names request %s", i, got.ApprovalID)
			}
		}
		covered, err := w.approvals.Get(t.Context(), w.owner, other.ApprovalID)
		if err != nil || covered.Status != approval.Approved || covered.CoveredBy == "" || covered.DecidedBy != "" {
			t.Errorf("the request that waited: %+v, %v", covered, err)
		}
		want(t, w.decide(pay(`{"n":1}`)), verdict.Hold, "rules", "")
		if left := w.standing(); len(left) != 0 {
			t.Errorf("used up, and still standing: %+v", left)
		}
		w.recordedUses(covered.CoveredBy, 3)
		w.verified()
	})
}

// recordedUses checks that the log has a decision for each use of a wider yes.
func (w *world) recordedUses(allowID string, uses int) {
	w.t.Helper()
	entries, err := audit.ReadEntries(w.t.Context(), w.db, w.acme, 0, 1000)
	if err != nil {
		w.t.Fatal(err)
	}
	n := 0
	for _, e := range entries {
		if e.Action == decision.Action && strings.HasPrefix(e.Payload, `{"allow":"`+allowID+`","approval":"`) {
			n++
		}
	}
	if n != uses {
		w.t.Errorf("the log has %d uses of the wider yes, want %d", n, uses)
	}
}

// TestAYesForMinutes ends by time, by being taken back, and with the rule.
func TestAYesForMinutes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		bob := w.approver()
		rules := w.active("rules", holdPay, allowAll)
		pay := call("bank", "pay", `{}`)
		quarter := approval.Approval{Scope: approval.Scope{Kind: approval.Minutes, Minutes: 15}}
		w.say(w.decide(pay), quarter)
		want(t, w.decide(pay), verdict.Allow, policy.ByApproval, "")
		w.pass(15*time.Minute - time.Microsecond)
		want(t, w.decide(pay), verdict.Allow, policy.ByApproval, "")
		w.pass(time.Microsecond)
		held := w.decide(pay)
		want(t, held, verdict.Hold, "rules", "")

		w.say(held, quarter)
		want(t, w.decide(pay), verdict.Allow, policy.ByApproval, "")
		allow := w.standing()[0]
		if allow.Used != 1 || allow.Uses != 100 || allow.GivenBy != w.bob ||
			!strings.Contains(allow.Words, "within 15 minutes") {
			t.Errorf("standing: %+v", allow)
		}
		for range 2 {
			if got, err := w.approvals.Revoke(t.Context(), bob, allow.ID); err != nil || got.RevokedAt == nil ||
				got.RevokedBy != w.bob {
				t.Errorf("revoke: %+v, %v", got, err)
			}
		}
		held = w.decide(pay)
		want(t, held, verdict.Hold, "rules", "")

		w.say(held, quarter)
		stop := w.active("stop", `id: stop; effect: deny; tools: ["bank.*"]`)
		want(t, w.decide(pay), verdict.Deny, "stop", "")
		if _, err := w.policies.Deactivate(t.Context(), w.owner, stop.ID); err != nil {
			t.Fatal(err)
		}
		want(t, w.decide(pay), verdict.Allow, policy.ByApproval, "")
		if _, err := w.policies.Deactivate(t.Context(), w.owner, rules.ID); err != nil {
			t.Fatal(err)
		}
		w.active("stricter", `id: pay; effect: hold; tools: ["bank.pay"]`, allowAll)
		want(t, w.decide(pay), verdict.Hold, "stricter", "")
	})
}

// TestAYesForAPattern takes the arguments it was given for, by value.
func TestAYesForAPattern(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.approver()
		w.active("rules", holdPay, `id: big; effect: deny; tools: ["bank.pay"]; when: args.amount > 90`, allowAll)
		narrow, err := approval.ParsePattern([]byte(`{"to":{"equals":"landlord"},"amount":{"max":100}}`))
		if err != nil {
			t.Fatal(err)
		}
		w.say(w.decide(call("bank", "pay", `{"to":"landlord","amount":5}`)), approval.Approval{
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
			if got := w.decide(call("bank", "pay", args)); got.Verdict != verdicts {
				t.Errorf("%s: %s, want %s: %s", args, got.Verdict, verdicts, got.Reason)
			}
		}
	})
}

// TestAYesForThePlan covers what else the plan holds, of any tool, and neither
// another plan nor what wants more approvers.
func TestAYesForThePlan(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.approver()
		w.active("rules", holdPay, `id: send; effect: hold; tools: ["mail.send"]`,
			`id: two; effect: hold; tools: ["bank.close"]; approvers: {role: approver, count: 2}`,
			`id: sure; effect: ask; tools: ["bank.look"]`, allowAll)
		steps := `{"steps":[{"action":"pay","mcp":"bank"},{"action":"send","mcp":"mail","params":{"to":"x"}},{"action":"close","mcp":"bank"},{"action":"look","mcp":"bank"}]}`
		shown, second := w.mint(w.agent, steps), w.mint(w.agent, steps)
		w.say(w.decide(planned(shown, "pay", `{}`)), approval.Approval{Scope: approval.Scope{Kind: approval.Plan}})
		want(t, w.decide(planned(shown, "pay", `{"n":2}`)), verdict.Allow, policy.ByApproval, "")
		want(t, w.decide(planned(shown, "send", `{"to":"x"}`)), verdict.Allow, policy.ByApproval, "")
		want(t, w.decide(planned(shown, "send", `{"to":"y"}`)), verdict.Deny, policy.ByIntent, "")
		want(t, w.decide(planned(shown, "close", `{}`)), verdict.Hold, "rules", "")
		want(t, w.decide(planned(shown, "look", `{}`)), verdict.Ask, "rules", "")
		want(t, w.decide(planned(second, "send", `{"to":"x"}`)), verdict.Hold, "rules", "")
		want(t, w.decide(call("mail", "send", `{"to":"x"}`)), verdict.Hold, "rules", "")
	})
}

// TestANoGoesBeforeAWiderYes: what a person said about the very call counts.
func TestANoGoesBeforeAWiderYes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		bob := w.approver()
		w.active("rules", holdPay, allowAll)
		bad := w.decide(call("bank", "pay", `{"to":"mallory"}`))
		if _, err := w.approvals.Reject(t.Context(), bob, bad.ApprovalID, "never"); err != nil {
			t.Fatal(err)
		}
		w.say(w.decide(call("bank", "pay", `{}`)), approval.Approval{
			Scope: approval.Scope{Kind: approval.Minutes, Minutes: 60},
		})
		want(t, w.decide(call("bank", "pay", `{"n":1}`)), verdict.Allow, policy.ByApproval, "")
		want(t, w.decide(call("bank", "pay", `{"to":"mallory"}`)), verdict.Deny, policy.ByApproval, "never")
	})
}

// TestUsesOfAWiderYesAreExact, however many ask at once.
func TestUsesOfAWiderYesAreExact(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.approver()
		w.active("rules", holdPay, allowAll)
		pay := call("bank", "pay", `{}`)
		w.say(w.decide(pay), approval.Approval{Scope: approval.Scope{Kind: approval.Minutes, Minutes: 60, Uses: 7}})
		if n := allowed(w.together(100, func(int) enforcement.Request { return pay }, w.decisions)); n != 7 {
			t.Errorf("%d calls ran on a yes for 7", n)
		}
		if n := w.count(`temporary_allow WHERE used = 7`); n != 1 {
			t.Errorf("%d yeses used 7 times", n)
		}
		if n := w.count(`approval_event WHERE kind = 'used'`); n != 7 {
			t.Errorf("%d uses announced", n)
		}
	})
}

// TestARefusedStepTakesNoWiderYes: what does not run uses nothing up.
func TestARefusedStepTakesNoWiderYes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.approver()
		w.active("rules", holdPay, allowAll)
		shown := w.mint(w.agent, `{"steps":[{"action":"pay","mcp":"bank","max_calls":1}]}`)
		w.say(w.decide(planned(shown, "pay", `{}`)), approval.Approval{Scope: approval.Scope{Kind: approval.Plan}})
		want(t, w.decide(planned(shown, "pay", `{}`)), verdict.Allow, policy.ByApproval, "")
		want(t, w.decide(planned(shown, "pay", `{}`)), verdict.Deny, policy.ByIntent, "used up")
		if n := w.count(`temporary_allow WHERE used = 1`); n != 1 {
			t.Error("a call that did not run was counted")
		}
	})
}
