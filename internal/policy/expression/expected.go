package expression

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
)

const maxSignatures = 4

// syntaxProblem is the parser's first error in plain words, with what was expected.
func syntaxProblem(issues *cel.Issues) *Problem {
	first := issues.Errors()[0]
	return problem(first.Location, expectedSyntax(strings.TrimPrefix(first.Message, "Syntax error: ")))
}

var (
	wrongInput   = regexp.MustCompile(`(?s)^(?:mismatched|extraneous) input '(.*)' expecting (.*)$`)
	missingInput = regexp.MustCompile(`(?s)^missing '(.*)' at '(.*)'$`)
	noViable     = regexp.MustCompile(`(?s)^no viable alternative at input '(.*)'$`)
	noToken      = regexp.MustCompile(`(?s)^token recognition error at: '(.*)'$`)
)

// expectedSyntax rewrites the parser's message, which lists kinds of tokens, for people
// who write policies.
func expectedSyntax(message string) string {
	if parts := wrongInput.FindStringSubmatch(message); parts != nil {
		return unexpected(parts[1]) + expectedTokens(parts[2])
	}
	if parts := missingInput.FindStringSubmatch(message); parts != nil {
		return unexpected(parts[2]) + "'" + parts[1] + "'"
	}
	if parts := noViable.FindStringSubmatch(message); parts != nil {
		return unexpected(parts[1]) + aValue
	}
	if parts := noToken.FindStringSubmatch(message); parts != nil {
		return unexpected(strings.TrimSpace(parts[1])) + expectedFor(parts[1])
	}
	return message
}

const (
	endOfText = "<EOF>"
	aValue    = "a value, such as a name, a number or a text in quotes"
)

func unexpected(input string) string {
	if input == endOfText {
		return "ends too early: expected "
	}
	return fmt.Sprintf("unexpected '%s': expected ", input)
}

func expectedTokens(tokens string) string {
	switch {
	case tokens == endOfText:
		return "&&, || or another operator before it, or nothing more"
	case strings.Contains(tokens, "IDENTIFIER"):
		return aValue
	}
	return strings.ReplaceAll(strings.Trim(tokens, "{}"), ", ", " or ")
}

// expectedFor is what to write instead of characters that begin no token.
func expectedFor(input string) string {
	switch {
	case strings.HasPrefix(input, "="):
		return "== to compare"
	case strings.HasPrefix(input, "&"):
		return "&& to join two conditions"
	case strings.HasPrefix(input, "|"):
		return "|| between alternatives"
	case strings.HasPrefix(input, `"`), strings.HasPrefix(input, "'"):
		return "the quote that ends the text"
	}
	return `a name, a number, an operator or a text in plain quotes (")`
}

// typeProblem is the type checker's first error in plain words, with what was expected.
func typeProblem(env *cel.Env, parsed *ast.AST, issues *cel.Issues) *Problem {
	first := issues.Errors()[0]
	message := plainMessage(first.Message)
	if expected := expectedType(env, parsed, first); expected != "" {
		message += ": expected " + expected
	}
	return problem(first.Location, message)
}

func plainMessage(message string) string {
	message = strings.ReplaceAll(message, " (in container '')", "")
	message = strings.ReplaceAll(message, "writ.", "")
	return operatorNames.Replace(message)
}

var operatorNames = strings.NewReplacer(
	"'_==_'", "==", "'_!=_'", "!=", "'_<_'", "<", "'_<=_'", "<=", "'_>_'", ">", "'_>=_'", ">=",
	"'_&&_'", "&&", "'_||_'", "||", "'!_'", "!", "'@in'", "in", "'_+_'", "+", "'_-_'", "-", "'-_'", "-",
	"'_*_'", "*", "'_/_'", "/", "'_%_'", "%", "'_?_:_'", "?:", "'_[_]'", "[]",
)

