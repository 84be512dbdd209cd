package enforcement_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/enforcement"
	"writ/internal/intent"
	"writ/internal/intent/plan"
	"writ/internal/policy"
	"writ/internal/principal"
	"writ/internal/testenv"
	"writ/internal/verdict"
)

// TestAChangeInBetweenWins changes something after a call was judged and before
// it is recorded.
func TestAChangeInBetweenWins(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", asksMeanwhile, allowAll)
		ctx := t.Context()
		must := func(err error) {
			if err != nil {
				t.Error(err)
			}
		}
		var shown plan.Presented
		for _, c := range []struct {
			name   string
			change func()
			by     string
			reason string
		}{
			{"nothing", func() {}, "rules", "allowed"},
			{"a plan ends", func() {
				_, err := e.plans.SetStatus(ctx, e.agent, shown.PlanID, plan.Completed)
				must(err)
			}, policy.ByIntent, "has ended"},
			{"a plan expires", func() { e.Pass(intent.DefaultLife) }, policy.ByIntent, "expired"},
			{
				"a deny is activated", func() { e.active("stop", `id: stop; effect: deny; tools: ["fs.read"]`) },
				"stop", "denied by rule stop",
			},
		} {
			t.Run(c.name, func(t *testing.T) {
				shown = e.mint(e.agent, twoSteps)
				want(t, e.decide(planned(shown, "read", `{}`)), verdict.Allow, "", "")
				e.meanwhile.do.Store(&c.change)
				v := verdict.Deny
				if c.name == "nothing" {
					v = verdict.Allow
				}
				want(t, e.decide(planned(shown, "read", `{}`)), v, c.by, c.reason)
				if e.meanwhile.do.Load() != nil {
					t.Error("the change was not made meanwhile")
				}
			})
		}
		e.verified()
	})
}

func TestASettingInBetweenWins(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", asksMeanwhile, allowAll)
		r := call("fs", "read", `{}`)
		r.SessionID = "s"
		want(t, e.decide(r), verdict.Allow, "", "")
		planning := func() {
			e.mint(e.agent, `{"steps":[{"action":"other","mcp":"fs"}]}`, func(r *intent.Request) { r.SessionID = "s" })
		}
		e.meanwhile.do.Store(&planning)
		want(t, e.decide(r), verdict.Deny, policy.ByIntent, "not in the plan")

		r.SessionID = ""
		want(t, e.decide(r), verdict.Allow, "", "")
		requiring := func() {
			if _, err := e.decisions.SetSettings(t.Context(), e.owner, enforcement.Settings{
				IntentRequired: true, MaxPlanTTL: time.Minute,
			}); err != nil {
				t.Error(err)
			}
		}
		e.meanwhile.do.Store(&requiring)
		want(t, e.decide(r), verdict.Deny, policy.ByIntent, "no plan")
	})
}

// TestAReplicaIsNeverStale changes by one process what another remembers.
func TestAReplicaIsNeverStale(t *testing.T) {
	t.Parallel()
	e := newEnv(t, dbtest.Postgres(t))
	second := open(t, e.Replica().DB)
	e.active("rules", allowAll)
	shown := e.mint(e.agent, twoSteps)
	ask := func() enforcement.Answer {
		return second.decisions.Decide(t.Context(), e.agent, planned(shown, "read", `{}`))
	}
	want(t, ask(), verdict.Allow, "", "")
	full := e.active("stop", `id: stop; effect: deny; tools: ["fs.read"]`)
	want(t, ask(), verdict.Deny, "stop", "")
	if _, err := e.policies.Deactivate(t.Context(), e.owner, full.ID); err != nil {
		t.Fatal(err)
	}
	want(t, ask(), verdict.Allow, "", "")
	if _, err := e.plans.SetStatus(t.Context(), e.agent, shown.PlanID, plan.Failed); err != nil {
		t.Fatal(err)
	}
	want(t, ask(), verdict.Deny, policy.ByIntent, "has ended")
}

