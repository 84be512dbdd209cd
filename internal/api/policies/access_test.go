package policies_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/client"
	"writ/internal/database"
	"writ/internal/policy"
	"writ/internal/policy/document"
	"writ/internal/policy/engine"
	"writ/internal/testserver"
)

func TestCheckAccess(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, b *testserver.Org) {
		id := b.ActivePolicy(b.Owner, b.ID, paymentsYAML)
		for name, test := range map[string]struct {
			call                 client.ToolCall
			decision, rule, says string
		}{
			"small":                  {send(`{"amount":1000,"currency":"EUR"}`), "allow", "small", "allowed"},
			"large":                  {send(`{"amount":1000.01,"currency":"EUR"}`), "hold", "large", "held"},
			"another currency":       {send(`{"amount":5,"currency":"USD"}`), "deny", "default", "no rule matches"},
			"no amount":              {send(`{"currency":"EUR"}`), "hold", "large", "condition failed"},
			"an amount that is text": {send(`{"amount":"5","currency":"EUR"}`), "hold", "large", "condition failed"},
			"no arguments": {
				client.ToolCall{Server: "bank", Tool: "send_money"}, "hold", "large", "condition failed",
			},
			"another tool": {
				client.ToolCall{Server: "bank", Tool: "close"}, "deny", "default", "no rule matches",
			},
			"another server":          {client.ToolCall{Server: "BANK", Tool: "send_money"}, "deny", "default", ""},
			"no server":               {client.ToolCall{Tool: "send_money"}, "deny", "default", ""},
			"a server with a dot":     {client.ToolCall{Server: "x.bank", Tool: "send_money"}, "deny", "default", ""},
			"the tool's name in both": {client.ToolCall{Server: "bank.send_money", Tool: "x"}, "deny", "default", ""},
		} {
			for who, caller := range map[string]*client.Client{"the owner": b.Owner.Client, "the agent": b.Agent} {
				got := check(b, caller, test.call)
				if got.Decision != test.decision || got.Rule != test.rule ||
					!strings.Contains(got.Reason, test.says) || got.MatchedPolicy == nil || got.MatchedPolicy.ID != id {
					t.Errorf("%s, asked by %s: %+v, want %s by %s", name, who, got, test.decision, test.rule)
				}
			}
		}
		held := check(b, b.Owner.Client, send(`{"amount":2000,"currency":"EUR"}`))
		if held.Message != "Payments over 1000 need a person." || held.Approvers == nil ||
			*held.Approvers != (client.PolicyApprovers{Role: "approver", Count: 1}) {
			t.Errorf("on hold: %+v", held)
		}
		var told []string
		for _, r := range held.Explanation {
			told = append(told, fmt.Sprintf("%s %s %t %t", r.Rule, r.Outcome, r.Matched, r.Decided))
		}
		if diff := cmp.Diff([]string{"pace limit left false false", "large true true true", "small false false false"},
			told); diff != "" {
			t.Errorf("explanation (-want +got):\n%s", diff)
		}
		if steps := held.Explanation[1].Steps; len(steps) == 0 {
			t.Error("the condition is not explained")
		}
		if agent := check(b, b.Agent, send(`{"amount":2000,"currency":"EUR"}`)); len(agent.Explanation) != 1 ||
			agent.Explanation[0].Rule != "large" {
			t.Errorf("the agent is told of %+v, want what decided", agent.Explanation)
		}
	})
}

