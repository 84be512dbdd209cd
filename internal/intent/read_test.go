package intent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/intent"
	"writ/internal/intent/plan"
	"writ/internal/principal"
	"writ/internal/testenv"
)

func TestGet(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		r := request(twoSteps)
		r.Email, r.SessionID = " Ada@Example.org ", "s1"
		m := e.mint(e.agent, r)
		for name, tt := range map[string]struct {
			p        principal.Principal
			wantPlan bool
		}{
			"the key":  {e.agent, true},
			"a member": {testenv.Person(e.bob, e.acme, principal.Member), true},
			"a viewer": {testenv.Person(e.bob, e.acme, principal.Viewer), false},
		} {
			v, err := e.plans.Get(t.Context(), tt.p, m.PlanID)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if (v.Plan != nil) != tt.wantPlan || tt.wantPlan && string(v.Plan) != twoSteps {
				t.Errorf("%s: plan %s", name, v.Plan)
			}
			want := plan.Binding{
				OrgID:   e.acme,
				KeyID:   e.agent.KeyID,
				UserID:  "u1",
				Email:   "ada@example.org",
				AgentID: "agent",
				Context: "default",
				Session: "s1",
			}
			if v.Binding != want || v.Status != plan.Active || (v.Goal == "build") != tt.wantPlan || v.Steps != 2 ||
				v.Hash != m.PlanHash || v.ExpiresAt.Unix() != m.Token.ExpiresAt {
				t.Errorf("%s: %+v", name, v)
			}
		}
		for name, p := range map[string]principal.Principal{
			"another key": e.other, "a key of another organization": e.foreign,
			"a member of another organization": testenv.Person(e.ada, e.globex, principal.Owner),
		} {
			if _, err := e.plans.Get(t.Context(), p, m.PlanID); !fault.Is(err, fault.NotFound) {
				t.Errorf("%s: err = %v, want not found", name, err)
			}
			if _, err := e.plans.Tree(t.Context(), p, m.PlanID); !fault.Is(err, fault.NotFound) {
				t.Errorf("tree for %s: err = %v, want not found", name, err)
			}
			if _, err := e.plans.SetStatus(t.Context(), p, m.PlanID, plan.Failed); !fault.Is(err, fault.NotFound) {
				t.Errorf("status by %s: err = %v, want not found", name, err)
			}
		}
		for _, id := range []string{"", "x", "\x00", database.NewID()} {
			if _, err := e.plans.Get(t.Context(), e.agent, id); !fault.Is(err, fault.NotFound) {
				t.Errorf("Get(%q): err = %v, want not found", id, err)
			}
		}
		for name, p := range map[string]principal.Principal{
			"nobody": {}, "no member": testenv.Person(e.bob, e.acme, ""),
			"no organization": testenv.Person(e.bob, "", ""),
		} {
			if _, err := e.plans.Get(t.Context(), p, m.PlanID); !fault.Is(err, fault.Forbidden) {
				t.Errorf("%s: err = %v, want forbidden", name, err)
			}
		}
		e.Pass(300 * time.Second)
		if v, err := e.plans.Get(t.Context(), e.agent, m.PlanID); err != nil || v.Status != plan.Expired {
			t.Errorf("after its time it is %s (%v), want expired", v.Status, err)
		}
	})
}