// TestWhatKeepsChangingIsDenied raises the generation each time a call is judged.
func TestWhatKeepsChangingIsDenied(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", asksMeanwhile, allowAll)
		times := 0
		var again func()
		again = func() {
			times++
			e.raise()
			e.meanwhile.do.Store(&again)
		}
		e.meanwhile.do.Store(&again)
		got := e.decide(call("fs", "read", `{}`))
		e.meanwhile.do.Store(nil)
		want(t, got, verdict.Deny, policy.ByDefault, "keeps changing")
		if times < 2 || times > 20 || !got.Recorded {
			t.Errorf("judged %d times, recorded %t", times, got.Recorded)
		}
		want(t, e.decide(call("fs", "read", `{}`)), verdict.Allow, "", "")
	})
}

// raise changes something of acme that no decision depends on.
func (e *env) raise() {
	e.T.Helper()
	err := e.DB.Write(e.T.Context(), database.Change{Logs: []string{e.acme}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
		_, err := e.audit.Append(ctx, tx, audit.Entry{
			Log: e.acme, Action: "test.changed", Actor: e.owner, Subject: audit.Subject{Type: "test", ID: "x"},
		})
		return err
	}})
	if err != nil {
		e.T.Errorf("raise: %v", err)
	}
}

// TestARestoredLog: generations of another epoch say nothing.
func TestARestoredLog(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		shown := e.mint(e.agent, twoSteps)
		want(t, e.decide(planned(shown, "read", `{}`)), verdict.Allow, "", "")
		err := e.DB.Write(t.Context(), database.Change{Logs: []string{e.acme}, Do: func(
			ctx context.Context, tx *database.Tx,
		) error {
			if _, err := intent.EndAll(ctx, tx); err != nil {
				return err
			}
			return e.audit.BeginEpoch(ctx, tx, e.acme, audit.Lost{})
		}})
		if err != nil {
			t.Fatal(err)
		}
		e.Exec(`UPDATE audit_head SET generation = 0 WHERE log = $1`, e.acme)
		want(t, e.decide(planned(shown, "read", `{}`)), verdict.Deny, policy.ByIntent, "has ended")
	})
}

// TestABrokenPolicyDenies damages the text of an active policy.
func TestABrokenPolicyDenies(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", allowAll)
		broken := e.active("broken", `id: x; effect: deny; tools: ["x.*"]`)
		e.Exec(`UPDATE policy_version SET source = 'damaged' WHERE policy_id = $1`, broken.ID)
		e.raise()
		replica := open(t, e.Replica().DB)
		got := replica.decisions.Decide(t.Context(), e.agent, call("fs", "read", `{}`))
		want(t, got, verdict.Deny, policy.ByDefault, fmt.Sprintf("version 1 of policy %s cannot be used", broken.ID))
		if !got.Recorded {
			t.Error("the refusal is not recorded")
		}
		if _, err := e.policies.Deactivate(t.Context(), e.owner, broken.ID); err != nil {
			t.Fatal(err)
		}
		want(t, replica.decisions.Decide(t.Context(), e.agent, call("fs", "read", `{}`)), verdict.Allow, "", "")
	})
}

func TestSettings(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		get := func() enforcement.Settings {
			got, err := e.decisions.Settings(t.Context(), e.acme)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		if got := get(); got != enforcement.Defaults() {
			t.Errorf("defaults: %+v", got)
		}
		good := enforcement.Settings{
			IntentRequired: true, MaxPlanTTL: 90 * time.Second, Grounding: enforcement.GroundingAsk,
			UnplannedBeforeText: true, Widening: intent.RefuseWidening,
		}
		for name, by := range map[string]principal.Principal{
			"a key": e.agent, "a member": testenv.Person(e.bob, e.acme, principal.Member), "nobody": {},
		} {
			if _, err := e.decisions.SetSettings(t.Context(), by, good); err == nil {
				t.Errorf("%s may change settings", name)
			}
		}
		for _, ttl := range []time.Duration{0, -time.Second, 1500 * time.Millisecond, 31 * 24 * time.Hour} {
			if _, err := e.decisions.SetSettings(t.Context(), e.owner, enforcement.Settings{
				MaxPlanTTL: ttl,
			}); err == nil {
				t.Errorf("a life of %s is taken", ttl)
			}
		}
		for range 2 {
			if _, err := e.decisions.SetSettings(t.Context(), e.owner, good); err != nil {
				t.Fatal(err)
			}
		}
		if got := get(); got != good {
			t.Errorf("got %+v", got)
		}
		if n := e.count(`audit_entry WHERE action = 'enforcement.settings_changed'`); n != 2 {
			t.Errorf("%d changes recorded", n)
		}
	})
}
