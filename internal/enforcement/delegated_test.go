package enforcement_test

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"slices"
	"strings"
	"testing"
	"time"

	"writ/internal/agent"
	"writ/internal/enforcement"
	"writ/internal/fault"
	"writ/internal/intent"
	"writ/internal/intent/plan"
	"writ/internal/intent/trust"
	"writ/internal/policy"
	"writ/internal/principal"
	"writ/internal/testenv"
	"writ/internal/verdict"
)

// held is a delegation in the hands of whoever holds its key.
type held struct {
	intent.Delegated
	private ed25519.PrivateKey
}

const delegatedPath = "/iap/sdk/enforce"

// proof proves a request at a time.
func (h held) proof(t testing.TB, body string, at time.Time) *trust.Proof {
	t.Helper()
	text, err := trust.Prove(h.ID, h.Token, trust.RequestOf(delegatedPath, []byte(body)), at, h.private)
	if err != nil {
		t.Fatal(err)
	}
	proof, err := trust.ReadProof(text)
	if err != nil {
		t.Fatal(err)
	}
	return proof
}

func (h held) shown() plan.Presented { return plan.Presented{PlanID: h.ID, JWT: h.Token} }

// asks is a call with a delegation and its proof.
func (e *env) asks(h held, tool, args string) enforcement.Request {
	e.T.Helper()
	r := planned(h.shown(), tool, args)
	r.Sent, r.Held = trust.RequestOf(delegatedPath, []byte(args)), h.proof(e.T, args, e.Now())
	return r
}

// delegate delegates a plan, or a delegation that is held.
func (e *env) delegate(
	by principal.Principal, parent plan.Presented, from *held, change ...func(*intent.DelegateRequest),
) (held, error) {
	e.T.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		e.T.Fatal(err)
	}
	r := intent.DelegateRequest{Parent: parent, Delegate: hex.EncodeToString(public)}
	if from != nil {
		r.Parent, r.Sent = from.shown(), trust.RequestOf(delegatedPath, []byte("delegate"))
		r.Held = from.proof(e.T, "delegate", e.Now())
	}
	for _, c := range change {
		c(&r)
	}
	made, err := e.plans.Delegate(e.T.Context(), by, r)
	return held{made, private}, err
}

func (e *env) delegated(by principal.Principal, parent plan.Presented, from *held) held {
	e.T.Helper()
	h, err := e.delegate(by, parent, from)
	if err != nil {
		e.T.Fatalf("delegate: %v", err)
	}
	return h
}

// asOther decides about a call of the delegate's own API key.
func (e *env) asOther(r enforcement.Request) enforcement.Answer {
	return e.decisions.Decide(e.T.Context(), e.other, r)
}

