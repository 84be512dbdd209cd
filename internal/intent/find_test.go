package intent_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/intent"
	"writ/internal/intent/plan"
	"writ/internal/secret"
	"writ/internal/testenv"
)

func TestFind(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		m, foreign := e.mint(e.agent, request(twoSteps)), e.mint(e.foreign, request(twoSteps))
		by := plan.Binding{OrgID: e.acme, KeyID: e.agent.KeyID, AgentID: "agent"}
		tests := []struct {
			name string
			give plan.Presented
			want plan.Drift
		}{
			{"all", shown(m), ""},
			{"plan id", plan.Presented{PlanID: m.PlanID, Signature: m.Token.Signature}, ""},
			{"reference", plan.Presented{Reference: m.IntentReference, Signature: m.Token.Signature}, ""},
			{"hash", plan.Presented{PlanHash: m.PlanHash, Signature: m.Token.Signature}, ""},
			{"JWT", plan.ParsePresented([]byte(`"` + m.JWT + `"`)), ""},
			{
				"an id that is none, and the reference",
				plan.Presented{PlanID: "unknown", Reference: m.IntentReference, Signature: m.Token.Signature}, "",
			},
			{"nothing", plan.Presented{}, plan.NoPlan},
			{"unknown id", plan.Presented{PlanID: database.NewID(), Signature: m.Token.Signature}, plan.NoPlan},
			{"hostile id", plan.Presented{PlanID: "' OR 1=1 --\x00", Signature: m.Token.Signature}, plan.NoPlan},
			{"another hash", plan.Presented{PlanHash: "00", Signature: m.Token.Signature}, plan.NoPlan},
			{"id alone", plan.Presented{PlanID: m.PlanID}, plan.NotGenuine},
			{
				"another's signature", plan.Presented{PlanID: m.PlanID, Signature: foreign.Token.Signature},
				plan.NotGenuine,
			},
			{"altered JWT", plan.Presented{PlanID: m.PlanID, JWT: m.JWT + "x"}, plan.NotGenuine},
			{"another organization's", shown(foreign), plan.NoPlan},
			{
				"another organization's by hash",
				plan.Presented{PlanHash: foreign.PlanHash, Signature: foreign.Token.Signature}, plan.NoPlan,
			},
		}
		for _, round := range []string{"read", "remembered"} {
			for _, tt := range tests {
				r := plan.Check(e.find(e.acme, tt.give), tt.give, plan.Call{Tool: "Read"}, by, e.DB.Now())
				if r.Drift != tt.want || r.OK != (tt.want == "") {
					t.Errorf("%s, %s: %+v, want %q", tt.name, round, r, tt.want)
				}
			}
		}
		if d := e.find(e.globex, shown(m)); d != nil {
			t.Error("a remembered plan shows in another organization")
		}
		for name, p := range map[string]plan.Presented{"token": shown(m), "JWT": {PlanID: m.PlanID, JWT: m.JWT}} {
			if d, err := e.plans.FindByToken(t.Context(), p); err != nil || d == nil || d.Binding.OrgID != e.acme {
				t.Errorf("by its %s alone: %+v, %v", name, d, err)
			}
		}
	})
}

// TestFindAsksOnlyWhenSomethingChanged takes the database away from a plan that
// is remembered.
func TestFindAsksOnlyWhenSomethingChanged(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		m := e.mint(e.agent, request(twoSteps))
		generation := e.generation(e.acme)
		if d := e.find(e.acme, shown(m)); d == nil {
			t.Fatal("not found")
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if d, err := e.plans.Find(gone, e.acme, generation, shown(m)); err != nil || d == nil {
			t.Errorf("the database was asked: %v", err)
		}
		_, err := e.plans.Find(gone, e.acme, generation+1, shown(m))
		testenv.WantFault(t, "find", err, fault.Unavailable)
		_, err = e.plans.Find(gone, e.acme, generation, plan.Presented{PlanID: database.NewID()})
		testenv.WantFault(t, "find", err, fault.Unavailable)
	})
}

func TestChangesElsewhereAreSeenAtTheNextGeneration(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		m := e.mint(e.agent, request(twoSteps))
		e.find(e.acme, shown(m))
		replica := newService(t, e.DB, 1)
		if _, err := replica.SetStatus(t.Context(), e.agent, m.PlanID, plan.Failed); err != nil {
			t.Fatal(err)
		}
		if d := e.find(e.acme, shown(m)); d.Status != plan.Failed {
			t.Errorf("status = %s, want failed", d.Status)
		}
	})
}

