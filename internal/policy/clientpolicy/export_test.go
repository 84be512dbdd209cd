package clientpolicy

import (
	"fmt"

	"writ/internal/policy/document"
	"writ/internal/verdict"
)

// ManifestOf is the document as a manifest's lists, or an error about the first part
// that lists cannot express.
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

// listable returns why a list cannot express a rule.
func listable(rule document.Rule) error {
	switch {
	case rule.Effect == verdict.Hold || rule.Effect == verdict.Ask:
		return fmt.Errorf("effect: a manifest can allow and deny, not %s", rule.Effect)
	case rule.When != "":
		return fmt.Errorf("when: a manifest has no conditions")
	case rule.Limit != nil:
		return fmt.Errorf("limit: a manifest has no limits")
	case rule.Confine != nil:
		return fmt.Errorf("confine: a manifest cannot demand that a call is confined")
	}
	for i, pattern := range rule.Tools {
		if !manifestPattern.MatchString(string(pattern)) {
			return fmt.Errorf("tools[%d]: must be a server without a star and a tool of letters, digits, _, - and *", i)
		}
	}
	return nil
}
