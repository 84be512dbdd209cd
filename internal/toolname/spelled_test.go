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
	want := toolname.Wire("acme.bank", "get_me")
	for _, called := range []string{
		"acme.bank.get_me", "acme.bank__get_me", "mcp__acme_bank__get_me",
		"mcp_acme.bank_get_me", "mcp__acme.bank__get_me",
	} {
		if got := toolname.CalledWire(called); got != want {
			t.Errorf("%s: %q, want %q", called, got, want)
		}
	}
	if got := toolname.CalledWire("get_me"); got != "" {
		t.Errorf("a plain name: %q", got)
	}
}