func TestEqualTokensOfOneSecond(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		first, second := e.mint(e.agent, request(twoSteps)), e.mint(e.agent, request(twoSteps))
		if first.Token.Signature != second.Token.Signature {
			t.Fatal("the tokens differ, and this test is void")
		}
		if _, err := e.plans.SetStatus(t.Context(), e.agent, first.PlanID, plan.Completed); err != nil {
			t.Fatal(err)
		}
		if d := e.find(e.acme, shown(first)); d.Status != plan.Completed {
			t.Errorf("the first is %s", d.Status)
		}
		if d := e.find(e.acme, shown(second)); d.Status != plan.Active {
			t.Errorf("the second is %s", d.Status)
		}
	})
}

func TestAlteredRowsAreNotJudged(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		free := e.mint(e.agent, request(`{"steps":[{"action":"Bash"}]}`))
		m, third := e.mint(e.agent, request(twoSteps)), e.mint(e.agent, request(twoSteps))
		e.Exec(`UPDATE plan_anchor SET sealed = (SELECT sealed FROM plan_anchor WHERE plan_id = $1) WHERE plan_id = $2`,
			free.PlanID, m.PlanID)
		e.Exec(`UPDATE plan_anchor SET root = $1 WHERE plan_id = $2`, free.PlanHash, third.PlanID)
		for name, p := range map[string]plan.Presented{
			"another plan's text": shown(m), "another hash": {PlanID: third.PlanID},
		} {
			if d, err := e.plans.Find(t.Context(), e.acme, 0, p); !errors.Is(err, secret.ErrSealBroken) || d != nil {
				t.Errorf("%s: %+v, %v; want a broken seal", name, d, err)
			}
		}
		// A text that reads as another plan than was signed, as after a change of
		// how plans are read.
		fourth := e.mint(e.agent, request(twoSteps))
		sealer := testenv.Sealer(t, 1)
		sealed := sealer.Seal("plan/"+fourth.PlanID+"/"+fourth.PlanHash, toJSON(t, map[string]string{
			"plan": `{"steps":[{"action":"Bash"}]}`,
		}))
		e.Exec(`UPDATE plan_anchor SET sealed = $1 WHERE plan_id = $2`, sealed, fourth.PlanID)
		if d, err := e.plans.Find(t.Context(), e.acme, 0, shown(fourth)); err == nil ||
			!strings.Contains(err.Error(), "not what was signed") || d != nil {
			t.Errorf("another text: %+v, %v", d, err)
		}
		if _, err := newService(t, e.DB, 2).Find(t.Context(), e.acme, 0,
			shown(free)); !errors.Is(err, secret.ErrSealBroken) {
			t.Errorf("another master key: %v", err)
		}
	})
}

func TestClockJumps(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		m := e.mint(e.agent, request(twoSteps))
		d := e.find(e.acme, shown(m))
		for _, tt := range []struct {
			jump time.Duration
			want plan.Drift
		}{
			{0, ""}, {299 * time.Second, ""}, {300 * time.Second, plan.NotCurrent}, {24 * time.Hour, plan.NotCurrent},
			{-59 * time.Second, ""}, {-time.Hour, plan.NotCurrent},
		} {
			if r := plan.CheckPresented(d, shown(m), d.Binding,
				e.DB.Now().Truncate(time.Second).Add(tt.jump)); r.Drift != tt.want {
				t.Errorf("after a jump of %s: %q, want %q", tt.jump, r.Drift, tt.want)
			}
		}
	})
}

func BenchmarkFindAndCheck(b *testing.B) {
	e := benchEnv(b)
	m, err := e.plans.Mint(b.Context(), e.agent, request(twoSteps))
	if err != nil {
		b.Fatal(err)
	}
	token := toRaw(b, struct {
		intent.Minted
		Plan string `json:"plan"`
	}{m, twoSteps})
	by := plan.Binding{OrgID: e.acme, KeyID: e.agent.KeyID}
	args := []byte(`{"command":"make"}`)
	b.ReportAllocs()
	for b.Loop() {
		p := plan.ParsePresented(token)
		d, err := e.plans.Find(b.Context(), e.acme, 0, p)
		if err != nil {
			b.Fatal(err)
		}
		parsed, err := plan.ParseArguments(args)
		if err != nil {
			b.Fatal(err)
		}
		if r := plan.Check(d, p, plan.Call{Tool: "Bash", Arguments: parsed}, by, e.DB.Now()); !r.OK {
			b.Fatal(r.Reason)
		}
	}
}
