package plan_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/internal/fault"
	"writ/internal/intent/plan"
)

func parse(t testing.TB, raw string) *plan.Plan {
	t.Helper()
	p, err := plan.Parse([]byte(raw))
	if err != nil {
		t.Fatalf("Parse(%.200s): %v", raw, err)
	}
	return p
}

// told is a plan in the words of a test: its goal, then a line a step.
func told(p *plan.Plan) []string {
	lines := []string{p.Goal}
	if p.Ordered {
		lines[0] += " (ordered)"
	}
	if p.AutoMinted() {
		lines[0] += " (auto-minted)"
	}
	for _, s := range p.Steps {
		line := s.Server + "." + s.Tool
		for _, c := range s.Given {
			line += " " + c.Key + "=" + c.Equal
		}
		if s.Strict {
			line += " strict"
		}
		if s.MaxCalls > 0 {
			line += fmt.Sprint(" x", s.MaxCalls)
		}
		lines = append(lines, line)
	}
	return lines
}

// TestPublishedShapes has each shape that a published client sends, and says
// which of them a plugin made by itself.
func TestPublishedShapes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, give string
		want       []string
	}{
		{"SDK plan builder",
			`{"goal":"agent task","steps":[{"action":"charge","tool":"charge","mcp":"Stripe","params":{"amount":100},"description":"Call charge on Stripe"}]}`,
			[]string{"agent task", "Stripe.charge amount=100"}},
		{"SDK, one tool call of the model's first turn",
			`{"goal":"pay","steps":[{"action":"pay","tool":"pay","mcp":"bank","params":{"to":"x","n":1.0}}]}`,
			[]string{"pay", `bank.pay n=1 to="x"`}},
		{
			"the first example of a published SDK: tool is what does it",
			`{"goal":"g","steps":[{"action":"get_weather","tool":"weather_api","mcp":"weather-mcp","inputs":{"city":"Boston"}}]}`,
			[]string{"g", `weather-mcp.get_weather city="Boston"`},
		},
		{"CrewAI", `{"goal":"g","steps":[{"action":"search","mcp":"web"}]}`, []string{"g", "web.search"}},
		{"Strands",
			`{"goal":"agent task","steps":[{"action":"a","tool":"a","mcp":"m","params":{}},{"action":"b","tool":"b","mcp":"m","params":{}}]}`,
			[]string{"agent task", "m.a", "m.b"}},
		{"user code: inputs, step numbers, no server",
			`{"steps":[{"step":1,"action":"read","inputs":{"path":"a"}},{"step":2,"tool":"write","arguments":{"path":"b"}}]}`,
			[]string{"", `local.read path="a"`, `local.write path="b"`}},
		{"no steps", `{"goal":"g","steps":[]}`, []string{"g"}},
		{
			"server in the name", `{"goal":"g","steps":[{"action":"Stripe__charge__now"}]}`,
			[]string{"g", "Stripe.charge__now"},
		},
		{
			"server in the name and beside it", `{"goal":"g","steps":[{"action":"Stripe__charge","mcp":"Stripe"}]}`,
			[]string{"g", "Stripe.charge"},
		},
		{
			"another server beside it", `{"goal":"g","steps":[{"action":"Stripe__charge","mcp":"Proxy"}]}`,
			[]string{"g", "Proxy.Stripe__charge"},
		},
		{
			"MCP name of a harness", `{"goal":"g","steps":[{"action":"mcp__github__create_issue"}]}`,
			[]string{"g", "github.create_issue"},
		},
		{"Claude, registered",
			`{"steps":[{"action":"Edit","tool":"Edit","mcp":"claude-code","description":"","metadata":{"inputs":{"file_path":"a.txt"}}},{"action":"Bash","tool":"Bash","mcp":"claude-code","description":"build","metadata":{}}],"metadata":{"goal":"read and build","source":"claude-registered"}}`,
			[]string{"read and build", `claude-code.Edit file_path="a.txt"`, "claude-code.Bash"}},
		{"Claude, made by the plugin itself",
			`{"steps":[{"action":"Bash","mcp":"claude-code","metadata":{"inputs":{"command":"rm -rf /"}}}],"metadata":{"goal":"g","source":"claude-code"}}`,
			[]string{"g (auto-minted)", `claude-code.Bash command="rm -rf /"`}},
		{"Copilot, made by the plugin itself",
			`{"steps":[{"action":"bash","mcp":"copilot","metadata":{"inputs":{"command":"ls"}}}],"metadata":{"goal":"do it","source":"copilot"}}`,
			[]string{"do it (auto-minted)", `copilot.bash command="ls"`}},
		{"Codex, made by the plugin itself, without arguments",
			`{"steps":[{"action":"exec_command","mcp":"codex","metadata":{"inputs":{}}}],"metadata":{"source":"codex"}}`,
			[]string{" (auto-minted)", "codex.exec_command"}},
		{"Codex, registered",
			`{"steps":[{"action":"exec_command","tool":"exec_command","mcp":"codex","description":"why","metadata":{"inputs":{"cmd":"make"}}},{"action":"apply_patch","tool":"apply_patch","mcp":"codex","description":"","metadata":{}}],"metadata":{"goal":"b","source":"codex-registered"}}`,
			[]string{"b", `codex.exec_command cmd="make"`, "codex.apply_patch"}},
		{"one step of a plan file",
			`{"steps":[{"action":"Bash","mcp":"claude-code","metadata":{"inputs":{}}}],"metadata":{"source":"plan-file-json"}}`,
			[]string{"", "claude-code.Bash"}},
		{"one registered step without tool",
			`{"steps":[{"action":"Bash","metadata":{"inputs":{"command":"ls"}}}],"metadata":{"source":"claude-registered"}}`,
			[]string{"", `claude-code.Bash command="ls"`}},
		{"one step of a harness with tool",
			`{"steps":[{"action":"Bash","tool":"Bash","metadata":{"inputs":{}}}],"metadata":{"source":"codex"}}`,
			[]string{"", "codex.Bash"}},
		{
			"one step of a harness without inputs", `{"steps":[{"action":"Bash"}],"metadata":{"source":"codex"}}`,
			[]string{"", "codex.Bash"},
		},
		{"two steps of a harness",
			`{"steps":[{"action":"a","metadata":{"inputs":{}}},{"action":"b","metadata":{"inputs":{}}}],"metadata":{"source":"codex"}}`,
			[]string{"", "codex.a", "codex.b"}},
		{
			"source beside the metadata does not count",
			`{"source":"codex","steps":[{"action":"a","metadata":{"inputs":{}}}]}`, []string{"", "codex.a"},
		},
		{
			"Gemini",
			`{"goal":"g","steps":[{"action":" read_file ","metadata":{"any":1}}],"metadata":{"source":"gemini-cli"}}`,
			[]string{"g", "gemini-cli.read_file"},
		},
		{
			"OpenClaw",
			`{"steps":[{"tool":"send","mcp":"openclaw","description":"d","metadata":{}}],"metadata":{"goal":"g"}}`,
			[]string{"g", "openclaw.send"},
		},
		{"policy statement",
			`{"steps":[{"action":"policy_statement:deny-fetch","mcp":"armoriq-policy","metadata":{"conditions":[]}}],"metadata":{"goal":"g","policy_type":"crypto-bound"}}`,
			[]string{"g", "armoriq-policy.policy_statement:deny-fetch"}},
		{"steps in a string", `{"goal":"g","steps":"[{\"action\":\"a\",\"mcp\":\"m\"}]"}`, []string{"g", "m.a"}},
		{"in a wrapper", `{"plan":{"goal":"g","steps":[{"action":"a","mcp":"m"}]}}`, []string{"g", "m.a"}},
		{
			"in a wrapper, in a string", `{"plan":"{\"goal\":\"g\",\"steps\":[{\"action\":\"a\",\"mcp\":\"m\"}]}"}`,
			[]string{"g", "m.a"},
		},
		{"the whole in a string", `"{\"goal\":\"g\",\"steps\":[]}"`, []string{"g"}},
		{
			"the same argument twice",
			`{"steps":[{"action":"a","params":{"x":1},"metadata":{"inputs":{"x":1.0,"y":null}}}]}`,
			[]string{"", "local.a x=1 y=null"},
		},
		{
			"null arguments",
			`{"steps":[{"action":"a","params":null,"mcp":null,"tool":null,"description":null,"metadata":null}]}`,
			[]string{"", "local.a"},
		},
		{"order, counts, strict",
			`{"ordered":true,"steps":[{"action":"a","max_calls":2},{"action":"b","strict":true,"params":{"k":[1,{"b":2,"a":1}]}}]}`,
			[]string{" (ordered)", "local.a x2", `local.b k=[1,{"a":1,"b":2}] strict`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, told(parse(t, tt.give))); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	manySteps := `{"steps":[` + strings.TrimSuffix(strings.Repeat(`{"action":"a"},`, 10_000), ",") + `]}`
	tests := []struct {
		name, give string
		kind       fault.Kind
		message    string
	}{
		{"nothing", "", fault.Invalid, "unexpected end"},
		{"not JSON", "hunter2", fault.Invalid, "not JSON"},
		{"null", "null", fault.Invalid, "list of steps"},
		{"list", "[]", fault.Invalid, "list of steps"},
		{"no steps", `{"goal":"g"}`, fault.Invalid, "list of steps"},
		{"steps are an object", `{"steps":{}}`, fault.Invalid, "steps must be a list"},
		{"steps are another text", `{"steps":"hunter2"}`, fault.Invalid, "steps must be a list"},
		{"a step is a text", `{"steps":[{"tool":"a"},"pay"]}`, fault.Invalid, "steps[1] must be an object"},
		{"wrapper without end", `{"plan":{"plan":{"plan":{"plan":{"steps":[]}}}}}`, fault.Invalid, "list of steps"},
		{"step is no object", `{"steps":["hunter2"]}`, fault.Invalid, "cannot be read"},
		{
			"step names nothing", `{"steps":[{"action":"a"},{"description":"hunter2"}]}`, fault.Invalid,
			"plan.steps[1]: names no tool",
		},
		{
			"action and tool_name differ", `{"steps":[{"action":"a","tool_name":"hunter2"}]}`, fault.Invalid,
			"action and tool_name differ",
		},
		{
			"two values", `{"steps":[{"action":"a","params":{"x":1},"inputs":{"x":2}}]}`, fault.Invalid,
			"two values for one argument",
		},
		{
			"arguments are a text", `{"steps":[{"action":"a","params":"hunter2"}]}`, fault.Invalid,
			"plan.steps[0].params: must be an object",
		},
		{
			"long name", `{"steps":[{"action":"` + strings.Repeat("x", 201) + `"}]}`, fault.Invalid,
			"1 to 200 characters",
		},
		{"control character", `{"steps":[{"action":"a\u0007"}]}`, fault.Invalid, "control characters"},
		{"direction turned", `{"steps":[{"action":"a\u202eb"}]}`, fault.Invalid, "control characters"},
		{"nothing to be seen", `{"steps":[{"action":"pay\u200b"}]}`, fault.Invalid, "control characters"},
		{
			"a server's direction turned", `{"steps":[{"action":"a","mcp":"x\u2066"}]}`, fault.Invalid,
			"control characters",
		},
		{"no calls", `{"steps":[{"action":"a","max_calls":0}]}`, fault.Invalid, "max_calls: must be a whole number"},
		{"half a call", `{"steps":[{"action":"a","max_calls":1.5}]}`, fault.Invalid, "max_calls: must be"},
		{"negative calls", `{"steps":[{"action":"a","max_calls":-1}]}`, fault.Invalid, "max_calls: must be"},
		{"calls without end", `{"steps":[{"action":"a","max_calls":1e300}]}`, fault.Invalid, "max_calls: must be"},
		{"calls in words", `{"steps":[{"action":"a","max_calls":"1"}]}`, fault.Invalid, "max_calls: must be"},
		{
			"ordered in words", `{"ordered":"hunter2","steps":[]}`, fault.Invalid,
			"plan.ordered: must be true or false, and no string",
		},
		{
			"strict in words", `{"plan":{"steps":[{"action":"a"},{"action":"b","strict":"hunter2"}]}}`, fault.Invalid,
			"plan.steps[1].strict: must be true or false, and no string",
		},
		{
			"strict in words, in a text", `{"steps":"[{\"action\":\"a\",\"strict\":1}]"}`, fault.Invalid,
			"plan.steps[0].strict: must be true or false, and no number",
		},
		{"duplicate keys", `{"steps":[],"steps":[{"action":"hunter2"}]}`, fault.Invalid, "duplicate key"},
		{
			"duplicate keys in a string", `{"steps":"[{\"action\":\"a\",\"action\":\"b\"}]"}`, fault.Invalid,
			"steps must be a list",
		},
		{"bad UTF-8", "{\"goal\":\"\xff\",\"steps\":[]}", fault.Invalid, "UTF-8"},
		{"huge number", `{"steps":[{"action":"a","params":{"n":1e999999999}}]}`, fault.Invalid, "digits"},
		{"65 levels", strings.Repeat("[", 65) + strings.Repeat("]", 65), fault.Invalid, "deeper than 64"},
		{"a million levels", strings.Repeat("[", 200_000), fault.Invalid, "deeper than 64"},
		{
			"501 steps", `{"steps":[` + strings.TrimSuffix(strings.Repeat(`{"action":"a"},`, 501), ",") + `]}`,
			fault.TooLarge, "501 steps; at most 500",
		},
		{"10,000 steps", manySteps, fault.TooLarge, "at most 500"},
		{"10 MB", `{"goal":"` + strings.Repeat("x", 10<<20) + `","steps":[]}`, fault.TooLarge, "at most 262144"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := plan.Parse([]byte(tt.give))
			f, ok := errors.AsType[*fault.Error](err)
			if !ok || f.Kind != tt.kind || !strings.Contains(f.Message, tt.message) {
				t.Errorf("err = %v, want %s with %q", err, tt.kind, tt.message)
			} else if strings.Contains(f.Message, "hunter2") || len(f.Message) > 300 {
				t.Errorf("the message shows the plan: %.400s", f.Message)
			}
		})
	}
}

