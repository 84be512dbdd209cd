// Package expression compiles and evaluates the conditions of rules: CEL expressions
// over one tool call.
//
// A condition sees tool, server, args, agent, user, org, session, intent, labels,
// environment and now. It cannot read a file, a clock or the network. Besides the
// standard functions of CEL it has
//
//	shell(text).plain, .programs, .reads, .writes, …  what a command line does
//	path(text).within(dir), .base, .ext, .dir         a path, by its components
//	url(text).host, .scheme, .port, .path             where a browser would go
//	ip(text).inCidr(range)                            an IP address
//	text.glob(pattern), glob(text, pattern)           a star stands for anything
//	text.matches(pattern)                             RE2
//	amount(args)                                      the money that a call moves
//	text.lowerAscii(), .upperAscii(), .trim()
//	map.all(key, value, …), map.exists(key, value, …)
//
// where a pattern (except RE2), folder or range may also be a list of them.
//
// Compile checks a condition once, when a policy is saved: its types, fields and size,
// and that every pattern, folder, range, time zone and key is a literal. So text that an
// agent controls is only compared. It never becomes a pattern, a format or code.
//
// The author of a call's arguments is not trusted, and the author of a policy can make
// mistakes, so every evaluation is bounded: steps are counted, work that grows with a
// value is counted by its size, and each function checks its work before it starts. An
// evaluation that exceeds the bound fails, and so does one with a missing argument, a
// wrong type, or a path, address or number that can be read in two ways. The engine
// decides what a failure means; it never means allow.
package expression

import (
	"fmt"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"

	"writ/internal/toolcall"
)

// Limits of a condition's text, checked when it is compiled.
const (
	maxText    = 4 << 10 // characters
	maxNodes   = 1_000   // parts of the syntax tree
	maxDepth   = 50      // of it
	maxLoops   = 2       // nested loops (all, exists, filter, map)
	maxRepairs = 20      // of syntax errors before the parser gives up
)

// Condition is a compiled expression. It is safe for concurrent use.
type Condition struct {
	text    string
	checked *ast.AST
	program cel.Program
	regexes int    // instructions of its patterns together
	fixed   uint64 // its maximum work, if that is not counted

	// These are made when first needed.
	traced  func() (cel.Program, error) // records the value of every part
	partial func() (cel.Program, error) // handles gaps
	reads   func() map[string]bool      // the variables it names
}

// Problem is why an expression does not compile. Lines and columns begin at 1, and
// columns count characters.
type Problem struct {
	Line, Column int
	Message      string
}

// Compile checks an expression and prepares it for evaluation.
func Compile(text string) (*Condition, *Problem) {
	env, err := environment()
	if err != nil {
		return nil, &Problem{Line: 1, Column: 1, Message: err.Error()}
	}
	// env.Compile and Issues.Err() would format every error with its line, which takes
	// quadratic time.
	parsed, issues := env.Parse(text)
	if len(issues.Errors()) > 0 {
		return nil, syntaxProblem(issues)
	}
	compiled, issues := env.Check(parsed)
	if len(issues.Errors()) > 0 {
		return nil, typeProblem(env, parsed.NativeRep(), issues)
	}
	checked := compiled.NativeRep()
	if problem := checkShape(checked); problem != nil {
		return nil, problem
	}
	if !compiled.OutputType().IsExactType(types.BoolType) && !compiled.OutputType().IsExactType(types.DynType) {
		return nil, problemAt(checked, checked.Expr().ID(), fmt.Sprintf("must be true or false, but is %s",
			typeName(compiled.OutputType())))
	}
	c := &Condition{text: text, checked: checked, regexes: regexSizes(checked)}
	options := countedOptions
	if isLight(checked.Expr()) {
		options, c.fixed = lightOptions, uint64(ast.NodeCount(checked))
	}
	if c.program, err = env.PlanProgram(checked, options()...); err != nil {
		return nil, problemAt(checked, checked.Expr().ID(), err.Error())
	}
	plan := func(option cel.EvalOption) func() (cel.Program, error) {
		return sync.OnceValues(func() (cel.Program, error) {
			return env.PlanProgram(checked, append(options(), cel.EvalOptions(option))...)
		})
	}
	c.traced, c.partial = plan(cel.OptTrackState), plan(cel.OptPartialEval)
	c.reads = sync.OnceValue(func() map[string]bool { return readsOf(checked.Expr()) })
	return c, nil
}

// Regexes is the size of all its patterns of matches(), in instructions. Their memory
// and compile time grow with it, not with the length of the text.
func (c *Condition) Regexes() int { return c.regexes }

// Text is the source of the expression.
func (c *Condition) Text() string { return c.text }

// Eval reports whether the condition holds for a call, or why it failed.
func (c *Condition) Eval(call *toolcall.Call) (bool, error) {
	return c.EvalInput(NewInput(call))
}

// EvalInput is Eval for an input that many conditions share.
func (c *Condition) EvalInput(input *Input) (bool, error) {
	if input.work >= MaxDecisionWork {
		return false, errTooMuchWork
	}
	value, details, err := c.program.Eval(input)
	input.work += c.fixed
	input.charge(details)
	if err != nil {
		return false, failureOf(err)
	}
	holds, ok := value.(types.Bool)
	if !ok {
		return false, errNotBool
	}
	return bool(holds), nil
}
