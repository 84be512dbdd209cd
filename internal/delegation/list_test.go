package delegation_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"writ/internal/database"
	"writ/internal/delegation"
	"writ/internal/fault"
	"writ/internal/principal"
)

// TestList: filters narrow, pages neither repeat nor hide, and nobody sees what
// is not theirs.
func TestList(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		bob := w.person(principal.Approver)
		start := w.db.Now()
		var ids []string
		for i := range 6 {
			call := delegation.Call{
				Server:    "bank",
				Tool:      fmt.Sprintf("t%d", i%2),
				AgentID:   fmt.Sprintf("a%d", i%3),
				Email:     "u@example.org",
				SessionID: "s",
				PlanID:    "p",
			}
			if i == 5 {
				call.Email = "v@example.org"
			}
			ids = append(ids, w.held(call, fmt.Sprintf(`{"n":%d}`, i), hold).ID)
			w.pass(time.Second)
		}
		question := hold
		question.Kind = delegation.Ask
		ids = append(ids, w.held(delegation.Call{Server: "rm", Tool: "shell"}, `{}`, question).ID)
		w.approve(bob, ids[0], delegation.Yes{})
		if _, err := w.approvals.Reject(t.Context(), bob, ids[1], ""); err != nil {
			t.Fatal(err)
		}
		if _, err := w.approvals.Cancel(t.Context(), w.key, ids[2]); err != nil {
			t.Fatal(err)
		}
		list := func(f delegation.Filter) (found []int) {
			t.Helper()
			for {
				p, err := w.approvals.List(t.Context(), bob, f)
				if err != nil {
					t.Fatalf("%+v: %v", f, err)
				}
				for _, r := range p.Items {
					found = append(found, slices.Index(ids, r.ID))
				}
				if f.Cursor = p.NextCursor; f.Cursor == "" {
					return found
				}
			}
		}
		for _, c := range []struct {
			name   string
			filter delegation.Filter
			want   []int
		}{
			{"all", delegation.Filter{}, []int{6, 5, 4, 3, 2, 1, 0}},
			{"by two", delegation.Filter{Limit: 2}, []int{6, 5, 4, 3, 2, 1, 0}},
			{"waiting", delegation.Filter{Status: delegation.Pending}, []int{6, 5, 4, 3}},
			{"approved", delegation.Filter{Status: delegation.Approved}, []int{0}},
			{"rejected", delegation.Filter{Status: delegation.Rejected}, []int{1}},
			{"cancelled", delegation.Filter{Status: delegation.Cancelled}, []int{2}},
			{"expired", delegation.Filter{Status: delegation.Expired}, nil},
			{"tool", delegation.Filter{Tool: "t0", Limit: 1}, []int{4, 2, 0}},
			{"server", delegation.Filter{Server: "rm"}, []int{6}},
			{"agent", delegation.Filter{AgentID: "a1"}, []int{4, 1}},
			{"agent and tool", delegation.Filter{AgentID: "a1", Tool: "t0"}, []int{4}},
			{"key", delegation.Filter{KeyID: w.key.KeyID, Kind: delegation.Ask}, []int{6}},
			{"another key", delegation.Filter{KeyID: database.NewID()}, nil},
			{"requester", delegation.Filter{Requester: "V@example.org"}, []int{5}},
			{
				"plan and session", delegation.Filter{PlanID: "p", SessionID: "s", Status: delegation.Pending},
				[]int{5, 4, 3},
			},
			{"from", delegation.Filter{From: start.Add(4 * time.Second)}, []int{6, 5, 4}},
			{"until", delegation.Filter{Until: start.Add(time.Second)}, []int{0}},
			{"risk", delegation.Filter{RiskLevel: "low"}, nil},
		} {
			if got := list(c.filter); !slices.Equal(got, c.want) {
				t.Errorf("%s: %v, want %v", c.name, got, c.want)
			}
		}
		w.pass(delegation.PendingLife)
		if got := list(delegation.Filter{Status: delegation.Expired, Limit: 3}); !slices.Equal(got, []int{6, 5, 4, 3}) {
			t.Errorf("after their time: %v", got)
		}
		if got := list(delegation.Filter{Status: delegation.Pending}); len(got) != 0 {
			t.Errorf("after their time %v wait", got)
		}
		if p, err := w.approvals.List(t.Context(), bob, delegation.Filter{Limit: 1}); err != nil ||
			p.Items[0].Status != delegation.Expired {
			t.Errorf("after its time: %+v, %v", p.Items, err)
		}
	})
}

func TestWhoMayList(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		bob, mel := w.person(principal.Approver), w.person(principal.Member)
		for range 3 {
			w.open(hold)
		}
		elsewhere := bob
		elsewhere.OrgID = database.NewID()
		former := w.ada
		former.Role = principal.Viewer
		for name, c := range map[string]struct {
			p    principal.Principal
			want int
		}{
			"an approver":          {bob, 3},
			"a member":             {mel, 0},
			"the owner of the key": {former, 3},
			"elsewhere":            {elsewhere, 0},
		} {
			if p, err := w.approvals.List(t.Context(), c.p, delegation.Filter{}); err != nil || len(p.Items) != c.want {
				t.Errorf("%s: %d, %v", name, len(p.Items), err)
			}
		}
		_, err := w.approvals.List(t.Context(), w.key, delegation.Filter{})
		wantFault(t, "a key", err, fault.Forbidden)
		for _, f := range []delegation.Filter{
			{Limit: -1}, {Limit: 201}, {Cursor: "x"}, {Status: "open"}, {Tool: "t\x00"}, {AgentID: "\xff"},
			{Requester: strings.Repeat("a", 201)},
		} {
			_, err := w.approvals.List(t.Context(), bob, f)
			wantFault(t, fmt.Sprint(f), err, fault.Invalid)
		}
		p, err := w.approvals.List(t.Context(), bob, delegation.Filter{Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.approvals.List(t.Context(), elsewhere, delegation.Filter{Cursor: p.NextCursor})
		wantFault(t, "a cursor of another organization", err, fault.Invalid)
	})
}
