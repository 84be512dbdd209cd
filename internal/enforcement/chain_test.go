package enforcement_test

import (
	"slices"
	"strings"
	"testing"

	"writ/internal/agent"
	"writ/internal/intent"
	"writ/internal/intent/plan"
	"writ/internal/verdict"
)

// TestKeysReadOnlyTheirOwnPlansInAChain: a key sees from whom a delegation came, and not what else they plan.
func TestKeysReadOnlyTheirOwnPlansInAChain(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		shown := e.mint(e.agent, `{"goal":"a secret goal","steps":[{"action":"read","mcp":"fs"},`+
			`{"action":"wipe","mcp":"fs","params":{"disk":"finance"}}]}`)
		h, err := e.delegate(e.agent, shown, nil, func(r *intent.DelegateRequest) {
			r.Actions, r.Goal = []string{"read"}, "x"
		})
		if err != nil {
			t.Fatal(err)
		}
		own := e.delegated(e.other, plan.Presented{}, &h)
		tree, err := e.plans.Chain(t.Context(), e.other, own.ID)
		if err != nil || len(tree.Links) != 3 {
			t.Fatalf("%d links: %v", len(tree.Links), err)
		}
		for _, link := range tree.Links {
			if mine := link.ID == own.ID; mine != (link.Goal != "") || mine != (link.Plan != nil) {
				t.Errorf("depth %d: goal %q and plan %s, of its own: %t", link.Depth, link.Goal, link.Plan, mine)
			}
		}
		tree, err = e.plans.Chain(t.Context(), e.owner, own.ID)
		if err != nil || slices.ContainsFunc(tree.Links, func(l intent.LinkView) bool {
			return l.Plan == nil || l.Goal == ""
		}) {
			t.Errorf("the owner does not see all: %+v, %v", tree.Links, err)
		}
	})
}

// TestWhatIsDeniedDoesNotCount: a chain says of a plan under a stopped one, of a used-up delegation and of what came
// from it that they count no more, as decisions about their calls do.
func TestWhatIsDeniedDoesNotCount(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		counting := func(id string) (counts []bool) {
			tree, err := e.plans.Chain(t.Context(), e.owner, id)
			if err != nil {
				t.Fatal(err)
			}
			for _, link := range tree.Links {
				counts = append(counts, link.Counts())
			}
			return counts
		}
		holder := e.mint(e.agent, twoSteps)
		h, err := e.delegate(e.agent, e.mint(e.agent, selfMade), nil, func(r *intent.DelegateRequest) { r.Budget = 1 })
		if err != nil {
			t.Fatal(err)
		}
		e.delegated(e.other, plan.Presented{}, &h)
		if got := counting(h.ID); !slices.Equal(got, []bool{true, true, true}) {
			t.Errorf("at first these count: %v", got)
		}
		want(t, e.asOther(e.asks(h, "bash", `{"command":"make"}`)), verdict.Allow, "", "")
		if got := counting(h.ID); !slices.Equal(got, []bool{true, false, false}) {
			t.Errorf("once the calls were made these count: %v", got)
		}
		e.kill(agent.OfPlan, holder.PlanID)
		if got := counting(h.ID); slices.Contains(got, true) {
			t.Errorf("under a stopped plan these count: %v", got)
		}
	})
}

// TestChainsAreBounded: however long the plans are, an answer has a few megabytes of them, those nearest to the root.
func TestChainsAreBounded(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		shown := e.mint(e.agent, twoSteps)
		for range 20 {
			e.delegated(e.agent, shown, nil)
		}
		e.Exec(`UPDATE plan_anchor SET shown = $1`, `{"goal":"`+strings.Repeat("é", 150_000)+`"}`)
		tree, err := e.plans.Chain(t.Context(), e.owner, shown.PlanID)
		if err != nil || len(tree.Links) != 21 {
			t.Fatalf("%d links: %v", len(tree.Links), err)
		}
		total, left := 0, 0
		for _, link := range tree.Links {
			if total += len(link.Plan); len(link.Plan) == 0 {
				left++
			} else if left > 0 {
				t.Error("a text follows one that was left out")
			}
		}
		if total > 5<<20 || left == 0 || left > 10 {
			t.Errorf("%d bytes, and %d texts left out", total, left)
		}
	})
}

// TestRevokingAgainWithWhatIsBelow: what was left unmarked at first is marked when that is asked for.
func TestRevokingAgainWithWhatIsBelow(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		shown := e.mint(e.agent, twoSteps)
		h := e.delegated(e.agent, shown, nil)
		below := e.delegated(e.other, plan.Presented{}, &h)
		revoke := func(cascade bool) intent.Revoked {
			done, err := e.plans.Revoke(t.Context(), e.agent, intent.RevokeRequest{ID: h.ID, Cascade: cascade})
			if err != nil {
				t.Fatal(err)
			}
			return done
		}
		if first := revoke(false); len(first.Cascaded) != 0 {
			t.Fatalf("revoked with it: %v", first.Cascaded)
		}
		entries := e.count("audit_entry")
		for range 2 {
			if again := revoke(true); !slices.Equal(again.Cascaded, []string{below.ID}) {
				t.Errorf("revoked with it: %v, want %s", again.Cascaded, below.ID)
			}
		}
		if n := e.count("audit_entry") - entries; n != 1 {
			t.Errorf("%d entries about what changed once", n)
		}
		tree, err := e.plans.Chain(t.Context(), e.owner, below.ID)
		if err != nil || tree.Links[len(tree.Links)-1].RevokedAt == nil {
			t.Errorf("the last one is not marked: %v", err)
		}
	})
}