func TestList(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		start := e.DB.Now()
		for i := range 7 {
			r := request(fmt.Sprintf(`{"goal":"g%d","steps":[]}`, i))
			r.AgentID = fmt.Sprintf("a%d", i%2)
			r.UserID = fmt.Sprintf("u%d", i%3)
			if i == 5 {
				r.Email = "Ada@example.org"
			}
			m := e.mint(e.agent, r)
			if i == 1 || i == 2 {
				if _, err := e.plans.SetStatus(t.Context(), e.agent, m.PlanID, plan.Completed); err != nil {
					t.Fatal(err)
				}
			}
			e.Pass(time.Minute)
		}
		e.mint(e.foreign, request(`{"goal":"foreign","steps":[]}`))
		at := func(minutes int) *time.Time { t := start.Add(time.Duration(minutes) * time.Minute); return &t }
		ada := testenv.Person(e.bob, e.acme, principal.Member)
		for _, tt := range []struct {
			name string
			give intent.Filter
			want string
		}{
			{"all", intent.Filter{}, "g6 g5 g4 g3 g2 g1 g0"},
			{"active", intent.Filter{Status: plan.Active}, "g6 g5 g4 g3"}, // g0 expired after 5 of the 7 minutes
			{"expired", intent.Filter{Status: plan.Expired}, "g0"},
			{"completed", intent.Filter{Status: plan.Completed}, "g2 g1"},
			{"failed", intent.Filter{Status: plan.Failed}, ""},
			{"agent", intent.Filter{AgentID: "a1"}, "g5 g3 g1"},
			{"user", intent.Filter{UserID: "u0"}, "g6 g3 g0"},
			{"e-mail", intent.Filter{UserID: "ada@Example.org"}, "g5"},
			{"time", intent.Filter{Since: at(2), Before: at(4)}, "g3 g2"},
			{"several", intent.Filter{AgentID: "a1", Status: plan.Completed}, "g1"},
			{"injection", intent.Filter{AgentID: "' OR '1'='1"}, ""},
		} {
			for _, limit := range []int{0, 1, 2} {
				if got := e.all(ada, tt.give, limit); got != tt.want {
					t.Errorf("%s, %d a page: %s, want %s", tt.name, limit, got, tt.want)
				}
			}
		}
		_, err := e.plans.List(t.Context(), e.agent, intent.Filter{}, "", 0)
		testenv.WantFault(t, "list", err, fault.Forbidden)
		_, err = e.plans.List(t.Context(), ada, intent.Filter{Status: "odd"}, "", 0)
		testenv.WantFault(t, "list", err, fault.Invalid)
		_, err = e.plans.List(t.Context(), ada, intent.Filter{UserID: "\x00"}, "", 0)
		testenv.WantFault(t, "list", err, fault.Invalid)
		first, err := e.plans.List(t.Context(), ada, intent.Filter{}, "", 1)
		if err != nil {
			t.Fatal(err)
		}
		_, err = e.plans.List(t.Context(), testenv.Person(e.bob, e.globex, principal.Viewer), intent.Filter{},
			first.NextCursor,
			1)
		testenv.WantFault(t, "list", err, fault.Invalid)
	})
}

// all reads a list page by page and gives the goals.
func (e *env) all(p principal.Principal, f intent.Filter, limit int) string {
	e.T.Helper()
	var goals []string
	cursor := ""
	for range 20 {
		page, err := e.plans.List(e.T.Context(), p, f, cursor, limit)
		if err != nil {
			e.T.Fatal(err)
		}
		for _, v := range page.Items {
			goals = append(goals, v.Goal)
			if v.Plan != nil {
				e.T.Error("a list shows a plan's text")
			}
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	return strings.Join(goals, " ")
}

func TestTreeAndProof(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		m := e.mint(e.agent, request(twoSteps))
		for name, p := range map[string]principal.Principal{
			"key": e.agent, "member": testenv.Person(e.bob, e.acme, principal.Member),
		} {
			tree, err := e.plans.Tree(t.Context(), p, m.PlanID)
			if err != nil || tree.Root() != m.MerkleRoot || len(tree.Nodes()) != 9 {
				t.Fatalf("%s: %v", name, err)
			}
			for i := range 2 {
				got, err := e.plans.Proof(t.Context(), p, m.PlanID, i)
				if err != nil {
					t.Fatal(err)
				}
				for _, proof := range []plan.PathProof{got.Action, got.Step} {
					if proof.StepIndex != i ||
						!plan.CheckProof(m.MerkleRoot, plan.Leaf{Path: proof.Path, Digest: proof.ValueDigest},
							proof.Proof) {
						t.Errorf("%s: the proof %+v does not hold", name, proof)
					}
				}
			}
			for _, i := range []int{-1, 2, 1 << 40} {
				if _, err := e.plans.Proof(t.Context(), p, m.PlanID, i); !fault.Is(err, fault.NotFound) {
					t.Errorf("%s: step %d: %v, want not found", name, i, err)
				}
			}
		}
		_, err := e.plans.Tree(t.Context(), testenv.Person(e.bob, e.acme, principal.Viewer), m.PlanID)
		testenv.WantFault(t, "tree", err, fault.Forbidden)
	})
}

