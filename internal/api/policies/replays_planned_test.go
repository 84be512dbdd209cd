package policies_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"writ/client"
	"writ/internal/testserver"
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
func underPlan(w *testserver.Published, token, call string) planned {
	return askedAt(w, "/iap/sdk/enforce", token, call)
}

func hosted(w *testserver.Published, token, call string) planned {
	return askedAt(w, "/iap/enforce", token, call)
}

func askedAt(w *testserver.Published, path, token, call string) (answer planned) {
	w.T.Helper()
	got := w.Request(w.T, "POST", path, `{`+call+`,"agent_id":"one","intent_token":`+token+`}`, w.SDK()...)
	if got.Status != http.StatusOK {
		w.T.Fatalf("enforce %s: %d %s", call, got.Status, got.Body)
	}
	if err := json.Unmarshal(got.Body, &answer); err != nil {
		w.T.Fatal(err)
	}
	return answer
}

// TestReplaysOfPlannedCallsKeepTheirPromises: policies are asked about each step that
// a call fits, in each spelling; a replay says nothing else than they do.
func TestReplaysOfPlannedCallsKeepTheirPromises(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		w := &testserver.Published{Server: s, T: t, Owner: s.Person("owner")}
		known := 0
		for seed := range uint64(30) {
			random := rand.New(rand.NewPCG(seed, 23))
			w.Org = s.Organization(w.Owner, "Planned")
			w.Key = s.KeyFor(w.Owner.ID, w.Org).Secret.Reveal()
			plannedPromise(w, seed, random, &known)
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
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		w := &testserver.Published{Server: s, T: t, Owner: s.Person("owner")}
		w.Org = s.Organization(w.Owner, "Harness")
		w.Key = s.KeyFor(w.Owner.ID, w.Org).Secret.Reveal()
		id := w.ActivePolicy(w.Owner, w.Org, "version: v1\nname: promised\ndefault: allow\nrules: []\n")
		plan := `{"steps":[{"action":"Bash","mcp":"files"}],"metadata":{"goal":"g"}}`
		token := testserver.JSON(t, testserver.RawToken(json.RawMessage(plan), w.Mint(plan)))
		call := `"tool_name":"Bash","source":"armorclaude","tool_input":{}`
		was := hosted(w, token, call)
		draft, err := w.Owner.UpdatePolicy(t.Context(), id, client.YAMLDocument,
			"version: v1\nname: promised\ndefault: allow\nrules:\n  - {id: shell, effect: deny, tools: [\"claude-code.Bash\"]}\n", 1)
		if err != nil {
			t.Fatal(err)
		}
		answers, _ := promised(replay(w.Server, w.Owner.Client, w.Org, client.NewReplay{PolicyID: id}))
		if _, err := w.Owner.ActivatePolicy(t.Context(), id, draft.PolicyVersion); err != nil {
			t.Fatal(err)
		}
		now := hosted(w, token, call)
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

func plannedPromise(w *testserver.Published, seed uint64, random *rand.Rand, known *int) {
	t, ctx := w.T, w.T.Context()
	effects := []string{"allow", "deny", "hold", "ask"}
	id := w.ActivePolicy(w.Owner, w.Org,
		"version: v1\nname: promised\ndefault: allow\nrules:\n  - {id: t, effect: "+effects[random.IntN(4)]+
			", tools: [\"files.delete\"]}\n")
	plan := `{"steps":[` + strings.Join(drawLines(random, plannedSteps, 4), ",") + `],"metadata":{"goal":"g"}}`
	calls := drawLines(random, plannedCalls, 16)
	token := testserver.JSON(t, testserver.RawToken(json.RawMessage(plan), w.Mint(plan)))
	var before []planned
	for _, c := range calls {
		before = append(before, underPlan(w, token, c))
	}
	text := "version: v1\nname: promised\ndefault: " + effects[random.IntN(4)] + "\nrules:\n"
	for i, rule := range drawLines(random, plannedRules, 3) {
		text += fmt.Sprintf("  - {id: d%d, effect: %s, %s}\n", i, effects[random.IntN(4)], rule)
	}
	draft, err := w.Owner.UpdatePolicy(ctx, id, client.YAMLDocument, text, 1)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	answers, others := promised(replay(w.Server, w.Owner.Client, w.Org, client.NewReplay{PolicyID: id}))
	if _, err := w.Owner.ActivatePolicy(ctx, id, draft.PolicyVersion); err != nil {
		t.Fatal(err)
	}
	token = testserver.JSON(t, testserver.RawToken(json.RawMessage(plan), w.Mint(plan)))
	for i, c := range calls {
		now, was := underPlan(w, token, c), before[i]
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
