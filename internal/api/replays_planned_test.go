package api_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"writ/client"
)

// plannedSteps are what plans are made of: a tool on two servers and in two
// spellings, the same step more than once, and a harness' own tool on a server.
var plannedSteps = []string{
	`{"action":"delete","mcp":"files"}`, `{"action":"delete","mcp":"trash"}`, `{"action":"Delete","mcp":"files"}`,
	`{"action":"delete","mcp":"files","params":{"n":1}}`,
	`{"action":"pay","mcp":"bank","max_calls":1}`, `{"action":"pay","mcp":"bank"}`,
	`{"action":"files__delete","mcp":"bank"}`,
	`{"action":"Bash","mcp":"files"}`, `{"action":"Bash"}`,
}

var plannedCalls = []string{
	`"tool":"delete","arguments":{"n":1}`, `"tool":"delete","arguments":{"n":2}`, `"tool":"DELETE","arguments":{"n":1}`,
	`"tool":"delete","mcp":"files","arguments":{}`,
	`"tool":"pay","arguments":{"amount":5}`, `"tool":"files__delete","arguments":{}`,
	`"tool":"Bash","arguments":{}`,
}

var plannedRules = []string{
	`tools: ["files.delete"]`, `tools: ["files.Delete"]`, `tools: ["*.DELETE"]`, `tools: ["trash.*"]`,
	`tools: ["bank.*"]`, `tools: ["bank.files__delete"]`,
	`tools: ["*"], when: 'intent.step == "0"'`, `tools: ["*"], when: 'intent.step != "1"'`,
	`tools: ["*"], when: 'intent.step == "2"'`, `tools: ["*"], when: intent.declared`,
	`tools: ["claude-code.*"]`, `tools: ["files.Bash"]`,
	`tools: ["files.*"], limit: {calls: 2, per: 24h, by: org}`,
	`tools: ["*.delete"], limit: {calls: 1, per: 24h, by: agent}`,
}

// planned is what was answered about a call under a plan.
type planned struct {
	Decision   string `json:"decision"`
	Action     string `json:"action"` // the same, in the words of plugins
	DecisionID string `json:"decisionId"`
	DecidedBy  string `json:"decidedBy"`
}

// underPlan asks as an SDK does, hosted as a plugin of a harness.
func (w *wireWorld) underPlan(token, call string) planned {
	return w.askedAt("/iap/sdk/enforce", token, call)
}
func (w *wireWorld) hosted(token, call string) planned { return w.askedAt("/iap/enforce", token, call) }

func (w *wireWorld) askedAt(path, token, call string) (answer planned) {
	w.t.Helper()
	got := w.wire(w.t, "POST", path, `{`+call+`,"agent_id":"one","intent_token":`+token+`}`, w.sdk()...)
	if got.status != http.StatusOK {
		w.t.Fatalf("enforce %s: %d %s", call, got.status, got.body)
	}
	if err := json.Unmarshal(got.body, &answer); err != nil {
		w.t.Fatal(err)
	}
	return answer
}

// TestReplaysOfPlannedCallsKeepTheirPromises: policies are asked about each step that
// a call fits, in each spelling; a replay says nothing else than they do.
func TestReplaysOfPlannedCallsKeepTheirPromises(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		w := &wireWorld{server: s, t: t, owner: s.person("owner")}
		known := 0
		for seed := range uint64(30) {
			random := rand.New(rand.NewPCG(seed, 23))
			w.org = s.organization(w.owner, "Planned")
			w.key = s.keyFor(w.owner.ID, w.org).Secret.Reveal()
			w.plannedPromise(seed, random, &known)
		}
		if known < 60 {
			t.Errorf("%d answers were known: too few to say", known)
		}
	})
}

