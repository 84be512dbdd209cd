package policy_test

import (
	"testing"

	"writ/internal/policy"
	"writ/internal/policy/document"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

// TestSimulatedByEveryName: a simulation must not promise what a decision would refuse, whatever the call's names.
func TestSimulatedByEveryName(t *testing.T) {
	t.Parallel()
	const text = "version: v1\nname: no deletes\ndefault: allow\nrules:\n  - {id: none, effect: deny, tools: ['*.delete']}\n"
	each(t, func(t *testing.T, e *env) {
		for _, call := range []toolcall.Call{
			{Server: "files", Tool: "delete"},
			{Server: "acme.files", Tool: "delete"},
			{Tool: "files.delete"},
		} {
			subject := policy.Subject{Source: &policy.Source{Text: text, Format: document.YAML}}
			got, err := e.policies.Simulate(t.Context(), e.owner, subject, call)
			if err != nil || got.Decision.Verdict != verdict.Deny || got.Decision.Rule != "none" {
				t.Errorf("%s of %q: %v by %q, %v", call.Tool, call.Server, got.Decision.Verdict, got.Decision.Rule, err)
			}
		}
	})
}
