package enforcement_test

import (
	"fmt"
	"testing"

	"writ/internal/agent"
	"writ/internal/fault"
	"writ/internal/policy"
	"writ/internal/verdict"
)

// TestWhatAKeyRegistersIsAProposal: it gives the key no right, restricts nobody and takes no id from others, until a
// person confirms it.
func TestWhatAKeyRegistersIsAProposal(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", `id: known; effect: allow; tools: ["*"]; when: agent.registered && agent.name == "Billing"`,
			`id: others; effect: hold; tools: ["*"]; when: agent.status == "unregistered"`)
		billing := agent.Profile{Name: "Billing", IntentRequired: true}
		made, err := e.agents.Register(t.Context(), e.agent, "x", "", billing)
		if err != nil || made.Status != "pending" {
			t.Fatalf("%+v, %v", made, err)
		}
		want(t, e.decide(as("x")), verdict.Hold, "rules", "")
		want(t, e.decideAs(e.other, as("x")), verdict.Hold, "rules", "") // and needs no plan
		if _, err := e.agents.SetSettings(t.Context(), e.owner, agent.SettingsChange{}); err != nil {
			t.Fatal(err)
		}
		want(t, e.decide(as("x")), verdict.Deny, policy.ByAgent, "is not registered")

		bobs := e.key(e.bob, e.acme)
		e.Member(e.acme, e.bob, "member")
		if theirs, err := e.agents.Register(t.Context(), bobs, "x", "", agent.Profile{Name: "Mine"}); err != nil ||
			theirs.Name != "Mine" || theirs.OwnerID != e.bob {
			t.Errorf("another key proposes the id: %+v, %v", theirs, err)
		}
		changed, err := e.agents.Update(t.Context(), e.owner, "x", agent.Changes{IntentRequired: new(false)})
		if err != nil || changed.Status != agent.Active || changed.Name != "Billing" || changed.OwnerID != e.ada {
			t.Fatalf("confirmed: %+v, %v", changed, err)
		}
		want(t, e.decide(as("x")), verdict.Allow, "rules", "")
		if _, err := e.agents.Register(t.Context(), bobs, "x", "", agent.Profile{}); !fault.Is(err, fault.Conflict) {
			t.Errorf("a key proposes what is registered: %v", err)
		}
	})
}

// TestAPersonTakesAProposedID, whoever proposed it, and confirms one by its status.
func TestAPersonTakesAProposedID(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		for _, id := range []string{"x", "y"} {
			if _, err := e.agents.Register(t.Context(), e.agent, id, "", agent.Profile{Name: "proposed"}); err != nil {
				t.Fatal(err)
			}
		}
		e.register("x", agent.Profile{Name: "Ours", Keys: []string{e.other.KeyID}})
		if a, err := e.agents.Get(t.Context(), e.owner, "x"); err != nil || a.Name != "Ours" ||
			a.Status != agent.Active {
			t.Errorf("%+v, %v", a, err)
		}
		if a, err := e.agents.SetStatus(t.Context(), e.owner, "y", agent.Suspended, "no"); err != nil ||
			a.Status != agent.Suspended || a.Name != "proposed" {
			t.Errorf("%+v, %v", a, err)
		}
		want(t, e.decide(as("y")), verdict.Deny, policy.ByAgent, "suspended")
		if listed, err := e.agents.List(t.Context(), e.owner, agent.Filter{}, "", 50); err != nil ||
			len(listed.Items) != 2 {
			t.Errorf("%d agents are listed, %v; want each id once", len(listed.Items), err)
		}
	})
}

// TestProposalsAreBounded by key and by owner, and raise no generation.
func TestProposalsAreBounded(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		const most, mostOfOwner = 20, 200
		e.active("rules", allowAll)
		generation := e.generation()
		for i := range most {
			if _, err := e.agents.Register(t.Context(), e.agent, fmt.Sprint("a", i), "", agent.Profile{}); err != nil {
				t.Fatal(err)
			}
		}
		_, err := e.agents.Register(t.Context(), e.agent, "one-more", "", agent.Profile{})
		if !fault.Is(err, fault.Conflict) {
			t.Errorf("one more: %v", err)
		}
		if _, err := e.agents.Register(t.Context(), e.agent, "a0", "", agent.Profile{}); err != nil {
			t.Errorf("the same again: %v", err)
		}
		if _, err := e.agents.Register(t.Context(), e.other, "one-more", "", agent.Profile{}); err != nil {
			t.Errorf("another key: %v", err)
		}
		last := e.key(e.ada, e.acme)
		for i := range mostOfOwner - most - 1 {
			if i%most == 0 {
				last = e.key(e.ada, e.acme)
			}
			if _, err := e.agents.Register(t.Context(), last, fmt.Sprint("b", i), "", agent.Profile{}); err != nil {
				t.Fatal(err)
			}
		}
		_, err = e.agents.Register(t.Context(), e.key(e.ada, e.acme), "too-many", "", agent.Profile{})
		if !fault.Is(err, fault.Conflict) {
			t.Errorf("one more of the same owner: %v", err)
		}
		if now := e.generation(); now != generation {
			t.Errorf("proposals raised the generation from %d to %d", generation, now)
		}
	})
}
