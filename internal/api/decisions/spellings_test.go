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
	"writ/internal/testserver"
)

const spelledPolicy = `
version: v1
name: spelled
default: deny
rules:
  - {id: small, effect: allow, tools: ["bank.send_money"], when: "args.amount < 100"}
  - {id: reads, effect: allow, tools: ["bank.balance", "local.*"]}
  - {id: pays, effect: hold, tools: ["bank.pay"]}
  - {id: drops, effect: deny, tools: ["bank.drop"]}
  - {id: whole, effect: deny, tools: ["local.bank.secret"]}
  - {id: secrets, effect: allow, tools: ["bank.secret"]}
`

// spelledCall is a call, and what is decided about it.
type spelledCall struct {
	tool   string
	amount int
	want   string
}

var spelledCalls = []spelledCall{
	{"send_money", 5, "allow"},
	{"send_money", 500, "deny"},
	{"balance", 5, "allow"},
	{"pay", 5, "hold"},
	{"drop", 5, "deny"},
	{"unplanned", 5, "deny"},
}

// spellings are the ways to write one call of the server bank. The first is that of policies.
var spellings = []struct {
	name   string
	server string // the member that names it; empty: the tool's name does
	tool   string // the member that names it
	form   string // of the tool's name
	args   string // the member with the arguments
}{
	{"policies", "server", "tool", "%s", "arguments"},
	{"plans", "mcp", "action", "%s", "params"},
	{"plugins", "mcp", "tool_name", "%s", "tool_input"},
	{"mixed", "server", "action", "%s", "input"},
	{"inputs", "mcp", "tool", "%s", "inputs"},
	{"conditions", "server", "tool", "%s", "args"},
	{"models", "server", "tool", "%s", "parameters"},
	{"host", "mcp_context", "tool_name", "%s", "tool_input"},
	{"host and its name", "mcp_context", "tool_name", "mcp__bank__%s", "arguments"},
	{"dotted", "", "tool", "bank.%s", "arguments"},
	{"dotted action", "", "action", "bank.%s", "params"},
	{"dotted name", "", "tool_name", "bank.%s", "tool_input"},
	{"joined", "", "tool", "bank__%s", "arguments"},
	{"Claude's", "", "tool_name", "mcp__bank__%s", "tool_input"},
}

func (c spelledCall) spelled(i int, withArguments bool) m {
	s := spellings[i]
	body := m{s.tool: fmt.Sprintf(s.form, c.tool)}
	switch s.server {
	case "":
	case "mcp_context":
		body[s.server] = m{"server_name": "bank", "tool_name": c.tool}
	default:
		body[s.server] = "bank"
	}
	if withArguments {
		body[s.args] = m{"amount": c.amount}
	}
	return body
}

// spelledPlans are one plan in every spelling of its steps.
func spelledPlans(t *testing.T) map[string]string {
	t.Helper()
	plans := map[string]string{}
	for i, s := range spellings {
		if !slices.Contains([]string{"policies", "plans", "host", "dotted", "joined"}, s.name) {
			continue // the names of members are read alike: see TestSpelledSteps of package plan
		}
		var steps []m
		for _, tool := range []string{"send_money", "balance", "pay", "drop"} {
			steps = append(steps, spelledCall{tool: tool}.spelled(i, false))
		}
		plans[s.name] = testserver.JSON(t, m{"goal": "bank", "steps": steps})
	}
	return plans
}

// surface is a route that says something about a call.
type surface struct {
	path      string
	arguments bool // it takes them
	denies    bool // what cannot be read is a deny with status 200
	at        string
	more      func(token client.PlanToken) m
	decision  func(answer m) any
}

func decided(answer m) any { return answer["decision"] }

var surfaces = []surface{
	{"/iap/sdk/enforce", true, true, "", withToken("intent_token"), decided},
	{"/iap/enforce", true, true, "", withToken("intent"), decided},
	{"/iap/verify-step", false, true, "", withToken("token"), decided},
	{"/policies/check-access", true, false, "", nil, decided},
	{"/invoke", true, false, "", func(token client.PlanToken) m {
		return m{"intent_token": m{"plan_id": token.PlanID, "jwt_token": token.JWT}, "enforce_only": true}
	}, decided},
	{"/iap/sdk/preflight", true, false, "tool_calls", nil, func(answer m) any {
		return map[any]string{"accepted": "allow", "escalated": "hold", "rejected": "deny"}[answer["decision"]]
	}},
}

func withToken(member string) func(client.PlanToken) m {
	return func(token client.PlanToken) m {
		if member == "token" {
			return m{member: token.JWT}
		}
		return m{member: m{"plan_id": token.PlanID, "jwt_token": token.JWT}}
	}
}

