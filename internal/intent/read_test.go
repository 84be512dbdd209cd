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
)

func TestGet(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		r := request(twoSteps)
		r.Email, r.SessionID = " Ada@Example.org ", "s1"
		m := w.mint(w.agent, r)
		for name, tt := range map[string]struct {
			p        principal.Principal
			wantPlan bool
		}{
			"the key":  {w.agent, true},
			"a member": {person(w.bob, w.acme, principal.Member), true},
			"a viewer": {person(w.bob, w.acme, principal.Viewer), false},
		} {
			v, err := w.plans.Get(t.Context(), tt.p, m.PlanID)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if (v.Plan != nil) != tt.wantPlan || tt.wantPlan && string(v.Plan) != twoSteps {
				t.Errorf("%s: plan %s", name, v.Plan)
			}
			want := plan.Binding{
				OrgID:   w.acme,
				KeyID:   w.agent.KeyID,
				UserID:  "u1",
				Email:   "ada@example.org",
				AgentID: "agent",
				Context: "default",
				Session: "s1",
			}
			if v.Binding != want || v.Status != plan.Active || v.Goal != "build" || v.Steps != 2 ||
				v.Hash != m.PlanHash || v.ExpiresAt.Unix() != m.Token.ExpiresAt {
				t.Errorf("%s: %+v", name, v)
			}
		}
		for name, p := range map[string]principal.Principal{
			"another key": w.other, "a key of another organization": w.foreign,
			"a member of another organization": person(w.ada, w.globex, principal.Owner),
		} {
			if _, err := w.plans.Get(t.Context(), p, m.PlanID); !fault.Is(err, fault.NotFound) {
				t.Errorf("%s: err = %v, want not found", name, err)
			}
			if _, err := w.plans.Tree(t.Context(), p, m.PlanID); !fault.Is(err, fault.NotFound) {
				t.Errorf("tree for %s: err = %v, want not found", name, err)
			}
			if _, err := w.plans.SetStatus(t.Context(), p, m.PlanID, plan.Failed); !fault.Is(err, fault.NotFound) {
				t.Errorf("status by %s: err = %v, want not found", name, err)
			}
		}
		for _, id := range []string{"", "x", "\x00", database.NewID()} {
			if _, err := w.plans.Get(t.Context(), w.agent, id); !fault.Is(err, fault.NotFound) {
				t.Errorf("Get(%q): err = %v, want not found", id, err)
			}
		}
		for name, p := range map[string]principal.Principal{
			"nobody": {}, "no member": person(w.bob, w.acme, ""), "no organization": person(w.bob, "", ""),
		} {
			if _, err := w.plans.Get(t.Context(), p, m.PlanID); !fault.Is(err, fault.Forbidden) {
				t.Errorf("%s: err = %v, want forbidden", name, err)
			}
		}
		w.pass(300 * time.Second)
		if v, err := w.plans.Get(t.Context(), w.agent, m.PlanID); err != nil || v.Status != plan.Expired {
			t.Errorf("after its time it is %s (%v), want expired", v.Status, err)
		}
	})
}

func TestList(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		start := w.db.Now()
		for i := range 7 {
			r := request(fmt.Sprintf(`{"goal":"g%d","steps":[]}`, i))
			r.AgentID = fmt.Sprintf("a%d", i%2)
			r.UserID = fmt.Sprintf("u%d", i%3)
			if i == 5 {
				r.Email = "Ada@example.org"
			}
			m := w.mint(w.agent, r)
			if i == 1 || i == 2 {
				if _, err := w.plans.SetStatus(t.Context(), w.agent, m.PlanID, plan.Completed); err != nil {
					t.Fatal(err)
				}
			}
			w.pass(time.Minute)
		}
		w.mint(w.foreign, request(`{"goal":"foreign","steps":[]}`))
		at := func(minutes int) *time.Time { t := start.Add(time.Duration(minutes) * time.Minute); return &t }
		ada := person(w.bob, w.acme, principal.Viewer)
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
				if got := w.all(ada, tt.give, limit); got != tt.want {
					t.Errorf("%s, %d a page: %s, want %s", tt.name, limit, got, tt.want)
				}
			}
		}
		_, err := w.plans.List(t.Context(), w.agent, intent.Filter{}, "", 0)
		wantFault(t, err, fault.Forbidden)
		_, err = w.plans.List(t.Context(), ada, intent.Filter{Status: "odd"}, "", 0)
		wantFault(t, err, fault.Invalid)
		_, err = w.plans.List(t.Context(), ada, intent.Filter{UserID: "\x00"}, "", 0)
		wantFault(t, err, fault.Invalid)
		first, err := w.plans.List(t.Context(), ada, intent.Filter{}, "", 1)
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.plans.List(t.Context(), person(w.bob, w.globex, principal.Viewer), intent.Filter{}, first.NextCursor,
			1)
		wantFault(t, err, fault.Invalid)
	})
}

