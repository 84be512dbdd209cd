package clientpolicy_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"writ/internal/policy/clientpolicy"
	"writ/internal/policy/document"
	"writ/internal/policy/engine"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

func set(t fataler, docs ...*document.Document) *engine.Set {
	t.Helper()
	var active []engine.Active
	for _, doc := range docs {
		policy, problems := engine.Compile(doc)
		if problems != nil {
			t.Fatalf("compile: %v", problems)
		}
		active = append(active, engine.Active{ID: doc.Name, Version: 1, Policy: policy})
	}
	return engine.NewSet(active)
}

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

func TestForPlan(t *testing.T) {
	t.Parallel()
	s := set(t, &document.Document{
		Version: "v1", Name: "work", Rules: []document.Rule{
			{ID: "reads", Effect: verdict.Allow, Tools: []document.Pattern{"files.read_*"}},
			{
				ID:     "sandbox-writes",
				Effect: verdict.Allow,
				Tools:  []document.Pattern{"files.write"},
				When:   `environment == "sandbox"`,
			},
			{ID: "small", Effect: verdict.Allow, Tools: []document.Pattern{"bank.pay"}, When: `amount(args) <= 1000`},
			{
				ID:     "pace",
				Effect: verdict.Allow,
				Tools:  []document.Pattern{"mail.send"},
				Limit:  &document.Limit{Calls: 5, Per: time.Hour, By: document.Agent},
			},
			{ID: "no-shell", Effect: verdict.Deny, Tools: []document.Pattern{"*.shell"}, Message: "Never a shell."},
			{ID: "some-shell", Effect: verdict.Allow, Tools: []document.Pattern{"box.shell"}, When: `args.x == 1`},
		},
	})
	tools := []clientpolicy.Tool{
		{"files", "read_file"}, {"files", "write"}, {"bank", "pay"}, {"mail", "send"}, {"box", "shell"},
		{"other", "thing"}, {"files", "read_file"},
	}
	got, snapshot := clientpolicy.ForPlan(s, toolcall.Call{Environment: "sandbox"}, tools)
	want := clientpolicy.Validation{
		AllowedTools: []string{"read_file", "write"},
		DeniedTools:  []string{"pay", "send", "shell", "thing"},
		DeniedReasons: []string{
			"pay: needs server enforcement", "send: needs server enforcement", "shell: Never a shell.",
			"thing: no rule matches; denied by default of policy work",
		},
		DefaultEnforcementAction: "block",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("validation (-want +got):\n%s", diff)
	}
	var targets []string
	for _, e := range snapshot {
		targets = append(targets, e.TargetName)
	}
	if diff := cmp.Diff([]string{"box", "bank", "mail", "files", "other"}, targets); diff != "" {
		t.Errorf("targets (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"read_file", "write"}, snapshot[3].Rules.AllowedTools); diff != "" {
		t.Errorf("allowed on files (-want +got):\n%s", diff)
	}
}

func TestANameDeniedOnOneServerIsDeniedOnAll(t *testing.T) {
	t.Parallel()
	s := set(t, &document.Document{Version: "v1", Name: "p", Rules: []document.Rule{
		{ID: "a", Effect: verdict.Allow, Tools: []document.Pattern{"safe.run"}},
	}})
	got, _ := clientpolicy.ForPlan(s, toolcall.Call{}, []clientpolicy.Tool{{"safe", "run"}, {"unsafe", "run"}})
	if len(got.AllowedTools) != 0 || !cmp.Equal(got.DeniedTools, []string{"run"}) {
		t.Errorf("allowed %v, denied %v; an SDK cannot tell the two apart, so both must be denied", got.AllowedTools,
			got.DeniedTools)
	}
}

func TestHoldOnlyWhereNothingIsDenied(t *testing.T) {
	t.Parallel()
	s := set(t, &document.Document{Version: "v1", Name: "p", Default: verdict.Hold})
	got, _ := clientpolicy.ForPlan(s, toolcall.Call{}, []clientpolicy.Tool{{"s", "t"}})
	if got.DefaultEnforcementAction != "hold" {
		t.Errorf("action %s, want hold", got.DefaultEnforcementAction)
	}
}

// TestNeverLooser draws policies, plans and calls, and holds what an SDK would
// do by itself against what the server would say.
func TestNeverLooser(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		doc := drawDocument(rt)
		s := set(rt, doc, drawDocument(rt))
		tools := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) clientpolicy.Tool {
			return clientpolicy.Tool{
				Server: rapid.SampledFrom(servers).Draw(rt, "server"), Name: rapid.SampledFrom(names).Draw(rt, "tool"),
			}
		}), 1, 6).Draw(rt, "plan")
		caller := toolcall.Call{
			Environment: rapid.SampledFrom([]string{"sandbox", "production"}).Draw(rt, "environment"),
			Now:         time.Unix(1_800_000_000, 0),
		}
		validation, snapshot := clientpolicy.ForPlan(s, caller, tools)
		call := caller
		chosen := rapid.SampledFrom(tools).Draw(rt, "called")
		call.Server, call.Tool = chosen.Server, chosen.Name
		call.Args = drawArgs(rt)
		spent := rapid.Int64Range(0, 10).Draw(rt, "spent")
		server := s.Evaluate(&call, func(engine.LimitKey) (int64, error) { return spent, nil }).Verdict
		local := localVerdict(validation, snapshot, chosen.Server, chosen.Name)
		// Where the answer depends on the call an SDK holds it, and so comes to
		// the server, which then denies.
		asksServer := local == verdict.Hold && !s.Foresee(&call).Certain
		if local > server && !asksServer {
			rt.Fatalf("an SDK would %s %s.%s with %v, the server says %s", local, chosen.Server, chosen.Name, call.Args,
				server)
		}
	})
}

