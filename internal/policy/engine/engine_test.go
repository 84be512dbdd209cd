package engine_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/internal/policy/document"
	"writ/internal/policy/engine"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

// payments is the policy of the issue.
func payments() *document.Document {
	return &document.Document{
		Version: document.Version, Name: "payments", Default: verdict.Deny,
		Rules: []document.Rule{
			{
				ID:     "small-payments",
				Effect: verdict.Allow,
				Tools:  []document.Pattern{"bank.send_money", "stripe.*"},
				When:   `args.amount <= 1000 && args.currency == "EUR"`,
			},
			{ID: "large-payments", Effect: verdict.Hold, Tools: []document.Pattern{"bank.send_money"},
				When:      `args.amount > 1000`,
				Approvers: &document.Approvers{Role: "approver", Count: 2},
				Message:   "Payments over 1000 need a person."},
			{
				ID:     "pace",
				Effect: verdict.Deny,
				Tools:  []document.Pattern{"*"},
				Limit:  &document.Limit{Calls: 100, Per: time.Hour, By: document.Agent},
			},
		},
	}
}

func pay(server, tool string, args map[string]any) *toolcall.Call {
	return &toolcall.Call{
		Server: server,
		Tool:   tool,
		Args:   args,
		Agent:  toolcall.Agent{ID: "a1"},
		Now:    time.Unix(10_000, 0),
	}
}

func nothingSpent(engine.LimitKey) (int64, error) { return 0, nil }
func allSpent(key engine.LimitKey) (int64, error) { return 100, nil }

func TestDecisions(t *testing.T) {
	t.Parallel()
	set := engine.NewSet([]engine.Active{{ID: "p1", Version: 3, Policy: compile(t, payments())}})
	euros := func(n int64) map[string]any { return map[string]any{"amount": n, "currency": "EUR"} }
	for name, c := range map[string]struct {
		call   *toolcall.Call
		spent  engine.Spent
		want   verdict.Verdict
		rule   string
		reason string
	}{
		"allowed": {
			pay("bank", "send_money", euros(5)), nothingSpent, verdict.Allow, "small-payments",
			"allowed by rule small-payments of policy payments",
		},
		"by a pattern": {
			pay("stripe", "charge", euros(5)), nothingSpent, verdict.Allow, "small-payments",
			"allowed by rule small-payments of policy payments",
		},
		"held": {
			pay("bank", "send_money", euros(5000)), nothingSpent, verdict.Hold, "large-payments",
			"held for approval by rule large-payments of policy payments",
		},
		"no rule": {
			pay("bank", "close", nil), nothingSpent, verdict.Deny, "default",
			"no rule matches; denied by default of policy payments",
		},
		"another case": {
			pay("Bank", "send_money", euros(5)), nothingSpent, verdict.Deny, "default",
			"no rule matches; denied by default of policy payments",
		},
		"no tool": {pay("bank", "", euros(5)), nothingSpent, verdict.Deny, "", "the call names no tool"},
		"no argument": {
			pay("bank", "send_money", nil), nothingSpent, verdict.Hold, "large-payments",
			"held for approval by rule large-payments of policy payments, whose condition failed: no such key: amount",
		},
		"a wrong type": {
			pay("bank", "send_money", map[string]any{"amount": "5"}), nothingSpent, verdict.Hold, "large-payments",
			"held for approval by rule large-payments of policy payments, whose condition failed: no such overload: " +
				"a value has another type than the condition takes, such as text for a number",
		},
		"spent": {
			pay("bank", "send_money", euros(5)), allSpent, verdict.Deny, "pace",
			"denied by rule pace of policy payments: its limit of 100 calls is spent",
		},
		"counters are broken": {
			pay("bank", "send_money", euros(5)), func(engine.LimitKey) (int64, error) { return 0, errors.New("away") },
			verdict.Deny, "pace", "denied by rule pace of policy payments, whose limit could not be read",
		},
		"no counters": {
			pay("bank", "send_money", euros(5)), nil, verdict.Deny, "pace",
			"denied by rule pace of policy payments, whose limit could not be read",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := set.Evaluate(c.call, c.spent)
			if got.Verdict != c.want || got.Rule != c.rule || got.Reason != c.reason {
				t.Errorf("%s by %q: %s", got.Verdict, got.Rule, got.Reason)
			}
		})
	}
}

