package profile_test

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"writ/internal/policy/document"
	"writ/internal/policy/engine"
	"writ/internal/policy/profile"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

// sides are what conditions and calls are drawn from to be held against each other:
// near misses of the same few names.
var sides = []struct {
	tool, field, argument string
	values, arguments     []string
	patterns              []string
}{
	{"Bash", "bash.program", "command", []string{"rm", "git", "Ls"},
		[]string{
			"rm", "RM x", "git status", "./git", "/bin/rm x", "/tmp/rm", "ls; rm x", "$X", "env rm", "", "git > x",
			"sh -c 'rm x'",
		}, []string{"^rm$", "g.t", "^LS", ""}},
	{"Bash", "bash.raw", "command", []string{"rm", "git status", "ls"},
		[]string{"rm", " rm ", "git status", "git status > x", "git status; rm x", "ls", "LS", "$X", ""},
		[]string{"rm", "^git", "ls$", "^$"}},
	{"Read", "file.path", "file_path", []string{".env", "/etc/passwd", "secrets/", "./a", "~/.ssh", "../x"},
		[]string{
			".env", "/srv/.env", ".ENV", "a/../.env", "../.env", "/etc/passwd", "/etc/./passwd", "../../etc/passwd",
			"secrets/a", "/srv/secrets/a", "~/.ssh/id", "/home/u/.ssh", "a", "", "..", `a\b`, "/",
		},
		[]string{"^/etc/", "(^|/)\\.env$", "^secrets", "env$", "(/|^my)a", "^[a-z]+$"}},
	{"WebFetch", "network.host", "url", []string{"example.com", "Evil.org"},
		[]string{
			"https://example.com/", "https://EXAMPLE.com.", "https://example.com@evil.org/", "http://evil.org:80",
			"example.com", "https://ex\u00e4mple.com", "",
		}, []string{"example", "^evil\\.org$", "com$"}},
}

// opposites are operators of which each says what the other does not.
var opposites = map[string]string{"in": "not_in", "matches": "not_matches"}

// TestBothSidesOfACondition: whatever a call is, a permit with a condition takes
// nothing that a forbid with the same one leaves, and a permit of all others takes
// nothing that a forbid of these catches. What is between the two is not known.
func TestBothSidesOfACondition(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		side := rapid.SampledFrom(sides).Draw(t, "field")
		op := rapid.SampledFrom([]string{"in", "matches", "eq", "starts_with"}).Draw(t, "op")
		var value any = rapid.SampledFrom(side.values).Draw(t, "value")
		switch op {
		case "in":
			value = rapid.SliceOfNDistinct(rapid.SampledFrom(side.values), 1, 2, rapid.ID).Draw(t, "values")
		case "matches":
			value = "(" + rapid.SampledFrom(side.patterns).Draw(t, "pattern") + ")"
		}
		args := map[string]any{}
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{
			side.argument, "path", "cmd", "shell", "prompt",
		}), 0, 2, rapid.ID).Draw(t, "arguments") {
			args[name] = rapid.SampledFrom(side.arguments).Draw(t, name)
		}
		asked := &toolcall.Call{Server: "local", Tool: side.tool, Args: args, Org: toolcall.Org{ID: orgID}}
		permits, forbids := matches(t, side.tool, "permit", side.field, op, value, asked),
			matches(t, side.tool, "forbid", side.field, op, value, asked)
		if permits && !forbids {
			t.Fatalf("%s %s %v: %v is permitted and not forbidden", side.field, op, value, args)
		}
		if opposite, ok := opposites[op]; ok && forbids &&
			matches(t, side.tool, "permit", side.field, opposite, value, asked) {
			t.Fatalf("%s %s %v: %v is forbidden by it and permitted by its opposite", side.field, op, value, args)
		}
	})
}

// matches reports whether a statement with one condition decides about a call.
func matches(t *rapid.T, tool, effect, field, op string, value any, asked *toolcall.Call) bool {
	written, err := json.Marshal(map[string]any{"field": field, "op": op, "value": value})
	if err != nil {
		t.Fatal(err)
	}
	p, problems := profile.Parse([]byte(profileText("hold", statement("s", effect, `{"type":"tool","eq":"`+tool+`"}`,
		string(written)))))
	if problems != nil {
		t.Fatalf("%s: %v", written, problems)
	}
	doc, problems := p.Document("profile", orgID)
	if problems != nil {
		t.Fatalf("%s: %v", written, problems)
	}
	stored, err := document.Parse(document.Render(doc), document.YAML)
	if err != nil {
		t.Fatal(err)
	}
	policy, wrong := engine.Compile(stored)
	if len(wrong) > 0 {
		t.Fatalf("%s: %v", written, wrong)
	}
	d := engine.NewSet([]engine.Active{{ID: "p", Version: 1, Policy: policy}}).Evaluate(asked, nil)
	return d.Verdict != verdict.Hold
}
