package document

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"writ/internal/policy/document/node"
	"writ/internal/verdict"
)

// Format is a form in which a document is written.
type Format uint8

// The formats. JSON is nearly YAML, but not where it matters: a reader is told
// which one it gets.
const (
	YAML Format = iota
	JSON
)

// Parse reads a document. Its error is an *Invalid with all that is wrong.
func Parse(text []byte, format Format) (*Document, error) {
	if len(text) > MaxBytes {
		return nil, &Invalid{[]Problem{{Message: fmt.Sprintf("must be at most %d bytes", MaxBytes)}}}
	}
	read := node.ReadYAML
	if format == JSON {
		read = node.ReadJSON
	}
	root, unread := read(text)
	if unread != nil {
		problems := make([]Problem, len(unread))
		for i, p := range unread {
			problems[i] = Problem{Position: p.Position, Message: p.Message}
		}
		return nil, &Invalid{problems}
	}
	return From(root)
}

// From reads a document out of a tree that was read already.
func From(root *node.Node) (*Document, error) {
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

// reader reads one document.
type reader struct {
	rule     string // the rule being read, as problems name it
	problems []Problem
}

func (r *reader) report(at Position, path, message string) {
	// More than are told are kept, so that those told are the first ones.
	if len(r.problems) < MaxRules {
		r.problems = append(r.problems, Problem{Position: at, Rule: r.rule, Field: path, Message: message})
	}
}

var verdicts = []string{verdict.Allow.String(), verdict.Deny.String(), verdict.Hold.String(), verdict.Ask.String()}

func (r *reader) document(v *node.Value) *Document {
	m := v.Members("version", "name", "description", "default", "rules")
	doc := &Document{Version: Version, Default: verdict.Deny, Rules: []Rule{}}
	if version := m.Need("version"); version != nil {
		version.OneOf(Version)
	}
	if name := m.Need("name"); name != nil {
		doc.Name = readLabel(name, MaxName)
	}
	doc.Description = readProse(m.Get("description"))
	if word := m.Get("default"); word != nil {
		doc.Default = readVerdict(word)
	}
	if rules := m.Need("rules"); rules != nil {
		r.rules(doc, rules)
	}
	return doc
}

func (r *reader) rules(doc *Document, v *node.Value) {
	items := v.Items(MaxRules)
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
		doc.Rules = append(doc.Rules, rule)
	}
	r.rule = ""
}

// readVerdict reads a verdict's word; what is none is deny.
func readVerdict(v *node.Value) verdict.Verdict {
	read, err := verdict.Parse(v.OneOf(verdicts...))
	if err != nil {
		return verdict.Deny // reported by OneOf
	}
	return read
}

// FormatOf is the format that a file's name tells: JSON where it ends so.
func FormatOf(path string) Format {
	if strings.EqualFold(filepath.Ext(path), ".json") {
		return JSON
	}
	return YAML
}
