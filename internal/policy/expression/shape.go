package expression

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
)

// literalArgument says how to check an argument that must be a literal.
type literalArgument struct {
	lists bool // whether it may be a list of literals
	check func(string) error
}

// literals are the functions whose argument after the receiver is a pattern, a folder, a
// range or a time zone. It must be a literal so that an agent's text never becomes one.
var literals = func() map[string]literalArgument {
	table := map[string]literalArgument{
		"matches": {false, checkRegex},
		"glob":    {true, func(string) error { return nil }},
		"within":  {true, func(text string) error { _, err := parseDir(text); return err }},
		"inCidr":  {true, func(text string) error { _, err := parseRange(text); return err }},
	}
	for _, part := range []string{
		"FullYear", "Month", "DayOfYear", "DayOfMonth", "Date", "DayOfWeek", "Hours", "Minutes", "Seconds",
		"Milliseconds",
	} {
		table["get"+part] = literalArgument{false, checkZone}
	}
	return table
}()

// checkShape refuses what type checks but is not allowed in a condition.
func checkShape(checked *ast.AST) *Problem {
	var first *Problem
	report := func(id int64, message string) {
		if first == nil {
			first = problemAt(checked, id, message)
		}
	}
	ast.PreOrderVisit(checked.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if first != nil {
			return
		}
		switch e.Kind() {
		case ast.StructKind:
			report(e.ID(), "a condition cannot make objects")
		case ast.MapKind:
			for _, entry := range e.AsMap().Entries() {
				checkKey(checked, entry.AsMapEntry().Key(), report)
			}
		case ast.CallKind:
			checkCall(checked, e.AsCall(), report)
		}
	}))
	macros := checked.SourceInfo().MacroCalls()
	for _, id := range slices.Sorted(maps.Keys(macros)) {
		if name := macros[id].AsCall().FunctionName(); strings.HasPrefix(name, "transform") {
			report(id, name+" is not available; use all, exists, filter or map")
		}
	}
	return first
}

func checkCall(checked *ast.AST, call ast.CallExpr, report func(int64, string)) {
	switch call.FunctionName() {
	case operators.Index, operators.OptIndex:
		checkKey(checked, call.Args()[1], report)
	}
	if rule, ok := literals[call.FunctionName()]; ok {
		checkLiteral(call, rule, report)
	}
}

// checkKey refuses computed text as a key: a lookup takes time that grows with the text
// and is not counted.
func checkKey(checked *ast.AST, key ast.Expr, report func(int64, string)) {
	if key.Kind() != ast.LiteralKind && !checked.GetType(key.ID()).IsExactType(types.IntType) {
		report(key.ID(),
			"must be a literal or an int; to go over a map, use two variables: args.exists(name, value, …)")
	}
}

func checkLiteral(call ast.CallExpr, rule literalArgument, report func(int64, string)) {
	args := call.Args()
	if !call.IsMemberFunction() {
		args = args[1:]
	}
	if len(args) == 0 {
		return
	}
	arg := args[0]
	parts := []ast.Expr{arg}
	if rule.lists && arg.Kind() == ast.ListKind {
		parts = arg.AsList().Elements()
	}
	for _, part := range parts {
		text, ok := literalText(part)
		if !ok {
			report(part.ID(), fmt.Sprintf("%s takes a literal text here, not a computed one", call.FunctionName()))
			return
		}
		if err := rule.check(text); err != nil {
			report(part.ID(), err.Error())
			return
		}
	}
}

func literalText(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	text, ok := e.AsLiteral().(types.String)
	return string(text), ok
}

func problemAt(checked *ast.AST, id int64, message string) *Problem {
	return problem(checked.SourceInfo().GetStartLocation(id), message)
}

func problem(at common.Location, message string) *Problem {
	return &Problem{Line: max(1, at.Line()), Column: max(1, at.Column()+1), Message: message}
}

func typeName(t *types.Type) string { return strings.TrimPrefix(t.String(), "writ.") }
