package clientpolicy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"writ/internal/glob"
	"writ/internal/policy/document"
	"writ/internal/verdict"
)

const (
	// manifestOutside is the rule that denies what a manifest does not list.
	manifestOutside = "manifest-outside"
	// The condition of that rule, before and after the list. The whole name of a tool without a server is compared too:
	// bank.pay may be one, or the tool pay of bank, and where it is judged as both, both are in the list or neither is.
	// Every entry has a server and a dot, so that no name without a dot is in a list by this.
	outsideBefore = `![server + "." + tool, server == "local" ? tool : ""].exists(name, name.glob(`
	outsideAfter  = `))`
	// The same as policies have it that were stored before.
	storedBefore = `!(server + "." + tool).glob(`
	storedAfter  = `)`
)

// Narrowing is the manifest as a policy that only denies: what the manifest denies,
// and all that it does not allow. It only restricts an organization's other policies;
// alone it denies everything.
func (m Manifest) Narrowing(name string) (*document.Document, error) {
	lists, err := m.Document(name) // for its checks
	if err != nil {
		return nil, err
	}
	doc := &document.Document{Version: document.Version, Name: name, Default: verdict.Deny}
	for _, rule := range lists.Rules {
		if rule.Effect == verdict.Deny {
			doc.Rules = append(doc.Rules, rule)
		}
	}
	outside := document.Rule{
		ID:      manifestOutside,
		Effect:  verdict.Deny,
		Tools:   []document.Pattern{"*"},
		Message: "The agent's manifest does not list this tool.",
	}
	if len(m.Allow) > 0 {
		list, err := json.Marshal(m.Allow)
		if err != nil {
			return nil, fmt.Errorf("policy.allow: %w", err)
		}
		outside.When = outsideBefore + string(list) + outsideAfter
	}
	if len(outside.When) > document.MaxCondition {
		return nil, fmt.Errorf("policy.allow: has more patterns than fit into %d bytes: use stars",
			document.MaxCondition)
	}
	doc.Rules = append(doc.Rules, outside)
	return doc, nil
}

// Within reports whether the manifest allows nothing that another one, given as its
// Narrowing, did not. If a person has replaced the Narrowing by something else, that is
// unknown and the answer is no.
func (m Manifest) Within(other *document.Document) bool {
	old, ok := narrowed(other)
	if !ok || len(m.Allow) > 0 && isStoredForm(other) {
		return false // today's rule lets whole names of tools without a server through, which that one did not
	}
	for _, allowed := range m.Allow {
		if !slices.ContainsFunc(old.Allow, func(pattern string) bool {
			return pattern == allowed || covers(pattern, allowed)
		}) {
			return false
		}
	}
	for _, denied := range old.Deny {
		if !slices.Contains(m.Deny, denied) {
			return false
		}
	}
	return true
}

// ListChange is an entry that a manifest's list gained or lost.
type ListChange struct {
	Kind  document.ChangeKind
	List  string // allow or deny
	Entry string
}

// ChangesFrom are the entries that differ from another manifest, given as its Narrowing;
// nil if there was none. It is not ok if a person replaced that by something else.
func (m Manifest) ChangesFrom(other *document.Document) (changes []ListChange, ok bool) {
	var old Manifest
	if other != nil {
		if old, ok = narrowed(other); !ok {
			return nil, false
		}
	}
	compare := func(list string, before, after []string) {
		for _, entry := range before {
			if !slices.Contains(after, entry) {
				changes = append(changes, ListChange{document.Removed, list, entry})
			}
		}
		for _, entry := range after {
			if !slices.Contains(before, entry) {
				changes = append(changes, ListChange{document.Added, list, entry})
			}
		}
	}
	compare("allow", old.Allow, m.Allow)
	compare("deny", old.Deny, m.Deny)
	return changes, true
}

// covers reports whether a pattern matches everything that another pattern, or a name,
// does. It may miss a pattern with a star unless the first is every tool of a server.
func covers(pattern, other string) bool {
	if !strings.Contains(other, "*") {
		return glob.Match(pattern, other)
	}
	server, all := strings.CutSuffix(pattern, ".*")
	return all && strings.HasPrefix(other, server+".")
}

// narrowed reads a Narrowing back.
func narrowed(doc *document.Document) (m Manifest, ok bool) {
	if doc.Default != verdict.Deny {
		return m, false
	}
	for _, rule := range doc.Rules {
		switch {
		case rule.Effect != verdict.Deny || rule.Limit != nil:
			return m, false
		case rule.ID == manifestDeny && rule.When == "":
			for _, pattern := range rule.Tools {
				m.Deny = append(m.Deny, string(pattern))
			}
		case rule.ID == manifestOutside && slices.Equal(rule.Tools, []document.Pattern{"*"}):
			if m.Allow, ok = outsideList(rule.When); !ok {
				return m, false
			}
		default:
			return m, false
		}
	}
	return m, ok
}

// isStoredForm reports whether a Narrowing has the rule as it was written before.
func isStoredForm(doc *document.Document) bool {
	return slices.ContainsFunc(doc.Rules, func(rule document.Rule) bool {
		_, stored := between(rule.When, storedBefore, storedAfter)
		return rule.ID == manifestOutside && stored
	})
}

// outsideList reads the condition of the rule about what is outside of the list, as it is written now or was before.
func outsideList(when string) (allow []string, ok bool) {
	if when == "" {
		return []string{}, true
	}
	list, ok := between(when, outsideBefore, outsideAfter)
	if !ok {
		list, ok = between(when, storedBefore, storedAfter)
	}
	if !ok || json.Unmarshal([]byte(list), &allow) != nil {
		return nil, false
	}
	return allow, true
}

// between is what a text has between its beginning and its end.
func between(text, before, after string) (middle string, ok bool) {
	middle, begins := strings.CutPrefix(text, before)
	middle, ends := strings.CutSuffix(middle, after)
	return middle, begins && ends
}
