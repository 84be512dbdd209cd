package clientpolicy_test

import (
	"testing"

	"writ/internal/policy/clientpolicy"
	"writ/internal/policy/document"
	"writ/internal/policy/engine"
	"writ/internal/toolcall"
	"writ/internal/toolname"
	"writ/internal/verdict"
)

// TestNarrowingTakesAwayAndGrantsNothing judges by the manifest alone and beside a
// policy that allows.
func TestNarrowingTakesAwayAndGrantsNothing(t *testing.T) {
	t.Parallel()
	open := &document.Document{Version: "v1", Name: "open", Default: verdict.Deny, Rules: []document.Rule{
		{ID: "all", Effect: verdict.Allow, Tools: []document.Pattern{"*"}},
	}}
	for _, c := range []struct {
		name     string
		manifest clientpolicy.Manifest
		allowed  []string // beside open
		denied   []string
	}{
		{
			"a list", clientpolicy.Manifest{Allow: []string{"bank.read", "files.*"}},
			[]string{"bank.read", "files.write", "files.x"},
			[]string{"bank.pay", "bank.readx", "bank.rea", "xfiles.write", "files2.write"},
		},
		{
			"a list with an exception",
			clientpolicy.Manifest{Allow: []string{"files.*"}, Deny: []string{"files.write"}},
			[]string{"files.read"}, []string{"files.write", "bank.read"},
		},
		{
			"only what is denied", clientpolicy.Manifest{Deny: []string{"files.write"}}, nil,
			[]string{"files.write", "files.read"},
		},
		{
			"a star within a name", clientpolicy.Manifest{Allow: []string{"bank.get_*"}}, []string{"bank.get_balance"},
			[]string{"bank.set_balance"},
		},
	} {
		doc, err := c.manifest.Narrowing("manifest")
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		judge := func(name string, docs ...*document.Document) verdict.Verdict {
			var call toolcall.Call
			for i, r := range name {
				if r == '.' {
					call.Server, call.Tool = name[:i], name[i+1:]
				}
			}
			return set(t, docs...).Evaluate(&call, func(engine.LimitKey) (int64, error) { return 0, nil }).Verdict
		}
		for _, name := range c.allowed {
			if got := judge(name, open, doc); got != verdict.Allow {
				t.Errorf("%s: %s is %s beside an open policy, want allow", c.name, name, got)
			}
			if got := judge(name, doc); got != verdict.Deny {
				t.Errorf("%s: %s is %s by the manifest alone: it grants", c.name, name, got)
			}
		}
		for _, name := range c.denied {
			if got := judge(name, open, doc); got != verdict.Deny {
				t.Errorf("%s: %s is %s beside an open policy, want deny", c.name, name, got)
			}
		}
	}
}

func TestWithin(t *testing.T) {
	t.Parallel()
	old := clientpolicy.Manifest{Allow: []string{"bank.read", "files.*", "web.get_*"}, Deny: []string{"files.write"}}
	doc, err := old.Narrowing("manifest")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		next clientpolicy.Manifest
		want bool
	}{
		{"the same", old, true},
		{"fewer tools", clientpolicy.Manifest{Allow: []string{"files.*"}, Deny: []string{"files.write"}}, true},
		{"nothing", clientpolicy.Manifest{Deny: []string{"files.write"}}, true},
		{
			"a tool under a star",
			clientpolicy.Manifest{Allow: []string{"files.read"}, Deny: []string{"files.write"}}, true,
		},
		{
			"a star under a star",
			clientpolicy.Manifest{Allow: []string{"files.r*"}, Deny: []string{"files.write"}}, true,
		},
		{
			"more is denied",
			clientpolicy.Manifest{Allow: []string{"bank.read"}, Deny: []string{"files.write", "bank.read"}},
			true,
		},
		{"another tool", clientpolicy.Manifest{Allow: []string{"bank.pay"}, Deny: []string{"files.write"}}, false},
		{
			"a star where a name was",
			clientpolicy.Manifest{Allow: []string{"bank.*"}, Deny: []string{"files.write"}}, false,
		},
		{"a wider star", clientpolicy.Manifest{Allow: []string{"web.*"}, Deny: []string{"files.write"}}, false},
		{
			"a star that ends differently",
			clientpolicy.Manifest{Allow: []string{"web.get_*x"}, Deny: []string{"files.write"}}, false,
		},
		{"less is denied", clientpolicy.Manifest{Allow: []string{"files.*"}}, false},
	} {
		if got := c.next.Within(doc); got != c.want {
			t.Errorf("%s: %t, want %t", c.name, got, c.want)
		}
	}
	edited := *doc
	edited.Default = verdict.Allow
	if old.Within(&edited) {
		t.Error("what a person has changed counts as a manifest")
	}
}

