package intent_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-json-experiment/json"

	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/intent"
	"writ/internal/intent/plan"
	"writ/internal/testenv"
)

// use claims a step for a call in a transaction of its own, as a decision does.
func use(
	ctx context.Context, db *database.DB, plans *intent.Service, d *plan.Declared, tool string,
) (step int, refused plan.Result, err error) {
	fit := d.Plan.Fit(plan.Call{Tool: tool})
	err = db.Write(ctx, database.Change{Lane: database.Urgent, Logs: []string{d.Binding.OrgID}, Do: func(
		ctx context.Context, tx *database.Tx,
	) (err error) {
		step, refused, err = plans.UseStep(ctx, tx, d, fit.Steps)
		return err
	}})
	return step, refused, err
}

// TestOneUseAmongAThousandCalls claims a step of one use from two processes at
// once.
func TestOneUseAmongAThousandCalls(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		m := e.mint(e.agent, request(`{"steps":[{"action":"pay","max_calls":1}]}`))
		d := e.find(e.acme, shown(m))
		dbs := []*database.DB{e.DB, dbtest.Open(t, e.Options)}
		var passed, refused atomic.Int64
		var wg sync.WaitGroup
		room := make(chan struct{}, 16) // on a busy machine more at once would wait longer than a call may
		for i := range 1000 {
			room <- struct{}{}
			wg.Go(func() {
				defer func() { <-room }()
				step, result, err := use(context.Background(), dbs[i%2], e.plans, d, "pay")
				switch {
				case err != nil:
					t.Errorf("use: %v", err)
				case step == 0:
					passed.Add(1)
				case result.Drift == plan.UsedUp && result.Reason != "":
					refused.Add(1)
				default:
					t.Errorf("step %d, %+v", step, result)
				}
			})
		}
		wg.Wait()
		if passed.Load() != 1 || refused.Load() != 999 {
			t.Errorf("%d passed and %d were refused, want 1 and 999", passed.Load(), refused.Load())
		}
		view, err := e.plans.Get(t.Context(), e.agent, m.PlanID)
		if err != nil || view.Uses[0] != 1 {
			t.Errorf("uses = %v, %v", view.Uses, err)
		}
	})
}

func TestUseStep(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		tests := []struct {
			name, plan, calls, want string
		}{
			{"unlimited", `{"steps":[{"action":"a"}]}`, "a a a", "0 0 0"},
			{"counted", `{"steps":[{"action":"a","max_calls":2},{"action":"b"}]}`, "a b a a b", "0 1 0 used_up 1"},
			{
				"several steps of one tool", `{"steps":[{"action":"a","max_calls":1},{"action":"a","max_calls":2}]}`,
				"a a a a", "0 1 1 used_up",
			},
			{"unlimited before limited", `{"steps":[{"action":"a","max_calls":1},{"action":"a"}]}`, "a a a", "1 1 1"},
			{
				"ordered", `{"ordered":true,"steps":[{"action":"a"},{"action":"b"},{"action":"c"}]}`,
				"b a a c b a c b", "out_of_order 0 0 out_of_order 1 out_of_order 2 out_of_order",
			},
			{
				"ordered, twice the same", `{"ordered":true,"steps":[{"action":"a"},{"action":"a"},{"action":"b"}]}`,
				"a b a b", "0 out_of_order 1 2",
			},
			{
				"ordered and counted",
				`{"ordered":true,"steps":[{"action":"a","max_calls":2},{"action":"b","max_calls":1}]}`, "a a a b b a",
				"0 0 used_up 1 used_up out_of_order",
			},
			{"not in the plan", `{"ordered":true,"steps":[{"action":"a"}]}`, "x", "not_in_plan"},
		}
		for _, tt := range tests {
			d := e.find(e.acme, shown(e.mint(e.agent, request(tt.plan))))
			var got []string
			for tool := range strings.FieldsSeq(tt.calls) {
				step, refused, err := use(t.Context(), e.DB, e.plans, d, tool)
				if err != nil {
					t.Fatalf("%s: %v", tt.name, err)
				}
				if step < 0 {
					got = append(got, string(refused.Drift))
				} else {
					got = append(got, fmt.Sprint(step))
				}
			}
			if text := strings.Join(got, " "); text != tt.want {
				t.Errorf("%s: %s, want %s", tt.name, text, tt.want)
			}
		}
	})
}

func TestUseStepNeedsTheLog(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		d := e.find(e.acme, shown(e.mint(e.agent, request(`{"steps":[{"action":"a","max_calls":1}]}`))))
		err := e.DB.Write(t.Context(), database.Change{Logs: []string{e.globex}, Do: func(
			ctx context.Context, tx *database.Tx,
		) error {
			step, _, err := e.plans.UseStep(ctx, tx, d, []int{0})
			if step != -1 {
				t.Errorf("step %d beside the error", step)
			}
			return err
		}})
		if err == nil || !strings.Contains(err.Error(), "does not declare the log") {
			t.Errorf("err = %v, want a refusal", err)
		}
	})
}

// TestARolledBackUseIsNone claims in a transaction that fails.
func TestARolledBackUseIsNone(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		d := e.find(e.acme, shown(e.mint(e.agent, request(`{"ordered":true,"steps":[{"action":"a","max_calls":1}]}`))))
		err := e.DB.Write(t.Context(), database.Change{Logs: []string{e.acme}, Do: func(
			ctx context.Context, tx *database.Tx,
		) error {
			if step, _, err := e.plans.UseStep(ctx, tx, d, []int{0}); step != 0 || err != nil {
				t.Errorf("step %d, %v", step, err)
			}
			return fmt.Errorf("no")
		}})
		if err == nil {
			t.Fatal("the change did not fail")
		}
		if step, _, err := use(t.Context(), e.DB, e.plans, d, "a"); step != 0 || err != nil {
			t.Errorf("after the rollback: step %d, %v", step, err)
		}
	})
}

// benchEnv is an organization with a key, on SQLite.
func benchEnv(b *testing.B) *env {
	b.Helper()
	base := testenv.New(b, dbtest.SQLite(b))
	e := &env{Env: base, plans: newService(b, base.DB, 1), acme: base.Organization("Acme")}
	e.agent = e.key(e.User("ada@example.org"), e.acme)
	return e
}

func toRaw(b *testing.B, v any) []byte {
	b.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		b.Fatal(err)
	}
	return raw
}

// TestTheLastOfManySteps uses a plan of as many steps as there may be, all for one
// tool, of which one is left.
func TestTheLastOfManySteps(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		m := e.mint(e.agent,
			request(`{"steps":[`+
				strings.TrimSuffix(strings.Repeat(`{"action":"pay","max_calls":1},`, plan.MaxSteps), ",")+`]}`))
		d := e.find(e.acme, shown(m))
		for step := range plan.MaxSteps {
			if step != 321 {
				e.Exec(`INSERT INTO plan_step (plan_id, anchor, step, uses) VALUES ($1, 1, $2, 1)`, m.PlanID, step)
			}
		}
		for _, want := range []string{"321", "used_up", "used_up"} {
			step, refused, err := use(t.Context(), e.DB, e.plans, d, "pay")
			if got := fmt.Sprint(step); err != nil || got != want && string(refused.Drift) != want {
				t.Errorf("step %d, %+v, %v; want %s", step, refused, err, want)
			}
		}
	})
}
