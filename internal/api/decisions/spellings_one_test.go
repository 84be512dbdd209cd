package decisions_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"writ/client"
	"writ/internal/spelling"
	"writ/internal/testserver"
)

// TestOneCallHasOneApproval: a call that is declared in one spelling and held in a second may be made in a third, once.
// The log and the approvers see one server and one tool.
func TestOneCallHasOneApproval(t *testing.T) {
	t.Parallel()
	eachSpelled(t, func(t *testing.T, o *testserver.Org) {
		plans := spelledPlans(t)
		declared := slices.Sorted(maps.Keys(plans))
		for i := range spellings {
			name := declared[i%len(declared)]
			token := o.Declared(o.Agent.APIKey, client.PlanRequest{
				Plan: json.RawMessage(plans[name]), AgentID: "teller", ExpiresIn: 600,
			})
			call := spelledCall{tool: "pay", amount: 1000 + i}
			ask := func(spelled int) m {
				_, said := surfaces[1].ask(t, o, token, call.spelled(spelled%len(spellings), true))
				return said
			}
			second, third := i, i+1+i%(len(spellings)-1)
			held := ask(second)
			if held["decision"] != "hold" {
				t.Fatalf("plan of %s, %s: %v", name, spellings[second].name, held)
			}
			for other := range spellings { // every spelling waits for the same answer
				if said := ask(other); said["approvalId"] != held["approvalId"] {
					t.Errorf("plan of %s: %s waits for %v, %s for %v", name, spellings[second].name, held["approvalId"],
						spellings[other].name, said["approvalId"])
				}
			}
			id := fmt.Sprint(held["approvalId"])
			if _, err := o.Owner.Approve(t.Context(), o.ID, client.Approval{ID: id}); err != nil {
				t.Fatal(err)
			}
			if said := ask(third); said["allowed"] != true {
				t.Errorf("plan of %s, held as %s, called as %s: %v", name, spellings[second].name,
					spellings[third%len(spellings)].name, said)
			}
			if said := ask(second); said["decision"] != "hold" || said["approvalId"] == id {
				t.Errorf("the grant was used, and %s is %v", spellings[second].name, said)
			}
		}
		wantOneName(t, o)
	})
}

// wantOneName: all decisions, and all requests for approval, name the server and the tool.
func wantOneName(t *testing.T, o *testserver.Org) {
	t.Helper()
	log, err := o.Owner.LogEntries(t.Context(), o.ID, client.LogFilter{
		Action: "call.decided", List: client.List{Limit: 100},
	})
	if err != nil || len(log.Items) < 50 {
		t.Fatalf("%d decisions, %v", len(log.Items), err)
	}
	for _, e := range log.Items {
		if e.Server != "bank" || e.Tool != "pay" {
			t.Errorf("entry %d is of %s %s", e.Index, e.Server, e.Tool)
		}
	}
	asked, err := o.Owner.ApprovalRequests(t.Context(), o.ID, client.ApprovalFilter{List: client.List{Limit: 100}})
	if err != nil || len(asked.Items) == 0 {
		t.Fatalf("%d requests, %v", len(asked.Items), err)
	}
	for _, r := range asked.Items {
		if r.Server != "bank" || r.Tool != "pay" {
			t.Errorf("request %s is of %s %s", r.ID, r.Server, r.Tool)
		}
	}
}

// TestAskedBySpellings: a client that asks for the approval itself finds the request of the call in every spelling, and
// the grant is released under each.
func TestAskedBySpellings(t *testing.T) {
	t.Parallel()
	eachSpelled(t, func(t *testing.T, o *testserver.Org) {
		for i, tool := range []string{"pay", "bank.pay", "bank__pay", "mcp__bank__pay"} {
			arguments := m{"amount": 7 + i}
			_, held := surface{path: "/iap/enforce"}.ask(t, o, client.PlanToken{}, m{
				"server": "bank", "tool": "pay", "arguments": arguments, "user_email": "ada@example.org",
			})
			body := m{"tool": tool, "arguments": arguments, "requesterEmail": "ada@example.org"}
			if tool == "pay" {
				body["domain"] = "bank"
			}
			_, asked := surface{path: "/delegation/request"}.ask(t, o, client.PlanToken{}, body)
			if asked["id"] != held["approvalId"] && asked["approvalId"] != held["approvalId"] {
				t.Fatalf("%s: held for %v, asked for %v", tool, held["approvalId"], asked)
			}
			id := fmt.Sprint(held["approvalId"])
			if _, err := o.Owner.Approve(t.Context(), o.ID, client.Approval{ID: id}); err != nil {
				t.Fatal(err)
			}
			for want := range 2 { // an answer of true uses it up
				answer := o.Request(t, "GET", "/delegation/check-approved?tool="+tool, "", "X-API-Key", o.Agent.APIKey,
					"X-User-Email", "ada@example.org")
				if got := strings.Contains(string(answer.Body), `"approved":true`); got != (want == 0) {
					t.Errorf("%s, asked %d times: %s", tool, want+1, answer.Body)
				}
			}
		}
	})
}

