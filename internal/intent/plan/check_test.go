package plan_test

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"writ/internal/intent/plan"
)

var noon = time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)

func declared(t testing.TB, raw string) *plan.Declared {
	t.Helper()
	p := parse(t, raw)
	return &plan.Declared{
		ID:        "p1",
		Anchor:    1,
		Status:    plan.Active,
		Issued:    noon.Add(-time.Minute),
		Expires:   noon.Add(time.Minute),
		Signature: "aabb",
		JWTHash:   sha256.Sum256([]byte("a.b.c")),
		Plan:      p,
		Root:      p.Tree().Root(),
		Binding: plan.Binding{
			OrgID:   "acme",
			KeyID:   "k1",
			UserID:  "u1",
			AgentID: "agent",
			Context: "default",
		},
	}
}

func call(t testing.TB, tool, args string) plan.Call {
	t.Helper()
	parsed, err := plan.ParseArguments([]byte(args))
	if err != nil {
		t.Fatal(err)
	}
	server, tool, found := strings.Cut(tool, ".")
	if !found {
		server, tool = "", server
	}
	return plan.Call{Server: server, Tool: tool, Arguments: parsed}
}

func TestStanding(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(d *plan.Declared, p *plan.Presented, by *plan.Binding)
		want   plan.Drift
	}{
		{"as it was declared", func(*plan.Declared, *plan.Presented, *plan.Binding) {}, ""},
		{
			"altered signature", func(_ *plan.Declared, p *plan.Presented, _ *plan.Binding) { p.Signature = "aabc" },
			plan.NotGenuine,
		},
		{
			"no signature", func(_ *plan.Declared, p *plan.Presented, _ *plan.Binding) { p.Signature = "" },
			plan.NotGenuine,
		},
		{
			"nothing stored, nothing shown",
			func(d *plan.Declared, p *plan.Presented, _ *plan.Binding) { d.Signature, p.Signature = "", "" },
			plan.NotGenuine,
		},
		{
			"by its JWT",
			func(_ *plan.Declared, p *plan.Presented, _ *plan.Binding) { *p = plan.Presented{JWT: "a.b.c"} }, "",
		},
		{
			"another JWT",
			func(_ *plan.Declared, p *plan.Presented, _ *plan.Binding) { *p = plan.Presented{JWT: "a.b.d"} },
			plan.NotGenuine,
		},
		{"bad signature beside a good JWT", func(_ *plan.Declared, p *plan.Presented, _ *plan.Binding) {
			*p = plan.Presented{JWT: "a.b.c", Signature: "00"}
		}, plan.NotGenuine},
		{
			"completed", func(d *plan.Declared, _ *plan.Presented, _ *plan.Binding) { d.Status = plan.Completed },
			plan.Ended,
		},
		{"failed", func(d *plan.Declared, _ *plan.Presented, _ *plan.Binding) { d.Status = plan.Failed }, plan.Ended},
		{
			"marked expired", func(d *plan.Declared, _ *plan.Presented, _ *plan.Binding) { d.Status = plan.Expired },
			plan.Ended,
		},
		{"no status at all", func(d *plan.Declared, _ *plan.Presented, _ *plan.Binding) { d.Status = "" }, plan.Ended},
		{
			"expires now", func(d *plan.Declared, _ *plan.Presented, _ *plan.Binding) { d.Expires = noon },
			plan.NotCurrent,
		},
		{
			"last microsecond",
			func(d *plan.Declared, _ *plan.Presented, _ *plan.Binding) { d.Expires = noon.Add(time.Microsecond) }, "",
		},
		{
			"issued by a clock ahead",
			func(d *plan.Declared, _ *plan.Presented, _ *plan.Binding) { d.Issued = noon.Add(60 * time.Second) }, "",
		},
		{
			"issued in the future",
			func(d *plan.Declared, _ *plan.Presented, _ *plan.Binding) { d.Issued = noon.Add(61 * time.Second) },
			plan.NotCurrent,
		},
		{
			"another organization",
			func(_ *plan.Declared, _ *plan.Presented, by *plan.Binding) { by.OrgID = "globex" }, plan.Elsewhere,
		},
		{
			"no organization on either side",
			func(d *plan.Declared, _ *plan.Presented, by *plan.Binding) { d.Binding.OrgID, by.OrgID = "", "" },
			plan.Elsewhere,
		},
		{
			"another key", func(_ *plan.Declared, _ *plan.Presented, by *plan.Binding) { by.KeyID = "k2" },
			plan.Elsewhere,
		},
		{
			"another user", func(_ *plan.Declared, _ *plan.Presented, by *plan.Binding) { by.UserID = "u2" },
			plan.Elsewhere,
		},
		{"no user stated", func(_ *plan.Declared, _ *plan.Presented, by *plan.Binding) { by.UserID = "" }, ""},
		{
			"the SDK's word for no user",
			func(_ *plan.Declared, _ *plan.Presented, by *plan.Binding) { by.UserID = plan.NotStated }, "",
		},
		{"declared for no user", func(d *plan.Declared, _ *plan.Presented, by *plan.Binding) {
			d.Binding.UserID, by.UserID = plan.NotStated, "u2"
		}, ""},
		{
			"an e-mail beside an id",
			func(_ *plan.Declared, _ *plan.Presented, by *plan.Binding) { by.UserID, by.Email = "", "x@example.org" },
			"",
		},
		{"e-mail as the user id", func(d *plan.Declared, _ *plan.Presented, by *plan.Binding) {
			d.Binding.UserID, by.UserID, by.Email = "Ada@example.org", "", "ada@example.org"
		}, ""},
		{"another e-mail", func(d *plan.Declared, _ *plan.Presented, by *plan.Binding) {
			d.Binding.UserID, by.UserID, by.Email = "ada@example.org", "", "bob@example.org"
		}, plan.Elsewhere},
		{
			"another agent", func(_ *plan.Declared, _ *plan.Presented, by *plan.Binding) { by.AgentID = "other" },
			plan.Elsewhere,
		},
		{
			"the SDK's word for no agent",
			func(_ *plan.Declared, _ *plan.Presented, by *plan.Binding) { by.AgentID = plan.NotStated }, "",
		},
		{
			"another context", func(_ *plan.Declared, _ *plan.Presented, by *plan.Binding) { by.Context = "other" },
			plan.Elsewhere,
		},
		{
			"a session where none was declared",
			func(_ *plan.Declared, _ *plan.Presented, by *plan.Binding) { by.Session = "s2" }, "",
		},
		{"another session", func(d *plan.Declared, _ *plan.Presented, by *plan.Binding) {
			d.Binding.Session, by.Session = "s1", "s2"
		}, plan.Elsewhere},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := declared(t, `{"steps":[{"action":"a"}]}`)
			presented, by := plan.Presented{PlanID: "p1", Signature: "aabb"}, d.Binding
			tt.change(d, &presented, &by)
			got := plan.Check(d, presented, call(t, "a", ""), by, noon)
			if got.Drift != tt.want || got.OK != (tt.want == "") || got.OK == (got.Reason != "") {
				t.Errorf("Check = %+v, want drift %q", got, tt.want)
			}
		})
	}
	got := plan.Check(nil, plan.Presented{}, plan.Call{}, plan.Binding{}, noon)
	if got.OK || got.Drift != plan.NoPlan || !strings.Contains(got.Reason, "as intent_token") {
		t.Errorf("no plan: %+v", got)
	}
}