func TestDelegationsThatAreNotTheDelegates(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		parent := e.mint(e.agent, twoSteps, func(r *intent.Request) { r.UserID = "u" })
		h := e.delegated(e.agent, parent, nil)
		good := e.asks(h, "read", `{}`)
		good.UserID = "u"
		want(t, e.asOther(good), verdict.Allow, "", "")
		want(t, e.asOther(good), verdict.Deny, policy.ByIntent, "used before")
		want(t, e.asOther(planned(parent, "read", `{}`)), verdict.Deny, policy.ByIntent, "another API key")

		thief := held{h.Delegated, newKey(t)}
		forged := h
		forged.Token = h.Token[:len(h.Token)-6] + "AAAAAA"
		sibling := e.delegated(e.agent, parent, nil)
		for name, tt := range map[string]struct {
			reason string
			change func(*enforcement.Request)
		}{
			"no proof": {"only with a proof", func(r *enforcement.Request) { r.Held = nil }},
			"another key": {"not signed with the key",
				func(r *enforcement.Request) { r.Held = thief.proof(t, `{}`, e.Now()) }},
			"another body": {"another request", func(r *enforcement.Request) {
				r.Held = h.proof(t, `{"x":1}`,
					e.Now())
			}},
			"another path": {"another request", func(r *enforcement.Request) { r.Sent.Path = "/iap/enforce" }},
			"another delegation": {"another delegation", func(r *enforcement.Request) {
				r.Held = sibling.proof(t,
					`{}`, e.Now())
			}},
			"a clock far ahead": {"compare the clock", func(r *enforcement.Request) {
				r.Held = h.proof(t, `{}`,
					e.Now().Add(2*time.Minute))
			}},
			"a clock far behind": {"compare the clock", func(r *enforcement.Request) {
				r.Held = h.proof(t, `{}`,
					e.Now().Add(-2*time.Minute))
			}},
			"a forged token": {"not the one issued",
				func(r *enforcement.Request) { r.Presented = forged.shown() }},
			"a sibling's token": {"not the one issued",
				func(r *enforcement.Request) { r.Presented.JWT = sibling.Token }},
			"an unreadable proof": {"its header must be", func(r *enforcement.Request) {
				r.Held = intent.ReadHeld([]string{"e30.e30.e30"}, "/", nil).Proof
			}},
			"two proofs": {"more than one proof", func(r *enforcement.Request) {
				r.Held = intent.ReadHeld([]string{"e30.e30.e30", "e30.e30.e30"}, "/", nil).Proof
			}},
			"another user": {"another user", func(r *enforcement.Request) { r.UserID = "v" }},
			"another hash": {"not the one issued",
				func(r *enforcement.Request) { r.Presented.PlanHash = strings.Repeat("0", 64) }},
		} {
			r := e.asks(h, "read", `{}`)
			tt.change(&r)
			if got := e.asOther(r); got.Verdict != verdict.Deny || !strings.Contains(got.Reason, tt.reason) {
				t.Errorf("%s: %s %s", name, got.Verdict, got.Reason)
			}
		}
		for _, skew := range []time.Duration{-50 * time.Second, 50 * time.Second} {
			r := e.asks(h, "read", `{}`)
			r.Held = h.proof(t, `{}`, e.Now().Add(skew))
			want(t, e.asOther(r), verdict.Allow, "", "")
		}
		want(t, e.decisions.Decide(t.Context(), e.foreign, e.asks(h, "read", `{}`)), verdict.Deny, "", "")
		e.verified()
	})
}

func newKey(t testing.TB) ed25519.PrivateKey {
	t.Helper()
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return private
}

func TestDelegationsEnd(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		short := 60.0
		parent := e.mint(e.agent, twoSteps, func(r *intent.Request) { r.ExpiresIn = &short })
		long := 600.0
		h, err := e.delegate(e.agent, parent, nil, func(r *intent.DelegateRequest) { r.ExpiresIn = &long })
		if err != nil {
			t.Fatal(err)
		}
		want(t, e.asOther(e.asks(h, "read", `{}`)), verdict.Allow, "", "")
		e.Pass(time.Minute)
		want(t, e.asOther(e.asks(h, "read", `{}`)), verdict.Deny, policy.ByIntent, "expired")
		_, err = e.delegate(e.agent, parent, nil)
		testenv.WantFault(t, "an expired plan", err, fault.Forbidden)

		parent = e.mint(e.agent, twoSteps)
		h = e.delegated(e.agent, parent, nil)
		if _, err := e.plans.SetStatus(t.Context(), e.agent, parent.PlanID, plan.Completed); err != nil {
			t.Fatal(err)
		}
		want(t, e.asOther(e.asks(h, "read", `{}`)), verdict.Deny, policy.ByIntent, "ended or was revoked")
	})
}

func TestDelegationsGoOnlySoDeep(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		parent := e.mint(e.agent, twoSteps)
		last := e.delegated(e.agent, parent, nil)
		chain := []held{last}
		for len(chain) < plan.MaxDelegations {
			last = e.delegated(e.other, plan.Presented{}, &last)
			chain = append(chain, last)
		}
		want(t, e.asOther(e.asks(last, "read", `{}`)), verdict.Allow, "", "")
		_, err := e.delegate(e.other, plan.Presented{}, &last)
		testenv.WantFault(t, "one more", err, fault.Forbidden)

		none := 0
		h, err := e.delegate(e.agent, parent, nil, func(r *intent.DelegateRequest) { r.Further = &none })
		if err != nil {
			t.Fatal(err)
		}
		_, err = e.delegate(e.other, plan.Presented{}, &h)
		testenv.WantFault(t, "a delegation that may not be delegated", err, fault.Forbidden)

		// A row that was made its own ancestor leads to no plan that was declared.
		e.Exec(`UPDATE plan SET parent_id = $1 WHERE id = $2`, chain[3].ID, chain[1].ID)
		e.plans.Forget()
		if got := e.asOther(e.asks(last, "read", `{}`)); got.Allowed() {
			t.Error("a cycle of delegations allows a call")
		}
	})
}