func TestLimitsAreAccepted(t *testing.T) {
	t.Parallel()
	p := parse(t, `{"steps":[`+strings.TrimSuffix(strings.Repeat(`{"action":"a"},`, 500), ",")+`]}`)
	if len(p.Steps) != 500 || len(p.Tree().StepProofs()) != 500 {
		t.Errorf("%d steps", len(p.Steps))
	}
	parse(t,
		`{"goal":"`+strings.Repeat("é", 5000)+`","steps":[],"x":`+strings.Repeat("[", 63)+strings.Repeat("]", 63)+`}`)
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"goal":"g","steps":[{"action":"a","mcp":"m","params":{"x":[1,"\u00e9"]}}]}`, `{"plan":"{\"steps\":\"[]\"}"}`,
		`{"steps":"[{\"tool\":\"a__b\"}]"}`,
		`{"ordered":true,"steps":[{"action":"A","tool":"a","max_calls":3,"strict":true}]}`,
		`{"steps":[{"action":"a","metadata":{"inputs":{"\u0000\"\\":null}}}],"metadata":{"source":"codex"}}`, `[[[`,
		`"`, "",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		p, err := plan.Parse(raw)
		if err != nil {
			if f, ok := errors.AsType[*fault.Error](err); !ok || f.Kind != fault.Invalid && f.Kind != fault.TooLarge {
				t.Fatalf("err = %v, want a fault", err)
			}
			return
		}
		tree := p.Tree()
		for i, proof := range tree.StepProofs() {
			leaf := plan.Leaf{Path: plan.ActionPath(i), Digest: digestOfJSON(p.Steps[i].Action)}
			if !plan.CheckProof(tree.Root(), leaf, proof) {
				t.Fatalf("the proof of step %d does not hold", i)
			}
			// A call made of what a step gives fits the plan.
			if got := p.Fit(callOf(t, p.Steps[i])); !got.OK {
				t.Fatalf("the call of step %d does not fit: %s", i, got.Reason)
			}
		}
	})
}

// callOf is a call with exactly what a step gives.
func callOf(t testing.TB, s plan.Step) plan.Call {
	t.Helper()
	members := make([]string, len(s.Given))
	for i, c := range s.Given {
		members[i] = string(canonicalString(c.Key)) + ":" + c.Equal
	}
	args, err := plan.ParseArguments([]byte("{" + strings.Join(members, ",") + "}"))
	if err != nil {
		t.Fatal(err)
	}
	return plan.Call{Server: s.Server, Tool: s.Tool, Arguments: args}
}