func TestFit(t *testing.T) {
	t.Parallel()
	const (
		shell  = `{"steps":[{"action":"Bash","mcp":"claude-code","params":{"command":"make"}},{"action":"Read","mcp":"claude-code"}]}`
		two    = `{"steps":[{"action":"search","mcp":"web","params":{"q":"x"}},{"action":"search","mcp":"mail"},{"action":"search","mcp":"web"}]}`
		strict = `{"steps":[{"action":"pay","mcp":"bank","params":{"to":"ada"},"strict":true}]}`
		nested = `{"steps":[{"action":"put","params":{"v":{"a":[1,2],"b":null}}}]}`
		codex  = `{"steps":[{"action":"exec_command","mcp":"codex"},{"action":"shell","mcp":"local"}]}`
		stripe = `{"steps":[{"action":"charge","mcp":"Stripe"}]}`
		kelvin = `{"steps":[{"action":"kill"}]}`
	)
	tests := []struct {
		name, plan, tool, args, want string
	}{
		{"as planned", shell, "Bash", `{"command":"make"}`, "[0]"},
		{"as planned, more given", shell, "Bash", `{"command":"make","timeout":5}`, "[0]"},
		{"other case", shell, " bash ", `{"command":"make"}`, "[0]"},
		{"with its server", shell, "claude-code.Bash", `{"command":"make"}`, "[0]"},
		{
			"another server", shell, "other.Bash", `{"command":"make"}`,
			"not in the plan; the plan allows claude-code.Bash, claude-code.Read",
		},
		{
			"the server in the tool too", strict, "bank.bank.pay", `{"to":"ada"}`,
			"the plan allows bank.pay; the call names its server twice: with the server bank, the tool is pay",
		},
		{"another server in the tool", strict, "bank.web.pay", `{"to":"ada"}`, "not in the plan"},
		{"server is compared as it is", shell, "Claude-Code.Bash", `{"command":"make"}`, "not in the plan"},
		{"another command", shell, "Bash", `{"command":"make; rm -rf /"}`, "another value for command"},
		{"argument left out", shell, "Bash", `{}`, "the plan gives command, which the call leaves out"},
		{"argument null", shell, "Bash", `{"command":null}`, "another value for command"},
		{"argument of another case", shell, "Bash", `{"Command":"make"}`, "command, which the call leaves out"},
		{"argument of another type", shell, "Bash", `{"command":["make"]}`, "another value for command"},
		{"free step", shell, "Read", `{"path":"/etc/passwd"}`, "[1]"},
		{"another tool", shell, "Write", `{}`, "not in the plan"},
		{"part of a name", shell, "Bas", `{"command":"make"}`, "not in the plan"},
		{"no name", shell, "", `{}`, "not in the plan"},
		{"several servers", two, "search", `{"q":"x"}`, "[0 1 2]"},
		{"several servers, arguments fit some", two, "search", `{"q":"y"}`, "[1 2]"},
		{"one server of several", two, "web.search", `{"q":"x"}`, "[0 2]"},
		{"strict, as planned", strict, "pay", `{"to":"ada"}`, "[0]"},
		{"strict, more given", strict, "pay", `{"to":"ada","cc":"bob"}`, "does not allow cc"},
		{"nested, other spelling", nested, "put", `{"v":{"b":null,"a":[1.0,2e0]}}`, "[0]"},
		{"nested, another order of a list", nested, "put", `{"v":{"a":[2,1],"b":null}}`, "another value for v"},
		{"nested, more inside", nested, "put", `{"v":{"a":[1,2],"b":null,"c":1}}`, "another value for v"},
		{"Codex calls its shell by other names", codex, "codex.Bash", `{}`, "[0]"},
		{"only Codex does", codex, "local.bash", `{}`, "not in the plan"},
		{"server in front of the name", stripe, "Stripe__charge", `{}`, "[0]"},
		{"another server in front", stripe, "Evil__charge", `{}`, "not in the plan"},
		{"MCP name of a harness", stripe, "mcp__Stripe__charge", `{}`, "[0]"},
		{"letters of other scripts are others", kelvin, "\u212aill", `{}`, "not in the plan"},
		{"empty plan", `{"steps":[]}`, "Bash", `{}`, "the plan allows nothing"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := parse(t, tt.plan).Fit(call(t, tt.tool, tt.args))
			if got.OK && fmt.Sprint(got.Steps) != tt.want || !got.OK && !strings.Contains(got.Reason, tt.want) ||
				got.OK != (got.Drift == "") {
				t.Errorf("Fit = %+v, want %s", got, tt.want)
			}
		})
	}
}

