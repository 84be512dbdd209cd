package decisions_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"writ/internal/node"
	"writ/internal/testserver"
)

// groundingCase is a case of testdata/enforcement/grounding, which package grounding judges by itself too.
type groundingCase struct {
	Name      string `json:"name"`
	Prompt    string `json:"prompt"`
	Tool      string `json:"tool"`
	Class     string `json:"class"`
	Quiet     string `json:"quiet"`     // no running text before the outputs
	Early     string `json:"early"`     // the organization lets unplanned calls pass before text
	Dropped   string `json:"dropped"`   // older outputs are gone
	Unplanned string `json:"unplanned"` // no step has the call's tool
	// a call that brings an output would be held: only package grounding judges it
	Pure    string            `json:"pure"`
	Given   []string          `json:"given"`
	Fixed   []string          `json:"fixed"`
	Used    []string          `json:"used"`
	Outputs []groundingOutput `json:"outputs"`
	Call    json.RawMessage   `json:"call"`
	Expect  string            `json:"expect"`
}

type groundingOutput struct {
	Tool  string          `json:"tool"`
	Class string          `json:"class"`
	Asks  json.RawMessage `json:"asks"`
	Text  *string         `json:"text"`
}

func readGroundingCases(t *testing.T) (cases []groundingCase) {
	t.Helper()
	for _, name := range []string{"rules.yaml", "adaptive.yaml"} {
		text, err := os.ReadFile(filepath.Join(enforcementCases, "grounding", name))
		if err != nil {
			t.Fatal(err)
		}
		root, problems := node.ReadYAML(text)
		if len(problems) > 0 {
			t.Fatalf("%s: %v", name, problems)
		}
		in := json.NewDecoder(bytes.NewReader(nodeJSON(root)))
		in.DisallowUnknownFields()
		var some []groundingCase
		if err := in.Decode(&some); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		cases = append(cases, some...)
	}
	return cases
}

// TestGroundingCases asks a server about every case: the outputs are reported as an after-tool hook would.
func TestGroundingCases(t *testing.T) {
	t.Parallel()
	cases := readGroundingCases(t)
	if len(cases) < 150 {
		t.Errorf("%d cases, want at least 150", len(cases))
	}
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		w := newGroundingEnv(t, s)
		for i, c := range cases {
			if c.Pure != "" {
				continue
			}
			if c.Early != "" {
				w.settings(t,
					`{"intentRequired":false,"maxPlanTtlSeconds":86400,"grounding":"ask","unplannedBeforeText":"allow"}`)
			}
			w.session = fmt.Sprint("s-", i)
			if got := w.judge(t, c); !c.allows(got) {
				t.Errorf("%s: got %q, want %q", c.Name, got, c.Expect)
			}
			if c.Early != "" {
				w.settings(t, askSettings)
			}
		}
	})
}

// allows reports whether an answer is what the case expects, as far as answers tell.
func (c *groundingCase) allows(got string) bool {
	switch c.Expect {
	case "runs", "free_read", "only_user", "grounded":
		return got == "allow"
	case "held":
		return strings.HasPrefix(got, "ungrounded") || got == "not_in_plan"
	}
	return got == c.Expect
}

const askSettings = `{"intentRequired":false,"maxPlanTtlSeconds":86400,"grounding":"ask"}`

// groundingEnv is an organization that asks, whose servers are named after what their tools do.
type groundingEnv struct {
	server  *testserver.Server
	owner   *testserver.Person
	org     string
	key     string
	session string
	plan    minted
	// reports numbers the reports: two that are equal are one that was sent twice.
	reports  int
	reported map[string]any
}

func newGroundingEnv(t *testing.T, s *testserver.Server) *groundingEnv {
	t.Helper()
	w := &groundingEnv{server: s, owner: s.Person("owner"), session: "s"}
	w.org = s.Organization(w.owner, "Grounded")
	w.key = s.AgentKey(w.owner, w.org).APIKey
	s.ActivePolicy(w.owner, w.org, allowEverything)
	w.settings(t, askSettings)
	classes := `{"classes":[{"class":"read","tools":["read.*"]},{"class":"execute","tools":["execute.*"]}]}`
	w.put(t, "/tool-classes", classes)
	return w
}

func (w *groundingEnv) settings(t *testing.T, body string) {
	t.Helper()
	w.put(t, "/enforcement", body)
}

func (w *groundingEnv) put(t *testing.T, path, body string) {
	t.Helper()
	if err := w.owner.Call(t.Context(), http.MethodPut, "/organization/"+w.org+path, nil, json.RawMessage(body),
		nil); err != nil {
		t.Fatalf("PUT %s: %v", path, err)
	}
}

func (w *groundingEnv) post(t *testing.T, path string, body any) (int, []byte) {
	t.Helper()
	run := &caseRun{caseEnv: &caseEnv{server: w.server}, t: t}
	return run.post(path, w.key, quoteJSON(body))
}

