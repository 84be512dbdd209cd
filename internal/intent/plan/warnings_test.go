package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"writ/internal/intent/plan"
)

func TestWarnings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sent string
		want []string
	}{
		{`{"goal": "x", "steps": [{"mcp": "bank", "action": "pay", "params": {"to": "l"}, "strict": true}]}`, nil},
		{
			`{"steps": [{"mcp": "bank", "action": "pay", "parms": {"to": "l"}}]}`,
			[]string{"step 0: parms is not read, and fixes nothing; did you mean params?"},
		},
		{
			`{"steps": [{"mcp": "bank", "action": "pay", "recipient": "l"}]}`,
			[]string{"step 0: recipient is not read, and fixes nothing; arguments go under params"},
		},
		{
			`{"steps": [{"mpc": "bank", "action": "send_money"}]}`,
			[]string{"step 0: mpc is not read, and fixes nothing; did you mean mcp?"},
		},
		{
			`{"steps": [{"mcp": "bank", "acton": "pay", "srict": true, "max_call": 1, "maxCalls": 1}]}`,
			[]string{
				"step 0: acton is not read, and fixes nothing; did you mean action?",
				"step 0: maxCalls is not read, and fixes nothing; did you mean max_calls?",
				"step 0: max_call is not read, and fixes nothing; did you mean max_calls?",
				"step 0: srict is not read, and fixes nothing; did you mean strict?",
			},
		},
		{
			`{"steps": [{}, {"action": "bank.pay"}]}`,
			[]string{"step 1 names no server: if that is bank, give it by itself, as mcp"},
		},
		{
			`{"steps": [{"mcp": "bank", "action": "pay", "tool": "bank_api"}]}`,
			[]string{"step 0 permits calls of pay, its action; bank_api, its tool, permits nothing"},
		},
		{
			`{"steps": [{"mcp": "bank", "action": "pay", "a\u001b[2J\nb": 1}]}`,
			[]string{"step 0: a\uFFFD[2J\uFFFDb is not read, and fixes nothing; arguments go under params"},
		},
		{
			`{"gaol": "x", "order": true, "strict": true, "metadata": {}, "source": "s", "budget": 1, "may": [], "steps": []}`,
			[]string{
				"budget of the plan is not read; expected goal, steps, ordered, may, source, metadata, plan",
				"gaol of the plan is not read; did you mean goal?",
				"order of the plan is not read; did you mean ordered?",
				"strict of the plan is not read: it belongs into a step",
			},
		},
		{`{"steps": 5}`, nil},
		{`no plan`, nil},
	} {
		if got := plan.Warnings([]byte(c.sent)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.sent, got, c.want)
		}
	}
}

func TestUnread(t *testing.T) {
	t.Parallel()
	sent := `{"order": true, "steps": [{"action": "bank.pay", "tool": "other", "parms": {"to": "l"}}]}`
	want := []string{
		"order of the plan is not read; did you mean ordered?",
		"step 0: parms is not read, and fixes nothing; did you mean params?",
	}
	if got := plan.Unread([]byte(sent)); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A plan without steps is refused; where they have another name, that is why.
func TestMisspelledSteps(t *testing.T) {
	t.Parallel()
	const refused = "plan: must be an object with a list of steps"
	for sent, want := range map[string]string{
		`{"step": [{"mcp": "bank", "action": "pay"}]}`: refused + "; step is not read: did you mean steps?",
		`{"plan": {"goal": "x", "Steps": []}}`:         refused + "; Steps is not read: did you mean steps?",
		`{"goal": "x"}`:                                refused,
		`[]`:                                           refused,
	} {
		if _, err := plan.Parse([]byte(sent)); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %q", sent, err, want)
		}
	}
}

func TestWarningsAreFewAndShort(t *testing.T) {
	t.Parallel()
	members := make([]string, 1000)
	for i := range members {
		members[i] = fmt.Sprintf(`"%04d%s": 1`, i, strings.Repeat("x", 1000))
	}
	many := strings.Join(members, ",")
	for _, sent := range []string{`{"steps": [{` + many + `}]}`, `{"steps": [{}, {"a": 1}], ` + many + `}`} {
		got := plan.Warnings([]byte(sent))
		if said := strings.Join(got, ""); len(got) == 0 || len(got) > 20 || len(said) > 5000 {
			t.Errorf("%d warnings of %d bytes", len(got), len(said))
		}
	}
}
