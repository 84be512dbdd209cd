package engine_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"writ/internal/confine"
	"writ/internal/policy/document"
	"writ/internal/policy/engine"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

// The names are few and alike, so that patterns often meet them and often just
// miss.
var (
	servers  = []string{"bank", "bank2", "ban", "git", "a.b", ""}
	tools    = []string{"send", "send_money", "read", "read.all", "b.read", "delete", "s"}
	patterns = []document.Pattern{
		"*", "*.*", "bank.*", "ban*.*", "*k.*", "b*k.send", "a.*", "a.b.*", "*.send", "*.send*", "*.*money", "*.s*d",
		"bank.send", "bank.send_money", "bank.s*", "bank.*d*", "bank.*e*", "b*.s*", "ba*.*n*", "*a*.*", "*.*s*",
		"bank*.*", "*.*d", "git.read", "git.r*l", "*.read.all", "bank2.read*", "*2.re*",
	}
	verdicts = []verdict.Verdict{verdict.Deny, verdict.Hold, verdict.Ask, verdict.Allow}
)

// conditions hold, do not, fail, or depend on the call.
var conditions = []string{
	"", "", "true", "false", "args.missing == 1", "args.n > 5", "args.n <= 5", `agent.id == "a1"`,
	`has(args.n) && args.n > 2`,
}

func drawCall(t *rapid.T) *toolcall.Call {
	call := &toolcall.Call{
		Server: rapid.SampledFrom(servers).Draw(t, "server"),
		Tool:   rapid.SampledFrom(append(tools, "")).Draw(t, "tool"),
		Agent:  toolcall.Agent{ID: rapid.SampledFrom([]string{"", "a1", "a2"}).Draw(t, "agent")},
		User: toolcall.User{
			ID:   rapid.SampledFrom([]string{"", "u1"}).Draw(t, "user"),
			Role: rapid.SampledFrom([]string{"", "admin"}).Draw(t, "role"),
		},
		Session: toolcall.Session{ID: "s1"},
		Org:     toolcall.Org{ID: "o1"},
		Now:     time.Unix(rapid.Int64Range(-100_000, 100_000).Draw(t, "now"), 0),

		CanConfine: rapid.Bool().Draw(t, "can confine"),
	}
	if rapid.Bool().Draw(t, "has n") {
		call.Args = map[string]any{"n": rapid.Int64Range(0, 10).Draw(t, "n")}
	}
	return call
}

func drawRule(t *rapid.T, id string) document.Rule {
	r := document.Rule{
		ID:     id,
		Effect: rapid.SampledFrom(verdicts).Draw(t, "effect"),
		Tools: rapid.SliceOfN(rapid.SampledFrom(patterns), 1,
			rapid.SampledFrom([]int{1, 3, 30}).Draw(t, "most tools")).Draw(t, "tools"),
		When: rapid.SampledFrom(conditions).Draw(t, "when"),
	}
	if r.Effect == verdict.Hold {
		r.Approvers = &document.Approvers{Role: "admin", Count: 1}
	}
	if r.Effect == verdict.Allow && rapid.Bool().Draw(t, "confined") {
		r.Confine = &confine.Limits{
			Write: rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"workspace", "/srv", "/srv/a", "~/x"}), 0, 3,
				rapid.ID).Draw(t, "write"),
			Net: rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a.com:443", "b.com:443"}), 0, 2,
				rapid.ID).Draw(t, "net"),
		}
		r.Otherwise = rapid.SampledFrom([]verdict.Verdict{verdict.Deny, verdict.Hold, verdict.Allow}).Draw(t,
			"otherwise")
	}
	if rapid.IntRange(0, 3).Draw(t, "limited") == 0 {
		r.Limit = &document.Limit{Per: time.Hour, By: rapid.SampledFrom([]document.Subject{
			document.Agent, document.Session, document.User, document.Organization,
		}).Draw(t, "by")}
		switch rapid.IntRange(0, 2).Draw(t, "unit") {
		case 0:
			r.Limit.Calls = 10
		case 1:
			r.Limit.Cost = 10
		default:
			r.Limit.Tokens = 10
		}
	}
	return r
}

func drawDocument(t *rapid.T, name string) *document.Document {
	doc := &document.Document{
		Version: document.Version, Name: name, Default: rapid.SampledFrom(verdicts).Draw(t, "default"),
	}
	for i := range rapid.IntRange(0, 6).Draw(t, "rules") {
		doc.Rules = append(doc.Rules, drawRule(t, fmt.Sprintf("r%d", i)))
	}
	return doc
}

func drawActive(t *rapid.T) []engine.Active {
	var active []engine.Active
	for i := range rapid.IntRange(0, 4).Draw(t, "policies") {
		// Two names for up to four policies: ids must decide between equals.
		doc := drawDocument(t, rapid.SampledFrom([]string{"x", "y"}).Draw(t, "name"))
		a := engine.Active{ID: fmt.Sprintf("p%d", i), Version: 1, Policy: compile(t, doc)}
		switch rapid.IntRange(0, 5).Draw(t, "bound") {
		case 0:
			a.Bindings.Agents = []string{"a1", ""}
		case 1:
			a.Bindings.Users = []string{"u1"}
		case 2:
			a.Bindings.Roles = []string{"admin"}
		}
		active = append(active, a)
	}
	return active
}

// counters answers for limits as a function of their key, so that the same
// question always has the same answer: nothing used, all used, or an error.
func counters(t *rapid.T) engine.Spent {
	salt := rapid.IntRange(0, 2).Draw(t, "counters")
	return func(key engine.LimitKey) (int64, error) {
		switch (len(key.PolicyID+key.RuleID+key.Subject) + int(key.RuleID[len(key.RuleID)-1]) + salt) % 3 {
		case 0:
			return 0, nil
		case 1:
			return 10, nil
		}
		return 0, errors.New("the store is away")
	}
}

type fataler interface {
	Helper()
	Fatalf(string, ...any)
}

func compile(t fataler, doc *document.Document) *engine.Policy {
	t.Helper()
	p, problems := engine.Compile(doc)
	if len(problems) > 0 {
		t.Fatalf("compile: %v", problems)
	}
	return p
}

func shuffled[T any](t *rapid.T, items []T) []T {
	if len(items) == 0 {
		return nil
	}
	return rapid.Permutation(items).Draw(t, "order")
}

func check(t *testing.T, property func(*rapid.T)) {
	t.Helper()
	t.Parallel()
	rapid.Check(t, property)
}