// TestRevokedWhileJudged revokes the middle of a chain after the call was judged, and before it is recorded.
func TestRevokedWhileJudged(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll, asksMeanwhile)
		parent := e.mint(e.agent, twoSteps)
		middle := e.delegated(e.agent, parent, nil)
		last := e.delegated(e.other, plan.Presented{}, &middle)
		third := e.delegated(e.other, plan.Presented{}, &last)
		want(t, e.asOther(e.asks(third, "read", `{}`)), verdict.Allow, "", "")
		revoke := func() {
			_, err := e.plans.Revoke(context.Background(), e.agent, intent.RevokeRequest{ID: middle.ID, Reason: "r"})
			if err != nil {
				t.Errorf("revoke: %v", err)
			}
		}
		e.meanwhile.do.Store(&revoke)
		want(t, e.asOther(e.asks(third, "read", `{}`)), verdict.Deny, policy.ByIntent, "ended or was revoked")
		if e.meanwhile.do.Load() != nil {
			t.Error("nothing was revoked meanwhile")
		}
		_, err := e.delegate(e.other, plan.Presented{}, &third)
		testenv.WantFault(t, "delegate under a revoked one", err, fault.Forbidden)
	})
}

// TestNobodyDelegatesRestrictionsAway: what holds for whoever delegated holds for the delegate, whose own key could
// do it.
func TestNobodyDelegatesRestrictionsAway(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		e.register("payer", agent.Profile{Keys: []string{e.agent.KeyID}})
		asPayer := func(r *intent.Request) { r.AgentID = "payer" }
		parent := e.mint(e.agent, twoSteps, asPayer)
		h := e.delegated(e.agent, parent, nil)
		want(t, e.asOther(e.asks(h, "read", `{}`)), verdict.Allow, "", "")
		deny := e.active("payers", `id: no; effect: deny; tools: ["fs.*"]; when: "agent.id == 'payer'"`)
		want(t, e.asOther(call("fs", "read", `{}`)), verdict.Allow, "", "")
		want(t, e.asOther(e.asks(h, "read", `{}`)), verdict.Deny, "payers", "")
		if _, err := e.policies.Deactivate(t.Context(), e.owner, deny.ID); err != nil {
			t.Fatal(err)
		}
		want(t, e.asOther(e.asks(h, "read", `{}`)), verdict.Allow, "", "")

		e.suspend("payer", agent.Suspended)
		want(t, e.asOther(e.asks(h, "read", `{}`)), verdict.Deny, policy.ByAgent, "who delegated this call may not act")
		e.suspend("payer", agent.Active)
		want(t, e.asOther(e.asks(h, "read", `{}`)), verdict.Allow, "", "")

		e.kill(agent.OfAgent, "payer")
		want(t, e.asOther(e.asks(h, "read", `{}`)), verdict.Deny, policy.ByAgent, "who delegated this call may not act")
		e.revive(agent.OfAgent, "payer")
		want(t, e.asOther(e.asks(h, "read", `{}`)), verdict.Deny, policy.ByIntent, "ended")

		h = e.delegated(e.agent, e.mint(e.agent, twoSteps, asPayer), nil)
		want(t, e.asOther(e.asks(h, "read", `{}`)), verdict.Allow, "", "")
		if err := e.keys.Revoke(t.Context(), e.owner, e.agent.KeyID); err != nil {
			t.Fatal(err)
		}
		want(t, e.asOther(e.asks(h, "read", `{}`)), verdict.Deny, policy.ByAgent, "not valid any more")
	})
}

// TestKilledPlansTakeTheirDelegationsAlong: the kill switch of a plan stops all that came from it.
func TestKilledPlansTakeTheirDelegationsAlong(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		parent := e.mint(e.agent, twoSteps)
		middle := e.delegated(e.agent, parent, nil)
		last := e.delegated(e.other, plan.Presented{}, &middle)
		want(t, e.asOther(e.asks(last, "read", `{}`)), verdict.Allow, "", "")
		e.kill(agent.OfPlan, parent.PlanID)
		want(t, e.asOther(e.asks(last, "read", `{}`)), verdict.Deny, policy.ByAgent, "stopped this plan")
	})
}