// ask sends a call to a surface.
func (s surface) ask(t *testing.T, o *testserver.Org, token client.PlanToken, call m) (int, m) {
	t.Helper()
	body := maps.Clone(call)
	if s.at != "" {
		body = m{s.at: []m{call}}
	}
	if s.more != nil {
		maps.Copy(body, s.more(token))
	}
	answer := o.Request(t, "POST", s.path, testserver.JSON(t, body), "X-API-Key", o.Agent.APIKey)
	var said m
	if err := json.Unmarshal(answer.Body, &said); err != nil {
		t.Fatalf("%s: %d %s", s.path, answer.Status, answer.Body)
	}
	return answer.Status, said
}

// eachSpelled runs a test in an organization with the policy and a bank in its registry.
func eachSpelled(t *testing.T, body func(t *testing.T, o *testserver.Org)) {
	t.Helper()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		o.ActivePolicy(o.Owner, o.ID, spelledPolicy)
		made, err := o.Owner.RegisterMCPServer(t.Context(), o.ID, client.NewMCPServer{Name: "bank"})
		if err != nil {
			t.Fatalf("register the bank: %+v, %v", made, err)
		}
		body(t, o)
	})
}

// TestEverySpellingIsTheSameCall: a call gets one answer on each surface, however it and its plan are written.
func TestEverySpellingIsTheSameCall(t *testing.T) {
	t.Parallel()
	eachSpelled(t, func(t *testing.T, o *testserver.Org) {
		plans := spelledPlans(t)
		for _, name := range slices.Sorted(maps.Keys(plans)) {
			token := o.Declared(o.Agent.APIKey, client.PlanRequest{
				Plan: json.RawMessage(plans[name]), AgentID: "teller", ExpiresIn: 600,
			})
			for _, s := range surfaces {
				for _, call := range spelledCalls {
					_, first := s.ask(t, o, token, call.spelled(0, s.arguments))
					want := s.decision(first)
					if s.arguments && want != call.want {
						t.Fatalf("plan of %s, %s: %s %d is %v, want %s: %v", name, s.path, call.tool, call.amount, want,
							call.want, first)
					}
					for i := 1; i < len(spellings); i++ {
						status, said := s.ask(t, o, token, call.spelled(i, s.arguments))
						if got := s.decision(said); got != want {
							t.Errorf("plan of %s, %s: %s %d in the spelling %s is %d %v, want %v: %v", name, s.path,
								call.tool, call.amount, spellings[i].name, status, got, want, said["reason"])
						}
					}
				}
			}
		}
	})
}

// TestSpellingsThatDisagree: what is written twice and not alike is refused by its name, on every surface.
func TestSpellingsThatDisagree(t *testing.T) {
	t.Parallel()
	eachSpelled(t, func(t *testing.T, o *testserver.Org) {
		token := o.Declared(o.Agent.APIKey, client.PlanRequest{
			Plan: json.RawMessage(spelledPlans(t)["policies"]), AgentID: "teller", ExpiresIn: 600,
		})
		call := func(more m) m {
			body := spelledCall{tool: "balance", amount: 5}.spelled(0, true)
			maps.Copy(body, more)
			return body
		}
		for name, c := range map[string]struct {
			body  m
			names string // what the answer must name
		}{
			"servers":   {call(m{"mcp": "files"}), "mcp"},
			"tools":     {call(m{"action": "drop"}), "action"},
			"tools too": {call(m{"tool_name": "send_money"}), "tool_name"},
			"arguments": {call(m{"params": m{"amount": 6}}), "params"},
			"inputs":    {call(m{"tool_input": m{}}), "tool_input"},
			"args":      {call(m{"args": m{"amount": 6}}), "args"},
			"host":      {call(m{"mcp_context": m{"server_name": "files", "tool_name": "balance"}}), "mcp_context"},
		} {
			for _, s := range surfaces {
				body := maps.Clone(c.body)
				if !s.arguments {
					delete(body, "arguments")
				}
				if !s.arguments && (body["params"] != nil || body["args"] != nil) {
					continue // see TestVerifyStepTakesNoArguments
				}
				status, said := s.ask(t, o, token, body)
				text := fmt.Sprint(said["reason"], said["message"])
				if s.denies && (status != http.StatusOK || said["allowed"] != false) ||
					!s.denies && status != http.StatusBadRequest || !strings.Contains(text, c.names) {
					t.Errorf("%s, %s: %d %v", name, s.path, status, said)
				}
			}
		}
		// what is alike in two spellings is one
		for _, s := range surfaces {
			body := call(m{"mcp": "bank", "action": "balance", "params": m{"amount": 5.0}})
			if !s.arguments {
				delete(body, "arguments")
				delete(body, "params")
			}
			if _, said := s.ask(t, o, token, body); s.arguments && s.decision(said) != "allow" {
				t.Errorf("%s, the same twice: %v", s.path, said)
			}
		}
	})
}

