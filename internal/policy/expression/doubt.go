package expression

import (
	"fmt"
	"slices"
	"strconv"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
)

// vocabulary are the fields of a call that hold one of a few words, or nothing.
var vocabulary = map[string][]string{
	"environment":  {"sandbox", "production"},
	"agent.status": {"unregistered", "active", "suspended", "killed"}, // a proposal (pending) counts as unregistered
	"user.role":    {"owner", "admin", "approver", "member", "viewer"},
}

// Doubts are comparisons of a field with a word that it never holds. A deny rule with
// such a condition silently denies nothing.
func (c *Condition) Doubts() (doubts []Problem) {
	ast.PreOrderVisit(c.checked.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind {
			return
		}
		call := e.AsCall()
		switch call.FunctionName() {
		case operators.Equals, operators.NotEquals, operators.In:
			left, right := call.Args()[0], call.Args()[1]
			doubts = append(doubts, c.doubtsOf(left, right)...)
			doubts = append(doubts, c.doubtsOf(right, left)...)
		}
	}))
	return doubts
}

// doubtsOf are the doubts about comparing a field with something.
func (c *Condition) doubtsOf(text, with ast.Expr) (doubts []Problem) {
	name := nameOf(text)
	words := vocabulary[name]
	if words == nil {
		return nil
	}
	choices := []ast.Expr{with}
	if with.Kind() == ast.ListKind {
		choices = with.AsList().Elements()
	}
	for _, choice := range choices {
		if word, ok := literalText(choice); ok && word != "" && !slices.Contains(words, word) {
			doubts = append(doubts, *problemAt(c.checked, choice.ID(),
				fmt.Sprintf("%s is never %s: expected %s", name, strconv.Quote(word), listed(words))))
		}
	}
	return doubts
}

// nameOf is a variable or a field of one, as written.
func nameOf(e ast.Expr) string {
	switch e.Kind() {
	case ast.IdentKind:
		return e.AsIdent()
	case ast.SelectKind:
		if of := e.AsSelect(); !of.IsTestOnly() && of.Operand().Kind() == ast.IdentKind {
			return of.Operand().AsIdent() + "." + of.FieldName()
		}
	}
	return ""
}