// TestALostTrustKeyStopsDelegationsAlone: with a key that cannot be unsealed nothing is delegated, and the rest works.
func TestALostTrustKeyStopsDelegationsAlone(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		parent := e.mint(e.agent, twoSteps)
		h := e.delegated(e.agent, parent, nil)
		e.Exec(`UPDATE trust_key SET sealed = $1 WHERE org_id = $2`, []byte("not what was sealed"), e.acme)
		other := open(t, e.DB) // another process, which has not read the key yet
		_, err := other.plans.Delegate(t.Context(), e.agent, intent.DelegateRequest{
			Parent: parent, Delegate: strings.Repeat("ab", 32),
		})
		testenv.WantFault(t, "delegate", err, fault.Unavailable)
		want(t, other.decisions.Decide(t.Context(), e.agent, planned(parent, "read", `{}`)), verdict.Allow, "", "")
		want(t, other.decisions.Decide(t.Context(), e.other, e.asks(h, "read", `{}`)), verdict.Allow, "", "")
		if _, err := other.plans.Revoke(t.Context(), e.agent, intent.RevokeRequest{ID: h.ID}); err != nil {
			t.Errorf("revoke: %v", err)
		}
		want(t, e.asOther(e.asks(h, "read", `{}`)), verdict.Deny, policy.ByIntent, "revoked")
	})
}

// TestEveryAnchorIsProvable: which plan was in force at an entry is told by the entries before it.
func TestEveryAnchorIsProvable(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		parent := e.mint(e.agent, twoSteps)
		plans := []string{
			`{"goal":"build","steps":[{"action":"read","mcp":"fs"}]}`, `{"goal":"build","steps":[{"action":"read","mcp":"fs"},{"action":"send","mcp":"net"}]}`,
		}
		hashes := []string{parent.PlanHash}
		var at []int64
		for _, text := range plans {
			at = append(at, e.decide(planned(parent, "read", `{}`)).Receipt.Index)
			done, err := e.plans.Reanchor(t.Context(), e.agent, intent.ReanchorRequest{
				PlanID: parent.PlanID, Plan: []byte(text), Widening: intent.HoldWidening,
			})
			if err != nil {
				t.Fatal(err)
			}
			hashes = append(hashes, done.To)
		}
		at = append(at, e.decide(planned(parent, "read", `{}`)).Receipt.Index)
		shown, err := e.plans.Chain(t.Context(), e.owner, parent.PlanID)
		if err != nil || len(shown.Anchors) != len(hashes) {
			t.Fatalf("chain: %+v, %v", shown, err)
		}
		for i, index := range at {
			inForce := slices.IndexFunc(shown.Anchors, func(a intent.AnchorView) bool { return a.Entry > index })
			if inForce < 0 {
				inForce = len(shown.Anchors)
			}
			if got := shown.Anchors[inForce-1].Hash; got != hashes[i] {
				t.Errorf("at entry %d the plan was %s, want %s", index, got, hashes[i])
			}
		}
		want(t, e.decide(planned(parent, "send", `{}`)), verdict.Hold, policy.ByIntent, "a person must agree")
		want(t, e.decide(planned(parent, "bash", `{"command":"make"}`)), verdict.Deny, policy.ByIntent,
			"not in the plan")
		// A delegation of the re-anchored plan verifies, with its anchors.
		h, err := e.delegate(e.agent, parent, nil, func(r *intent.DelegateRequest) { r.Actions = []string{"read"} })
		if err != nil {
			t.Fatal(err)
		}
		keys := trust.Published{}
		published, err := e.plans.PublicKeys(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range published {
			if k.Purpose == intent.TrustKey {
				keys[k.ID] = k.Public
			}
		}
		if c, err := trust.Verify(h.Token, keys, e.Now()); err != nil || len(c.Anchors) != 2 {
			t.Errorf("verify: %v", err)
		}
		_, err = e.delegate(e.agent, parent, nil, func(r *intent.DelegateRequest) { r.Actions = []string{"send"} })
		testenv.WantFault(t, "what a person has not agreed to", err, fault.Forbidden)
	})
}

// TestProofsAreForgotten: used proofs do not stay for ever.
func TestProofsAreForgotten(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		h := e.delegated(e.agent, e.mint(e.agent, twoSteps), nil)
		want(t, e.asOther(e.asks(h, "read", `{}`)), verdict.Allow, "", "")
		if n := e.count("delegation_proof"); n != 1 {
			t.Fatalf("%d proofs", n)
		}
		e.Pass(trust.ProofLife + trust.ClockSkew + time.Second)
		if err := e.plans.Prune(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := e.count("delegation_proof"); n != 0 {
			t.Errorf("%d proofs are still known", n)
		}
	})
}
