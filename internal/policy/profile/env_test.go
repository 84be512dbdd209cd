package profile_test

import (
	"fmt"
	"strings"
	"testing"

	"writ/internal/policy/document"
	"writ/internal/policy/engine"
	"writ/internal/policy/profile"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

const orgID = "0198c0de-0000-7000-8000-000000000001"

// statement is one statement of a profile as plugins write it. Conditions are
// given as JSON objects.
func statement(id, effect, action string, conditions ...string) string {
	return fmt.Sprintf(`{"id":%q,"effect":%q,"principal":{"type":"agent","id":"*"},"action":%s,"resource":{"type":"workspace","scope":"current"},"conditions":[%s]}`,
		id, effect, action, strings.Join(conditions, ","))
}

func profileText(decision string, statements ...string) string {
	return fmt.Sprintf(`{"schemaVersion":"armor.policy.v1","kind":"PolicyProfile","metadata":{"name":"test","description":"for a test"},`+
		`"defaults":{"decision":%q,"conflictResolution":"deny_overrides"},"statements":[%s]}`, decision,
		strings.Join(statements, ","))
}

func parse(t *testing.T, text string) *profile.Profile {
	t.Helper()
	p, problems := profile.Parse([]byte(text))
	if problems != nil {
		t.Fatalf("%s: %v", text, problems)
	}
	return p
}

// judge is the set of the profile's policy alone, compiled from its text as it is
// stored.
func judge(t *testing.T, p *profile.Profile) *engine.Set {
	t.Helper()
	doc, problems := p.Document("profile test", orgID)
	if problems != nil {
		t.Fatalf("make the document: %v", problems)
	}
	stored, err := document.Parse(document.Render(doc), document.YAML)
	if err != nil {
		t.Fatalf("read the document again: %v", err)
	}
	policy, wrong := engine.Compile(stored)
	if len(wrong) > 0 {
		t.Fatalf("compile: %v\n%s", wrong, document.Render(doc))
	}
	return engine.NewSet([]engine.Active{{ID: "p", Version: 1, Policy: policy}})
}

// call is a call named as host.tool, with arguments as JSON.
func call(t *testing.T, name, arguments string) *toolcall.Call {
	t.Helper()
	server, tool, _ := strings.Cut(name, ".")
	args, err := toolcall.Decode([]byte(arguments))
	if err != nil {
		t.Fatalf("%s: %v", arguments, err)
	}
	return &toolcall.Call{Server: server, Tool: tool, Args: args, Org: toolcall.Org{ID: orgID}}
}

func wantVerdict(t *testing.T, what string, set *engine.Set, c *toolcall.Call, want verdict.Verdict) {
	t.Helper()
	if d := set.Evaluate(c, nil); d.Verdict != want {
		t.Errorf("%s: %s.%s is %s by %s (%s), want %s", what, c.Server, c.Tool, d.Verdict, d.Rule, d.Reason, want)
	}
}
