package suggest_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/internal/policy/document"
	"writ/internal/policy/engine"
	"writ/internal/policy/suggest"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

const agent = "8a6ff1d2-0000-4000-8000-123456789012"

var begin = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

func call(tool string, args map[string]any) *toolcall.Call {
	return &toolcall.Call{
		Server:      "files",
		Tool:        tool,
		Args:        args,
		Agent:       toolcall.Agent{ID: agent},
		Environment: "production",
	}
}

func suggested(t *testing.T, observed ...suggest.Observed) (suggest.Suggestion, *engine.Set) {
	t.Helper()
	c, err := suggest.NewCollector(agent)
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range observed {
		o.At = begin.Add(time.Duration(i) * time.Hour)
		o.DecisionID = fmt.Sprint("d", i)
		if o.KeyID == "" {
			o.KeyID = "k"
		}
		c.Add(o)
	}
	s := c.Suggest("suggested")
	// As it is stored: what is written is what is read.
	doc, err := document.Parse(document.Render(s.Document), document.YAML)
	if err != nil {
		t.Fatalf("%v in\n%s", err, document.Render(s.Document))
	}
	policy, problems := engine.Compile(doc)
	if problems != nil {
		t.Fatalf("%v in\n%s", problems, document.Render(s.Document))
	}
	return s, engine.NewSet([]engine.Active{{ID: "p", Policy: policy}})
}

func allowed(c *toolcall.Call) suggest.Observed {
	return suggest.Observed{Call: c, Known: true, Answer: suggest.Allowed}
}

// reasons are what was left out, tool by tool.
func reasons(s suggest.Suggestion) map[string]suggest.Reason {
	found := map[string]suggest.Reason{}
	for _, left := range s.LeftOut {
		found[left.Server+"."+left.Tool] += left.Reason
	}
	return found
}

func TestWhatIsSuggested(t *testing.T) {
	t.Parallel()
	s, _ := suggested(t,
		allowed(call("read", map[string]any{"path": "src/a.go", "lines": int64(5)})),
		allowed(call("read", map[string]any{"path": "src/b.go", "lines": int64(5)})),
		allowed(call("read", map[string]any{"path": "src/a.go", "lines": int64(5)})),
		allowed(call("list", nil)),
	)
	want := `version: v1
name: suggested
description: |- Suggested from 4 calls of agent ` + agent +
		`. It allows only what was seen and allowed. Its rules name the agent: leave it without bindings. A wider active policy still allows more: deactivate it when you activate this one.
default: deny
rules:
  - id: seen-files.list
    description: |- Seen 1 times from 2026-11-01T03:00:00Z to 2026-11-01T03:00:00Z, as in decision d3.
    effect: allow
    tools: ["files.list"]
    when: |- agent.id == "` + agent + `" && environment == "production" && labels == [] && size(args) == 0
  - id: seen-files.read
    description: |- Seen 3 times from 2026-11-01T00:00:00Z to 2026-11-01T02:00:00Z, as in decision d0, d2, d1.
    effect: allow
    tools: ["files.read"]
    when: |- agent.id == "` + agent +
		`" && environment == "production" && labels == [] && size(args) == 2 && args.lines == 5 && args.path in ["src/a.go", "src/b.go"]
`
	if diff := cmp.Diff(strings.Fields(want), strings.Fields(string(document.Render(s.Document)))); diff != "" {
		t.Error(diff)
	}
	evidence := suggest.Evidence{Rule: "seen-files.read", Seen: suggest.Seen{
		Calls:     3,
		First:     begin,
		Last:      begin.Add(2 * time.Hour),
		Decisions: []string{"d0", "d2", "d1"},
		Keys:      []string{"k"},
	}}
	if diff := cmp.Diff(evidence, s.Evidence[1]); diff != "" || len(s.Evidence) != 2 || s.LeftOut != nil {
		t.Errorf("%s %+v", diff, s)
	}
}

