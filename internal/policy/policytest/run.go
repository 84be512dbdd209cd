package policytest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"writ/internal/confine"
	"writ/internal/obligation"
	"writ/internal/policy/engine"
	"writ/internal/toolcall"
)

// Now is the time of calls that do not give one: a Thursday, at noon.
var Now = time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC)

// Result is the outcome of one test.
type Result struct {
	Test     Test
	Decision engine.Decision
	Failures []string // what differs from what is wanted
}

// Passed reports whether everything was as wanted.
func (r Result) Passed() bool { return len(r.Failures) == 0 }

// Run makes the decisions and compares them with what the tests want.
func (s *Suite) Run() []Result {
	results, _ := s.RunUntil(context.Background())
	return results
}

// RunUntil is Run for somebody who may leave: then it stops.
func (s *Suite) RunUntil(ctx context.Context) ([]Result, error) {
	set := NewSet(s.Policies...)
	results := make([]Result, len(s.Tests))
	for i, test := range s.Tests {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		call := *test.Call
		if call.Now.IsZero() {
			call.Now = Now
		}
		decision := set.Evaluate(&call, test.used)
		results[i] = Result{Test: test, Decision: decision, Failures: test.Want.compare(decision)}
	}
	return results, nil
}

// NewSet makes the policies active together, without bindings.
func NewSet(policies ...*engine.Policy) *engine.Set {
	active := make([]engine.Active, len(policies))
	for i, policy := range policies {
		active[i] = engine.Active{ID: fmt.Sprintf("policy-%d", i+1), Version: 1, Policy: policy}
	}
	return engine.NewSet(active)
}

var errUnknown = errors.New("the test says that it cannot be read")

func (t *Test) used(key engine.LimitKey) (int64, error) {
	used := t.Spent[key.RuleID]
	if used.Unknown {
		return 0, errUnknown
	}
	return used.Amount, nil
}

// Unspent reports every limit as unused.
func Unspent(engine.LimitKey) (int64, error) { return 0, nil }

// Name is the name of the call's tool in policies.
func Name(call *toolcall.Call) string { return call.Server + "." + call.Tool }

// limitsText is limits in an order that means nothing, or none.
func limitsText(l *confine.Limits) string {
	if l == nil {
		return "none"
	}
	return l.Intersect(*l).String()
}

// obligationsText is obligations in an order that means nothing, or none.
func obligationsText(s *obligation.Set) string {
	if s.IsZero() {
		return "none"
	}
	s = obligation.Both(s, &obligation.Set{MaxBytes: obligation.MaxBytes + 1})
	if s.MaxBytes > obligation.MaxBytes {
		return fmt.Sprintf("redact %q, labels %q", s.Redact, s.Labels)
	}
	return fmt.Sprintf("redact %q, labels %q, at most %d bytes", s.Redact, s.Labels, s.MaxBytes)
}

func (w Want) compare(d engine.Decision) []string {
	var failures []string
	differ := func(what, got, want string) {
		failures = append(failures, fmt.Sprintf("%s is %q, want %q", what, got, want))
	}
	if d.Verdict != w.Decision {
		differ("decision", d.Verdict.String(), w.Decision.String())
	}
	if w.Policy != "" && d.PolicyName != w.Policy {
		differ("policy", d.PolicyName, w.Policy)
	}
	if w.Rule != "" && d.Rule != w.Rule {
		differ("rule", d.Rule, w.Rule)
	}
	if got, want := limitsText(d.Confine), limitsText(w.Confine); got != want {
		differ("confine", got, want)
	}
	if got, want := obligationsText(d.Oblige), obligationsText(w.Oblige); got != want {
		differ("oblige", got, want)
	}
	if !strings.Contains(d.Reason, w.Reason) {
		failures = append(failures, fmt.Sprintf("reason is %q, want it to hold %q", d.Reason, w.Reason))
	}
	return failures
}