// TestNarrowingTakesAWholeNameForATool: bank.pay without a server is in the list that names it, and no other tool
// without a server is.
func TestNarrowingTakesAWholeNameForATool(t *testing.T) {
	t.Parallel()
	open := &document.Document{Version: "v1", Name: "open", Default: verdict.Deny, Rules: []document.Rule{
		{ID: "all", Effect: verdict.Allow, Tools: []document.Pattern{"*"}},
	}}
	doc, err := clientpolicy.Manifest{
		Allow: []string{"bank.read", "files.*", "local.run"}, Deny: []string{"files.write"},
	}.Narrowing("manifest")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[toolname.Name]verdict.Verdict{
		{Server: "local", Tool: "bank.read"}:   verdict.Allow,
		{Server: "local", Tool: "files.x"}:     verdict.Allow,
		{Server: "local", Tool: "run"}:         verdict.Allow,
		{Server: "local", Tool: "bank.pay"}:    verdict.Deny,
		{Server: "local", Tool: "read"}:        verdict.Deny,
		{Server: "local", Tool: "files"}:       verdict.Deny,
		{Server: "local", Tool: "xfiles.x"}:    verdict.Deny,
		{Server: "local", Tool: ""}:            verdict.Deny,
		{Server: "other", Tool: "bank.read"}:   verdict.Deny,
		{Server: "codex", Tool: "bank.read"}:   verdict.Deny,
		{Server: "unknown", Tool: "bank.read"}: verdict.Deny,
	} {
		call := toolcall.Call{Server: name.Server, Tool: name.Tool}
		got := set(t, open, doc).Evaluate(&call, func(engine.LimitKey) (int64, error) { return 0, nil }).Verdict
		if got != want {
			t.Errorf("%s of %s is %s, want %s", name.Tool, name.Server, got, want)
		}
	}
}

// TestStoredNarrowingsAreRead: a policy of before has the same lists in another condition, which let less through: a
// person activates today's.
func TestStoredNarrowingsAreRead(t *testing.T) {
	t.Parallel()
	old := clientpolicy.Manifest{Allow: []string{"bank.read", "files.*"}, Deny: []string{"files.write"}}
	doc, err := old.Narrowing("manifest")
	if err != nil {
		t.Fatal(err)
	}
	outside := &doc.Rules[len(doc.Rules)-1]
	outside.When = `!(server + "." + tool).glob(["bank.read","files.*"])`
	if changes, ok := old.ChangesFrom(doc); !ok || len(changes) != 0 || old.Within(doc) {
		t.Errorf("%v, %t", changes, ok)
	}
	if !(clientpolicy.Manifest{Deny: []string{"files.write"}}).Within(doc) {
		t.Error("a manifest that lists nothing is wider")
	}
	for _, edited := range []string{
		`!(server + "." + tool).glob(["bank.read"]))`, `!(server + "." + tool).glob(["bank.read"]`,
		`!(server + "." + tool).glob(["bank.*"]) && !(server + "." + tool).glob(["x.y"])`, `true`,
	} {
		if outside.When = edited; old.Within(doc) {
			t.Errorf("%s counts as a manifest", edited)
		}
	}
}
