package clientpolicy

import (
	"fmt"
	"regexp"

	"writ/internal/policy/document"
	"writ/internal/verdict"
)

// Manifest is the policy part of an agent's manifest. What it denies is denied,
// what it allows is allowed, and all else is denied.
type Manifest struct {
	Allow []string
	Deny  []string
}

// manifestPattern is what a manifest's lists may hold.
var manifestPattern = regexp.MustCompile(`^[A-Za-z0-9_-]+\.[A-Za-z0-9_*-]+$`)

// The rules that stand for a manifest's lists.
const (
	manifestAllow = "manifest-allow"
	manifestDeny  = "manifest-deny"
)

// Document is the manifest as a policy. A manifest narrows what its agent may
// do and grants nothing: whoever evaluates it takes the stricter of its answer
// and that of the organization's policies.
func (m Manifest) Document(name string) (*document.Document, error) {
	doc := &document.Document{Version: document.Version, Name: name, Default: verdict.Deny}
	lists := []struct {
		field    string
		patterns []string
		rule     document.Rule
	}{
		{
			"policy.deny", m.Deny,
			document.Rule{ID: manifestDeny, Effect: verdict.Deny, Message: "The agent's manifest denies this tool."},
		},
		{"policy.allow", m.Allow, document.Rule{ID: manifestAllow, Effect: verdict.Allow}},
	}
	for _, list := range lists {
		if len(list.patterns) == 0 {
			continue
		}
		rule := list.rule
		for i, text := range list.patterns {
			if !manifestPattern.MatchString(text) || len(text) > document.MaxPattern {
				return nil, fmt.Errorf("%s[%d]: must be a server id, a dot, and a tool name that may hold *",
					list.field, i)
			}
			rule.Tools = append(rule.Tools, document.Pattern(text))
		}
		doc.Rules = append(doc.Rules, rule)
	}
	return doc, nil
}

// ManifestOf is the document as a manifest's lists, or an error that names the
// first part that lists cannot say.
func ManifestOf(doc *document.Document) (Manifest, error) {
	if doc.Default != verdict.Deny {
		return Manifest{}, fmt.Errorf("default: a manifest denies what it does not list, and cannot %s it", doc.Default)
	}
	m := Manifest{Allow: []string{}, Deny: []string{}}
	for i, rule := range doc.Rules {
		if err := listable(rule); err != nil {
			return Manifest{}, fmt.Errorf("rules[%d] (%s): %w", i, rule.ID, err)
		}
		for _, pattern := range rule.Tools {
			if rule.Effect == verdict.Deny {
				m.Deny = append(m.Deny, string(pattern))
			} else {
				m.Allow = append(m.Allow, string(pattern))
			}
		}
	}
	return m, nil
}

// listable says why a rule is more than an entry of a list.
func listable(rule document.Rule) error {
	switch {
	case rule.Effect == verdict.Hold || rule.Effect == verdict.Ask:
		return fmt.Errorf("effect: a manifest can allow and deny, not %s", rule.Effect)
	case rule.When != "":
		return fmt.Errorf("when: a manifest has no conditions")
	case rule.Limit != nil:
		return fmt.Errorf("limit: a manifest has no limits")
	}
	for i, pattern := range rule.Tools {
		if !manifestPattern.MatchString(string(pattern)) {
			return fmt.Errorf("tools[%d]: a manifest names a server without a star and a tool of letters, digits, _, - and *", i)
		}
	}
	return nil
}
