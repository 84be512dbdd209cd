package policytest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"writ/internal/policy/policytest"
	"writ/internal/verdict"
)

// decisions is the corpus: what the language means, case by case. The tests of
// the API run it over HTTP, and those of the command line by `writd policy test`.
const decisions = "../../../testdata/decisions"

func TestDecisions(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(decisions, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files of decisions, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			s, err := policytest.Load(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, result := range s.Run() {
				for _, failure := range result.Failures {
					t.Errorf("line %d: %s: %s", result.Test.At.Line, result.Test.Name, failure)
				}
			}
		})
	}
}

// TestDecisionsSayEnough keeps the corpus from shrinking, and its cases from
// wanting so little that they could not fail.
func TestDecisionsSayEnough(t *testing.T) {
	t.Parallel()
	cases, err := policytest.Cases(decisions)
	if err != nil {
		t.Fatal(err)
	}
	const least = 600
	if len(cases) < least {
		t.Errorf("%d cases, want at least %d", len(cases), least)
	}
	wanted, sendable := map[verdict.Verdict]int{}, 0
	for _, c := range cases {
		if c.Sendable() {
			sendable++
		}
		wanted[c.Test.Want.Decision]++
		if c.Test.Want.Reason == "" {
			t.Errorf("%s wants no reason", c.Name())
		}
		if c.Test.Want.Rule == "" && c.Test.Call.Tool != "" {
			t.Errorf("%s wants no rule", c.Name())
		}
	}
	if least := 300; sendable < least {
		t.Errorf("%d cases can be sent to a server, want at least %d", sendable, least)
	}
	for v, least := range map[verdict.Verdict]int{
		verdict.Allow: 150, verdict.Deny: 200, verdict.Hold: 30, verdict.Ask: 15,
	} {
		if wanted[v] < least {
			t.Errorf("%d cases want %s, want at least %d of them", wanted[v], v, least)
		}
	}
}

// TestDecisionsNameEveryRule finds rules of the corpus that no case is decided
// by: they show nothing.
func TestDecisionsNameEveryRule(t *testing.T) {
	t.Parallel()
	cases, err := policytest.Cases(decisions)
	if err != nil {
		t.Fatal(err)
	}
	named := map[*policytest.Suite]map[string]bool{}
	for _, c := range cases {
		if named[c.Suite] == nil {
			named[c.Suite] = map[string]bool{}
		}
		named[c.Suite][c.Test.Want.Rule] = true
	}
	for s, rules := range named {
		for _, policy := range s.Policies {
			for _, rule := range policy.Document().Rules {
				if !rules[rule.ID] {
					t.Errorf("%s: no case is decided by rule %s", filepath.Base(s.File), rule.ID)
				}
			}
		}
	}
}

func TestCases(t *testing.T) {
	t.Parallel()
	const (
		policy = "policy: {version: v1, name: p, rules: [{id: r, effect: allow, tools: [a.b]}]}\n"
		one    = policy + "tests: [{name: one, call: {server: a, tool: b}, want: {decision: allow}}]\n"
		two    = policy + "tests: [{name: two, call: {server: a, tool: c}, want: {decision: deny}}]\n"
	)
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string // names, or a part of the error
		fails bool
	}{
		{
			name:  "by file",
			files: map[string]string{"z.yaml": one, "a.yaml": two, "notes.txt": "no suite"},
			want:  "a/two, z/one",
		},
		{name: "nothing there", files: map[string]string{"notes.txt": one}, want: "no suite", fails: true},
		{
			name:  "one that is broken",
			files: map[string]string{"a.yaml": one, "b.yaml": "policy: 1"},
			want:  "b.yaml",
			fails: true,
		},
		{
			name:  "a policy beside a suite",
			files: map[string]string{"a.yaml": one, "p.yaml": "version: v1\nname: p\nrules: []\n"},
			want:  "p.yaml",
			fails: true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			for name, text := range c.files {
				if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			cases, err := policytest.Cases(folder)
			if c.fails {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("err = %v, want one with %q", err, c.want)
				}
				return
			}
			var names []string
			for _, found := range cases {
				names = append(names, found.Name())
			}
			if got := strings.Join(names, ", "); err != nil || got != c.want {
				t.Errorf("cases are %q, %v; want %q", got, err, c.want)
			}
		})
	}
}

// TestSendable has one case a server can be asked about, and all that it cannot.
func TestSendable(t *testing.T) {
	t.Parallel()
	const (
		open   = "{version: v1, name: p, rules: [{id: r, effect: allow, tools: [a.b], limit: {calls: 1, per: 1h}}]}"
		timed  = "{version: v1, name: p, rules: [{id: r, effect: allow, tools: [a.b], when: now.getHours() < 5}]}"
		placed = "{version: v1, name: p, rules: [{id: r, effect: allow, tools: [a.b], when: environment == 'sandbox'}]}"
		plain  = "call: {server: a, tool: b}"
	)
	for _, c := range []struct {
		name, policy, test string
		want               bool
	}{
		{"server, tool and arguments", "policy: " + open, "call: {server: a, tool: b, arguments: {x: 1}}", true},
		{"a user", "policy: " + open, "call: {server: a, tool: b, user: {id: u}}", false},
		{"an organization", "policy: " + open, "call: {server: a, tool: b, org: {id: o}}", false},
		{"a time", "policy: " + open, "call: {server: a, tool: b, now: '2026-01-01T00:00:00Z'}", false},
		{"a limit that is spent", "policy: " + open, plain + ", spent: {r: 1}", false},
		{"no server", "policy: " + open, "call: {server: '', tool: b}", false},
		{"no tool", "policy: " + open, "call: {server: a, tool: ''}", false},
		{"several policies", "policies: [" + open + ", " + open + "]", plain, false},
		{"a condition on the time", "policy: " + timed, plain, false},
		{"a condition on the environment", "policy: " + placed, plain, false},
		{
			"an environment that is stated", "policy: " + placed, "call: {server: a, tool: b, environment: sandbox}",
			true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			text := c.policy + "\ntests: [{name: one, " + c.test + ", want: {decision: allow}}]\n"
			s, err := policytest.Read("x.yaml", []byte(text), nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := (policytest.Case{Suite: s, Test: s.Tests[0]}).Sendable(); got != c.want {
				t.Errorf("sendable is %v, want %v", got, c.want)
			}
		})
	}
}

func TestCasesOfNoFolder(t *testing.T) {
	t.Parallel()
	if cases, err := policytest.Cases(filepath.Join(t.TempDir(), "absent")); err == nil {
		t.Errorf("%d cases of a folder that is not there", len(cases))
	}
}