// TestADefaultThatSeveralPoliciesShare names none of them: the one that comes first may have nothing to do with the
// call.
func TestADefaultThatSeveralPoliciesShare(t *testing.T) {
	t.Parallel()
	named := func(id, name string, fallback verdict.Verdict, only ...string) engine.Active {
		doc := &document.Document{Version: "v1", Name: name, Default: fallback}
		return engine.Active{ID: id, Version: 1, Policy: compile(t, doc), Bindings: engine.Bindings{Agents: only}}
	}
	alone := "no rule matches; denied by default of policy mail"
	shared := "no rule of the active policies matches; denied by default"
	for name, c := range map[string]struct {
		other engine.Active
		want  string
	}{
		"the same":          {named("p2", "zoo", verdict.Deny), shared},
		"another":           {named("p2", "zoo", verdict.Allow), alone},
		"of another caller": {named("p2", "zoo", verdict.Deny, "somebody"), alone},
	} {
		set := engine.NewSet([]engine.Active{named("p1", "mail", verdict.Deny), c.other})
		got := set.Evaluate(pay("bank", "close", nil), nothingSpent)
		if got.Reason != c.want || got.PolicyName != "mail" {
			t.Errorf("%s: %q by %s, want %q", name, got.Reason, got.PolicyName, c.want)
		}
	}
}

