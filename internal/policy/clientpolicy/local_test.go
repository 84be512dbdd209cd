package clientpolicy_test

import (
	"slices"
	"strings"

	"writ/internal/policy/clientpolicy"
	"writ/internal/verdict"
)

// localVerdict is what a published SDK in local mode makes of a call to a tool
// of its plan: the steps of its evaluation, in order, as its documentation of
// the wire tells them. It looks at no argument but amounts, of which we give it
// none.
func localVerdict(
	v clientpolicy.Validation, snapshot []clientpolicy.SnapshotEntry, server, tool string,
) verdict.Verdict {
	restricted := verdict.Deny
	if v.DefaultEnforcementAction == "hold" {
		restricted = verdict.Hold
	}
	governing := slices.IndexFunc(snapshot, func(e clientpolicy.SnapshotEntry) bool {
		return slices.Contains(e.Rules.AllowedTools, tool) ||
			slices.ContainsFunc(e.Rules.AllowedTools, func(t string) bool { return strings.HasSuffix(t, "*") }) ||
			strings.Contains(strings.ToLower(e.TargetName), strings.ToLower(server))
	})
	switch {
	case slices.Contains(v.DeniedTools, tool):
		return restricted
	case governing >= 0:
		allowed := snapshot[governing].Rules.AllowedTools
		if len(allowed) > 0 && !slices.Contains(allowed, "*") && !slices.Contains(allowed, tool) {
			return verdict.Deny
		}
	case len(snapshot) > 0 && len(v.AllowedTools) == 0:
		return verdict.Deny
	}
	return verdict.Allow
}