func TestSetStatus(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		owner, admin := testenv.Person(e.ada, e.acme, principal.Member), testenv.Person(e.bob, e.acme, principal.Admin)
		tests := []struct {
			name     string
			by       principal.Principal
			from, to plan.Status
			want     fault.Kind
		}{
			{"key completes", e.agent, plan.Active, plan.Completed, ""},
			{"key fails", e.agent, plan.Active, plan.Failed, ""},
			{"key expires", e.agent, plan.Active, plan.Expired, ""},
			{"key repeats", e.agent, plan.Completed, plan.Completed, ""},
			{"key repeats active", e.agent, plan.Active, plan.Active, ""},
			{"key from one end to another", e.agent, plan.Completed, plan.Failed, ""},
			{"key makes active", e.agent, plan.Completed, plan.Active, fault.Forbidden},
			{"owner of the key makes active", owner, plan.Completed, plan.Active, ""},
			{"owner of the key ends", owner, plan.Active, plan.Failed, ""},
			{"admin makes active", admin, plan.Failed, plan.Active, ""},
			{
				"another member", testenv.Person(e.bob, e.acme, principal.Member), plan.Completed, plan.Active,
				fault.Forbidden,
			},
			{
				"owner of the key, now a viewer", testenv.Person(e.ada, e.acme, principal.Viewer), plan.Completed,
				plan.Active,
				fault.Forbidden,
			},
			{"no status", e.agent, plan.Active, "", fault.Invalid},
			{"odd status", e.agent, plan.Active, "revoked", fault.Invalid},
		}
		for _, tt := range tests {
			m := e.mint(e.agent, request(twoSteps))
			e.Exec(`UPDATE plan SET status = $2 WHERE id = $1`, m.PlanID, string(tt.from))
			before, generation := e.actions(e.acme), e.generation(e.acme)
			v, err := e.plans.SetStatus(t.Context(), tt.by, m.PlanID, tt.to)
			if fault.KindOf(err) != tt.want || err == nil && v.Status != tt.to {
				t.Errorf("%s: %s, %v; want %s %s", tt.name, v.Status, err, tt.to, tt.want)
			}
			changed := tt.want == "" && tt.from != tt.to
			if logged := strings.HasSuffix(e.actions(e.acme)[len(before):], "plan.status_changed"); logged != changed {
				t.Errorf("%s: in the log: %t, want %t", tt.name, logged, changed)
			}
			if raised := e.generation(e.acme) > generation; raised != changed {
				t.Errorf("%s: the generation was raised: %t, want %t", tt.name, raised, changed)
			}
			if err == nil && (v.EndedAt != nil) != (tt.to != plan.Active) && changed {
				t.Errorf("%s: ended at %v", tt.name, v.EndedAt)
			}
		}
		m := e.mint(e.agent, request(twoSteps))
		e.Exec(`UPDATE plan SET status = 'completed' WHERE id = $1`, m.PlanID)
		e.Pass(300 * time.Second)
		_, err := e.plans.SetStatus(t.Context(), owner, m.PlanID, plan.Active)
		testenv.WantFault(t, "set status", err, fault.Conflict)
	})
}

func TestEndAll(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		m, completed, foreign := e.mint(e.agent, request(twoSteps)), e.mint(e.agent, request(twoSteps)),
			e.mint(e.foreign, request(twoSteps))
		if _, err := e.plans.SetStatus(t.Context(), e.agent, completed.PlanID, plan.Completed); err != nil {
			t.Fatal(err)
		}
		err := e.DB.Write(t.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
			ended, err := intent.EndAll(ctx, tx)
			if ended != 2 {
				t.Errorf("%d plans ended, want 2", ended)
			}
			return err
		}})
		if err != nil {
			t.Fatal(err)
		}
		for id, want := range map[string]plan.Status{
			m.PlanID: plan.Expired, foreign.PlanID: plan.Expired, completed.PlanID: plan.Completed,
		} {
			d, err := newService(t, e.DB, 1).FindByToken(t.Context(), plan.Presented{PlanID: id})
			if err != nil || d.Status != want {
				t.Errorf("status %v, %v; want %s", d, err, want)
			}
		}
	})
}
