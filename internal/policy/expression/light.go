package expression

import (
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
)

// isLight reports whether the text of a condition bounds its work, so that it need not
// be counted. That is so if values of the call are only compared with literals, which
// takes no longer than the literal, whatever the value. Most conditions are light.
func isLight(condition ast.Expr) bool {
	light := true
	ast.PreOrderVisit(condition, ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.LiteralKind, ast.IdentKind, ast.SelectKind:
		case ast.ListKind:
			light = light && isLiteral(e)
		case ast.CallKind:
			light = light && isLightCall(e.AsCall())
		default:
			light = false
		}
	}))
	return light
}

func isLightCall(call ast.CallExpr) bool {
	args := call.Args()
	switch call.FunctionName() {
	case operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot, operators.Conditional:
		return true
	case operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals:
		return isLiteral(args[0]) || isLiteral(args[1])
	case operators.In:
		return isLiteral(args[1])
	case overloads.StartsWith, overloads.EndsWith:
		return call.IsMemberFunction() && isLiteral(args[0])
	}
	return false
}

// isLiteral accepts a literal or a list of them.
func isLiteral(e ast.Expr) bool {
	if e.Kind() != ast.ListKind {
		return e.Kind() == ast.LiteralKind
	}
	for _, element := range e.AsList().Elements() {
		if element.Kind() != ast.LiteralKind {
			return false
		}
	}
	return true
}