// expectedType is what would be correct where the error is, or nothing if the error
// already says it.
func expectedType(env *cel.Env, parsed *ast.AST, err *common.Error) string {
	part := partOf(parsed, err.ExprID)
	if part == nil {
		return ""
	}
	switch {
	case strings.HasPrefix(err.Message, "undefined field"):
		return expectedField(part)
	case strings.Contains(err.Message, "does not support field selection") && selectsFrom(part) == "now":
		return `getHours(), getMinutes(), getDayOfWeek() or another of CEL's, each with a time zone: now.getHours("Europe/Berlin")`
	case strings.HasPrefix(err.Message, "undeclared reference") && part.Kind() == ast.CallKind:
		return "a function of CEL, or " + listed(ourFunctions)
	case strings.HasPrefix(err.Message, "undeclared reference"):
		return listed(variableNames(env))
	case strings.HasPrefix(err.Message, "found no matching overload") && part.Kind() == ast.CallKind:
		return expectedArguments(env, part.AsCall().FunctionName())
	}
	return ""
}

func partOf(parsed *ast.AST, id int64) (part ast.Expr) {
	ast.PreOrderVisit(parsed.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.ID() == id {
			part = e
		}
	}))
	return part
}

// holders are our kinds of objects, by the variable or function that returns them.
var holders = map[string]*kind{
	"agent": agentKind, "user": userKind, "org": orgKind, "session": sessionKind, "intent": intentKind,
	"shell": shellKind, "path": pathKind, "url": urlKind, "ip": ipKind,
}

func expectedField(part ast.Expr) string {
	k, ok := holders[selectsFrom(part)]
	switch {
	case !ok:
		return ""
	case k == ipKind:
		return "inCidr(…): an address has no fields"
	}
	return listed(slices.Sorted(maps.Keys(k.fields)))
}

// selectsFrom is the variable or function that a part selects from.
func selectsFrom(part ast.Expr) string {
	if part.Kind() != ast.SelectKind {
		return ""
	}
	switch of := part.AsSelect().Operand(); of.Kind() {
	case ast.IdentKind:
		return of.AsIdent()
	case ast.CallKind:
		return of.AsCall().FunctionName()
	}
	return ""
}

var ourFunctions = []string{
	"shell", "path", "url", "ip", "amount", "within", "inCidr", "glob", "lowerAscii", "upperAscii", "trim",
}

func variableNames(env *cel.Env) (names []string) {
	for _, v := range env.Variables() {
		if v.Type().Kind() != types.TypeKind {
			names = append(names, v.Name())
		}
	}
	return names
}

var expectedOperands = map[string]string{
	operators.Equals: "two values of the same type", operators.NotEquals: "two values of the same type",
	operators.Less: "two numbers, two texts or two times", operators.LessEquals: "two numbers, two texts or two times",
	operators.Greater:       "two numbers, two texts or two times",
	operators.GreaterEquals: "two numbers, two texts or two times",
	operators.Add:           "two numbers, two texts or two lists",
	operators.Subtract:      "two numbers", operators.Multiply: "two numbers", operators.Divide: "two numbers",
	operators.Modulo: "two whole numbers",
	operators.In:     "a list or a map after in", operators.LogicalNot: "true or false", operators.Negate: "a number",
	operators.Index: "a list with a number, or a map with a name", operators.Conditional: "true or false before the ?",
}

func expectedArguments(env *cel.Env, function string) string {
	if operands, ok := expectedOperands[function]; ok {
		return operands
	}
	declared, ok := env.Functions()[function]
	if !ok {
		return ""
	}
	var forms []string
	for _, overload := range declared.OverloadDecls() {
		var arguments []string
		for _, argument := range overload.ArgTypes() {
			arguments = append(arguments, typeName(argument))
		}
		receiver := ""
		if overload.IsMemberFunction() && len(arguments) > 0 {
			receiver, arguments = arguments[0]+".", arguments[1:]
		}
		forms = append(forms, receiver+function+"("+strings.Join(arguments, ", ")+")")
	}
	return listed(forms[:min(len(forms), maxSignatures)])
}

// listed is "a, b or c".
func listed(items []string) string {
	if len(items) < 2 {
		return strings.Join(items, "")
	}
	last := len(items) - 1
	return strings.Join(items[:last], ", ") + " or " + items[last]
}
