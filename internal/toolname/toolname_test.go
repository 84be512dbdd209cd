package toolname_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/internal/toolname"
)

func TestReadings(t *testing.T) {
	t.Parallel()
	type names = []toolname.Name
	for _, c := range []struct {
		called string
		want   names
	}{
		{"pay", nil},
		{"bank-pay", nil},
		{"bank.pay", nil},
		{"mcp_", nil},
		{"mcp_pay", nil},
		{"__pay", nil},
		{"bank__", nil},
		{"mcp__bank__pay", names{{"bank", "pay"}}},
		{"bank__pay", names{{"bank", "pay"}}},
		{"a__b__c", names{{"a", "b__c"}, {"a__b", "c"}}},
		{"mcp_bank_pay", names{{"bank", "pay"}, {"mcp_bank", "pay"}}},
		{" mcp_my_bank_pay ", names{
			{"my", "bank_pay"}, {"mcp_my", "bank_pay"}, {"my_bank", "pay"}, {"mcp_my_bank", "pay"},
		}},
	} {
		if diff := cmp.Diff(c.want, toolname.Readings(c.called)); diff != "" {
			t.Errorf("%q: %s", c.called, diff)
		}
	}
}

func TestGuesses(t *testing.T) {
	t.Parallel()
	want := []toolname.Name{{"github", "server-list.all"}, {"github-server", "list.all"}, {"github-server-list", "all"}}
	if diff := cmp.Diff(want, toolname.Guesses("github-server-list.all")); diff != "" {
		t.Error(diff)
	}
}

// TestNamesOfHarnesses holds the joins to what the harnesses' own code makes of the same servers and tools.
func TestNamesOfHarnesses(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("tool", 20)
	for _, c := range []struct {
		name           toolname.Name
		gemini, claude string
	}{
		{toolname.Name{"bank", "pay"}, "mcp_bank_pay", "mcp__bank__pay"},
		{toolname.Name{"my bank", "pay/now"}, "mcp_my_bank_pay_now", "mcp__my_bank__pay_now"},
		{toolname.Name{"my-bank.eu", "pay:now"}, "mcp_my-bank.eu_pay:now", "mcp__my-bank_eu__pay_now"},
		{toolname.Name{"mcp_bank", "pay"}, "mcp_bank_pay", "mcp__mcp_bank__pay"},
		{toolname.Name{"bänk", "💸"}, "mcp_b_nk___", "mcp__b_nk____"},
		{toolname.Name{"bank", long}, "mcp_bank_" + long[:21] + "..." + long[50:], "mcp__bank__" + long},
	} {
		if got := toolname.Gemini(c.name); got != c.gemini {
			t.Errorf("Gemini %v: %s, want %s", c.name, got, c.gemini)
		}
		if got := toolname.Claude(c.name); got != c.claude {
			t.Errorf("Claude %v: %s, want %s", c.name, got, c.claude)
		}
	}
}

// TestEveryJoinIsRead: whatever a harness joins from plain names is among the readings of what it made.
func TestEveryJoinIsRead(t *testing.T) {
	t.Parallel()
	parts := []string{"a", "b_c", "d__e", "_f", "g_", "mcp_h", "i-j", "k"}
	for _, server := range slices.DeleteFunc(slices.Clone(parts), func(s string) bool { return s == "_f" }) {
		for _, tool := range parts {
			n := toolname.Name{Server: server, Tool: tool}
			for _, called := range []string{toolname.Gemini(n), toolname.Claude(n)} {
				found := false
				for _, r := range toolname.Readings(called) {
					found = found || r == n
				}
				if !found {
					t.Errorf("%v is not among the readings of %s: %v", n, called, toolname.Readings(called))
				}
			}
		}
	}
}

func TestIsCut(t *testing.T) {
	t.Parallel()
	cut := toolname.Gemini(toolname.Name{Server: "archive", Tool: strings.Repeat("tool", 20)})
	if !toolname.IsCut(cut) || toolname.IsCut("mcp_bank_pay") || toolname.IsCut(strings.Repeat("x", 63)) {
		t.Errorf("%s is cut, and the others are not", cut)
	}
}

// TestCalledFor: a name contradicts its host unless a harness gives that name to the tool.
func TestCalledFor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		called, source, server, tool string
		contradicts                  bool
	}{
		{"mcp_bank_pay", "armorgemini", "bank", "pay", false},
		{"mcp_my_bank_pay", "armorgemini", "my bank", "pay", false},
		{"mcp__bank__pay", "armorclaude", "bank", "pay", false},
		{"bank__pay", "", "bank", "pay", false},
		{"bank-pay", "armorcopilot", "bank", "pay", false},
		{"pay", "", "bank", "pay", false},
		{"Bash", "armorclaude", "docs", "read", true},
		{"mcp__files__delete", "", "free", "x", true},
		{"mcp_bank_pay_all", "", "bank_pay", "all", false},
	} {
		names, contradicts := toolname.CalledFor(toolname.Name{Server: c.server, Tool: c.tool}, c.called, c.source)
		if contradicts != c.contradicts {
			t.Errorf("%s of %s.%s: contradicts %t", c.called, c.server, c.tool, contradicts)
		}
		for _, n := range names {
			if !contradicts && n.Naming != toolname.Claimed {
				t.Errorf("%s of %s.%s: %+v does not only restrict", c.called, c.server, c.tool, n)
			}
		}
	}
}