// TestVerifyStepTakesNoArguments: who sends them would think that they were judged.
func TestVerifyStepTakesNoArguments(t *testing.T) {
	t.Parallel()
	eachSpelled(t, func(t *testing.T, o *testserver.Org) {
		token := o.Declared(o.Agent.APIKey, client.PlanRequest{
			Plan: json.RawMessage(spelledPlans(t)["policies"]), AgentID: "teller", ExpiresIn: 600,
		})
		for _, member := range []string{"arguments", "params", "tool_input", "args", "parameters"} {
			_, said := surfaces[2].ask(t, o, token, m{"tool_name": "balance", "mcp": "bank", member: m{}})
			if said["allowed"] != false || !strings.Contains(fmt.Sprint(said["reason"]), member) {
				t.Errorf("%s: %v", member, said)
			}
		}
	})
}

// TestSpellingsNeverWiden: no way to write a call escapes a rule about one of the names that it may have.
func TestSpellingsNeverWiden(t *testing.T) {
	t.Parallel()
	eachSpelled(t, func(t *testing.T, o *testserver.Org) {
		plan := `{"goal":"x","steps":[{"tool":"bank.secret"},{"mcp":"bank","tool":"balance"},{"mcp":"evil","tool":"x"},
			{"mcp":"claude-code","tool":"bank.balance"}]}`
		token := o.Declared(o.Agent.APIKey, client.PlanRequest{
			Plan: json.RawMessage(plan), AgentID: "teller", ExpiresIn: 600,
		})
		for name, body := range map[string]m{
			"a rule about the whole name": {"tool": "bank.secret"},
			"a server that only the plan": {"tool": "evil.x"},
			"the own tool of a harness":   {"tool": "bank.balance", "source": "claude-code"},
			"a step that is not planned":  {"tool": "bank.drop"},
			"a server that nobody knows":  {"tool": "shop.balance"},
			"two tools of which one is no": {
				"tool": "balance", "mcp_context": m{"server_name": "bank", "tool_name": "drop"},
			},
			"another tool by a space": {
				"tool": "balance", "mcp_context": m{"server_name": "bank", "tool_name": "balance "},
			},
			"another server by a space": {
				"tool": "balance", "mcp_context": m{"server_name": "\u00a0bank", "tool_name": "balance"},
			},
		} {
			_, said := surfaces[1].ask(t, o, token, body)
			if said["allowed"] != false {
				t.Errorf("%s: %v", name, said)
			}
		}
	})
}

// TestADottedStepIsNoWayAround: a plan that names a tool with a dot does not make a call that says its server one of a
// tool without a server, where nobody has registered that server.
func TestADottedStepIsNoWayAround(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		o.ActivePolicy(o.Owner, o.ID, spelledPolicy)
		token := o.Declared(o.Agent.APIKey, client.PlanRequest{
			Plan: json.RawMessage(`{"goal":"x","steps":[{"action":"bank.other"}]}`), AgentID: "teller", ExpiresIn: 600,
		})
		calls := map[string]m{
			"the server alone of a host": {"tool_name": "other", "mcp_context": m{"server_name": "bank"}},
		}
		for i, s := range spellings {
			if !strings.Contains(s.form, ".") {
				calls[s.name] = spelledCall{tool: "other"}.spelled(i, false)
			}
		}
		for name, body := range calls {
			for _, s := range surfaces[:3] {
				if _, said := s.ask(t, o, token, body); said["allowed"] != false {
					t.Errorf("%s, %s: %v", name, s.path, said)
				}
			}
		}
	})
}

// TestStopsSeeEveryCut: a server with a dot in its name is stopped however a client cuts the name of its tool.
func TestStopsSeeEveryCut(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		o.ActivePolicy(o.Owner, o.ID, "version: v1\nname: all\ndefault: allow\nrules: []\n")
		ask := func(server, tool string) any {
			_, said := surface{path: "/iap/enforce"}.ask(t, o, client.PlanToken{}, m{"server": server, "tool": tool})
			return said["allowed"]
		}
		if ask("my", "bank.pay") != true {
			t.Fatal("the call is not allowed before")
		}
		made, err := o.Owner.RegisterMCPServer(t.Context(), o.ID, client.NewMCPServer{Name: "my.bank"})
		if err != nil {
			t.Fatal(err)
		}
		if err := o.Owner.Call(t.Context(), http.MethodPatch, "/mcp/servers/"+made.MCPID+"?organizationId="+o.ID, nil,
			m{"status": "denied", "reason": "not ours"}, nil); err != nil {
			t.Fatal(err)
		}
		for server, tool := range map[string]string{"my.bank": "pay", "my": "bank.pay", "": "my.bank.pay"} {
			if ask(server, tool) != false {
				t.Errorf("%q %q is allowed", server, tool)
			}
		}
	})
}
