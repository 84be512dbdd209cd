package profile

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"writ/internal/policy/document"
	"writ/internal/policy/document/node"
	"writ/internal/verdict"
)

// denyOverrides is the only way to settle a conflict: the strictest wins.
const denyOverrides = "deny_overrides"

// Sent is what a plugin sends to stage a profile.
type Sent struct {
	Profile *Profile
	OrgID   string // as the plugin is set up; empty: it does not say
}

// Read reads a request that stages a profile: {"policy": …, "orgId": …}.
func Read(text []byte) (Sent, []Problem) {
	r := &reader{}
	root := r.parse(text)
	if root == nil {
		return Sent{}, r.problems
	}
	var sent Sent
	m := root.Members("policy", "orgId")
	if id := m.Get("orgId"); id != nil {
		sent.OrgID = r.label(id)
	}
	if policy := m.Need("policy"); policy != nil {
		sent.Profile = r.profile(policy)
	}
	if r.problems != nil {
		return Sent{}, r.problems
	}
	return sent, nil
}

// Parse reads a profile that was stored, or that ships with Writ.
func Parse(text []byte) (*Profile, []Problem) {
	r := &reader{}
	root := r.parse(text)
	if root == nil {
		return nil, r.problems
	}
	p := r.profile(root)
	if r.problems != nil {
		return nil, r.problems
	}
	return p, nil
}

// reader reads one text and collects what is wrong with it.
type reader struct{ problems []Problem }

func (r *reader) report(_ node.Position, path, message string) {
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, Problem{Field: path, Message: message})
	}
}

func (r *reader) parse(text []byte) *node.Value {
	if len(text) > MaxBytes {
		r.report(node.Position{}, "policy", fmt.Sprintf("must be at most %d bytes", MaxBytes))
		return nil
	}
	root, unread := node.ReadJSON(text)
	for _, p := range unread {
		r.report(p.Position, "body", "line "+fmt.Sprint(p.Line)+", column "+fmt.Sprint(p.Column)+": "+p.Message)
	}
	if unread != nil {
		return nil
	}
	if root.Kind != node.Map {
		r.report(root.At, "body", "must be a JSON object")
		return nil
	}
	return node.Read(root, r.report)
}

// profile reads either form: the statements of a profile, or a list of rules.
func (r *reader) profile(v *node.Value) *Profile {
	for _, member := range v.Node().Members {
		if member.Key == "rules" {
			return r.ruleList(v)
		}
	}
	m := v.Members("schemaVersion", "kind", "metadata", "defaults", "statements")
	p := &Profile{Name: defaultName}
	if version := m.Need("schemaVersion"); version != nil {
		version.OneOf(SchemaVersion)
	}
	if kind := m.Need("kind"); kind != nil {
		kind.OneOf(Kind)
	}
	if metadata := m.Need("metadata"); metadata != nil {
		r.metadata(p, metadata)
	}
	if defaults := m.Need("defaults"); defaults != nil {
		r.defaults(p, defaults)
	}
	if statements := m.Need("statements"); statements != nil {
		r.statements(p, statements)
	}
	return p
}

// defaultName is what a profile is called that does not say.
const defaultName = "current"

func (r *reader) metadata(p *Profile, v *node.Value) {
	m := v.Members("name", "description")
	if name := m.Get("name"); name != nil {
		p.Name = r.label(name)
		if utf8.RuneCountInString(p.Name) > maxName {
			name.Problem("must be at most %d characters", maxName)
		}
	}
	if description := m.Get("description"); description != nil {
		p.Description = prose(description)
	}
}

// maxName leaves room for what a policy's name says besides.
const maxName = 70

func prose(v *node.Value) string {
	text, ok := v.Text()
	switch {
	case !ok:
	case utf8.RuneCountInString(text) > document.MaxDescription:
		v.Problem("must be at most %d characters", document.MaxDescription)
	case strings.ContainsFunc(text, func(c rune) bool { return c != '\n' && c != '\t' && node.Hidden(c) }):
		v.Problem("must not hold control characters other than line breaks and tabs")
	}
	return text
}

func (r *reader) defaults(p *Profile, v *node.Value) {
	m := v.Members("decision", "conflictResolution")
	if decision := m.Need("decision"); decision != nil {
		p.Default = decisions[decision.OneOf("allow", "deny", "hold")]
	}
	if resolution := m.Need("conflictResolution"); resolution != nil {
		resolution.OneOf(denyOverrides)
	}
}

var decisions = map[string]verdict.Verdict{"allow": verdict.Allow, "deny": verdict.Deny, "hold": verdict.Hold}

// label reads a name: one line that shows what it is.
func (r *reader) label(v *node.Value) string {
	text, ok := v.Text()
	switch {
	case !ok:
	case text == "" || len(text) > MaxValue:
		v.Problem("must be 1 to %d bytes", MaxValue)
	case strings.ContainsFunc(text, node.Invisible):
		v.Problem("must not hold control characters or others that do not show")
	case strings.TrimFunc(text, unicode.IsSpace) != text:
		v.Problem("must not begin or end with a space")
	}
	return text
}
