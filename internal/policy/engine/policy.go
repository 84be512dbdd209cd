package engine

import (
	"fmt"
	"strings"
	"time"

	"writ/internal/policy/document"
	"writ/internal/policy/expression"
	"writ/internal/verdict"
)

// Policy is a document ready to be evaluated. It never changes.
type Policy struct {
	document *document.Document
	rules    []rule
	warnings []document.Problem
}

// rule is a rule with its compiled condition; a nil condition always holds.
type rule struct {
	*document.Rule
	condition *expression.Condition
}

const (
	// maxProblems is how many problems are reported of a document. The rest of it
	// is not compiled, because each condition takes time.
	maxProblems = 100
	// maxRegexes is how many instructions the patterns of matches() in all
	// conditions of a document may have together. Each takes up to 200 bytes, and a
	// few bytes of text make hundreds.
	maxRegexes = 100_000
)

// Compile prepares a document, which must not change afterwards. It returns either
// the policy or all problems at once.
func Compile(doc *document.Document) (*Policy, []document.Problem) {
	p := &Policy{document: doc, rules: make([]rule, len(doc.Rules))}
	var problems []document.Problem
	if doc.Default > verdict.Allow {
		problems = append(problems, document.Problem{Field: "default", Message: "must be allow, deny, hold or ask"})
	}
	ids := make(map[string]bool, len(doc.Rules))
	regexes := 0
	for i := range doc.Rules {
		if len(problems) >= maxProblems {
			break
		}
		r := &doc.Rules[i]
		if ids[r.ID] {
			problems = append(problems, doc.ProblemIn(i, "id", "is the id of an earlier rule"))
		}
		ids[r.ID] = true
		condition, found := compileRule(doc, i)
		problems = append(problems, found...)
		p.rules[i] = rule{Rule: r, condition: condition}
		if condition != nil {
			if regexes += condition.Regexes(); regexes > maxRegexes {
				problems = append(problems, doc.ProblemIn(i, "when",
					fmt.Sprintf("matches: the patterns of all rules up to here are too large together: %d instructions, %d at most", regexes, maxRegexes)))
				break
			}
		}
		for _, w := range suspicious(r, condition) {
			p.warnings = append(p.warnings, inCondition(doc, i, w))
		}
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return p, nil
}

// suspicious are likely mistakes in the condition of a rule.
func suspicious(r *document.Rule, condition *expression.Condition) []expression.Problem {
	if condition == nil {
		return nil
	}
	doubts := condition.Doubts()
	if r.Effect != verdict.Allow && coversSeveral(r.Tools) {
		doubts = append(doubts, condition.Warnings()...)
	}
	return doubts
}

// Document is what the policy was compiled from. It must not be changed.
func (p *Policy) Document() *document.Document { return p.document }

// Warnings are likely mistakes that do not stop the policy from working.
func (p *Policy) Warnings() []document.Problem { return p.warnings }

// compileRule checks again what the evaluation relies on, because a document need
// not have been parsed from text.
func compileRule(doc *document.Document, i int) (*expression.Condition, []document.Problem) {
	r := &doc.Rules[i]
	var problems []document.Problem
	report := func(field, message string) { problems = append(problems, doc.ProblemIn(i, field, message)) }
	if r.ID == "" || r.ID == DefaultRule {
		report("id", "must be a name of its own")
	}
	if r.Effect > verdict.Allow {
		report("effect", "must be allow, deny, hold or ask")
	}
	if len(r.Tools) == 0 {
		report("tools", "must name a tool")
	}
	for j, pattern := range r.Tools {
		if err := pattern.Check(); err != nil {
			report(fmt.Sprintf("tools[%d]", j), err.Error())
		}
	}
	if r.Limit != nil {
		if message := checkLimit(r.Limit); message != "" {
			report("limit", message)
		}
	}
	if message := checkConfine(r); message != "" {
		report("confine", message)
	}
	if message := checkOblige(r); message != "" {
		report("oblige", message)
	}
	if r.When == "" {
		return nil, problems
	}
	condition, problem := expression.Compile(r.When)
	if problem != nil {
		problems = append(problems, inCondition(doc, i, *problem))
	}
	return condition, problems
}

func checkConfine(r *document.Rule) string {
	switch {
	case r.Confine == nil:
		return ""
	case r.Effect != verdict.Allow:
		return "is only for rules with effect allow"
	case r.Otherwise == verdict.Ask:
		return "otherwise must be allow, hold or deny"
	}
	if err := r.Confine.Check(); err != nil {
		return err.Error()
	}
	return ""
}

func checkOblige(r *document.Rule) string {
	switch {
	case r.Oblige == nil:
		return ""
	case r.Effect == verdict.Deny:
		return "is not for rules with effect deny"
	case r.Oblige.IsZero():
		return "must have redact, labels or max_bytes"
	}
	if err := r.Oblige.Check(); err != nil {
		return err.Error()
	}
	return ""
}

func checkLimit(l *document.Limit) string {
	if _, _, ok := measure(l); !ok {
		return "must have one of calls, cost and tokens, above zero"
	}
	if l.Per < time.Second {
		return "per must be at least 1s"
	}
	switch l.By {
	case document.Agent, document.Session, document.User, document.Organization:
		return ""
	}
	return "by must be agent, session, user or org"
}

// inCondition is a problem of an expression with its position in the document's
// text, or in the expression if the document has no text.
func inCondition(doc *document.Document, i int, p expression.Problem) document.Problem {
	in := doc.ProblemIn(i, "when", p.Message)
	in.Position = document.Position{Line: p.Line, Column: p.Column}
	if at := doc.Rules[i].InWhen(p.Line, p.Column); at.Line > 0 {
		in.Position = at
	}
	return in
}

func coversSeveral(tools []document.Pattern) bool {
	return len(tools) > 1 || len(tools) == 1 && strings.Contains(string(tools[0]), "*")
}