func TestServers(t *testing.T) {
	t.Parallel()
	p := parse(t,
		`{"steps":[{"action":"a","mcp":"x"},{"action":"a","mcp":"y"},{"action":"a","mcp":"x"},{"action":"b","mcp":"z"}]}`)
	if got := p.Servers(p.Fit(call(t, "a", "")).Steps); !slices.Equal(got, []string{"x", "y"}) {
		t.Errorf("Servers = %v", got)
	}
}

func TestReasonsStayShortAndShowNoValues(t *testing.T) {
	t.Parallel()
	var steps []string
	for i := range 400 {
		steps = append(steps, fmt.Sprintf(`{"action":"tool-%d-%s","params":{"password":"hunter2","%s":1}}`, i,
			strings.Repeat("x", 150), strings.Repeat("k", 180)))
	}
	p := parse(t, `{"steps":[`+strings.Join(steps, ",")+`]}`)
	for _, tool := range []string{"other", "tool-0-" + strings.Repeat("x", 150)} {
		got := p.Fit(call(t, tool, `{"password":"geheim"}`))
		if got.OK || len(got.Reason) > 1000 || strings.Contains(got.Reason, "hunter2") ||
			strings.Contains(got.Reason, "geheim") {
			t.Errorf("%s: %d bytes: %s", tool, len(got.Reason), got.Reason)
		}
	}
}

