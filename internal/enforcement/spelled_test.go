package enforcement_test

import (
	"testing"

	"writ/internal/database"
	"writ/internal/enforcement"
	"writ/internal/mcp"
	"writ/internal/principal"
	"writ/internal/verdict"
)

// knowServers registers servers, by a person.
func (e *env) knowServers(names ...string) {
	e.T.Helper()
	for _, name := range names {
		if _, err := e.mcp.Register(e.T.Context(), e.owner, mcp.Registration{Name: name}); err != nil {
			e.T.Fatal(err)
		}
	}
}

// TestAPlanDoesNotCutAName: an agent writes its plan, and where a name may be of several tools the plan does not say
// which of them a person is asked about.
func TestAPlanDoesNotCutAName(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		servers            []string
		server, tool       string // of the plan's step
		called             string
		source, planSource string
		same               bool // whether the call waits for the same answer as one of the step's server and tool
	}{
		"the longest approved server": {
			servers: []string{"github", "github_enterprise"}, server: "github_enterprise", tool: "delete_repo",
			called: "mcp_github_enterprise_delete_repo", same: true,
		},
		"a shorter one": {
			servers: []string{"github", "github_enterprise"}, server: "github", tool: "enterprise_delete_repo",
			called: "mcp_github_enterprise_delete_repo",
		},
		"an approved one with a dot": {
			servers: []string{"my.bank"}, server: "my.bank", tool: "get_rate",
			called: "mcp_my.bank_get_rate", same: true,
		},
		"a dot": {server: "a", tool: "b.c", called: "a.b.c", same: true},
		"a dot of an approved server": {
			servers: []string{"a.b"}, server: "a", tool: "b.c", called: "a.b.c",
		},
		"two dots, and the longer server": {
			servers: []string{"a", "a.b"}, server: "a.b", tool: "c",
			called: "a.b.c", same: true,
		},
		"a dot before other marks": {
			servers: []string{"a.b"}, server: "a", tool: "b__c", called: "a.b__c",
		},
		"a dot before other marks, of nobody":  {server: "a", tool: "b__c", called: "a.b__c"},
		"a dot in a server before other marks": {server: "a.b", tool: "c", called: "a.b__c", same: true},
		"a harness's own tool": {
			server: "functions", tool: "exec", called: "functions.exec", source: "codex",
		},
		"a harness's own tool by its plan": {
			server: "functions", tool: "exec", called: "functions.exec", planSource: "codex",
		},
		"a harness's own tool of a registered name": {
			servers: []string{"functions"}, server: "functions", tool: "exec",
			called: "functions.exec", planSource: "codex",
		},
		"nobody's own tool": {server: "functions", tool: "exec", called: "functions.exec", same: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, e *env) {
				e.active("rules", `id: all; effect: hold; tools: ["*"]`)
				e.knowServers(c.servers...)
				step := e.decide(call(c.server, c.tool, `{}`))
				want(t, step, verdict.Hold, "rules", "")
				shown := e.mint(e.agent,
					`{"source":"`+c.planSource+`","steps":[{"mcp":"`+c.server+`","action":"`+c.tool+`"}]}`)
				r := planned(shown, c.called, `{}`)
				r.Source = c.source
				got := e.decide(r)
				want(t, got, verdict.Hold, "rules", "")
				if same := got.ApprovalID == step.ApprovalID; same != c.same {
					t.Errorf("%s waits for the answer to %s %s: %t", c.called, c.server, c.tool, same)
				}
			})
		})
	}
}

// TestNaming reads only servers and the plan. Where these cannot be read, a name is itself.
func TestNaming(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", `id: all; effect: hold; tools: ["*"]`)
		e.knowServers("bank")
		shown := e.mint(e.agent, `{"steps":[{"mcp":"mail","action":"send"}]}`)
		stranger := e.agent
		stranger.KeyID = database.NewID()
		named := func(by principal.Principal, planID, called string, want ...string) {
			t.Helper()
			fresh := assembleOn(e.DB, e.audit.Log, e.sealer)
			server, tool := fresh.decisions.Named(t.Context(), by, enforcement.Calling{PlanID: planID, Tool: called})
			if server != want[0] || tool != want[1] {
				t.Errorf("%s is %q of %q, want %q", called, tool, server, want)
			}
		}
		named(e.agent, "", " bank.pay ", "bank", "pay")
		named(e.agent, "", "mail.send", "", "mail.send")
		named(e.agent, shown.PlanID, "mail.send", "mail", "send")
		named(stranger, shown.PlanID, "mail.send", "", "mail.send")
		named(e.agent, "\x00", "bank.pay", "", "bank.pay")
		for table, want := range map[string][]string{
			"policy": {"bank", "pay"}, "api_key": {"bank", "pay"}, "mcp_server": {"", "bank.pay"},
		} {
			e.Exec(`ALTER TABLE ` + table + ` RENAME TO away`)
			named(e.agent, "", "bank.pay", want...)
			e.Exec(`ALTER TABLE away RENAME TO ` + table)
		}
	})
}
