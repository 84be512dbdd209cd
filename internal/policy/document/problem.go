package document

import (
	"fmt"
	"strings"
)

// maxProblems is how many problems of a document are reported.
const maxProblems = 100

// Problem is one thing wrong with a document.
type Problem struct {
	Position
	Rule    string // the rule's id, or its number from 1 as "#3"; empty outside rules
	Field   string // path from the top of the document, such as rules[2].tools[0]
	Message string // what was expected
}

// ProblemIn is a problem in a field of the i-th rule, or in the whole rule if the field
// is empty.
func (d *Document) ProblemIn(i int, field, message string) Problem {
	r := &d.Rules[i]
	p := Problem{Position: r.At, Rule: r.ID, Field: fmt.Sprintf("rules[%d]", i), Message: message}
	if field != "" {
		p.Field += "." + field
	}
	if field == "when" && r.WhenAt.Line > 0 {
		p.Position = r.WhenAt
	}
	return p
}

// String is the problem on one line: "3:7: rule pay: tools[0]: must be …".
func (p Problem) String() string {
	var b strings.Builder
	if p.Line > 0 {
		b.WriteString(p.Position.String() + ": ")
	}
	field := p.Field
	if p.Rule != "" {
		fmt.Fprintf(&b, "rule %s: ", p.Rule)
		if _, below, ok := strings.Cut(field, "]"); ok && strings.HasPrefix(field, "rules[") {
			field = strings.TrimPrefix(below, ".") // the rule is named already
		}
	}
	if field != "" {
		b.WriteString(field + ": ")
	}
	b.WriteString(p.Message)
	return b.String()
}

// In is the problem on one line after its file's name, as compilers print it.
func (p Problem) In(file string) string {
	if p.Line > 0 {
		return file + ":" + p.String()
	}
	return file + ": " + p.String()
}

// Invalid is the error for a document with problems, in the order of the text.
type Invalid struct{ Problems []Problem }

// Error is the first problem, and how many more there are.
func (e *Invalid) Error() string { return Summary(e.Problems, Problem.String) }

// Summary is the first problem, and how many more there are.
func Summary(problems []Problem, write func(Problem) string) string {
	switch len(problems) {
	case 0:
		return "not valid"
	case 1:
		return write(problems[0])
	default:
		return fmt.Sprintf("%s (and %d more)", write(problems[0]), len(problems)-1)
	}
}
