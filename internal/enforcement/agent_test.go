package enforcement_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"writ/internal/agent"
	"writ/internal/apikey"
	"writ/internal/enforcement"
	"writ/internal/fault"
	"writ/internal/policy"
	"writ/internal/principal"
	"writ/internal/verdict"
)

// register registers an agent of ada's.
func (e *env) register(id string, p agent.Profile) {
	e.T.Helper()
	if _, err := e.agents.Register(e.T.Context(), e.owner, id, "", p); err != nil {
		e.T.Fatal(err)
	}
}

func as(id string) enforcement.Request {
	r := call("fs", "read", `{}`)
	r.AgentID = id
	return r
}

func TestConditionsSeeTheRegistry(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules",
			`id: known; effect: allow; tools: ["*"]; when: agent.registered && agent.name == "Billing" && agent.status == "active"`,
			`id: others; effect: hold; tools: ["*"]; when: agent.status == "unregistered"`)
		want(t, e.decide(as("billing")), verdict.Hold, "rules", "")
		e.register("billing", agent.Profile{Name: "Billing"})
		want(t, e.decide(as("billing")), verdict.Allow, "rules", "")
		want(t, e.decide(as("other")), verdict.Hold, "rules", "")
		want(t, e.decide(as("")), verdict.Hold, "rules", "")
	})
}

// TestABoundIDCountsOnlyWithItsKeys: with another key it is a stranger, judged as unregistered, and the reason says so.
func TestABoundIDCountsOnlyWithItsKeys(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll, `id: known; effect: hold; tools: ["*"]; when: agent.registered`)
		e.register("billing", agent.Profile{Name: "Billing", Keys: []string{e.agent.KeyID}})
		want(t, e.decide(as("billing")), verdict.Hold, "rules", "")
		got := e.decisions.Decide(t.Context(), e.other, as("billing"))
		want(t, got, verdict.Allow, "rules", "agent billing is bound to other keys")
		want(t, e.decisions.Decide(t.Context(), e.foreign, as("billing")), verdict.Deny, "", "")

		full := e.active("strict", `id: never; effect: deny; tools: ["fs.*"]`)
		if _, err := e.policies.SetBindings(t.Context(), e.owner, full.ID,
			policy.Bindings{Clients: []string{"billing"}}); err != nil {
			t.Fatal(err)
		}
		// What restricts the id restricts a stranger too.
		want(t, e.decisions.Decide(t.Context(), e.other, as("billing")), verdict.Deny, "strict", "")
	})
}

// TestAPolicyBoundToAnAgentAllowsIt: a client's word does not win what is allowed to an agent, a bound key does.
func TestAPolicyBoundToAnAgentAllowsIt(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		full := e.active("own", `id: read; effect: allow; tools: ["fs.*"]`)
		if _, err := e.policies.SetBindings(t.Context(), e.owner, full.ID,
			policy.Bindings{Clients: []string{"billing"}}); err != nil {
			t.Fatal(err)
		}
		want(t, e.decide(as("billing")), verdict.Deny, "", "")
		e.register("billing", agent.Profile{})
		want(t, e.decide(as("billing")), verdict.Deny, "", "") // nobody bound a key
		keys := []string{e.agent.KeyID}
		if _, err := e.agents.Update(t.Context(), e.owner, "billing", agent.Changes{Keys: &keys}); err != nil {
			t.Fatal(err)
		}
		want(t, e.decide(as("billing")), verdict.Allow, "own", "")
		want(t, e.decisions.Decide(t.Context(), e.other, as("billing")), verdict.Deny, "", "")
		want(t, e.decide(as("another")), verdict.Deny, "", "")
	})
}

// TestASuspendedAgentDoesNotAct: neither by its id nor by its keys, whatever agent they name.
func TestASuspendedAgentDoesNotAct(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		e.register("billing", agent.Profile{Keys: []string{e.agent.KeyID}})
		e.register("loose", agent.Profile{})
		want(t, e.decide(as("billing")), verdict.Allow, "", "")
		for _, id := range []string{"billing", "loose"} {
			if _, err := e.agents.SetStatus(t.Context(), e.owner, id, agent.Suspended, "odd calls"); err != nil {
				t.Fatal(err)
			}
		}
		for _, id := range []string{"billing", "another", ""} {
			want(t, e.decide(as(id)), verdict.Deny, policy.ByAgent, "agent billing is suspended")
		}
		want(t, e.decisions.Decide(t.Context(), e.other, as("loose")), verdict.Deny, policy.ByAgent, "")
		want(t, e.decideAs(e.other, as("billing")), verdict.Deny, policy.ByAgent, "agent billing is suspended")
		want(t, e.decideAs(e.other, as("another")), verdict.Allow, "", "")
		if _, err := e.agents.SetStatus(t.Context(), e.owner, "billing", agent.Active, "explained"); err != nil {
			t.Fatal(err)
		}
		want(t, e.decideAs(e.other, as("billing")), verdict.Allow, "", "bound to other keys")
		want(t, e.decide(as("billing")), verdict.Allow, "", "")
	})
}

