package enforcement_test

import (
	"testing"

	"writ/internal/verdict"
)

// TestAToolCannotBePlacedElsewhere calls a tool whose name says of which server it
// is, from a plan or a client that says another.
func TestAToolCannotBePlacedElsewhere(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", `id: never; effect: deny; tools: ["files.delete"]`,
			`id: careful; effect: hold; tools: ["*.send"]`,
			`id: harmless; effect: allow; tools: ["harmless.*", "claude-code.*"]`)
		steps := func(server, action string) string {
			return `{"steps":[{"action":"` + action + `","mcp":"` + server + `"}]}`
		}
		for _, c := range []struct {
			name, server, tool string
			want               verdict.Verdict
			rule               string
		}{
			{"its own server", "files", "files__delete", verdict.Deny, "never"},
			{"a harmless one", "harmless", "files__delete", verdict.Deny, "never"},
			{"as a harness writes it", "harmless", "mcp__files__delete", verdict.Deny, "never"},
			{"among the tools of a harness", "claude-code", "mcp__files__delete", verdict.Deny, "never"},
			{"a hold by the tool alone", "harmless", "mail__send", verdict.Hold, "careful"},
			{"a name that only looks so", "harmless", "create__issue", verdict.Allow, "harmless"},
		} {
			shown := e.mint(e.agent, steps(c.server, c.tool))
			got := e.decide(planned(shown, c.tool, `{}`))
			want(t, got, c.want, "rules", "")
			if got.Rule != c.rule {
				t.Errorf("%s, planned: rule %s, want %s", c.name, got.Rule, c.rule)
			}
			got = e.decide(call(c.server, c.tool, `{}`))
			want(t, got, c.want, "rules", "")
			if got.Rule != c.rule {
				t.Errorf("%s, stated: rule %s, want %s", c.name, got.Rule, c.rule)
			}
		}
		// What a name says of itself widens nothing.
		shown := e.mint(e.agent, steps("closed", "harmless__read"))
		want(t, e.decide(planned(shown, "harmless__read", `{}`)), verdict.Deny, "rules", "default")
		want(t, e.decide(call("closed", "harmless__read", `{}`)), verdict.Deny, "rules", "default")
	})
}

// TestARuleAboutEveryServersToolRestrictsADottedName: policies write names with a dot, so a rule about *.pay is about
// bank.pay, although nobody knows the server. It only restricts, and other separators are part of a name.
func TestARuleAboutEveryServersToolRestrictsADottedName(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", `id: never; effect: deny; tools: ["*.pay"]`,
			`id: named; effect: deny; tools: ["*"]; when: tool == "wire"`, `id: rest; effect: allow; tools: ["*"]`)
		for name, rule := range map[string]string{"bank.pay": "never", "bank.wire": "named", "bank-pay": "rest"} {
			if got := e.decide(call("", name, `{}`)); got.Rule != rule {
				t.Errorf("%s: %v by %s, want %s", name, got.Verdict, got.Rule, rule)
			}
			shown := e.mint(e.agent, `{"steps":[{"action":"`+name+`"}]}`)
			if got := e.decide(planned(shown, name, `{}`)); got.Rule != rule {
				t.Errorf("%s, planned: %v by %s, want %s", name, got.Verdict, got.Rule, rule)
			}
		}
	})
	each(t, func(t *testing.T, e *env) {
		e.active("rules", `id: open; effect: allow; tools: ["*.read"]`)
		want(t, e.decide(call("", "bank.read", `{}`)), verdict.Deny, "rules", "")
	})
}

// TestARuleAboutEveryServersToolRestrictsServersWithDots: a pattern is cut at its first dot, and so is the name of a
// call, which must not get the tool of a server out of a rule about that tool.
func TestARuleAboutEveryServersToolRestrictsServersWithDots(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("rules", `id: never; effect: deny; tools: ["*.pay"]`, `id: held; effect: hold; tools: ["acme*.move"]`,
			`id: named; effect: deny; tools: ["*"]; when: tool == "wire"`,
			`id: server; effect: deny; tools: ["*"]; when: server == "acme.vault"`,
			`id: rest; effect: allow; tools: ["*"]`)
		for _, c := range []struct{ server, tool, rule string }{
			{"acme.bank", "pay", "never"},
			{"io.github.acme/bank", "pay", "never"},
			{"", "acme.bank.pay", "never"},
			{"acme.bank", "move", "held"},
			{"acme.bank", "wire", "named"},
			{"acme.vault", "open", "server"},
			{"acme.bank", "read", "rest"},
			{"acme.pay", "read", "rest"},
		} {
			if got := e.decide(call(c.server, c.tool, `{}`)); got.Rule != c.rule {
				t.Errorf("%s of %s: %v by %s, want %s", c.tool, c.server, got.Verdict, got.Rule, c.rule)
			}
		}
	})
	// Uncut it only restricts: neither does a rule allow it, nor does one that asks lift a default.
	each(t, func(t *testing.T, e *env) {
		e.active("rules", `id: open; effect: allow; tools: ["*.read"]`, `id: held; effect: hold; tools: ["*.move"]`)
		want(t, e.decide(call("acme.bank", "read", `{}`)), verdict.Deny, "rules", "")
		want(t, e.decide(call("acme.bank", "move", `{}`)), verdict.Deny, "rules", "")
	})
}

// TestARuleAboutAMereNameRestrictsAPlannedOne: a plan that has bank does not prove that mcp_bank_pay is its tool. Who
// says nothing of a harness may have a tool of that name, and a rule about that one restricts, but no default does.
func TestARuleAboutAMereNameRestrictsAPlannedOne(t *testing.T) {
	t.Parallel()
	const joined = "mcp_bank_pay"
	for name, c := range map[string]struct {
		effect, pattern, planSource, source, called string
		want                                        verdict.Verdict
	}{
		"deny":                     {"deny", "local." + joined, "", "", joined, verdict.Deny},
		"hold":                     {"hold", "local." + joined, "", "", joined, verdict.Hold},
		"ask":                      {"ask", "local." + joined, "", "", joined, verdict.Ask},
		"every local tool":         {"deny", "local.*", "", "", joined, verdict.Deny},
		"another program":          {"deny", "local.*", "", "langchain", joined, verdict.Deny},
		"a harness by the call":    {"deny", "local.*", "", "gemini-cli", joined, verdict.Allow},
		"a harness by the plan":    {"deny", "local.*", "armorgemini", "", joined, verdict.Allow},
		"a program above its plan": {"deny", "local.*", "armorgemini", "langchain", joined, verdict.Deny},
		"a default":                {"deny", "local.other", "", "", joined, verdict.Allow},
		"the form of Claude Code":  {"deny", "local.*", "", "", "mcp__bank__pay", verdict.Allow},
		"the bare tool":            {"deny", "local.*", "", "", "pay", verdict.Allow},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, e *env) {
				e.active("rules", `id: open; effect: allow; tools: ["bank.*"]`,
					`id: mere; effect: `+c.effect+`; tools: ["`+c.pattern+`"]`)
				shown := e.mint(e.agent,
					`{"source":"`+c.planSource+`","steps":[{"mcp":"bank","action":"pay"}]}`)
				r := planned(shown, c.called, `{}`)
				r.Source = c.source
				want(t, e.decide(r), c.want, "rules", "")
			})
		})
	}
}