// TestAKilledToolStopsInEverySpelling: also where the record has only one of its names.
func TestAKilledToolStopsInEverySpelling(t *testing.T) {
	t.Parallel()
	for _, subject := range []string{"bank.balance", "mcp__bank__balance", "balance"} {
		eachSpelled(t, func(t *testing.T, o *testserver.Org) {
			call := spelledCall{tool: "balance", amount: 5}
			ask := func(i int) m {
				_, said := surface{path: "/iap/enforce"}.ask(t, o, client.PlanToken{}, call.spelled(i, true))
				return said
			}
			if said := ask(7); said["allowed"] != true {
				t.Fatalf("before: %v", said)
			}
			if _, err := o.Owner.KillScope(t.Context(), o.ID, "tool", subject, "broken", false); err != nil {
				t.Fatal(err)
			}
			for i, s := range spellings {
				if said := ask(i); said["allowed"] != false {
					t.Errorf("%s is stopped, and %s is %v", subject, s.name, said)
				}
			}
		})
	}
}

// TestAnUnclearNameIsItself: where a joined name may be of two servers, and none is registered, who agrees to the tool
// of one has not agreed to that of the other.
func TestAnUnclearNameIsItself(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		o.ActivePolicy(o.Owner, o.ID, "version: v1\nname: all\nrules: [{id: all, effect: hold, tools: ['*']}]\n")
		ask := func(call m) m {
			_, said := surface{path: "/iap/enforce"}.ask(t, o, client.PlanToken{}, call)
			return said
		}
		one, other := m{"server": "my", "tool": "bank__pay"}, m{"tool": "mcp__my__bank__pay"}
		held := ask(one)
		id := fmt.Sprint(held["approvalId"])
		if _, err := o.Owner.Approve(t.Context(), o.ID, client.Approval{ID: id}); err != nil {
			t.Fatal(held, err)
		}
		if said := ask(other); said["decision"] != "hold" || said["approvalId"] == id {
			t.Errorf("%v", said)
		}
		if said := ask(one); said["allowed"] != true {
			t.Errorf("%v", said)
		}
		if _, err := o.Owner.RegisterMCPServer(t.Context(), o.ID, client.NewMCPServer{Name: "my"}); err != nil {
			t.Fatal(err)
		}
		held = ask(other)
		if said := ask(one); held["decision"] != "hold" || said["approvalId"] != held["approvalId"] {
			t.Errorf("a person has approved the server: %v, %v", held, said)
		}
	})
}

// TestLongestServerCuts: of two servers with a dot between them, the longest that is registered has the tool.
func TestLongestServerCuts(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		o.ActivePolicy(o.Owner, o.ID, "version: v1\nname: all\ndefault: allow\nrules: []\n")
		for _, name := range []string{"acme", "acme.bank"} {
			if _, err := o.Owner.RegisterMCPServer(t.Context(), o.ID, client.NewMCPServer{Name: name}); err != nil {
				t.Fatal(err)
			}
		}
		for tool, want := range map[string][2]string{
			"acme.bank.pay": {"acme.bank", "pay"}, "acme.pay": {"acme", "pay"}, "shop.pay": {"local", "shop.pay"},
		} {
			_, said := surface{path: "/iap/enforce"}.ask(t, o, client.PlanToken{}, m{"tool": tool})
			answer := o.Request(t, http.MethodGet, "/audit-log/entries?tool="+want[1]+"&server="+want[0], "",
				"Authorization", "Bearer "+o.Owner.AccessToken)
			if said["server"] != want[0] || !strings.Contains(string(answer.Body), fmt.Sprint(said["decisionId"])) {
				t.Errorf("%s: %v, %d %s", tool, said, answer.Status, answer.Body)
			}
		}
	})
}

// TestReportsInEverySpelling: a report finds the decision of its call, however either is spelled.
func TestReportsInEverySpelling(t *testing.T) {
	t.Parallel()
	eachSpelled(t, func(t *testing.T, o *testserver.Org) {
		token := o.Declared(o.Agent.APIKey, client.PlanRequest{
			Plan: json.RawMessage(spelledPlans(t)["policies"]), AgentID: "teller", ExpiresIn: 600,
		})
		reported := []string{"balance", "bank.balance", "bank__balance", "mcp__bank__balance", "mcp_bank_balance"}
		for i, tool := range reported {
			_, said := surfaces[1].ask(t, o, token, spelledCall{tool: "balance", amount: i}.spelled(7, true))
			if said["allowed"] != true {
				t.Fatalf("%v", said)
			}
			answer := o.Request(t, "POST", "/iap/audit", testserver.JSON(t, m{
				"token": token.JWT, "tool": tool, "input": m{"amount": i}, "status": "success",
			}), "X-API-Key", o.Agent.APIKey)
			if answer.Status >= 300 {
				t.Fatalf("%s: %d %s", tool, answer.Status, answer.Body)
			}
		}
		if err := o.Executions.Reconcile(t.Context()); err != nil {
			t.Fatal(err)
		}
		found, err := o.Owner.Findings(t.Context(), o.ID, "", client.List{})
		if err != nil || len(found.Items) != 0 {
			t.Errorf("%+v, %v", found.Items, err)
		}
	})
}