// declare declares a plan in the session.
func (w *groundingEnv) declare(t *testing.T, body map[string]any) {
	t.Helper()
	body["session_id"] = w.session
	status, raw := w.post(t, "/iap/sdk/token", body)
	w.plan = nil
	if err := json.Unmarshal(raw, &w.plan); err != nil || status/100 != 2 {
		t.Fatalf("declare a plan: %d %s", status, raw)
	}
}

// groundedAnswer is what an answer says about a call.
type groundedAnswer struct {
	Allowed    bool   `json:"allowed"`
	Decision   string `json:"decision"`
	Rule       string `json:"rule"`
	DecidedBy  string `json:"decidedBy"`
	Reason     string `json:"reason"`
	ApprovalID string `json:"approvalId"`
	Grounding  []struct {
		Argument string `json:"argument"`
		Origin   string `json:"origin"`
		Of       string `json:"of"`
		Ordered  bool   `json:"ordered"`
	} `json:"grounding"`
}

// words are an answer as cases write it.
func (a groundedAnswer) words() string {
	if a.Allowed {
		return a.Decision
	}
	text := a.Rule
	for _, g := range a.Grounding {
		text += " " + g.Argument + ":" + g.Origin
		if g.Ordered {
			text += "!"
		}
	}
	return text
}

// ask asks about a call of a tool of a class.
func (w *groundingEnv) ask(t *testing.T, class, tool string, arguments json.RawMessage) groundedAnswer {
	t.Helper()
	if arguments == nil {
		arguments = json.RawMessage(`{}`)
	}
	status, raw := w.post(t, "/iap/sdk/enforce", map[string]any{
		"tool": tool, "mcp": class, "arguments": arguments, "session_id": w.session,
		"intent_token": w.plan["jwt_token"],
	})
	var a groundedAnswer
	if err := json.Unmarshal(raw, &a); err != nil || status != http.StatusOK {
		t.Fatalf("ask about %s: %d %s", tool, status, raw)
	}
	return a
}

// report reports what a call returned.
func (w *groundingEnv) report(t *testing.T, tool string, arguments json.RawMessage, output any) {
	t.Helper()
	if arguments == nil {
		arguments = json.RawMessage(`{}`)
	}
	w.reports++
	w.reported = map[string]any{
		"plan_id": w.plan.text("plan_id"), "tool": tool, "input": arguments, "output": output, "status": "success",
		"seq": w.reports,
	}
	status, raw := w.post(t, "/iap/audit", w.reported)
	if status/100 != 2 {
		t.Fatalf("report %s: %d %s", tool, status, raw)
	}
}

// returns makes a call that must run, and reports what it returned; nil: nobody reports it.
func (w *groundingEnv) returns(t *testing.T, class, tool string, arguments json.RawMessage, output *string) {
	t.Helper()
	if a := w.ask(t, class, tool, arguments); !a.Allowed {
		t.Errorf("%s: %s brings an output and is not allowed: %s", w.session, tool, a.Reason)
	}
	if output != nil {
		w.report(t, tool, arguments, *output)
	}
}

const groundingNoise = "The weather will stay nice for the whole week."

// judge plays a case.
func (w *groundingEnv) judge(t *testing.T, c groundingCase) string {
	t.Helper()
	class, tool := orText(c.Class, "write"), orText(c.Tool, "act")
	w.declare(t, c.request(class, tool))
	for _, value := range c.Used {
		w.returns(t, "write", "use", quoteJSON(map[string]string{"what": value}), new(string))
	}
	if c.Dropped != "" {
		for range 65 {
			w.returns(t, "read", "flood", nil, nil)
		}
	}
	if c.Quiet == "" {
		text := groundingNoise
		w.returns(t, "read", "noise", nil, &text)
	}
	for _, o := range c.Outputs {
		w.returns(t, orText(o.Class, "read"), orText(o.Tool, "read"), o.Asks, o.Text)
	}
	return w.ask(t, class, tool, c.Call).words()
}

// request is the plan of a case.
func (c *groundingCase) request(class, tool string) map[string]any {
	steps := []any{map[string]any{"action": "use", "mcp": "write"}}
	for i, value := range c.Given {
		steps = append(steps, map[string]any{
			"action": fmt.Sprint("given", i), "mcp": "write", "params": map[string]string{"v": value},
		})
	}
	if c.Unplanned == "" {
		step := map[string]any{"action": tool, "mcp": class}
		params := map[string]string{}
		for _, name := range c.Fixed {
			params[name] = strings.Fields(c.Prompt)[0] // something that the user said
		}
		step["params"] = params
		steps = append(steps, step)
	}
	return map[string]any{"prompt": c.Prompt, "plan": map[string]any{"goal": "g", "steps": steps}}
}

func orText(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

const allowEverything = `
version: v1
name: all
rules:
  - {id: all, effect: allow, tools: ["*"]}
`