// TestSecretsAndPeopleNeverBecomeLiterals: what may be one is left to a person.
func TestSecretsAndPeopleNeverBecomeLiterals(t *testing.T) {
	t.Parallel()
	for i, args := range []map[string]any{
		{"q": "sk-abcdefghijklmnopqrstuvwx"}, {"q": "ghp_0123456789abcdefghij"}, {"q": "[redacted]"},
		{"q": "curl -H 'Authorization: Bearer abc123def456ghi'"},
		{"q": "anna@example.org"}, {"q": "mail anna@example.org now"}, {"q": "https://x.example/?u=anna%40example.org"},
		{"q": "+49 170 1234567"}, {"q": "DE89 3704 0044 0532 0130 00"},
		{"q": "Anna Schmidt"}, {"q": "ask Mary J. Watson"}, {"q": "/home/anna/x"}, {"q": `C:\Users\anna`},
		{"q": "~anna/x"}, {"q": "1985-04-12"},
		{"q": int64(1701234567)}, {"q": 1701234567.0}, {"q": []any{"x", "anna@example.org"}},
		{"q": map[string]any{"deep": map[string]any{"phone": "1"}}},
		{"to": "x"}, {"user_name": "anna"}, {"customerId": int64(7)}, {"body": "x"}, {"apiKey": "x"},
		{"anna@example.org": "x"},
		{"q": strings.Repeat("x ", 200)}, {"q": "a\u200bb"}, {"q": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b"},
		{"q": "eyJhbGciOi.eyJzdWIiOi.c2ln"},
	} {
		s, set := suggested(t, allowed(call("t", args)))
		if len(s.Document.Rules) != 1 || s.Document.Rules[0].Effect != verdict.Hold ||
			reasons(s)["files.t"] != suggest.NotPlain {
			t.Errorf("%d: %v became\n%s", i, args, document.Render(s.Document))
		}
		if d := set.Evaluate(call("t", args), nil); d.Verdict != verdict.Hold {
			t.Errorf("%d: %s", i, d.Verdict)
		}
	}
}

func TestOrdinaryValuesBecomeLiterals(t *testing.T) {
	t.Parallel()
	for _, args := range []map[string]any{
		{"command": "git status --short"}, {"path": "src/main.go"}, {"n": int64(-5)}, {"n": 2.5}, {"n": 3.0},
		{"on": true}, {"x": nil},
		{"in": "x"}, {"a-b": "x"}, {"q": `say "hi" \ to é`}, {"q": "two\nlines\t"}, {"list": []any{int64(1), "x", nil}},
		{"o": map[string]any{"a": []any{}, "b": map[string]any{}}},
		{}, nil, {"q": ""},
	} {
		s, set := suggested(t, allowed(call("t", args)))
		if d := set.Evaluate(call("t", args), nil); d.Verdict != verdict.Allow {
			t.Errorf("%v: %s, %s by\n%s", args, d.Verdict, d.Reason, document.Render(s.Document))
		}
	}
}

func TestWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	x := map[string]any{"x": int64(1)}
	moved := call("moved", map[string]any{"path": "a"})
	moved.ResolvedPaths = map[string]string{"a": "/etc/shadow"}
	observed := []suggest.Observed{
		{Call: call("erased", nil), Answer: suggest.Allowed},
		{Call: call("approved", x), Known: true, Answer: suggest.Approved},
		{Call: call("refused", x), Known: true},
		allowed(call("both", x)), {Call: call("both", x), Known: true, Answer: suggest.Refused},
		allowed(call("shadow", x)), {Call: call("shadow", x), Known: true, Answer: suggest.Doubted},
		allowed(call("confined", x)), {Call: call("confined", x), Known: true, Answer: suggest.Confined},
		allowed(call("get_*", x)), allowed(call("*", x)), allowed(call("a b", x)), allowed(call("anna@example.org", x)),
		allowed(moved),
	}
	for i := range 600 { // two arguments that both differ each time: a rule a call
		observed = append(observed, allowed(call("many", map[string]any{"a": int64(i), "b": int64(i)})))
	}
	s, set := suggested(t, observed...)
	want := map[string]suggest.Reason{
		"files.erased": suggest.NotKnown, "files.approved": suggest.ByPerson, "files.both": suggest.Disputed,
		"files.confined": suggest.OnlyConfined, "files.shadow": suggest.InShadow, "files.get_*": suggest.OddName,
		"files.*": suggest.OddName, "files.a b": suggest.OddName, "files.anna@example.org": suggest.OddName,
		"files.moved": suggest.OddPath, "files.many": suggest.TooMany,
	}
	if diff := cmp.Diff(want, reasons(s)); diff != "" {
		t.Error(diff)
	}
	for tool, wanted := range map[string]verdict.Verdict{
		"erased": verdict.Hold, "approved": verdict.Hold, "refused": verdict.Deny, "both": verdict.Hold,
		"shadow": verdict.Hold, "confined": verdict.Hold, "get_x": verdict.Deny, "get_*": verdict.Deny,
		"many": verdict.Hold, "moved": verdict.Hold,
	} {
		if d := set.Evaluate(call(tool, x), nil); d.Verdict != wanted {
			t.Errorf("%s: %s, want %s", tool, d.Verdict, wanted)
		}
	}
}