// TestThePlanTokenUnderEveryName: a call is judged by its plan under whichever name its token stands, and by no two
// plans. Passed over, it would be judged by policies alone, which allow what the plan does not.
func TestThePlanTokenUnderEveryName(t *testing.T) {
	t.Parallel()
	eachSpelled(t, func(t *testing.T, o *testserver.Org) {
		declared := func(tool string) client.PlanToken {
			plan := testserver.JSON(t, m{"goal": "bank", "steps": []m{{"mcp": "bank", "action": tool}}})
			return o.Declared(o.Agent.APIKey, client.PlanRequest{Plan: json.RawMessage(plan), ExpiresIn: 600})
		}
		pays, reads := declared("send_money"), declared("balance")
		calls := m{"send_money": "allow", "balance": "deny"}
		for _, on := range surfaces[:3] {
			for _, name := range spelling.PlanToken {
				named := surface{path: on.path, more: withToken(name)}
				ask := func(tool string, more m) m {
					call := spelledCall{tool: tool, amount: 5}.spelled(0, on.arguments)
					maps.Copy(call, more)
					_, said := named.ask(t, o, pays, call)
					return said
				}
				for tool, want := range calls {
					said := ask(tool, nil)
					outside := strings.Contains(fmt.Sprint(said["reason"]), "not in the plan")
					if on.arguments && said["decision"] != want || outside != (want == "deny") {
						t.Errorf("%s: %s with the token as %s is %v, want %s", on.path, tool, name, said, want)
					}
				}
				first := ask("send_money", nil)
				other := spelling.PlanToken[0]
				if name == other {
					other = spelling.PlanToken[1]
				}
				for _, blank := range []any{nil, "", "  "} {
					said := ask("send_money", m{other: blank})
					if said["decision"] != first["decision"] || said["reason"] != first["reason"] {
						t.Errorf("%s: %s beside %q as %s: %v", on.path, name, blank, other, said)
					}
				}
				for _, wrong := range []any{
					reads.JWT, m{"jwt_token": reads.JWT}, "garbage", "5", 5, false, m{"a": 1}, m{}, []int{},
				} {
					for _, tool := range []string{"send_money", "balance"} {
						said := ask(tool, m{other: wrong})
						reason := fmt.Sprint(said["reason"])
						isNamed := strings.Contains(reason, other) || strings.Contains(reason, name)
						if said["decision"] != "deny" || !isNamed {
							t.Errorf("%s: %s beside %v as %s: %v", on.path, name, wrong, other, said)
						}
					}
				}
			}
		}
	})
}

// TestOneReportHasOneName: what runs is counted at its step and recorded under one name, in whichever spelling the
// client reports it.
func TestOneReportHasOneName(t *testing.T) {
	t.Parallel()
	eachStepAsker(t, allowBank, func(t *testing.T, a stepAsker) {
		token := a.declare(`{"steps":[{"mcp":"bank","action":"pay"}]}`)
		names := []m{{"mcp": "bank", "tool": "pay"}}
		for _, tool := range []string{"bank.pay", "bank__pay", "mcp__bank__pay", "pay"} {
			names = append(names, m{"tool": tool})
		}
		names = append(names, m{"mcp": "claude-code", "tool": "mcp__bank__pay"})
		for i, row := range names {
			a.enforce(token, "mcp__bank__pay", m{"n": i})
			maps.Copy(row, m{"plan_id": token.PlanID, "input": m{"n": i}, "status": "success"})
			if err := a.Agent.Call(t.Context(), http.MethodPost, "/iap/audit", nil, row, nil); err != nil {
				t.Fatal(err)
			}
		}
		var report struct {
			Steps []struct{ Executed int }
			Drift []m
		}
		err := a.Owner.Call(t.Context(), http.MethodGet, "/iap/plan/"+token.PlanID+"/report", nil, nil, &report)
		if err != nil || len(report.Steps) != 1 || report.Steps[0].Executed != len(names) || len(report.Drift) != 0 {
			t.Errorf("the plan's report: %+v, %v", report, err)
		}
		log, err := a.Owner.LogEntries(t.Context(), a.ID, client.LogFilter{Action: "call.executed"})
		if err != nil || len(log.Items) != len(names) {
			t.Fatalf("%d reports, %v", len(log.Items), err)
		}
		for _, e := range log.Items {
			if e.Tool != "pay" {
				t.Errorf("entry %d is of %s", e.Index, e.Tool)
			}
		}
		if err := a.Executions.Reconcile(t.Context()); err != nil {
			t.Fatal(err)
		}
		if found := a.findings(); len(found) != 0 {
			t.Errorf("findings: %v", found)
		}
	})
}