func TestUnregisteredAgentsMayBeRefused(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		e.register("billing", agent.Profile{Keys: []string{e.agent.KeyID}})
		if _, err := e.agents.SetSettings(t.Context(), e.owner, agent.SettingsChange{}); err != nil {
			t.Fatal(err)
		}
		want(t, e.decide(as("billing")), verdict.Allow, "", "")
		want(t, e.decide(as("another")), verdict.Deny, policy.ByAgent, "is not registered")
		want(t, e.decide(as("")), verdict.Deny, policy.ByAgent, "names no agent")
		want(t, e.decisions.Decide(t.Context(), e.other, as("billing")), verdict.Deny, policy.ByAgent,
			"bound to other keys")
	})
}

func TestAnAgentMayNeedAPlan(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		e.register("billing", agent.Profile{Keys: []string{e.agent.KeyID}, IntentRequired: true})
		want(t, e.decide(as("billing")), verdict.Deny, policy.ByIntent, "no plan")
		want(t, e.decide(as("another")), verdict.Deny, policy.ByIntent, "no plan") // the key is still the agent's
		want(t, e.decisions.Decide(t.Context(), e.other, as("another")), verdict.Allow, "", "")
		want(t, e.decideAs(e.other, as("billing")), verdict.Deny, policy.ByIntent, "no plan") // a stranger, too
	})
}

// TestAnAgentWhoseOwnerLeftIsSuspended: however the membership ended.
func TestAnAgentWhoseOwnerLeftIsSuspended(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		e.Member(e.acme, e.bob, principal.Member)
		if _, err := e.agents.Register(t.Context(), e.owner, "bot", e.bob, agent.Profile{}); err != nil {
			t.Fatal(err)
		}
		want(t, e.decide(as("bot")), verdict.Allow, "", "")
		e.Exec(`DELETE FROM organization_member WHERE org_id = $1 AND user_id = $2`, e.acme, e.bob)
		e.active("more", allowAll) // the log moves on, as it does with every change of members
		want(t, e.decide(as("bot")), verdict.Deny, policy.ByAgent, "agent bot is suspended")
	})
}

// TestFirstSightingsRaiseNoGeneration: agents that call are listed, with their keys, without a change that replicas
// would have to read everything again for.
func TestFirstSightingsRaiseNoGeneration(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		before := e.generation()
		var calls sync.WaitGroup
		for i := range 20 {
			calls.Go(func() {
				r := as("new/" + strings.Repeat("x", i%5))
				r.Source = "gemini-cli"
				if got := e.decide(r); !got.Allowed() {
					t.Errorf("%+v", got)
				}
			})
		}
		calls.Wait()
		e.decisions.Decide(t.Context(), e.other, as("new/"))
		if after := e.generation(); after != before {
			t.Errorf("the generation rose from %d to %d", before, after)
		}
		listed, err := e.agents.List(t.Context(), e.owner, agent.Filter{Status: agent.Unregistered}, "", 50)
		if err != nil || len(listed.Items) != 5 {
			t.Fatalf("%d agents, %v", len(listed.Items), err)
		}
		if err := e.agents.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		seen, err := e.agents.Get(t.Context(), e.owner, "new/")
		if err != nil || len(seen.SeenKeys) != 2 || seen.LastSeenAt == nil || seen.Status != agent.Unregistered {
			t.Errorf("%+v, %v", seen, err)
		}
		foreign, err := e.agents.List(t.Context(), principal.Principal{
			Kind: principal.User, UserID: e.ada, OrgID: e.globex, Role: principal.Owner,
		}, agent.Filter{}, "", 50)
		if err != nil || len(foreign.Items) != 0 {
			t.Errorf("another organization sees %+v, %v", foreign.Items, err)
		}
	})
}

// generation is that of acme's log.
func (e *env) generation() (n int64) {
	e.T.Helper()
	if err := e.DB.QueryRow(e.T.Context(), `SELECT generation FROM audit_head WHERE log = $1`,
		e.acme).Scan(&n); err != nil {
		e.T.Fatal(err)
	}
	return n
}