// TestHostileArguments: what cannot be read is refused, and never allowed.
func TestHostileArguments(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, b *testserver.Org) {
		b.ActivePolicy(b.Owner, b.ID, testserver.PolicyText("open", "allow"))
		agent := testserver.Credentials(b.Agent)
		for name, arguments := range map[string]string{
			"a list":           `[]`,
			"text":             `"x"`,
			"a name twice":     `{"a":1,"a":2}`,
			"depth":            strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100),
			"a lone surrogate": `{"a":"\ud800"}`,
			"not JSON":         `{`,
		} {
			answer := b.Request(t, "POST", "/policies/check-access",
				`{"server":"bank","tool":"t","arguments":`+arguments+`}`, agent...)
			if answer.Status != http.StatusBadRequest {
				t.Errorf("%s: status %d: %.200s", name, answer.Status, answer.Body)
			}
		}
		if got := check(b, b.Agent, client.ToolCall{
			Server: "bank", Tool: "t", Arguments: json.RawMessage(`null`),
		}); !got.Allowed {
			t.Errorf("no arguments: %+v", got)
		}
	})
}

func TestBindingsOverHTTP(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, b *testserver.Org) {
		ctx, owner := t.Context(), b.Owner
		member, viewer := b.Join(owner, b.ID, "member"), b.Join(owner, b.ID, "viewer")
		stranger := b.Person("stranger")
		id := b.ActivePolicy(owner, b.ID, testserver.PolicyText("open", "allow"))
		if got, err := owner.Bindings(ctx, id); err != nil || len(got.Members)+len(got.Clients)+len(got.Roles) != 0 {
			t.Errorf("bindings %+v, %v, want none", got, err)
		}
		want := client.Bindings{Members: []string{member.ID}, Clients: []string{"bot/1"}, Roles: []string{"viewer"}}
		if got, err := owner.SetBindings(ctx, id, want); err != nil || !cmp.Equal(got, want) {
			t.Fatalf("set %+v, %v", got, err)
		}
		for name, test := range map[string]struct {
			by    *client.Client
			call  client.ToolCall
			allow bool
		}{
			"a bound member asks": {member.Client, client.ToolCall{}, true},
			"a bound role asks":   {viewer.Client, client.ToolCall{}, true},
			"the owner asks":      {owner.Client, client.ToolCall{}, false},
			"about a bound member": {
				owner.Client, client.ToolCall{UserEmail: strings.ToUpper(member.Email)}, true,
			},
			"about a bound agent":            {owner.Client, client.ToolCall{AgentID: "bot/1"}, true},
			"about another agent":            {owner.Client, client.ToolCall{AgentID: "bot/2"}, false},
			"a member about the owner":       {member.Client, client.ToolCall{UserEmail: owner.Email}, false},
			"about a stranger":               {member.Client, client.ToolCall{UserEmail: stranger.Email}, false},
			"about nobody's address":         {member.Client, client.ToolCall{UserEmail: "no address"}, false},
			"the owner's key":                {b.Agent, client.ToolCall{}, false},
			"the owner's key for the member": {b.Agent, client.ToolCall{UserEmail: member.Email}, false},
			"the owner's key for the agent":  {b.Agent, client.ToolCall{AgentID: "bot/1"}, false},
		} {
			test.call.Server, test.call.Tool = "bank", "t"
			if got := check(b, test.by, test.call); got.Allowed != test.allow {
				t.Errorf("%s: %+v, want allowed %t", name, got, test.allow)
			}
		}
		if got, err := owner.Unbind(ctx, id, "clients", "bot/1"); err != nil || len(got.Clients) != 0 {
			t.Errorf("unbind: %+v, %v", got, err)
		}
		if got, err := owner.Unbind(ctx, id, "roles", "viewer"); err != nil || len(got.Roles) != 0 {
			t.Errorf("unbind: %+v, %v", got, err)
		}
		_, err := owner.Unbind(ctx, id, "members", member.ID)
		testserver.WantStatus(t, "the last binding", err, http.StatusConflict)
		_, err = owner.Unbind(ctx, id, "planets", "mars")
		testserver.WantStatus(t, "a binding of no kind", err, http.StatusNotFound)
		for name, bad := range map[string]client.Bindings{
			"a stranger": {Members: []string{stranger.ID}}, "no id": {Members: []string{"x"}},
			"no role": {Roles: []string{"root"}},
		} {
			_, err := owner.SetBindings(ctx, id, bad)
			testserver.WantStatus(t, "set "+name, err, http.StatusBadRequest)
			_, err = owner.Bind(ctx, id, bad)
			testserver.WantStatus(t, "bind "+name, err, http.StatusBadRequest)
		}
		// A misspelled body must not open the policy to everybody.
		for _, body := range []string{
			`{}`, `{"member":["x"]}`, `{"everybody":false}`, `{"roles":["viewer"],"everybody":true}`,
		} {
			b.Request(t, "PUT", "/policies/"+id+"/bindings", body,
				testserver.Credentials(owner.Client)...).ErrorFields(t,
				http.StatusBadRequest)
		}
		if got := check(b, owner.Client, client.ToolCall{Server: "bank", Tool: "t"}); got.Allowed {
			t.Errorf("after the refusals: %+v", got)
		}
		if _, err := owner.BindEverybody(ctx, id); err != nil {
			t.Error(err)
		}
		if got := check(b, owner.Client, client.ToolCall{Server: "bank", Tool: "t"}); !got.Allowed {
			t.Errorf("for everybody: %+v", got)
		}
	})
}

