// Package expression is the conditions of rules: CEL over one tool call.
//
// A condition sees tool, server, args, agent, user, org, session, intent,
// labels, environment and now, and nothing else: it cannot read a file, a clock
// or the network. Beside the standard functions of CEL it has
//
//	shell(text).programs, .writes, .words, .dynamic   what a command line would do
//	path(text).within(dir), .base, .ext, .dir         a path, by its components
//	url(text).host, .scheme, .port, .path             the address a browser would go to
//	ip(text).inCidr(range)                            an IP address
//	text.glob(pattern), glob(text, pattern)           a star stands for anything
//	text.matches(pattern)                             RE2
//	amount(args)                                      the money a call is about
//	text.lowerAscii(), .upperAscii(), .trim()
//	map.all(key, value, …), map.exists(key, value, …)
//
// where a pattern (but RE2), folder or range may also be a list of them.
//
// Compile checks a condition once, when a policy is saved: types, fields, size,
// and that every pattern, folder, range, time zone and key is a literal. So text
// that an agent controls is only ever compared. It never becomes a pattern, a
// format or code.
//
// Who writes the arguments of a call is not trusted, and who writes a policy can
// err. Every evaluation is therefore bounded: steps are counted, work that grows
// with a value counts by its size, and what a single function may do is checked
// before it does it. What goes over the bound is an error, as is a missing
// argument, a wrong type, or a path, address or number that can be read in two
// ways. The engine decides what an error means; it never means allow.
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
	maxLoops   = 2       // loops (all, exists, filter, map) inside of each other
	maxRepairs = 20      // of syntax errors, before the parser gives up
)

// Condition is a compiled expression. It may be used by many goroutines at once.
type Condition struct {
	text    string
	checked *ast.AST
	program cel.Program
	regexes int                         // instructions of its patterns together
	fixed   uint64                      // the work it takes at most, if that need not be counted
	traced  func() (cel.Program, error) // remembers the value of every part; made when first needed
	partial func() (cel.Program, error) // knows of gaps; likewise
	reads   func() map[string]bool      // the variables it names; likewise
}

// Problem is why an expression does not compile. Lines and columns count from 1,
// columns in characters.
type Problem struct {
	Line, Column int
	Message      string
}

// Compile checks the text of an expression and prepares it for evaluation.
func Compile(text string) (*Condition, *Problem) {
	env, err := environment()
	if err != nil {
		return nil, &Problem{Line: 1, Column: 1, Message: err.Error()}
	}
	// Not env.Compile, and not Issues.Err(): they write out every error with its
	// line, in time that grows with the square of that.
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
		return nil, problemAt(checked, checked.Expr().ID(), fmt.Sprintf("must be true or false, and is %s",
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
	c.traced = sync.OnceValues(func() (cel.Program, error) {
		return env.PlanProgram(checked, append(options(), cel.EvalOptions(cel.OptTrackState))...)
	})
	c.partial = sync.OnceValues(func() (cel.Program, error) {
		return env.PlanProgram(checked, append(options(), cel.EvalOptions(cel.OptPartialEval))...)
	})
	c.reads = sync.OnceValue(func() map[string]bool { return readsOf(checked.Expr()) })
	return c, nil
}

// Regexes is the size of all its patterns of matches(), in instructions: what
// they take of memory, and of time to compile, grows with it and not with the
// text.
func (c *Condition) Regexes() int { return c.regexes }

// Text is the expression as it was written.
func (c *Condition) Text() string { return c.text }

// Eval says whether the condition holds for a call. Any error means that this
// cannot be said.
func (c *Condition) Eval(call *toolcall.Call) (bool, error) {
	return c.EvalInput(NewInput(call))
}

// EvalInput is Eval for a call that many conditions look at.
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
		return false, errNotTruth
	}
	return bool(holds), nil
}
