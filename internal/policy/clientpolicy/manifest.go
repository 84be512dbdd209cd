package clientpolicy

import (
	"fmt"
	"regexp"

	"writ/internal/policy/document"
	"writ/internal/verdict"
)

// Manifest is the policy part of an agent's manifest. It denies what it does not allow.
type Manifest struct {
	Allow []string
	Deny  []string
}

// manifestPattern is a valid entry of a manifest's lists.
var manifestPattern = regexp.MustCompile(`^[A-Za-z0-9_-]+\.[A-Za-z0-9_*-]+$`)

// The rules of a manifest's lists.
const (
	manifestAllow = "manifest-allow"
	manifestDeny  = "manifest-deny"
)

// Document is the manifest as a policy. A manifest narrows what its agent may do and
// grants nothing: the stricter of its answer and that of the organization's policies
// counts.
func (m Manifest) Document(name string) (*document.Document, error) {
	doc := &document.Document{Version: document.Version, Name: name, Default: verdict.Deny}
	deny := document.Rule{ID: manifestDeny, Effect: verdict.Deny, Message: "The agent's manifest denies this tool."}
	if err := addList(doc, deny, "policy.deny", m.Deny); err != nil {
		return nil, err
	}
	if err := addList(doc, document.Rule{ID: manifestAllow, Effect: verdict.Allow}, "policy.allow",
		m.Allow); err != nil {
		return nil, err
	}
	return doc, nil
}

// addList adds a rule for the tools of a list, unless that is empty.
func addList(doc *document.Document, rule document.Rule, field string, patterns []string) error {
	for i, text := range patterns {
		if !manifestPattern.MatchString(text) || len(text) > document.MaxPattern {
			return fmt.Errorf("%s[%d]: must be a server id, a dot, and a tool name that may hold *", field, i)
		}
		rule.Tools = append(rule.Tools, document.Pattern(text))
	}
	if rule.Tools != nil {
		doc.Rules = append(doc.Rules, rule)
	}
	return nil
}
