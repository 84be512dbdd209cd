package document

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"writ/internal/node"
	"writ/internal/verdict"
)

// Format is a format in which a document is written.
type Format uint8

// The formats. Callers must say which one they pass: JSON is almost YAML, but not
// quite.
const (
	YAML Format = iota
	JSON
)

// Parse reads a document. Its error is an *Invalid with all problems.
func Parse(text []byte, format Format) (*Document, error) {
	if len(text) > MaxBytes {
		return nil, &Invalid{[]Problem{{Message: fmt.Sprintf("must be at most %d bytes", MaxBytes)}}}
	}
	root, problems := ReadTree(text, format)
	if problems != nil {
		return nil, &Invalid{problems}
	}
	return From(root)
}

// ReadTree reads text in either format into a tree.
func ReadTree(text []byte, format Format) (*node.Node, []Problem) {
	read := node.ReadYAML
	if format == JSON {
		read = node.ReadJSON
	}
	root, unread := read(text)
	var problems []Problem
	for _, p := range unread {
		problems = append(problems, Problem{Position: p.Position, Message: p.Message})
	}
	return root, problems
}

// areTests is the one problem of a file that was taken for the policy that stands beside it.
const areTests = "these are tests of a policy, and no policy: writ policy test runs them"

// From reads a document from a tree.
func From(root *node.Node) (*Document, error) {
	if root.Kind == node.Null {
		empty := Problem{Position: root.At, Message: "is empty: a policy has version: v1, name and rules"}
		return nil, &Invalid{[]Problem{empty}}
	}
	if root.Has("tests") && !root.Has("rules") {
		return nil, &Invalid{[]Problem{{Position: root.At, Message: areTests}}}
	}
	r := &reader{}
	doc := r.document(node.Read(root, r.report))
	if r.problems != nil {
		slices.SortStableFunc(r.problems, func(a, b Problem) int {
			return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
		})
		return nil, &Invalid{r.problems[:min(len(r.problems), maxProblems)]}
	}
	return doc, nil
}

type reader struct {
	rule     string // the rule being read, for problems
	problems []Problem
}

func (r *reader) report(at Position, path, message string) {
	// More are collected than are reported, so that the reported ones are the first
	// in the text.
	if len(r.problems) < MaxRules {
		r.problems = append(r.problems, Problem{Position: at, Rule: r.rule, Field: path, Message: message})
	}
}

func readName(v *node.Value) string {
	text, ok := v.Text()
	switch {
	case !ok:
	case text == "" || utf8.RuneCountInString(text) > MaxName:
		v.Problem("must be 1 to %d characters", MaxName)
	case strings.ContainsFunc(text, node.Invisible):
		v.Problem("must not hold control characters or others that do not show")
	case strings.TrimFunc(text, unicode.IsSpace) != text:
		v.Problem("must not begin or end with a space")
	}
	return text
}

var verdicts = []string{verdict.Allow.String(), verdict.Deny.String(), verdict.Hold.String(), verdict.Ask.String()}

func (r *reader) document(v *node.Value) *Document {
	m := v.Members("version", "name", "description", "default", "rules", "$schema")
	_ = m.Get("$schema").Prose(MaxDescription) // is for editors
	m.Need("version").OneOf(Version)
	return &Document{
		Version:     Version,
		Name:        readName(m.Need("name")),
		Description: m.Get("description").Prose(MaxDescription),
		Default:     readVerdict(m.Get("default")),
		Rules:       r.rules(m.Need("rules")),
	}
}

func (r *reader) rules(v *node.Value) []Rule {
	items := v.Items(MaxRules)
	rules := make([]Rule, 0, len(items))
	seen := make(map[string]int, len(items))
	for i, item := range items {
		r.rule = fmt.Sprintf("#%d", i+1)
		rule := r.readRule(item)
		if first, ok := seen[rule.ID]; ok {
			item.Problem("must have an id of its own: rules[%d] has it too", first)
		}
		if rule.ID != "" {
			seen[rule.ID] = i
		}
		rules = append(rules, rule)
	}
	r.rule = ""
	return rules
}

// readVerdict reads a verdict. Anything else is deny.
func readVerdict(v *node.Value) verdict.Verdict {
	read, err := verdict.Parse(v.OneOf(verdicts...))
	if err != nil {
		return verdict.Deny // reported by OneOf
	}
	return read
}

// FormatOf is the format of a file by its name: JSON if it ends in .json.
func FormatOf(path string) Format {
	if strings.EqualFold(filepath.Ext(path), ".json") {
		return JSON
	}
	return YAML
}