// TestASightingThatAnotherProcessStored is still brought up to date by the first call in this one.
func TestASightingThatAnotherProcessStored(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		open(t, e.Replica().DB).decisions.Decide(t.Context(), e.agent, as("bot"))
		e.Pass(time.Hour)
		e.decide(as("bot"))
		if err := e.agents.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		found, err := e.agents.Get(t.Context(), e.owner, "bot")
		if err != nil || found.LastSeenAt == nil || !found.LastSeenAt.Equal(e.Now()) {
			t.Errorf("last seen at %v, %v; want %v", found.LastSeenAt, err, e.Now())
		}
	})
}

// terminal is a key of ada's in acme that makes keys, and calls.
func (e *env) terminal() principal.Principal {
	e.T.Helper()
	return e.Key(e.ada, e.acme, principal.CLI, principal.Enforce, principal.RequestDelegation)
}

// provision makes a key with another one.
func (e *env) provision(by principal.Principal) principal.Principal {
	e.T.Helper()
	made, err := e.keys.Provision(e.T.Context(), by, apikey.NewKey{Name: "made", OrgID: by.OrgID, Product: "made"})
	if err != nil {
		e.T.Fatal(err)
	}
	return e.holder(made.ID)
}

// holder is the caller behind a key.
func (e *env) holder(id string) principal.Principal {
	e.T.Helper()
	p, err := e.keys.Holder(e.T.Context(), id)
	if err != nil {
		e.T.Fatal(err)
	}
	p.Scopes = append(p.Scopes, e.agent.Scopes...) // keys of tests are stored without
	return p
}

func (e *env) suspend(id string, to agent.Status) {
	e.T.Helper()
	if _, err := e.agents.SetStatus(e.T.Context(), e.owner, id, to, "odd calls"); err != nil {
		e.T.Fatal(err)
	}
}

// TestASuspensionIsNotShedByAnotherKey: neither by rotating nor by provisioning, before or after it.
func TestASuspensionIsNotShedByAnotherKey(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		terminal := e.terminal()
		e.register("billing", agent.Profile{Keys: []string{e.agent.KeyID, terminal.KeyID}})
		rotated, err := e.keys.Rotate(t.Context(), e.owner, e.agent.KeyID)
		if err != nil {
			t.Fatal(err)
		}
		next, made := e.holder(rotated.ID), e.provision(terminal)
		if a, err := e.agents.Get(t.Context(), e.owner, "billing"); err != nil || len(a.Keys) != 2 ||
			!slices.Contains(a.Keys, next.KeyID) {
			t.Errorf("the agent has keys %v, want that which replaced its own: %v", a.Keys, err)
		}
		e.suspend("billing", agent.Suspended)
		for _, by := range []principal.Principal{next, terminal, made} {
			for _, id := range []string{"billing", "another", ""} {
				want(t, e.decideAs(by, as(id)), verdict.Deny, policy.ByAgent, "billing is suspended")
			}
		}
		if _, err := e.keys.Rotate(t.Context(), e.owner, next.KeyID); !fault.Is(err, fault.Conflict) {
			t.Errorf("the key of a suspended agent was rotated: %v", err)
		}
		if _, err := e.keys.Provision(t.Context(), terminal, apikey.NewKey{
			Name: "x", OrgID: e.acme, Product: "x",
		}); !fault.Is(err, fault.Conflict) {
			t.Errorf("the key of a suspended agent made another: %v", err)
		}
		e.suspend("billing", agent.Active)
		want(t, e.decideAs(next, as("billing")), verdict.Allow, "", "")
		want(t, e.decideAs(made, as("billing")), verdict.Allow, "", "bound to other keys") // it proves nothing
	})
}

// TestARequiredPlanIsNotShedByAnotherKey.
func TestARequiredPlanIsNotShedByAnotherKey(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		terminal := e.terminal()
		e.register("billing", agent.Profile{Keys: []string{terminal.KeyID}, IntentRequired: true})
		for _, by := range []principal.Principal{terminal, e.provision(terminal)} {
			want(t, e.decideAs(by, as("another")), verdict.Deny, policy.ByIntent, "")
		}
	})
}

// TestAPolicyFollowsARotatedKey: what an agent may do is not lost with a rotation for good reasons.
func TestAPolicyFollowsARotatedKey(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		full := e.active("own", `id: read; effect: allow; tools: ["fs.*"]`)
		if _, err := e.policies.SetBindings(t.Context(), e.owner, full.ID,
			policy.Bindings{Clients: []string{"billing"}}); err != nil {
			t.Fatal(err)
		}
		e.register("billing", agent.Profile{Keys: []string{e.agent.KeyID}})
		want(t, e.decide(as("billing")), verdict.Allow, "own", "")
		rotated, err := e.keys.Rotate(t.Context(), e.owner, e.agent.KeyID)
		if err != nil {
			t.Fatal(err)
		}
		want(t, e.decideAs(e.holder(rotated.ID), as("billing")), verdict.Allow, "own", "")
	})
}
