package policytest_test

import (
	"errors"
	"strings"
	"testing"

	"writ/internal/policy/policytest"
)

// TestOneNamedDocument: tests of one document compile no other.
func TestOneNamedDocument(t *testing.T) {
	t.Parallel()
	const doc = "version: v1\nname: x\ndefault: allow\nrules: []\n"
	const tests = "tests:\n  - {name: a, call: {server: s, tool: t}, want: {decision: allow}}\n"
	opened := 0
	open := func(string) ([]byte, error) { opened++; return []byte(doc), nil }
	for what, text := range map[string]string{
		"several":     "policies: [" + strings.Repeat("a.yaml, ", 19) + "b.yaml]\n" + tests,
		"one of many": "policies: [a.yaml]\n" + tests,
		"both":        "policy: a.yaml\npolicies: [a.yaml]\n" + tests,
		"its own":     "policy: {version: v1, name: y, default: deny, rules: []}\n" + tests,
		"none":        tests,
	} {
		_, err := policytest.ReadNamed("tests.yaml", []byte(text), open)
		if bad, ok := errors.AsType[*policytest.Invalid](err); !ok || opened != 0 ||
			!strings.Contains(bad.Error(), "must be the name of a file") {
			t.Errorf("%s: %v, and %d documents were read", what, err, opened)
		}
	}
	suite, err := policytest.ReadNamed("tests.yaml", []byte("policy: a.yaml\n"+tests), open)
	if err != nil || opened != 1 || len(suite.Policies) != 1 || len(suite.Tests) != 1 {
		t.Errorf("%+v, %v", suite, err)
	}
}
