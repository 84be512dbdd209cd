package suggest_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/internal/policy/document"
	"writ/internal/policy/suggest"
	"writ/internal/verdict"
)

// TestValuesCannotBecomeConditions: what an agent sends is quoted, in the condition
// and in the document, whatever it holds. Each call that was seen is allowed or
// left out, and nothing that differs from it by a sign is.
func TestValuesCannotBecomeConditions(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(9, 3))
	pieces := []string{
		`"`, `'`, `\`, "`", `" || true || "`, `"] || true`, `)`, "\n", "\t", "\r",
		"\n- {id: x, effect: allow, tools: [\"*\"]}", ": ", "# ", "|-", "---", "${x}", "%s", "\x00", "\u2028", "\u0085",
		"\ufeff",
		"é", "e\u0301", "\U0001f600", "\u202e", "*", ".", "..", "[", "{", "&", "!", "a", "b c", "\\u0041", "\\",
		"\"\"\"",
	}
	text := func() (drawn string) {
		for range random.IntN(5) {
			drawn += pieces[random.IntN(len(pieces))]
		}
		return drawn
	}
	passed := 0
	for range 400 {
		name := text()
		seen := call("t"+text(), map[string]any{name: text(), "o": map[string]any{text(): []any{text()}}})
		seen.Environment, seen.Labels = text(), []string{text()}
		if random.IntN(2) == 0 {
			seen.Tool, seen.Environment, seen.Labels = "t", "production", nil
		}
		_, set := suggested(t, allowed(seen)) // parses and compiles
		if set.Evaluate(seen, nil).Verdict == verdict.Allow {
			passed++
		}
		for i := range 4 {
			other := *seen
			switch i {
			case 0:
				other.Args = map[string]any{name: fmt.Sprint(seen.Args[name], "x"), "o": seen.Args["o"]}
			case 1:
				other.Tool += "x"
			case 2:
				other.Agent.ID += "x"
			case 3:
				other.Labels = append([]string{"x"}, seen.Labels...)
			}
			if set.Evaluate(&other, nil).Verdict == verdict.Allow {
				t.Fatalf("%+v was seen, and %+v is allowed", seen, other)
			}
		}
	}
	if passed < 40 {
		t.Errorf("%d calls were allowed again: too few to say", passed)
	}
}

// TestEvidenceTellsWhoseCallsItIs: any key can name the agent, so who trains a
// suggestion for another shows.
func TestEvidenceTellsWhoseCallsItIs(t *testing.T) {
	t.Parallel()
	var observed []suggest.Observed
	for i := range 9 {
		o := allowed(call("read", map[string]any{"path": fmt.Sprint("src/", i, ".go")}))
		o.KeyID = fmt.Sprint("key", i/2)
		observed = append(observed, o)
	}
	s, _ := suggested(t, observed...)
	if diff := cmp.Diff([]string{"key0", "key1", "key2", "key3", "key4"}, s.Evidence[0].Keys); diff != "" ||
		s.Evidence[0].MoreKeys {
		t.Errorf("%s %+v\n%s", diff, s.Evidence, document.Render(s.Document))
	}
	for i := range 5 {
		observed[i].KeyID = fmt.Sprint("other", i)
	}
	if s, _ := suggested(t, observed...); len(s.Evidence[0].Keys) != 5 || !s.Evidence[0].MoreKeys {
		t.Errorf("%+v", s.Evidence)
	}
}
