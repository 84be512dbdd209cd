package profile

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"writ/internal/node"
	"writ/internal/policy/document"
	"writ/internal/verdict"
)

// denyOverrides is the only conflict resolution: the strictest statement wins.
const denyOverrides = "deny_overrides"

// Sent is what a plugin sends to stage a profile.
type Sent struct {
	Profile *Profile
	OrgID   string // from the plugin's settings; may be empty
}

// Read reads a request that stages a profile: {"policy": …, "orgId": …}.
func Read(text []byte) (Sent, []Problem) {
	r := &reader{}
	m := r.parse(text).Members("policy", "orgId")
	sent := Sent{OrgID: readLabel(m.Get("orgId")), Profile: r.profile(m.Need("policy"))}
	if r.problems != nil {
		return Sent{}, r.problems
	}
	return sent, nil
}

// Parse reads a profile that was stored, or that ships with Writ.
func Parse(text []byte) (*Profile, []Problem) {
	r := &reader{}
	p := r.profile(r.parse(text))
	if r.problems != nil {
		return nil, r.problems
	}
	return p, nil
}

type reader struct{ problems []Problem }

func (r *reader) report(_ node.Position, path, message string) {
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, Problem{Field: path, Message: message})
	}
}

// parse returns nil where it reports a problem.
func (r *reader) parse(text []byte) *node.Value {
	if len(text) > MaxBytes {
		r.report(node.Position{}, "policy", fmt.Sprintf("must be at most %d bytes", MaxBytes))
		return nil
	}
	root, unread := node.ReadJSON(text)
	for _, p := range unread {
		r.report(p.Position, "body", fmt.Sprintf("line %d, column %d: %s", p.Line, p.Column, p.Message))
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
	m.Need("schemaVersion").OneOf(SchemaVersion)
	m.Need("kind").OneOf(Kind)
	p := &Profile{Name: defaultName}
	p.readMetadata(m.Need("metadata"))
	defaults := m.Need("defaults").Members("decision", "conflictResolution")
	p.Default, _ = verdict.Parse(defaults.Need("decision").OneOf("allow", "deny", "hold")) // OneOf reports it
	defaults.Need("conflictResolution").OneOf(denyOverrides)
	p.Statements = r.statements(m.Need("statements"))
	return p
}

// defaultName is the name of a profile that does not give one.
const defaultName = "current"

// maxName leaves room for what a policy's name adds.
const maxName = 70

func (p *Profile) readMetadata(v *node.Value) {
	m := v.Members("name", "description")
	if name := m.Get("name"); name != nil {
		p.Name = readLabel(name)
		if utf8.RuneCountInString(p.Name) > maxName {
			name.Problem("must be at most %d characters", maxName)
		}
	}
	p.Description = m.Get("description").Prose(document.MaxDescription)
}

// readLabel reads a name on one line.
func readLabel(v *node.Value) string {
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