func TestSimulate(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, b *testserver.Org) {
		ctx, owner := t.Context(), b.Owner
		b.ActivePolicy(owner, b.ID, testserver.PolicyText("closed", "deny"))
		id := b.Draft(owner, b.ID, "pay")
		if _, err := owner.UpdatePolicy(ctx, id, client.YAMLDocument, testserver.PolicyText("pay", "allow"),
			0); err != nil {
			t.Fatal(err)
		}
		call := client.ToolCall{Server: "bank", Tool: "t"}
		for name, test := range map[string]struct {
			ask  client.Simulation
			want string
		}{
			"the latest version": {client.Simulation{PolicyID: id}, "allow"},
			"the first version":  {client.Simulation{PolicyID: id, PolicyVersion: 1}, "deny"},
			"a document": {
				client.Simulation{Document: json.RawMessage(`{"version":"v1","name":"x","default":"ask","rules":[]}`)},
				"ask",
			},
			"YAML": {client.Simulation{YAML: testserver.PolicyText("x", "hold")}, "hold"},
		} {
			test.ask.Call = call
			got, err := owner.SimulatePolicy(ctx, b.ID, test.ask)
			if err != nil || got.Decision != test.want {
				t.Errorf("%s: %+v, %v, want %s", name, got, err, test.want)
			}
		}
		for name, test := range map[string]struct {
			ask    client.Simulation
			status int
		}{
			"nothing":                     {client.Simulation{}, 400},
			"two things":                  {client.Simulation{PolicyID: id, YAML: "x"}, 400},
			"a document that is none":     {client.Simulation{YAML: "x"}, 400},
			"a policy that is not there":  {client.Simulation{PolicyID: database.NewID()}, 404},
			"a version that is not there": {client.Simulation{PolicyID: id, PolicyVersion: 9}, 404},
			"a stranger": {
				client.Simulation{PolicyID: id, Call: client.ToolCall{UserEmail: "x@example.org"}}, 400,
			},
		} {
			test.ask.Call.Server, test.ask.Call.Tool = "bank", "t"
			_, err := owner.SimulatePolicy(ctx, b.ID, test.ask)
			testserver.WantStatus(t, name, err, test.status)
		}
		body := `{"yaml":"version: v1\nname: x\nrules:\n  - id: r\n    effect: allow\n    tools: [\"*\"]\n    when: agent.name == \"n\" && session.calls == 3 && intent.goal == \"g\" && environment == \"sandbox\" && \"pii\" in labels && user.email != \"\" && org.name == \"Bank\" && path(args.p).within(\"/srv\")\n",
			"call":{"server":"s","tool":"t","arguments":{"p":"/tmp/link"},"agentName":"n","environment":"sandbox","labels":["pii"],"session":{"calls":3},"intent":{"goal":"g"},"resolvedPaths":{"/tmp/link":"/srv/x"}}}`
		answer := b.Request(t, "POST", "/policies/simulate", body, testserver.Credentials(owner.Client)...)
		if answer.Status != http.StatusOK || !strings.Contains(string(answer.Body), `"decision":"allow"`) {
			t.Errorf("everything a condition sees: %d %s", answer.Status, answer.Body)
		}
	})
}