func TestWithoutArgumentsOnlyTheNameCounts(t *testing.T) {
	t.Parallel()
	p := parse(t, `{"steps":[{"action":"a","params":{"x":1}}]}`)
	if got := p.Fit(plan.Call{Tool: "a", NoArguments: true}); !got.OK {
		t.Errorf("Fit = %+v", got)
	}
	if got := p.Fit(plan.Call{Tool: "a"}); got.OK {
		t.Errorf("a call without arguments fits a step that gives some: %+v", got)
	}
}

func TestNext(t *testing.T) {
	t.Parallel()
	const (
		ordered = `{"ordered":true,"steps":[{"action":"a"},{"action":"b","max_calls":1},{"action":"a"},{"action":"c"}]}`
		counted = `{"steps":[{"action":"a","max_calls":2},{"action":"a"},{"action":"b","max_calls":1},{"action":"b","max_calls":1}]}`
	)
	tests := []struct {
		name, plan string
		steps      []int
		last       int
		uses       map[int]int64
		want       int
		drift      plan.Drift
	}{
		{"first", ordered, []int{0, 2}, -1, nil, 0, ""},
		{"second before the first", ordered, []int{1}, -1, nil, -1, plan.OutOfOrder},
		{"second", ordered, []int{1}, 0, nil, 1, ""},
		{"second twice", ordered, []int{1}, 1, map[int]int64{1: 1}, -1, plan.UsedUp},
		{"onwards rather than again", ordered, []int{0, 2}, 1, map[int]int64{1: 1}, 2, ""},
		{"again", ordered, []int{0, 2}, 2, nil, 2, ""},
		{"none is left out", ordered, []int{3}, 0, nil, -1, plan.OutOfOrder},
		{"never back", ordered, []int{1}, 2, nil, -1, plan.OutOfOrder},
		{"last", ordered, []int{3}, 2, nil, 3, ""},
		{"without a limit first", counted, []int{0, 1}, -1, nil, 1, ""},
		{"the next with a use left", counted, []int{2, 3}, -1, map[int]int64{2: 1}, 3, ""},
		{"all used up", counted, []int{2, 3}, -1, map[int]int64{2: 1, 3: 1}, -1, plan.UsedUp},
		{"fits none", counted, nil, -1, nil, -1, plan.NotInPlan},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, refused := parse(t, tt.plan).Next(tt.steps, plan.Progress{Last: tt.last, Uses: tt.uses})
			if got != tt.want || refused.Drift != tt.drift || refused.OK || (tt.want < 0) != (refused.Reason != "") {
				t.Errorf("Next = %d, %+v; want %d, %q", got, refused, tt.want, tt.drift)
			}
		})
	}
}

// TestOrderedPlansNeverSkip uses random plans at random and holds the order of
// first uses against the index.
func TestOrderedPlansNeverSkip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		tools := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 1, 6).Draw(t, "plan")
		var steps []string
		for _, tool := range tools {
			steps = append(steps, fmt.Sprintf(`{"action":%q,"max_calls":2}`, tool))
		}
		p, err := plan.Parse([]byte(`{"ordered":true,"steps":[` + strings.Join(steps, ",") + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		at := plan.Progress{Last: -1, Uses: map[int]int64{}}
		for _, tool := range rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 20).Draw(t, "calls") {
			fit := p.Fit(plan.Call{Tool: tool})
			step, _ := p.Next(fit.Steps, at)
			if step < 0 {
				continue
			}
			if !slices.Contains(fit.Steps, step) || step < at.Last || step > at.Last+1 || at.Uses[step] == 2 {
				t.Fatalf("step %d after %d, used %d times", step, at.Last, at.Uses[step])
			}
			at.Last = step
			at.Uses[step]++
		}
	})
}

