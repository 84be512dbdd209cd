package toolname_test

import (
	"testing"

	"writ/internal/toolname"
)

func TestSpells(t *testing.T) {
	t.Parallel()
	bank := toolname.Name{Server: "acme.bank", Tool: "pay"}
	for called, want := range map[string]bool{
		"acme.bank.pay": true, " acme.bank.pay ": true, "acme.bank__pay": true, "mcp__acme_bank__pay": true,
		"pay": false, "bank.pay": false, "Acme.bank.pay": false, "acme.bank.Pay": false,
		"acme.bank-pay": false, "": false,
	} {
		if got := toolname.Spells(called, bank); got != want {
			t.Errorf("%q: %v", called, got)
		}
	}
	if toolname.Spells("mcp__bank__get_me", toolname.Name{Server: "bank", Tool: "get.me"}) {
		t.Error("a name is taken for one of several tools")
	}
	if toolname.Spells(".pay", toolname.Name{Tool: "pay"}) {
		t.Error("a name without a server is joined")
	}
}

// TestWires: a report finds its call whoever joined the name.
func TestWires(t *testing.T) {
	t.Parallel()
	for _, n := range []toolname.Name{{"acme.bank", "get_me"}, {"mcp_bank", "pay"}, {"mcp", "pay"}} {
		want := toolname.Wire(n.Server, n.Tool)
		for _, called := range []string{
			n.Server + "." + n.Tool, n.Server + "__" + n.Tool, "mcp__" + n.Server + "__" + n.Tool,
			toolname.Claude(n), toolname.Gemini(n),
		} {
			if sure, other := toolname.CalledWires(called); sure != want && other != want {
				t.Errorf("%s: %q and %q, want %q", called, sure, other, want)
			}
		}
	}
	for called, want := range map[string][2]string{
		"get_me":        {"", ""},
		"mcp_x_y":       {"mcp_x_y", "x_y"}, // the Gemini CLI puts no second mark before mcp_x
		"mcp__x__y":     {"x_y", ""},        // Claude Code does
		"mcp__mcp_x__y": {"mcp_x_y", ""},
		"x.y":           {"x_y", ""},
	} {
		if sure, other := toolname.CalledWires(called); sure != want[0] || other != want[1] {
			t.Errorf("%s: %q and %q, want %q", called, sure, other, want)
		}
	}
}

func TestSameTool(t *testing.T) {
	t.Parallel()
	for names, want := range map[[2]string]bool{
		{"search", "search"}:                       true,
		{"mail.search", "search"}:                  true,
		{"mail__search", "search"}:                 true,
		{"mcp__mail__search", "mail.search"}:       true,
		{"mcp_mail_search", "search"}:              true,
		{"mcp_mail_search", "mail.search"}:         true,
		{"mcp_mail_search", "mcp_mail.search"}:     true,
		{"mcp_my_mail_search", "my_mail__search"}:  true,
		{"search", "find"}:                         false,
		{"research", "search"}:                     false,
		{"web_search", "search"}:                   false,
		{"mail.search", "web.search"}:              false,
		{"mcp__mail__search", "mcp__web__search"}:  false,
		{"mcp__mail__search", "mcp__mail__delete"}: false,
	} {
		if got := toolname.SameTool(names[0], names[1]); got != want {
			t.Errorf("%q: %t", names, got)
		}
		if got := toolname.SameTool(names[1], names[0]); got != want {
			t.Errorf("%q, the other way round: %t", names, got)
		}
	}
}
