package plan_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"writ/internal/intent/plan"
)

func TestWidening(t *testing.T) {
	t.Parallel()
	const before = `{"steps":[{"action":"read","mcp":"fs"},{"action":"pay","mcp":"bank","params":{"to":"ada","amount":5}},
		{"action":"exact","mcp":"fs","params":{"a":1},"strict":true},{"action":"once","mcp":"fs","max_calls":1}]}`
	for name, test := range map[string]struct {
		steps string
		want  []int
	}{
		"the same": {
			`{"action":"read","mcp":"fs"},{"action":"pay","mcp":"bank","params":{"amount":5,"to":"ada"}}`, nil,
		},
		"more arguments given":  {`{"action":"read","mcp":"fs","params":{"path":"x"}}`, nil},
		"fewer arguments given": {`{"action":"pay","mcp":"bank","params":{"to":"ada"}}`, []int{0}},
		"another argument":      {`{"action":"pay","mcp":"bank","params":{"to":"eve","amount":5}}`, []int{0}},
		"another tool":          {`{"action":"read","mcp":"fs"},{"action":"write","mcp":"fs"}`, []int{1}},
		"another server":        {`{"action":"read","mcp":"web"}`, []int{0}},
		"no longer strict":      {`{"action":"exact","mcp":"fs","params":{"a":1}}`, []int{0}},
		"strict with something else": {
			`{"action":"exact","mcp":"fs","params":{"a":1,"b":2},"strict":true}`, []int{0},
		},
		"strict as before":              {`{"action":"exact","mcp":"fs","params":{"a":1},"strict":true}`, nil},
		"counted, and counted anew":     {`{"action":"once","mcp":"fs","max_calls":1}`, []int{0}},
		"counted where nothing counted": {`{"action":"read","mcp":"fs","max_calls":1}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := parse(t, `{"steps":[`+test.steps+`]}`)
			if got := p.Widening([]*plan.Declared{declared(t, before)}); !slices.Equal(got, test.want) {
				t.Errorf("widens %v, want %v", got, test.want)
			}
			if got := p.Widening(nil); got != nil {
				t.Errorf("widens nothing by %v", got)
			}
		})
	}
	ordered := declared(t, `{"ordered":true,"steps":[{"action":"read","mcp":"fs"}]}`)
	pending := declared(t, `{"steps":[{"action":"read","mcp":"fs"}]}`)
	pending.Widened = []int{0}
	for name, earlier := range map[string]*plan.Declared{"ordered": ordered, "not agreed to": pending} {
		if got := parse(t, `{"steps":[{"action":"read","mcp":"fs"}]}`).Widening([]*plan.Declared{
			earlier,
		}); !slices.Equal(got, []int{0}) {
			t.Errorf("%s: widens %v", name, got)
		}
	}
}

func TestWidenedStepsWaitForAPerson(t *testing.T) {
	t.Parallel()
	d := declared(t,
		`{"steps":[{"action":"read","mcp":"fs"},{"action":"read","mcp":"fs","params":{"path":"x"}},{"action":"send","mcp":"mail"}]}`)
	d.Widened = []int{1, 2}
	if r := d.Fit(call(t, "fs.read", `{"path":"x"}`)); !r.OK || !slices.Equal(r.Steps, []int{0}) {
		t.Errorf("a call that an agreed step takes: %+v", r)
	}
	if r := d.Fit(call(t, "mail.send", `{}`)); r.OK || r.Drift != plan.Widened || !slices.Equal(r.Steps, []int{2}) ||
		r.Reason == "" {
		t.Errorf("a call of an added step: %+v", r)
	}
	if r := d.Fit(call(t, "mail.drop", `{}`)); r.OK || r.Drift != plan.NotInPlan {
		t.Errorf("a call of no step: %+v", r)
	}
}

// TestWhatDoesNotWidenWasPermitted: a call that fits a step which widens nothing
// fits the earlier plan.
func TestWhatDoesNotWidenWasPermitted(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		step := rapid.Custom(func(t *rapid.T) string {
			text := `{"action":"` + rapid.SampledFrom([]string{"a", "b"}).Draw(t, "tool") + `","mcp":"x","params":{`
			given := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"p", "q"}), 0, 2, func(s string) string {
				return s
			}).Draw(t, "given")
			for i, key := range given {
				if i > 0 {
					text += ","
				}
				text += `"` + key + `":` + rapid.SampledFrom([]string{"1", "2"}).Draw(t, "value")
			}
			return text + `},"strict":` + rapid.SampledFrom([]string{"true", "false"}).Draw(t, "strict") + `}`
		})
		before, after := step.Draw(t, "before"), step.Draw(t, "after")
		old, err := plan.Parse([]byte(`{"steps":[` + before + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		grown, err := plan.Parse([]byte(`{"steps":[` + after + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		if grown.Widening([]*plan.Declared{{Plan: old}}) != nil {
			return
		}
		for _, args := range []string{
			`{}`, `{"p":1}`, `{"p":2}`, `{"q":1}`, `{"p":1,"q":1}`, `{"p":1,"q":2}`, `{"p":2,"q":2}`, `{"r":1}`,
			`{"p":1,"r":1}`,
		} {
			parsed, err := plan.ParseArguments([]byte(args))
			if err != nil {
				t.Fatal(err)
			}
			for _, tool := range []string{"a", "b"} {
				c := plan.Call{Server: "x", Tool: tool, Arguments: parsed}
				if grown.Fit(c).OK && !old.Fit(c).OK {
					t.Fatalf("%s %s fits %s and not %s, which is said not to be narrower", tool, args, after, before)
				}
			}
		}
	})
}
