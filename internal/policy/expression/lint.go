package expression

import (
	"fmt"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
)

// Warnings are likely mistakes in a rule about several tools: arguments that are read
// without checking that they are there. For a tool without the argument the condition
// fails, and a deny rule matches.
func (c *Condition) Warnings() []Problem {
	guarded := c.guarded()
	var warnings []Problem
	warned := map[string]bool{}
	ast.PreOrderVisit(c.checked.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		name, ok := argument(e)
		if !ok || guarded[name] || warned[name] {
			return
		}
		warned[name] = true
		warnings = append(warnings, *problemAt(c.checked, e.ID(), fmt.Sprintf(
			"a tool of this rule may lack args.%[1]s; the condition fails without it: write has(args.%[1]s) && … or args.?%[1]s", name)))
	}))
	return warnings
}

// guarded are the arguments whose presence the condition checks.
func (c *Condition) guarded() map[string]bool {
	names := map[string]bool{}
	ast.PreOrderVisit(c.checked.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.SelectKind:
			if e.AsSelect().IsTestOnly() && isArgs(e.AsSelect().Operand()) {
				names[e.AsSelect().FieldName()] = true
			}
		case ast.CallKind:
			call := e.AsCall()
			if call.FunctionName() != operators.In || !isArgs(call.Args()[1]) {
				return
			}
			if name, ok := literalText(call.Args()[0]); ok {
				names[name] = true
			}
		}
	}))
	return names
}

// argument is the name in args.name or args["name"].
func argument(e ast.Expr) (string, bool) {
	switch e.Kind() {
	case ast.SelectKind:
		s := e.AsSelect()
		return s.FieldName(), !s.IsTestOnly() && isArgs(s.Operand())
	case ast.CallKind:
		call := e.AsCall()
		if call.FunctionName() == operators.Index && isArgs(call.Args()[0]) {
			return literalText(call.Args()[1])
		}
	}
	return "", false
}

func isArgs(e ast.Expr) bool { return e.Kind() == ast.IdentKind && e.AsIdent() == "args" }