func TestWhatADecisionSays(t *testing.T) {
	t.Parallel()
	set := engine.NewSet([]engine.Active{{ID: "p1", Version: 3, Policy: compile(t, payments())}})
	got := set.Evaluate(pay("bank", "send_money", map[string]any{"amount": int64(5000)}), nothingSpent)
	want := engine.Decision{
		Ruling: verdict.Ruling{
			Verdict:       verdict.Hold,
			PolicyID:      "p1",
			PolicyName:    "payments",
			PolicyVersion: 3,
			Rule:          "large-payments",
			Reason:        "held for approval by rule large-payments of policy payments",
			Message:       "Payments over 1000 need a person.",
		},
		Approvers: &document.Approvers{Role: "approver", Count: 2},
		Claims: []engine.Claim{{Max: 100, LimitKey: engine.LimitKey{
			PolicyID: "p1",
			RuleID:   "pace",
			Unit:     engine.Calls,
			By:       document.Agent,
			Subject:  "a1",
			Window:   7200,
			Per:      3600,
		}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestNoPolicyDenies(t *testing.T) {
	t.Parallel()
	bound := engine.Active{
		ID:       "p",
		Policy:   compile(t, &document.Document{Name: "x", Default: verdict.Allow}),
		Bindings: engine.Bindings{Users: []string{"ann", ""}},
	}
	for name, active := range map[string][]engine.Active{"none at all": nil, "none for this caller": {bound}} {
		got := engine.NewSet(active).Evaluate(pay("s", "t", nil), nothingSpent)
		if got.Verdict != verdict.Deny || got.Rule != "" || !strings.HasPrefix(got.Reason, "no active policy") {
			t.Errorf("%s: %+v", name, got)
		}
	}
	missing := engine.NewSet([]engine.Active{{ID: "p"}}).Evaluate(pay("s", "t", nil), nothingSpent)
	if missing.Verdict != verdict.Deny || missing.PolicyID != "p" {
		t.Errorf("a policy that is missing: %+v", missing)
	}
}

func TestLimitsOfWhatIsAllowed(t *testing.T) {
	t.Parallel()
	set := engine.NewSet([]engine.Active{{ID: "p",
		Policy: compile(t, &document.Document{Name: "x", Rules: []document.Rule{{
			ID: "few", Effect: verdict.Allow, Tools: []document.Pattern{"s.t"}, When: "args.n > 1",
			Limit: &document.Limit{Calls: 2, Per: time.Minute, By: document.User},
		}}})}})
	call := pay("s", "t", map[string]any{"n": int64(2)})
	for used, want := range []verdict.Verdict{verdict.Allow, verdict.Allow, verdict.Deny, verdict.Deny} {
		got := set.Evaluate(call, func(key engine.LimitKey) (int64, error) {
			if key.Subject != "" || key.Window != 9960 || key.Per != 60 {
				t.Errorf("asked about %+v", key)
			}
			return int64(used), nil
		})
		if got.Verdict != want || (len(got.Claims) == 1) != (want == verdict.Allow) {
			t.Errorf("with %d used: %s, claims %v", used, got.Verdict, got.Claims)
		}
		const spent = "rule few of policy x would allow it, but its limit of 2 calls is spent; " +
			"no other rule matches; denied by default of policy x"
		if got.Verdict == verdict.Deny && got.Reason != spent {
			t.Errorf("with %d used: %q, want %q", used, got.Reason, spent)
		}
	}
	unread := set.Evaluate(call, func(engine.LimitKey) (int64, error) { return 0, errors.New("away") })
	if unread.Verdict != verdict.Deny || !strings.Contains(unread.Reason, "but its limit could not be read; no other") {
		t.Errorf("a limit that cannot be read: %s, %q", unread.Verdict, unread.Reason)
	}
	if got := set.Evaluate(pay("s", "t", map[string]any{"n": int64(1)}), func(engine.LimitKey) (int64, error) {
		t.Error("a rule that does not match asks for its limit")
		return 0, nil
	}); got.Verdict != verdict.Deny {
		t.Errorf("not matching: %s", got.Verdict)
	}
}

func TestCostAndTokensAreNotClaimed(t *testing.T) {
	t.Parallel()
	limited := func(id string, l document.Limit) document.Rule {
		l.Per, l.By = time.Hour, document.Organization
		return document.Rule{ID: id, Effect: verdict.Deny, Tools: []document.Pattern{"*"}, Limit: &l}
	}
	set := engine.NewSet([]engine.Active{{ID: "p",
		Policy: compile(t, &document.Document{Name: "x", Default: verdict.Allow, Rules: []document.Rule{
			limited("cost", document.Limit{Cost: 5_500_000_000}), limited("tokens", document.Limit{Tokens: 1000}),
		}})}})
	call := pay("s", "t", nil)
	if got := set.Evaluate(call, nothingSpent); got.Verdict != verdict.Allow || len(got.Claims) != 0 {
		t.Errorf("nothing spent: %+v", got)
	}
	got := set.Evaluate(call, func(key engine.LimitKey) (int64, error) {
		if key.Unit == engine.Cost {
			return 5_500_000_000, nil
		}
		return 0, nil
	})
	if got.Verdict != verdict.Deny ||
		got.Reason != "denied by rule cost of policy x: its limit of 5.5 US dollars is spent" {
		t.Errorf("cost spent: %s, %s", got.Verdict, got.Reason)
	}
}

// TestConditionsThatCannotMatterDoNotRun counts by failures: every condition
// here fails when it is evaluated.
func TestConditionsThatCannotMatterDoNotRun(t *testing.T) {
	t.Parallel()
	rule := func(id string, effect verdict.Verdict, when string) document.Rule {
		return document.Rule{ID: id, Effect: effect, Tools: []document.Pattern{"*"}, When: when}
	}
	for name, c := range map[string]struct {
		rules []document.Rule
		want  []string
	}{
		"after a deny": {
			[]document.Rule{
				rule("a", verdict.Deny, ""), rule("b", verdict.Deny, "args.x"), rule("c", verdict.Allow, "args.x"),
			},
			nil,
		},
		"before a deny": {
			[]document.Rule{rule("b", verdict.Deny, ""), rule("a", verdict.Deny, "args.x")}, []string{"a"},
		},
		"after a failed deny": {
			[]document.Rule{rule("a", verdict.Deny, "args.x"), rule("b", verdict.Deny, "args.x")}, []string{"a"},
		},
		"weaker than a hold": {
			[]document.Rule{
				rule("a", verdict.Hold, ""), rule("b", verdict.Allow, "args.x"), rule("c", verdict.Ask, "args.x"),
			},
			nil,
		},
		"all of them": {
			[]document.Rule{
				rule("a", verdict.Allow, "args.x"), rule("b", verdict.Allow, "args.x"), rule("c", verdict.Allow, ""),
			},
			[]string{"a", "b"},
		},
	} {
		set := engine.NewSet([]engine.Active{
			{ID: "p", Policy: compile(t, &document.Document{Name: "x", Rules: c.rules})},
		})
		var got []string
		for _, f := range set.Evaluate(pay("s", "t", nil), nothingSpent).Failed {
			got = append(got, f.Rule)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestFailuresAreBounded(t *testing.T) {
	t.Parallel()
	doc := &document.Document{Name: "x"}
	for i := range 100 {
		doc.Rules = append(doc.Rules, document.Rule{
			ID:     string(rune('a'+i/26)) + string(rune('a'+i%26)),
			Effect: verdict.Allow,
			Tools:  []document.Pattern{"*"},
			When:   "args.x",
		})
	}
	got := engine.NewSet([]engine.Active{{ID: "p", Policy: compile(t, doc)}}).Evaluate(pay("s", "t", nil), nothingSpent)
	if len(got.Failed) != 20 || got.Verdict != verdict.Deny {
		t.Errorf("%d failures, %s", len(got.Failed), got.Verdict)
	}
}

// TestManyHeavyConditionsDeny has each condition stay under its own bound.
func TestManyHeavyConditionsDeny(t *testing.T) {
	t.Parallel()
	doc := &document.Document{Name: "x", Default: verdict.Allow}
	for i := range 40 {
		doc.Rules = append(doc.Rules, document.Rule{
			ID: string(rune('a'+i/26)) + string(rune('a'+i%26)), Effect: verdict.Deny, Tools: []document.Pattern{"*"},
			When: "args.list.exists(x, x < 0)",
		})
	}
	list := make([]any, 30_000)
	for i := range list {
		list[i] = int64(i)
	}
	got := engine.NewSet([]engine.Active{
		{ID: "p", Policy: compile(t, doc)},
	}).Evaluate(pay("s", "t", map[string]any{"list": list}), nothingSpent)
	if got.Verdict != verdict.Deny || !strings.Contains(got.Reason, "too much work") {
		t.Errorf("%s: %s", got.Verdict, got.Reason)
	}
	short := pay("s", "t", map[string]any{"list": list[:10]})
	if got := engine.NewSet([]engine.Active{{ID: "p", Policy: compile(t, doc)}}).Evaluate(short,
		nothingSpent); got.Verdict != verdict.Allow {
		t.Errorf("a short list: %s: %s", got.Verdict, got.Reason)
	}
}

// TestOneNameOneMeaning: who writes a call must not choose, by where its name is
// cut in two, which conditions see it.
func TestOneNameOneMeaning(t *testing.T) {
	t.Parallel()
	for _, when := range []string{
		`server == "k8s"`, `tool.startsWith("pods.")`, `server + "." + tool == "k8s.pods.delete" && server == "k8s"`,
	} {
		p, problems := engine.Compile(&document.Document{Version: "v1", Name: "p", Default: verdict.Allow,
			Rules: []document.Rule{
				{ID: "no-pods", Effect: verdict.Deny, Tools: []document.Pattern{"k8s.*"}, When: when},
			}})
		if problems != nil {
			t.Fatal(problems)
		}
		set := engine.NewSet([]engine.Active{{ID: "p", Version: 1, Policy: p}})
		for _, call := range []toolcall.Call{
			{Server: "k8s", Tool: "pods.delete"}, {Server: "k8s.pods", Tool: "delete"},
		} {
			if got := set.Evaluate(&call, nil).Verdict; got != verdict.Deny {
				t.Errorf("%s: %s and %s: %s, want deny", when, call.Server, call.Tool, got)
			}
		}
	}
}

// TestReadsIntent: whoever asks policies about those who delegated a call leaves out what none of them reads.
func TestReadsIntent(t *testing.T) {
	t.Parallel()
	for when, reads := range map[string]bool{
		"":                                    false,
		`args.amount > 1`:                     false,
		`intent.goal == "tidy"`:               true,
		`args.amount > 1 && has(intent.step)`: true,
		`[1].exists(intent, .intent.goal == "tidy")`:     true,
		`args.list.exists(i, i == 1) && agent.id == "a"`: false,
	} {
		set := engine.NewSet([]engine.Active{{ID: "p1", Version: 1, Policy: compile(t, &document.Document{
			Version: document.Version, Name: "p", Default: verdict.Deny,
			Rules: []document.Rule{
				{ID: "r", Effect: verdict.Allow, Tools: []document.Pattern{"*"}, When: when},
			},
		})}})
		if got := set.ReadsIntent(); got != reads {
			t.Errorf("%q reads the intent: %t, want %t", when, got, reads)
		}
	}
}

// TestADefaultTellsOfAMissingServer: a rule for web.fetch is no rule for a tool of that name whose server nobody said.
func TestADefaultTellsOfAMissingServer(t *testing.T) {
	t.Parallel()
	set := setOfRules(t, document.Rule{ID: "r", Effect: verdict.Allow, Tools: []document.Pattern{"web.fetch"}})
	for _, c := range []struct {
		server, tool string
		want         bool
	}{
		{"local", "web.fetch", true}, {"local", "fetch", false}, {"other", "web.fetch", false},
	} {
		got := set.Evaluate(&toolcall.Call{Server: c.server, Tool: c.tool}, nil)
		if got.Verdict != verdict.Deny || strings.Contains(got.Reason, "the call names no server") != c.want {
			t.Errorf("%s of %s: %s, %s", c.tool, c.server, got.Verdict, got.Reason)
		}
	}
	if got := set.Evaluate(&toolcall.Call{Server: "web", Tool: "fetch"}, nil); got.Verdict != verdict.Allow {
		t.Errorf("%s: %s", got.Verdict, got.Reason)
	}
}