func TestAgentsThatCannotBeNamed(t *testing.T) {
	t.Parallel()
	for _, id := range []string{
		"", "anna@example.org", "sk-abcdefghijklmnopqrstuvwx", "a\nb", strings.Repeat("a", 201),
	} {
		if _, err := suggest.NewCollector(id); err == nil {
			t.Errorf("%q was taken", id)
		}
	}
}

// drawn is one of few calls, so that they repeat and differ in one argument.
func drawn(random *rand.Rand) *toolcall.Call {
	c := call(fmt.Sprint("t", random.IntN(3)), map[string]any{})
	values := []any{int64(1), int64(2), 1.5, "x", "y", true, nil, []any{"x"}, "anna@example.org"}
	for _, name := range []string{"a", "b", "c-d"} {
		if random.IntN(3) > 0 {
			c.Args[name] = values[random.IntN(len(values))]
		}
	}
	if random.IntN(4) == 0 {
		c.Environment = "sandbox"
	}
	if random.IntN(8) == 0 {
		c.Server = "other"
	}
	if random.IntN(4) == 0 {
		c.Labels = []string{[]string{"pii", "public"}[random.IntN(2)]}
	}
	return c
}

func same(c *toolcall.Call) string {
	return fmt.Sprint(c.Server, c.Tool, c.Environment, c.Agent.ID, c.Labels, c.Args)
}

// TestNeverWiderThanWhatWasSeen: every call that a suggestion allows is one that
// was seen, allowed without a person, and never refused.
func TestNeverWiderThanWhatWasSeen(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(9, 2))
	passed, refused := 0, 0
	for range 60 {
		var observed []suggest.Observed
		seen, disputed := map[string]bool{}, map[string]bool{}
		for range 1 + random.IntN(60) {
			o := suggest.Observed{Call: drawn(random), Known: random.IntN(10) > 0, Answer: suggest.Allowed}
			if random.IntN(6) == 0 {
				o.Answer = suggest.Answer(random.IntN(3))
			}
			observed = append(observed, o)
			if o.Known && o.Answer == suggest.Allowed {
				seen[same(o.Call)] = true
			}
			if o.Known && (o.Answer == suggest.Refused || o.Answer == suggest.Doubted) {
				disputed[same(o.Call)] = true
			}
		}
		s, set := suggested(t, observed...)
		for range 300 {
			c := drawn(random)
			if random.IntN(2) == 0 {
				again := *observed[random.IntN(len(observed))].Call
				c = &again
			}
			if random.IntN(10) == 0 {
				c.Agent.ID = "another"
			}
			d := set.Evaluate(c, nil)
			was := seen[same(c)] && !disputed[same(c)]
			switch {
			case d.Verdict == verdict.Allow && !was:
				t.Fatalf("%s is allowed, and was not, by %s of\n%s", same(c), d.Rule, document.Render(s.Document))
			case d.Verdict == verdict.Allow:
				passed++
			case was && !strings.Contains(same(c), "@") && !leftOut(s, c, suggest.TooMany):
				t.Fatalf("%s is not allowed, and was: %s by\n%s", same(c), d.Reason, document.Render(s.Document))
			default:
				refused++
			}
		}
	}
	if passed < 500 || refused < 500 {
		t.Errorf("%d allowed, %d not: too few to say", passed, refused)
	}
}

func leftOut(s suggest.Suggestion, c *toolcall.Call, reason suggest.Reason) bool {
	return strings.Contains(string(reasons(s)[c.Server+"."+c.Tool]), string(reason))
}