func TestParsePresented(t *testing.T) {
	t.Parallel()
	const jwt = "eyJhbGciOiJFZERTQSJ9.eyJqdGkiOiJwMSJ9.c2ln" // {"jti":"p1"}
	tests := []struct {
		name, give string
		want       plan.Presented
	}{
		{"SDK's wrapper",
			`{"plan":{"steps":[]},"plan_id":"p1","token":{"plan_hash":"h","signature":"aa","policy":{}},"plan_hash":"h","intent_reference":"r","step_proofs":[]}`,
			plan.Presented{PlanID: "p1", Reference: "r", PlanHash: "h", Signature: "aa"}},
		{
			"an old SDK's, without plan_id", `{"token":{"signature":"aa"},"plan_hash":"h","intent_reference":"r"}`,
			plan.Presented{Reference: "r", PlanHash: "h", Signature: "aa"},
		},
		{
			"the signed token alone", `{"plan_hash":"h","signature":"aa"}`,
			plan.Presented{PlanHash: "h", Signature: "aa"},
		},
		{
			"wrapper in a string", `"{\"plan_id\":\"p1\",\"token\":{\"signature\":\"aa\"}}"`,
			plan.Presented{PlanID: "p1", Signature: "aa"},
		},
		{"JWT", `"` + jwt + `"`, plan.Presented{PlanID: "p1", JWT: jwt}},
		{"JWT in a wrapper", `{"jwtToken":"` + jwt + `","plan_id":"p2"}`, plan.Presented{PlanID: "p2", JWT: jwt}},
		{"JWT as the token", `{"token":"` + jwt + `"}`, plan.Presented{PlanID: "p1", JWT: jwt}},
		{"unknown", `"unknown"`, plan.Presented{}},
		{"null", `null`, plan.Presented{}},
		{"nothing", ``, plan.Presented{}},
		{"number", `1`, plan.Presented{}},
		{"wrong types", `{"plan_id":1,"token":[{"signature":"aa"}],"plan_hash":{}}`, plan.Presented{}},
		{"duplicate keys", `{"plan_id":"p1","plan_id":"p2","signature":"aa"}`, plan.Presented{}},
		{"not a JWT", `"a.b.c"`, plan.Presented{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := plan.ParsePresented([]byte(tt.give)); got != tt.want {
				t.Errorf("ParsePresented = %+v, want %+v", got, tt.want)
			}
		})
	}
}

func FuzzParsePresented(f *testing.F) {
	for _, seed := range []string{
		`{"token":{"token":{"token":{}}}}`, `"{\"token\":\"{}\"}"`, `"a.b.c"`, `{`, `"\ud800"`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		d := declared(t, `{"steps":[]}`)
		if r := plan.CheckPresented(d, plan.ParsePresented(raw), d.Binding, noon); r.OK &&
			!strings.Contains(string(raw), "aabb") {
			t.Fatalf("%q is taken as genuine", raw)
		}
	})
}

func FuzzParseArguments(f *testing.F) {
	for _, seed := range []string{`{"a":1,"b":{"c":[1,"}"]},"\u00e9\"":"\\"}`, `{}`, `null`, `[]`, `{"a":"\\\""}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		args, err := plan.ParseArguments(raw)
		if err != nil {
			return
		}
		again, err := plan.ParseArguments([]byte(args.Text()))
		if err != nil || again.Text() != args.Text() {
			t.Fatalf("%s reads back as %s (%v)", args.Text(), again.Text(), err)
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	d := declared(b,
		`{"steps":[{"action":"a"},{"action":"Bash","mcp":"claude-code","params":{"command":"go test ./..."}},{"action":"c"}]}`)
	presented := plan.Presented{PlanID: "p1", Signature: "aabb"}
	raw := []byte(`{"command":"go test ./...","timeout":60,"description":"run the tests"}`)
	b.ReportAllocs()
	for b.Loop() {
		args, err := plan.ParseArguments(raw)
		if err != nil {
			b.Fatal(err)
		}
		if r := plan.Check(d, presented, plan.Call{Tool: "Bash", Arguments: args}, d.Binding, noon); !r.OK {
			b.Fatal(r.Reason)
		}
	}
}
