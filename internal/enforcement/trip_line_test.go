package enforcement_test

import (
	"fmt"
	"slices"
	"testing"

	"writ/internal/agent"
	"writ/internal/policy"
	"writ/internal/principal"
	"writ/internal/verdict"
)

// TestAKeyTripsItselfAndWhatItMade: neither its siblings nor an agent that one of its own keys was bound to.
func TestAKeyTripsItselfAndWhatItMade(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", `id: bad; effect: deny; tools: ["fs.write"]`, allowAll)
		terminal := e.terminal()
		toy, bound, sibling := e.provision(terminal), e.provision(terminal), e.provision(terminal)
		e.register("billing", agent.Profile{Keys: []string{bound.KeyID}})
		e.tripsAt(agent.Trips{DenialsPerMinute: new(int64(4))})
		for range 4 {
			e.decideAs(toy, call("fs", "write", `{}`))
		}
		stops := e.stops()
		if len(stops) != 1 || stops[0].Scope != agent.OfKey || stops[0].Subject != toy.KeyID ||
			!slices.Equal(stops[0].Keys, []string{toy.KeyID}) {
			t.Errorf("stopped: %+v, want the key that called", stops)
		}
		want(t, e.decideAs(toy, as("")), verdict.Deny, policy.ByAgent, "stopped")
		want(t, e.decideAs(bound, as("billing")), verdict.Allow, "", "")
		want(t, e.decideAs(sibling, as("")), verdict.Allow, "", "")
		want(t, e.decideAs(terminal, as("")), verdict.Allow, "", "")

		// The terminal itself reaches the number: everything it made stops, but for the agent's key.
		e.decideAs(terminal, call("fs", "write", `{}`)) // the count is that of the line
		want(t, e.decideAs(terminal, as("")), verdict.Deny, policy.ByAgent, "stopped")
		want(t, e.decideAs(sibling, as("")), verdict.Deny, policy.ByAgent, "stopped")
		want(t, e.decideAs(bound, as("billing")), verdict.Allow, "", "")
		if _, err := e.exported(); err != nil {
			t.Error(err)
		}
		e.revive(agent.OfKey, terminal.KeyID)
		want(t, e.decideAs(terminal, call("fs", "write", `{}`)), verdict.Deny, "rules", "") // counts begin anew
		want(t, e.decideAs(terminal, as("")), verdict.Allow, "", "")
	})
}

// TestFreshKeysGetNoFreshCount: neither those of a terminal, nor those made in another organization, nor those that an
// agent's own key made.
func TestFreshKeysGetNoFreshCount(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		e.tripsAt(agent.Trips{CallsPerMinute: new(int64(5))})
		foreign := e.Key(e.ada, e.globex, principal.CLI)
		own, bound := e.terminal(), e.terminal()
		e.register("billing", agent.Profile{Keys: []string{bound.KeyID}})
		for name, fresh := range map[string]func() principal.Principal{
			"a terminal's": func() principal.Principal { return e.provision(own) },
			"elsewhere": func() principal.Principal {
				made, err := e.keys.IssueCLI(t.Context(), foreign, e.acme, "switched")
				if err != nil {
					t.Fatal(err)
				}
				return e.holder(made.ID)
			},
			"an agent's": func() principal.Principal { return e.provision(bound) },
		} {
			allowed := 0
			for range 12 {
				if e.decideAs(fresh(), as("")).Allowed() {
					allowed++
				}
			}
			// The call that reaches the number stops its key, as does each later one of another key: counts of a
			// minute do not begin anew.
			if allowed != 12 {
				t.Errorf("%s keys: %d calls were allowed before each was stopped", name, allowed)
			}
			if n := len(e.stops()); n != 8 {
				t.Errorf("%s keys: %d of 12 were stopped, want all from the fifth call on", name, n)
			}
			for _, stop := range e.stops() {
				e.revive(stop.Scope, stop.Subject)
			}
		}
		if _, err := e.agents.Get(t.Context(), e.owner, "billing"); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			e.decideAs(bound, as("billing"))
		}
		if stops := e.stops(); len(stops) != 1 || stops[0].Scope != agent.OfAgent {
			t.Errorf("its own key trips the agent: %+v", stops)
		}
	})
}

// TestAKeyOfSeveralAgentsCountsForEach: naming them in turn does not help.
func TestAKeyOfSeveralAgentsCountsForEach(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		e.tripsAt(agent.Trips{CallsPerMinute: new(int64(6))})
		for i := range 3 {
			e.register(fmt.Sprint("agent", i), agent.Profile{Keys: []string{e.agent.KeyID}})
		}
		allowed := 0
		for i := range 18 {
			if e.decide(as(fmt.Sprint("agent", i%3))).Allowed() {
				allowed++
			}
		}
		if allowed != 6 {
			t.Errorf("%d calls were allowed, want 6", allowed)
		}
	})
}

// TestRejectionsOfASuspendedAgentStopNobody: there is nothing to stop, and no stop without a subject.
func TestRejectionsOfASuspendedAgentStopNobody(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		bob := e.approver()
		e.active("rules", holdPay)
		e.register("billing", agent.Profile{Keys: []string{e.agent.KeyID}})
		e.tripsAt(agent.Trips{RejectedInARow: new(int64(2))})
		var held []string
		for _, args := range []string{`{"n":1}`, `{"n":2}`} {
			held = append(held, e.decide(call("bank", "pay", args)).ApprovalID)
		}
		e.suspend("billing", agent.Suspended)
		for _, id := range held {
			if _, err := e.approvals.Reject(t.Context(), bob, id, "no"); err != nil {
				t.Fatal(err)
			}
		}
		if stops := e.stops(); len(stops) != 0 {
			t.Errorf("stopped: %+v", stops)
		}
	})
}

// TestKeysBoundToAKilledAgentStop, whenever they are bound, and the log names them.
func TestKeysBoundToAKilledAgentStop(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		e.register("billing", agent.Profile{Keys: []string{e.agent.KeyID}})
		third := e.key(e.ada, e.acme)
		want(t, e.decide(as("seen")), verdict.Allow, "", "")
		first := e.kill(agent.OfAgent, "billing")
		keys := []string{e.agent.KeyID, e.other.KeyID}
		if _, err := e.agents.Update(t.Context(), e.owner, "billing", agent.Changes{Keys: &keys}); err != nil {
			t.Fatal(err)
		}
		want(t, e.decideAs(e.other, as("another")), verdict.Deny, policy.ByAgent, "stopped")
		if stops := e.stops(); len(stops) != 2 || stops[0].Index <= first.Index ||
			!slices.Contains(stops[0].Keys, e.other.KeyID) {
			t.Errorf("stopped: %+v, want an entry that names the key", stops)
		}
		e.revive(agent.OfAgent, "billing")
		want(t, e.decideAs(e.other, as("another")), verdict.Allow, "", "")

		e.kill(agent.OfAgent, "seen") // of an id that nobody has registered yet
		e.register("seen", agent.Profile{Keys: []string{third.KeyID}})
		want(t, e.decideAs(third, as("another")), verdict.Deny, policy.ByAgent, "stopped")
		if _, err := e.exported(); err != nil {
			t.Error(err)
		}
	})
}
