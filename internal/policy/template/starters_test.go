package template

import (
	"testing"

	"writ/internal/policy/policytest"
	"writ/internal/verdict"
)

// TestStarters: there is one for each kind of agent that people begin with, and its
// tests show what runs and what does not.
func TestStarters(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"coding-agent", "read-only", "payments", "support-inbox"} {
		shipped, ok := Get(name)
		if !ok {
			t.Errorf("there is no %s", name)
			continue
		}
		tests, err := policytest.Read("tests.yaml", []byte(shipped.Tests), func(string) ([]byte, error) {
			return []byte(shipped.Text), nil
		})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		seen := map[verdict.Verdict]int{}
		for _, result := range tests.Run() {
			seen[result.Test.Want.Decision]++
		}
		if seen[verdict.Allow] < 2 || seen[verdict.Deny]+seen[verdict.Hold]+seen[verdict.Ask] < 2 {
			t.Errorf("%s: its tests are of %v, want some that run and some that do not", name, seen)
		}
	}
}
