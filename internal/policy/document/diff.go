package document

import (
	"slices"
	"strconv"
	"strings"
)

// ChangeKind is what happened to a rule, or to a member of a rule or the document.
type ChangeKind string

// The kinds of changes.
const (
	Added   ChangeKind = "added"
	Removed ChangeKind = "removed"
	Changed ChangeKind = "changed"
)

// Change is one difference between two documents.
type Change struct {
	Kind  ChangeKind `json:"kind"`
	Rule  string     `json:"rule,omitempty"`  // its id; empty for the document itself
	Field string     `json:"field,omitempty"` // empty for the whole rule
	Old   string     `json:"old,omitempty"`   // as written; a rule as YAML
	New   string     `json:"new,omitempty"`
}

// Diff lists how one document differs from another: first its own members, then
// rules that were removed, changed and added, by id. The order of rules and of their
// tools means nothing and is no difference.
func Diff(before, after *Document) []Change {
	changes := []Change{}
	changes = appendChange(changes, "", "name", before.Name, after.Name)
	changes = appendChange(changes, "", "description", before.Description, after.Description)
	changes = appendChange(changes, "", "default", before.Default.String(), after.Default.String())
	was, is := byID(before), byID(after)
	for _, rule := range before.Rules {
		if is[rule.ID] == nil {
			changes = append(changes, Change{Kind: Removed, Rule: rule.ID, Old: RenderRule(&rule)})
		}
	}
	for _, rule := range after.Rules {
		if old := was[rule.ID]; old != nil {
			changes = appendRule(changes, old, &rule)
		}
	}
	for _, rule := range after.Rules {
		if was[rule.ID] == nil {
			changes = append(changes, Change{Kind: Added, Rule: rule.ID, New: RenderRule(&rule)})
		}
	}
	return changes
}

func byID(doc *Document) map[string]*Rule {
	rules := make(map[string]*Rule, len(doc.Rules))
	for i := range doc.Rules {
		rules[doc.Rules[i].ID] = &doc.Rules[i]
	}
	return rules
}

func appendRule(changes []Change, before, after *Rule) []Change {
	was, is := members(before), members(after)
	for i, name := range memberNames {
		changes = appendChange(changes, after.ID, name, was[i], is[i])
	}
	return changes
}

var memberNames = [...]string{
	"description", "effect", "tools", "when", "limit", "confine", "otherwise", "oblige", "approvers",
	"message",
}

// members are the members of a rule as text, in the order of memberNames.
func members(r *Rule) [len(memberNames)]string {
	var limit, confine, otherwise, oblige, approvers string
	if r.Limit != nil {
		limit = r.Limit.String()
	}
	if r.Approvers != nil {
		approvers = r.Approvers.String()
	}
	if r.Confine != nil {
		confine, otherwise = confineText(r.Confine), r.Otherwise.String()
	}
	if r.Oblige != nil {
		oblige = ObligeText(r.Oblige)
	}
	return [...]string{
		r.Description, r.Effect.String(), toolList(r.Tools), r.When, limit, confine, otherwise, oblige, approvers,
		r.Message,
	}
}

func toolList(tools []Pattern) string {
	sorted := slices.Sorted(slices.Values(tools))
	words := make([]string, len(sorted))
	for i, tool := range sorted {
		words[i] = strconv.Quote(string(tool))
	}
	return strings.Join(words, ", ")
}

func appendChange(changes []Change, rule, field, before, after string) []Change {
	if before == after {
		return changes
	}
	kind := Changed
	switch {
	case before == "":
		kind = Added
	case after == "":
		kind = Removed
	}
	return append(changes, Change{kind, rule, field, before, after})
}