var (
	servers    = []string{"bank", "bank-eu", "files", "a.b"}
	names      = []string{"pay", "read", "write", "b.pay"}
	patterns   = []document.Pattern{"*", "bank.*", "bank.pay", "*.pay", "files.w*", "bank*.read", "a.b.pay", "*.b.*"}
	conditions = []string{
		"", "", `args.amount > 5`, `environment == "production"`, `has(args.amount) && args.amount > 5`,
		`amount(args) <= 5`, `tool == "pay"`, `agent.name == ""`,
	}
)

func drawDocument(rt *rapid.T) *document.Document {
	doc := &document.Document{
		Version: "v1", Name: rapid.SampledFrom([]string{"one", "two"}).Draw(rt, "name"), Default: drawVerdict(rt),
	}
	for i := range rapid.IntRange(0, 5).Draw(rt, "rules") {
		rule := document.Rule{
			ID: string(rune('a' + i)), Effect: drawVerdict(rt),
			Tools: []document.Pattern{rapid.SampledFrom(patterns).Draw(rt, "pattern")},
			When:  rapid.SampledFrom(conditions).Draw(rt, "when"),
		}
		if rapid.IntRange(0, 3).Draw(rt, "limited") == 0 {
			rule.Limit = &document.Limit{Calls: 5, Per: time.Hour, By: document.Agent}
		}
		doc.Rules = append(doc.Rules, rule)
	}
	return doc
}

func drawVerdict(rt *rapid.T) verdict.Verdict {
	return verdict.Verdict(rapid.Uint8Range(0, uint8(verdict.Allow)).Draw(rt, "verdict"))
}

func drawArgs(rt *rapid.T) map[string]any {
	return rapid.SampledFrom([]map[string]any{
		nil, {"amount": int64(3)}, {"amount": int64(9)}, {"amount": "9"}, {"amount": []any{}}, {"total": 9.5},
		{"other": true},
	}).Draw(rt, "args")
}
