package approval_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"writ/internal/approval"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/testenv"
)

// TestList: filters narrow, pages neither repeat nor hide, and nobody sees what
// is not theirs.
func TestList(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		bob := e.person(principal.Approver)
		start := e.DB.Now()
		var ids []string
		for i := range 6 {
			call := approval.Call{
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
			ids = append(ids, e.held(call, fmt.Sprintf(`{"n":%d}`, i), hold).ID)
			e.Pass(time.Second)
		}
		question := hold
		question.Kind = approval.Ask
		ids = append(ids, e.held(approval.Call{Server: "rm", Tool: "shell"}, `{}`, question).ID)
		e.approve(bob, ids[0], approval.Approval{})
		if _, err := e.approvals.Reject(t.Context(), bob, ids[1], ""); err != nil {
			t.Fatal(err)
		}
		if _, err := e.approvals.Cancel(t.Context(), e.key, ids[2]); err != nil {
			t.Fatal(err)
		}
		list := func(f approval.Filter) (found []int) {
			t.Helper()
			for {
				p, err := e.approvals.List(t.Context(), bob, f)
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
			filter approval.Filter
			want   []int
		}{
			{"all", approval.Filter{}, []int{6, 5, 4, 3, 2, 1, 0}},
			{"by two", approval.Filter{Limit: 2}, []int{6, 5, 4, 3, 2, 1, 0}},
			{"waiting", approval.Filter{Status: approval.Pending}, []int{6, 5, 4, 3}},
			{"approved", approval.Filter{Status: approval.Approved}, []int{0}},
			{"rejected", approval.Filter{Status: approval.Rejected}, []int{1}},
			{"cancelled", approval.Filter{Status: approval.Cancelled}, []int{2}},
			{"expired", approval.Filter{Status: approval.Expired}, nil},
			{"tool", approval.Filter{Tool: "t0", Limit: 1}, []int{4, 2, 0}},
			{"server", approval.Filter{Server: "rm"}, []int{6}},
			{"agent", approval.Filter{AgentID: "a1"}, []int{4, 1}},
			{"agent and tool", approval.Filter{AgentID: "a1", Tool: "t0"}, []int{4}},
			{"key", approval.Filter{KeyID: e.key.KeyID, Kind: approval.Ask}, []int{6}},
			{"another key", approval.Filter{KeyID: database.NewID()}, nil},
			{"requester", approval.Filter{Requester: "V@example.org"}, []int{5}},
			{
				"plan and session", approval.Filter{PlanID: "p", SessionID: "s", Status: approval.Pending},
				[]int{5, 4, 3},
			},
			{"from", approval.Filter{From: start.Add(4 * time.Second)}, []int{6, 5, 4}},
			{"until", approval.Filter{Until: start.Add(time.Second)}, []int{0}},
			{"risk", approval.Filter{RiskLevel: "low"}, nil},
		} {
			if got := list(c.filter); !slices.Equal(got, c.want) {
				t.Errorf("%s: %v, want %v", c.name, got, c.want)
			}
		}
		e.Pass(approval.PendingLife)
		if got := list(approval.Filter{Status: approval.Expired, Limit: 3}); !slices.Equal(got, []int{6, 5, 4, 3}) {
			t.Errorf("after their time: %v", got)
		}
		if got := list(approval.Filter{Status: approval.Pending}); len(got) != 0 {
			t.Errorf("after their time %v wait", got)
		}
		if p, err := e.approvals.List(t.Context(), bob, approval.Filter{Limit: 1}); err != nil ||
			p.Items[0].Status != approval.Expired {
			t.Errorf("after its time: %+v, %v", p.Items, err)
		}
	})
}

func TestWhoMayList(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		bob, mel := e.person(principal.Approver), e.person(principal.Member)
		for range 3 {
			e.open(hold)
		}
		elsewhere := bob
		elsewhere.OrgID = database.NewID()
		former := e.ada
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
			if p, err := e.approvals.List(t.Context(), c.p, approval.Filter{}); err != nil || len(p.Items) != c.want {
				t.Errorf("%s: %d, %v", name, len(p.Items), err)
			}
		}
		_, err := e.approvals.List(t.Context(), e.key, approval.Filter{})
		testenv.WantFault(t, "a key", err, fault.Forbidden)
		for _, f := range []approval.Filter{
			{Limit: -1}, {Limit: 201}, {Cursor: "x"}, {Status: "open"}, {Tool: "t\x00"}, {AgentID: "\xff"},
			{Requester: strings.Repeat("a", 201)},
		} {
			_, err := e.approvals.List(t.Context(), bob, f)
			testenv.WantFault(t, fmt.Sprint(f), err, fault.Invalid)
		}
		p, err := e.approvals.List(t.Context(), bob, approval.Filter{Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		_, err = e.approvals.List(t.Context(), elsewhere, approval.Filter{Cursor: p.NextCursor})
		testenv.WantFault(t, "a cursor of another organization", err, fault.Invalid)
	})
}