// TestLimitsOverHTTP: calls that were claimed and cost that telemetry knows decide.
func TestLimitsOverHTTP(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, b *testserver.Org) {
		id := b.ActivePolicy(b.Owner, b.ID, strings.Replace(testserver.PolicyText("pace", "allow"), `tools: ["bank.*"]`,
			"tools: [\"bank.*\"]\n    limit: {calls: 2, per: 1d, by: agent}", 1))
		b.ActivePolicy(b.Owner, b.ID, "version: v1\nname: budget\ndefault: allow\nrules:\n"+
			"  - {id: cost, effect: deny, tools: [\"*\"], limit: {cost: 1.50, per: 1d, by: agent}}\n"+
			"  - {id: tokens, effect: hold, tools: [\"*\"], limit: {tokens: 100, per: 1d, by: org}}\n")
		ask := func(agent string) client.Access {
			return check(b, b.Agent, client.ToolCall{Server: "bank", Tool: "t", AgentID: agent})
		}
		for range 3 {
			if got := ask("a"); !got.Allowed {
				t.Fatalf("asking takes from the limit: %+v", got)
			}
		}
		claim(b, id, "a", 2)
		if got := ask("a"); got.Allowed || got.Rule == "bank" {
			t.Errorf("after two calls: %+v", got)
		}
		if got := ask("b"); !got.Allowed {
			t.Errorf("another agent: %+v", got)
		}
		report(b, caller{agent: "b"}, 2, 10)
		if got := ask("b"); got.Decision != "deny" || got.Rule != "cost" || !strings.Contains(got.Reason, "spent") {
			t.Errorf("after two dollars: %+v", got)
		}
		if got := ask("c"); !got.Allowed {
			t.Errorf("a third agent: %+v", got)
		}
		report(b, caller{agent: "d"}, 0, 200)
		if got := ask("c"); got.Decision != "hold" || got.Rule != "tokens" {
			t.Errorf("after all tokens: %+v", got)
		}
	})
}

// claim counts calls as enforcement does.
func claim(b *testserver.Org, policyID, agent string, n int) {
	b.T.Helper()
	now := b.Database.Now().Unix()
	claim := engine.Claim{Max: 2, LimitKey: engine.LimitKey{
		PolicyID: policyID,
		RuleID:   "bank",
		Unit:     engine.Calls,
		By:       document.Agent,
		Subject:  agent,
		Window:   now - now%86400,
		Per:      86400,
	}}
	for range n {
		err := b.Database.Write(b.T.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
			spent, err := policy.Claim(ctx, tx, b.ID, []engine.Claim{claim})
			if spent != nil {
				b.T.Errorf("the limit is spent: %+v", spent)
			}
			return err
		}})
		if err != nil {
			b.T.Fatal(err)
		}
	}
}

// TestAgentsAreNotToldWhatElseThereIs: a rule that did not decide is not named to
// an agent, nor the argument that it asks for.
func TestAgentsAreNotToldWhatElseThereIs(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, b *testserver.Org) {
		b.ActivePolicy(b.Owner, b.ID,
			"version: v1\nname: p\nrules:\n  - {id: maintenance, effect: allow, tools: [\"bank.*\"], when: args.override == 7}\n")
		ask := func(c *client.Client) string {
			return string(b.Request(t, "POST", "/policies/check-access", `{"server":"bank","tool":"t"}`,
				testserver.Credentials(c)...).Body)
		}
		if told := ask(b.Agent); strings.Contains(told, "maintenance") || strings.Contains(told, "override") {
			t.Errorf("the agent is told %s", told)
		}
	})
}