// TestReplaysAskAboutTheHarnessOwnTool: a plan that puts Bash on a server moves it
// neither in a decision nor in a replay, which cannot tell whether the client itself
// named the server.
func TestReplaysAskAboutTheHarnessOwnTool(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		w := &wireWorld{server: s, t: t, owner: s.person("owner")}
		w.org = s.organization(w.owner, "Harness")
		w.key = s.keyFor(w.owner.ID, w.org).Secret.Reveal()
		id := w.activePolicy(w.owner, w.org, "version: v1\nname: promised\ndefault: allow\nrules: []\n")
		plan := `{"steps":[{"action":"Bash","mcp":"files"}],"metadata":{"goal":"g"}}`
		token := jsonOf(t, rawToken(json.RawMessage(plan), w.mint(plan)))
		call := `"tool_name":"Bash","source":"armorclaude","tool_input":{}`
		was := w.hosted(token, call)
		draft, err := w.owner.UpdatePolicy(t.Context(), id, client.YAMLDocument,
			"version: v1\nname: promised\ndefault: allow\nrules:\n  - {id: shell, effect: deny, tools: [\"claude-code.Bash\"]}\n", 1)
		if err != nil {
			t.Fatal(err)
		}
		answers, _ := promised(w.replay(w.owner.Client, w.org, client.NewReplay{PolicyID: id}))
		if _, err := w.owner.ActivatePolicy(t.Context(), id, draft.PolicyVersion); err != nil {
			t.Fatal(err)
		}
		now := w.hosted(token, call)
		if said := answers[was.DecisionID]; was.Action != "allow" || now.Action != "deny" || said != "unknown" {
			t.Errorf("the call was %+v, is %+v, and the replay said %q", was, now, said)
		}
	})
}

func drawLines(random *rand.Rand, from []string, most int) (drawn []string) {
	for range 1 + random.IntN(most) {
		drawn = append(drawn, from[random.IntN(len(from))])
	}
	return drawn
}

func (w *wireWorld) plannedPromise(seed uint64, random *rand.Rand, known *int) {
	t, ctx := w.t, w.t.Context()
	effects := []string{"allow", "deny", "hold", "ask"}
	id := w.activePolicy(w.owner, w.org,
		"version: v1\nname: promised\ndefault: allow\nrules:\n  - {id: t, effect: "+effects[random.IntN(4)]+
			", tools: [\"files.delete\"]}\n")
	plan := `{"steps":[` + strings.Join(drawLines(random, plannedSteps, 4), ",") + `],"metadata":{"goal":"g"}}`
	calls := drawLines(random, plannedCalls, 16)
	token := jsonOf(t, rawToken(json.RawMessage(plan), w.mint(plan)))
	var before []planned
	for _, c := range calls {
		before = append(before, w.underPlan(token, c))
	}
	text := "version: v1\nname: promised\ndefault: " + effects[random.IntN(4)] + "\nrules:\n"
	for i, rule := range drawLines(random, plannedRules, 3) {
		text += fmt.Sprintf("  - {id: d%d, effect: %s, %s}\n", i, effects[random.IntN(4)], rule)
	}
	draft, err := w.owner.UpdatePolicy(ctx, id, client.YAMLDocument, text, 1)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	answers, others := promised(w.replay(w.owner.Client, w.org, client.NewReplay{PolicyID: id}))
	if _, err := w.owner.ActivatePolicy(ctx, id, draft.PolicyVersion); err != nil {
		t.Fatal(err)
	}
	token = jsonOf(t, rawToken(json.RawMessage(plan), w.mint(plan)))
	for i, c := range calls {
		now, was := w.underPlan(token, c), before[i]
		said, named := answers[was.DecisionID]
		switch {
		case now.DecidedBy == "writ:intent" || was.DecidedBy == "writ:intent" || said == "unknown":
		case named && said != now.Decision:
			t.Errorf("seed %d: call %d %s was %s, is %s, and the replay said %s: plan %s under\n%s", seed, i, c,
				was.Decision, now.Decision, said, plan, text)
		case !named && now.Decision != was.Decision:
			others--
		default:
			*known++
		}
	}
	if others < 0 {
		t.Errorf("seed %d: %d answers changed of which the replay said nothing: %v, plan %s, under\n%s", seed, -others,
			calls, plan, text)
	}
}
