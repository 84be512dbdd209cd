package agents_test

import (
	"testing"
	"time"

	"writ/client"
	"writ/internal/testserver"
)

// TestAKillTellsWhenPlansEnd: a client may run what a plan's token allows without asking. The answer says until when.
func TestAKillTellsWhenPlansEnd(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		ctx := t.Context()
		bound, other := o.AgentKey(o.Owner, o.ID), o.AgentKey(o.Owner, o.ID)
		if _, err := o.Owner.RegisterAgent(ctx, o.ID, client.NewAgent{
			AgentID: "billing", Keys: []string{bound.ID},
		}); err != nil {
			t.Fatal(err)
		}
		declare := func(key client.IssuedKey, agentID string, seconds float64) (id string, ends time.Time) {
			t.Helper()
			plan := o.Declared(key.APIKey, client.PlanRequest{
				Plan: []byte(testserver.OnePlan), AgentID: agentID, ExpiresIn: seconds,
			})
			read, err := o.Public.WithKey(key.APIKey).Plan(ctx, plan.PlanID)
			if err != nil {
				t.Fatal(err)
			}
			return plan.PlanID, read.ExpiresAt
		}
		kill := func(scope, subject string, want *time.Time) {
			t.Helper()
			stop, err := o.Owner.KillScope(ctx, o.ID, scope, subject, "r", false)
			if err != nil {
				t.Fatal(err)
			}
			if (want == nil) != (stop.PlansEndAt == nil) || want != nil && !stop.PlansEndAt.Equal(*want) {
				t.Errorf("%s %s: plans end at %v, want %v", scope, subject, stop.PlansEndAt, want)
			}
			if _, err := o.Owner.KillScope(ctx, o.ID, scope, subject, "r", true); err != nil {
				t.Fatal(err)
			}
		}
		kill("agent", "billing", nil)
		kill("organization", "", nil)

		short, shortEnd := declare(bound, "billing", 60)
		_, keyEnd := declare(bound, "a-new-name", 120) // its key stops, whatever it names
		_, namedEnd := declare(other, "billing", 180)  // its id stops, whatever key sends it
		long, longEnd := declare(other, "elsewhere", 300)
		kill("agent", "billing", &namedEnd)
		kill("key", bound.ID, &keyEnd)
		kill("plan", short, &shortEnd)
		kill("organization", "", &longEnd)
		kill("tool", "read", &longEnd) // Writ does not look into sealed plans

		if _, err := o.Public.WithKey(other.APIKey).SetPlanStatus(ctx, long, "completed"); err != nil {
			t.Fatal(err)
		}
		kill("server", "files", &namedEnd)
		o.Advance(3 * time.Minute)
		kill("organization", "", nil)
	})
}
