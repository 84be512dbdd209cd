package policies_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/client"
	"writ/internal/testserver"
)

const faultyPolicy = `version: v1
name: faulty
default: deny
rules:
  - {id: no-shell, effect: deny, tools: ["shell.*"]}
  - {id: shell, effect: allow, tools: [shell.run]}
  - {id: shell-asks, effect: hold, tools: [shell.run], when: args.x == 1}
  - {id: anything, effect: allow, tools: ["*"]}
  - {id: a-day, effect: deny, tools: ["bank.*"], limit: {calls: 5, per: 1d}}
  - {id: an-hour, effect: deny, tools: [bank.pay], limit: {calls: 9, per: 1h}}
  - {id: braces, effect: deny, tools: ["bank.{pay,send}"]}
  - {id: typo, effect: hold, tools: [files.read], when: args.file.startsWith("/etc")}
  - {id: relative, effect: hold, tools: [files.read], when: '!args.path.startsWith("/")'}
`

// TestEveryKindOfFinding: each that there is, over the decisions of the real path,
// with the place in the text and what to do.
func TestEveryKindOfFinding(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, b *testserver.Org) {
		key := b.AgentKey(b.Owner, b.ID).APIKey
		b.ActivePolicy(b.Owner, b.ID, testserver.WorkPolicy)
		for range 20 {
			if got := b.Asked(key, "worker", "files", "read", m{"path": "src/a.go"}); got != "allow" {
				t.Fatalf("read: %s", got)
			}
		}
		made, err := b.Owner.CreatePolicy(t.Context(), b.ID, client.YAMLDocument, faultyPolicy)
		if err != nil {
			t.Fatal(err)
		}
		found, err := b.Owner.PolicyFindings(t.Context(), made.ID, 0, 1)
		if err != nil || found.Calls != 20 || found.Incomplete {
			t.Fatalf("%+v, %v", found, err)
		}
		kinds := map[string]string{}
		for _, f := range found.Findings {
			if f.Line == 0 || f.Message == "" || f.Fix == "" {
				t.Errorf("without a place or words: %+v", f)
			}
			if line := strings.Split(faultyPolicy, "\n")[f.Line-1]; !strings.Contains(line, "id: "+f.Rule+",") {
				t.Errorf("%s is not about %s in %q", f.Kind, f.Rule, line)
			}
			kinds[f.Kind] += " " + f.Rule
		}
		for kind, rules := range kinds {
			sorted := strings.Fields(rules)
			slices.Sort(sorted)
			kinds[kind] = strings.Join(slices.Compact(sorted), " ")
		}
		want := map[string]string{
			"shadowed_allow": "shell", "unreachable": "shell-asks", "over_broad": "anything",
			"contradictory_limits": "an-hour", "literal_marks": "braces",
			"always_fails": "typo", "always_true": "relative",
		}
		if diff := cmp.Diff(want, kinds); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}
