package document_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"writ/internal/policy/document"
)

func parse(t *testing.T, text string) *document.Document {
	t.Helper()
	doc, err := document.Parse([]byte(text), document.YAML)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestDiff(t *testing.T) {
	t.Parallel()
	before := parse(t, `
version: v1
name: old
rules:
  - {id: gone, effect: deny, tools: ["*"]}
  - {id: changed, effect: hold, tools: [a.b, a.c], when: x > 1, approvers: {}, limit: {calls: 5, per: 1h}}
  - {id: same, effect: allow, tools: [a.b, a.c]}
`)
	after := parse(t, `
version: v1
name: new
description: words
default: ask
rules:
  - {id: same, effect: allow, tools: [a.c, a.b]}
  - {id: added, effect: ask, tools: [x.y]}
  - {id: changed, effect: deny, tools: [a.b], when: x > 2, limit: {cost: 0.5, per: 2d, by: user}, message: no}
`)
	want := []document.Change{
		{Kind: "changed", Field: "name", Old: "old", New: "new"},
		{Kind: "added", Field: "description", New: "words"},
		{Kind: "changed", Field: "default", Old: "deny", New: "ask"},
		{Kind: "removed", Rule: "gone", Old: "  - id: gone\n    effect: deny\n    tools: [\"*\"]\n"},
		{
			Kind:  "changed",
			Rule:  "changed",
			Field: "effect",
			Old:   "hold",
			New:   "deny",
		},
		{
			Kind:  "changed",
			Rule:  "changed",
			Field: "tools",
			Old:   `"a.b", "a.c"`,
			New:   `"a.b"`,
		},
		{
			Kind:  "changed",
			Rule:  "changed",
			Field: "when",
			Old:   "x > 1",
			New:   "x > 2",
		},
		{
			Kind:  "changed",
			Rule:  "changed",
			Field: "limit",
			Old:   "calls: 5, per: 1h, by: agent",
			New:   "cost: 0.50, per: 2d, by: user",
		},
		{Kind: "removed", Rule: "changed", Field: "approvers", Old: "role: approver, count: 1"},
		{Kind: "added", Rule: "changed", Field: "message", New: "no"},
		{Kind: "added", Rule: "added", New: "  - id: added\n    effect: ask\n    tools: [\"x.y\"]\n"},
	}
	if diff := cmp.Diff(want, document.Diff(before, after)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// A diff is empty exactly where nothing but order differs.
func TestDiffSeesEverythingButOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		doc := generate(t)
		shuffled := *doc
		shuffled.Rules = rapid.Permutation(doc.Rules).Draw(t, "rules")
		if changes := document.Diff(doc, &shuffled); len(changes) != 0 {
			t.Fatalf("order alone gives %v", changes)
		}
		other := generate(t)
		same := slices.Equal(document.Render(sorted(doc)), document.Render(sorted(other)))
		if changes := document.Diff(doc, other); (len(changes) == 0) != same {
			t.Fatalf("changes = %v, the same: %v", changes, same)
		}
	})
}

func sorted(doc *document.Document) *document.Document {
	out := *doc
	out.Rules = slices.Clone(doc.Rules)
	for i := range out.Rules {
		out.Rules[i].Tools = slices.Sorted(slices.Values(out.Rules[i].Tools))
	}
	slices.SortFunc(out.Rules, func(a, b document.Rule) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	return &out
}
