package enforcement

import (
	"testing"

	"writ/internal/intent/grounding"
	"writ/internal/policy/document"
	"writ/internal/toolname"
)

// TestClassesOfNames: a name that is certain counts, and one that only may be meant makes no call harmless.
func TestClassesOfNames(t *testing.T) {
	t.Parallel()
	classes := Classes{
		Classes: []ToolClass{
			{grounding.Read, []document.Pattern{"bank.get_*", "claude-code.Edit", "search.*"}},
			{grounding.Egress, []document.Pattern{"bank.get_away"}},
			{grounding.Execute, []document.Pattern{"sh.*", "acme.mail.run"}},
			{grounding.Read, []document.Pattern{"acme.*"}},
		},
		Kinds: []ToolKinds{
			{[]document.Pattern{"bank.get_*"}, map[string]grounding.Kind{"note": grounding.Prose}},
			{[]document.Pattern{"bank.get_away"}, map[string]grounding.Kind{"note": grounding.Identity}},
			{[]document.Pattern{"acme.mail.get"}, map[string]grounding.Kind{"note": grounding.Prose}},
			{[]document.Pattern{"acme.mail.run"}, map[string]grounding.Kind{"note": grounding.Identity}},
		},
	}
	certain, joined, reading, guess, claimed := toolname.Certain, toolname.Joined, toolname.Reading, toolname.Guess,
		toolname.Claimed
	named := func(server, tool string, naming toolname.Naming) toolname.Candidate {
		return toolname.Candidate{Name: toolname.Name{Server: server, Tool: tool}, Naming: naming}
	}
	for name, c := range map[string]struct {
		named []toolname.Candidate
		class grounding.Class
		kind  grounding.Kind
	}{
		"the organization's": {list(named("bank", "get_me", certain)), grounding.Read, grounding.Prose},
		"the strictest":      {list(named("bank", "get_away", certain)), grounding.Egress, grounding.Identity},
		"nobody's":           {list(named("bank", "pay", certain)), "", ""},
		"a dotted server":    {list(named("acme.mail", "run", certain)), grounding.Execute, grounding.Identity},
		"its first part":     {list(named("acme.mail", "get", certain)), "", ""},
		"a harness's":        {list(named("claude-code", "Bash", certain)), grounding.Execute, ""},
		"before a harness's": {list(named("claude-code", "Edit", certain)), grounding.Read, ""},
		"a guess beside it":  {list(named("x", "sh.run", certain), named("sh", "run", guess)), grounding.Execute, ""},
		"a harmless guess":   {list(named("x", "bank.get_me", certain), named("bank", "get_me", guess)), "", ""},
		"a harmless claim":   {list(named("x", "get_me", certain), named("bank", "get_me", claimed)), "", ""},
		"a strict claim": {
			list(named("x", "get_away", certain), named("bank", "get_away", claimed)), grounding.Egress,
			grounding.Identity,
		},
		"one of two certain": {
			list(named("bank", "get_me", certain), named("x", "get_me", certain)), grounding.Write, grounding.Prose,
		},
		"a reading": {
			list(named("unknown", "mcp_bank_get_me", joined), named("bank", "get_me", reading),
				named("bank_get", "me", reading)),
			grounding.Read, grounding.Prose,
		},
		"a reading beside one": {
			list(named("x", "bank__get_me", certain), named("bank", "get_me", reading)), grounding.Write,
			"",
		},
	} {
		if got := classes.stated(c.named); got != c.class {
			t.Errorf("%s: %q, want %q", name, got, c.class)
		}
		if _, kinds := classes.of(c.named); kinds["note"] != c.kind {
			t.Errorf("%s: a note is %q, want %q", name, kinds["note"], c.kind)
		}
	}
	if class, _ := classes.of(list(named("bank", "pay", certain))); class != grounding.Write {
		t.Errorf("what nobody states is %s", class)
	}
}

func list(names ...toolname.Candidate) []toolname.Candidate { return names }
