package plan_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/go-json-experiment/json"

	"writ/internal/intent/plan"
)

// TestManyArguments compares a plan of many arguments with a call of more, whose
// names stand in another order as text than as they are compared.
func TestManyArguments(t *testing.T) {
	t.Parallel()
	names := []string{"", "a", "A", "é", "\U0001F600", "\uFFFD", "z\"", "\\", "\x7f", "~", "\u00e9\u0301"}
	for i := range 20_000 {
		names = append(names, fmt.Sprintf("k%d", i*7919%100_003))
	}
	given, call := map[string]int{}, map[string]int{"free": 1}
	for i, name := range names {
		call[name] = i
		if i%2 == 0 {
			given[name] = i
		}
	}
	text := func(v any) string {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	for strict, want := range map[bool]plan.Drift{false: "", true: plan.OtherArguments} {
		p := parse(t, fmt.Sprintf(`{"steps":[{"action":"a","strict":%t,"params":%s}]}`, strict, text(given)))
		arguments, err := plan.ParseArguments([]byte(text(call)))
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Fit(plan.Call{Tool: "a", Arguments: arguments}); got.Drift != want {
			t.Errorf("strict %t: %q %s", strict, got.Drift, got.Reason)
		}
	}
	for _, name := range names[:12] {
		changed := maps.Clone(call)
		changed[name] = -1
		_, fixed := given[name]
		p := parse(t, fmt.Sprintf(`{"steps":[{"action":"a","params":%s}]}`, text(given)))
		arguments, err := plan.ParseArguments([]byte(text(changed)))
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Fit(plan.Call{Tool: "a", Arguments: arguments}); got.OK == fixed {
			t.Errorf("another value for %q: %t %s", name, got.OK, got.Reason)
		}
	}
}
