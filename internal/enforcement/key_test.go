package enforcement_test

import (
	"testing"
	"time"

	"writ/internal/database"
	"writ/internal/enforcement"
	"writ/internal/policy"
	"writ/internal/verdict"
)

// TestAKeyThatEndedDecidesNothing ends a key after it was resolved. A client that
// sends the rest of its request slowly, and a replica that resolved it a moment
// ago, both come with a caller who was good then.
func TestAKeyThatEndedDecidesNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", asksMeanwhile, allowAll)
		shown := e.mint(e.agent, twoSteps)
		want(t, e.decide(planned(shown, "read", `{}`)), verdict.Allow, "", "")

		revoke := func() {
			if err := e.keys.Revoke(t.Context(), e.owner, e.agent.KeyID); err != nil {
				t.Error(err)
			}
		}
		e.meanwhile.do.Store(&revoke)
		got := e.decide(planned(shown, "read", `{}`))
		want(t, got, verdict.Deny, policy.ByAgent, "API key is not valid any more")
		if e.meanwhile.do.Load() != nil || !got.Recorded {
			t.Errorf("revoked meanwhile: %t, recorded: %t", e.meanwhile.do.Load() == nil, got.Recorded)
		}
		want(t, e.decide(call("fs", "read", `{}`)), verdict.Deny, policy.ByAgent, "API key is not valid any more")
		if n := e.count(`audit_entry WHERE verdict = 'allow'`); n != 1 {
			t.Errorf("%d calls were allowed, want the one before the end of the key", n)
		}
		e.verified()
	})
}

func TestAKeyExpiresWhileItIsRemembered(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		e.Exec(`UPDATE api_key SET expires_at = $2 WHERE id = $1`, e.agent.KeyID,
			database.Micros(e.DB.Now().Add(time.Minute)))
		want(t, e.decide(call("fs", "read", `{}`)), verdict.Allow, "", "")
		e.Pass(time.Minute)
		want(t, e.decide(call("fs", "read", `{}`)), verdict.Deny, policy.ByAgent, "API key is not valid any more")
	})
}

// TestAKeyOfAnotherOrganizationDecidesNothing shows a caller whose organization is
// not that of the key, as a mistake at the edge would.
func TestAKeyOfAnotherOrganizationDecidesNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		moved := e.agent
		moved.KeyID = e.foreign.KeyID
		got := e.decisions.Decide(t.Context(), moved, enforcement.Request{Server: "fs", Tool: "read"})
		want(t, got, verdict.Deny, policy.ByAgent, "API key is not valid any more")
	})
}

// TestACheckThatIsOldIsNotRecorded records what was said of a step after something
// changed: a yes is not given any more, a no is.
func TestACheckThatIsOldIsNotRecorded(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		snapshot, err := e.policies.Snapshot(t.Context(), e.acme)
		if err != nil {
			t.Fatal(err)
		}
		check := func(v verdict.Verdict) bool {
			t.Helper()
			before := e.count(`audit_entry WHERE action = 'step.verified'`)
			current, err := e.decisions.RecordStep(t.Context(), e.agent, snapshot, "read", v)
			if recorded := e.count(`audit_entry WHERE action = 'step.verified'`) > before; err != nil ||
				recorded != current {
				t.Errorf("%s: current %t, recorded %t, %v", v, current, recorded, err)
			}
			return current
		}
		if !check(verdict.Allow) {
			t.Error("an allow as of now was not recorded")
		}
		e.active("stop", `id: stop; effect: deny; tools: ["*"]`)
		if check(verdict.Allow) || check(verdict.Hold) || !check(verdict.Deny) {
			t.Error("after a change an allow or a hold was recorded, or a deny was not")
		}
	})
}
