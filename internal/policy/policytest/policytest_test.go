package policytest_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"writ/internal/policy/policytest"
)

func load(t *testing.T, path string) *policytest.Suite {
	t.Helper()
	s, err := policytest.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSuitesPass(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"testdata/payments.test.yaml", "testdata/everything.yaml"} {
		results := load(t, path).Run()
		if len(results) < 2 {
			t.Errorf("%s: %d results", path, len(results))
		}
		for _, r := range results {
			if !r.Passed() {
				t.Errorf("%s:%d: %s: %v", path, r.Test.At.Line, r.Test.Name, r.Failures)
			}
		}
	}
}

// Every part of want can fail.
func TestSuiteFails(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		want policytest.Want
		fail string
	}{
		{"decision", policytest.Want{}, `decision is "allow", want "deny"`},
		{"policy", policytest.Want{Policy: "x"}, `policy is "payments", want "x"`},
		{"rule", policytest.Want{Rule: "x"}, `rule is "small", want "x"`},
		{"reason", policytest.Want{Reason: "no such reason"}, `want it to hold "no such reason"`},
	} {
		s := load(t, "testdata/payments.test.yaml")
		if c.name != "decision" {
			c.want.Decision = s.Tests[0].Want.Decision
		}
		s.Tests[0].Want = c.want
		first := s.Run()[0]
		if first.Passed() || len(first.Failures) != 1 || !strings.Contains(first.Failures[0], c.fail) {
			t.Errorf("%s: failures = %v, want %s", c.name, first.Failures, c.fail)
		}
	}
}

// read reads a suite whose policy, payments.yaml, is that of testdata.
func read(text string) (*policytest.Suite, error) {
	return policytest.Read("dir/x.yaml", []byte(text), func(path string) ([]byte, error) {
		return fs.ReadFile(os.DirFS("testdata"), path)
	})
}

func TestProblemsAreNamed(t *testing.T) {
	t.Parallel()
	const good = `policy: payments.yaml
tests:
  - name: x
    call: {server: bank, tool: send_money}
    want: {decision: deny}
`
	if _, err := read(good); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, old, new, want string }{
		{"a misspelled member", "want:", "wants:", "5:5: tests[0].wants: is not known here"},
		{
			"a misspelled wish", "decision: deny", "decision: deny, rules: x",
			"5:28: tests[0].want.rules: is not known here",
		},
		{"no wish", "    want: {decision: deny}\n", "", "3:5: tests[0].want: is missing"},
		{"no decision", "decision: deny", "rule: x", "tests[0].want.decision: is missing"},
		{
			"another decision", "decision: deny", "decision: block",
			"tests[0].want.decision: must be allow, deny, hold or ask",
		},
		{
			"a misspelled argument list", "tool: send_money", "tool: send_money, args: {}",
			"tests[0].call.args: is not known here",
		},
		{"no tool", ", tool: send_money", "", "tests[0].call.tool: is missing"},
		{
			"arguments in a list", "tool: send_money", "tool: send_money, arguments: [1]",
			"tests[0].call.arguments: arguments must be a JSON object",
		},
		{"a number as server", "server: bank", "server: 1", "tests[0].call.server: must be text"},
		{"no instant", "tool: send_money", "tool: send_money, now: noon", "tests[0].call.now: must be an instant"},
		{
			"another environment", "tool: send_money", "tool: send_money, environment: test",
			"must be sandbox or production",
		},
		{
			"a cost that is none", "tool: send_money", "tool: send_money, session: {costUsd: x}",
			"tests[0].call.session.costUsd: must be an amount",
		},
		{
			"an unknown limit", "    want:", "    spent: {small: 1}\n    want:",
			"5:20: tests[0].spent.small: must be the id of a rule with a limit",
		},
		{"half a call", "    want:", "    spent: {pace: 0.5}\n    want:", "must be a number of calls or tokens"},
		{
			"no tests",
			"tests:\n  - name: x\n    call: {server: bank, tool: send_money}\n    want: {decision: deny}\n",
			"tests: []\n", "2:8: tests: must hold at least one test",
		},
		{
			"two policies", "policy: payments.yaml", "policy: payments.yaml\npolicies: [payments.yaml]",
			"must have either policy or policies",
		},
		{"no policy", "policy: payments.yaml\n", "", "must have either policy or policies"},
		{
			"an absolute path", "policy: payments.yaml", "policy: /payments.yaml",
			"policy: must be a path relative to this file",
		},
		{
			"a name twice", good, good + strings.Replace(good, "policy: payments.yaml\ntests:\n", "", 1),
			"must have a name of its own",
		},
		{"no YAML", "tests:", "tests: [", "3:3: must be in quotes"},
	} {
		_, err := read(strings.Replace(good, c.old, c.new, 1))
		invalid, ok := errors.AsType[*policytest.Invalid](err)
		if !ok {
			t.Errorf("%s: err = %v, want problems", c.name, err)
			continue
		}
		var lines []string
		for _, p := range invalid.Problems {
			lines = append(lines, p.String())
		}
		if invalid.File != "dir/x.yaml" ||
			!slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, c.want) }) {
			t.Errorf("%s: %s %q, want %q", c.name, invalid.File, lines, c.want)
		}
	}
}

// What is wrong with a policy is told of the policy's file.
func TestPoliciesAreChecked(t *testing.T) {
	t.Parallel()
	const tests = "tests: [{name: x, call: {server: a, tool: b}, want: {decision: deny}}]\n"
	inline := "policy: {version: v1, name: x, rules: [{id: a, effect: deny, tools: [a.b], when: 'args.'}]}\n"
	_, err := read(inline + tests)
	if invalid, ok := errors.AsType[*policytest.Invalid](err); !ok || invalid.File != "dir/x.yaml" ||
		invalid.Problems[0].Rule != "a" {
		t.Errorf("inline: %v", err)
	}
	_, err = read("policy: payments.test.yaml\n" + tests)
	if invalid, ok := errors.AsType[*policytest.Invalid](err); !ok ||
		invalid.File != filepath.Join("dir", "payments.test.yaml") {
		t.Errorf("a file: %v", err)
	}
	_, err = read("policy: missing.yaml\n" + tests)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := policytest.Load("testdata/missing.yaml"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing suite: %v", err)
	}
}

func TestReadCall(t *testing.T) {
	t.Parallel()
	call, err := policytest.ReadCall("call.json", []byte(`{"server":"a.b","tool":"c","arguments":{"x":1}}`))
	if err != nil || call.Server != "a.b" || call.Args["x"] != int64(1) || !call.Now.IsZero() {
		t.Errorf("call = %+v, %v", call, err)
	}
	if _, err := policytest.ReadCall("-", []byte("server: a\ntool: b\nx: 1\n")); err == nil ||
		!strings.Contains(err.Error(), "-:3:1: x: is not known") {
		t.Errorf("err = %v", err)
	}
}

// FuzzRead checks that no text makes reading or running fail in another way than
// by saying so.
func FuzzRead(f *testing.F) {
	for _, path := range []string{"testdata/payments.test.yaml", "testdata/everything.yaml"} {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := read(text)
		if (s == nil) == (err == nil) {
			t.Fatal("neither read nor refused")
		}
		if s != nil && len(s.Run()) == 0 {
			t.Fatal("a suite without results")
		}
	})
}