// all reads a list page by page and gives the goals.
func (w *world) all(p principal.Principal, f intent.Filter, limit int) string {
	w.t.Helper()
	var goals []string
	cursor := ""
	for range 20 {
		page, err := w.plans.List(w.t.Context(), p, f, cursor, limit)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, v := range page.Items {
			goals = append(goals, v.Goal)
			if v.Plan != nil {
				w.t.Error("a list shows a plan's text")
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
	each(t, func(t *testing.T, w *world) {
		m := w.mint(w.agent, request(twoSteps))
		for name, p := range map[string]principal.Principal{
			"key": w.agent, "member": person(w.bob, w.acme, principal.Member),
		} {
			tree, err := w.plans.Tree(t.Context(), p, m.PlanID)
			if err != nil || tree.Root() != m.MerkleRoot || len(tree.Nodes()) != 9 {
				t.Fatalf("%s: %v", name, err)
			}
			for i := range 2 {
				got, err := w.plans.Proof(t.Context(), p, m.PlanID, i)
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
				if _, err := w.plans.Proof(t.Context(), p, m.PlanID, i); !fault.Is(err, fault.NotFound) {
					t.Errorf("%s: step %d: %v, want not found", name, i, err)
				}
			}
		}
		_, err := w.plans.Tree(t.Context(), person(w.bob, w.acme, principal.Viewer), m.PlanID)
		wantFault(t, err, fault.Forbidden)
	})
}

func TestSetStatus(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		owner, admin := person(w.ada, w.acme, principal.Member), person(w.bob, w.acme, principal.Admin)
		tests := []struct {
			name     string
			by       principal.Principal
			from, to plan.Status
			want     fault.Kind
		}{
			{"key completes", w.agent, plan.Active, plan.Completed, ""},
			{"key fails", w.agent, plan.Active, plan.Failed, ""},
			{"key expires", w.agent, plan.Active, plan.Expired, ""},
			{"key repeats", w.agent, plan.Completed, plan.Completed, ""},
			{"key repeats active", w.agent, plan.Active, plan.Active, ""},
			{"key from one end to another", w.agent, plan.Completed, plan.Failed, ""},
			{"key makes active", w.agent, plan.Completed, plan.Active, fault.Forbidden},
			{"owner of the key makes active", owner, plan.Completed, plan.Active, ""},
			{"owner of the key ends", owner, plan.Active, plan.Failed, ""},
			{"admin makes active", admin, plan.Failed, plan.Active, ""},
			{"another member", person(w.bob, w.acme, principal.Member), plan.Completed, plan.Active, fault.Forbidden},
			{
				"owner of the key, now a viewer", person(w.ada, w.acme, principal.Viewer), plan.Completed, plan.Active,
				fault.Forbidden,
			},
			{"no status", w.agent, plan.Active, "", fault.Invalid},
			{"odd status", w.agent, plan.Active, "revoked", fault.Invalid},
		}
		for _, tt := range tests {
			m := w.mint(w.agent, request(twoSteps))
			w.exec(`UPDATE plan SET status = $2 WHERE id = $1`, m.PlanID, string(tt.from))
			before, generation := w.actions(w.acme), w.generation(w.acme)
			v, err := w.plans.SetStatus(t.Context(), tt.by, m.PlanID, tt.to)
			if fault.KindOf(err) != tt.want || err == nil && v.Status != tt.to {
				t.Errorf("%s: %s, %v; want %s %s", tt.name, v.Status, err, tt.to, tt.want)
			}
			changed := tt.want == "" && tt.from != tt.to
			if logged := strings.HasSuffix(w.actions(w.acme)[len(before):], "plan.status_changed"); logged != changed {
				t.Errorf("%s: in the log: %t, want %t", tt.name, logged, changed)
			}
			if raised := w.generation(w.acme) > generation; raised != changed {
				t.Errorf("%s: the generation was raised: %t, want %t", tt.name, raised, changed)
			}
			if err == nil && (v.EndedAt != nil) != (tt.to != plan.Active) && changed {
				t.Errorf("%s: ended at %v", tt.name, v.EndedAt)
			}
		}
		m := w.mint(w.agent, request(twoSteps))
		w.exec(`UPDATE plan SET status = 'completed' WHERE id = $1`, m.PlanID)
		w.pass(300 * time.Second)
		_, err := w.plans.SetStatus(t.Context(), owner, m.PlanID, plan.Active)
		wantFault(t, err, fault.Conflict)
	})
}

func TestEndAll(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		m, completed, foreign := w.mint(w.agent, request(twoSteps)), w.mint(w.agent, request(twoSteps)),
			w.mint(w.foreign, request(twoSteps))
		if _, err := w.plans.SetStatus(t.Context(), w.agent, completed.PlanID, plan.Completed); err != nil {
			t.Fatal(err)
		}
		err := w.db.Write(t.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
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
			d, err := newService(t, w.db, 1).FindByToken(t.Context(), plan.Presented{PlanID: id})
			if err != nil || d.Status != want {
				t.Errorf("status %v, %v; want %s", d, err, want)
			}
		}
	})
}
