package expression

import (
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/interpreter"
	"cel.dev/cel-go/parser"

	"writ/internal/toolcall"
)

// Step is the value of one part of a condition.
type Step struct {
	Expression string
	Value      string // as short JSON; empty with Error
	Error      string
}

// Explain evaluates the condition and returns the values of its parts, inner parts
// first and otherwise in the order of the text. It leaves out parts that were not
// evaluated and the insides of loops, which have many values.
func (c *Condition) Explain(call *toolcall.Call) []Step { return c.ExplainInput(NewInput(call)) }

// ExplainInput is Explain for an input that many conditions share. If they took too much
// work together, it says so.
func (c *Condition) ExplainInput(input *Input) []Step {
	program, err := c.traced()
	if err != nil {
		return []Step{{Expression: c.text, Error: err.Error()}}
	}
	if input.work >= MaxDecisionWork {
		return []Step{{Expression: c.text, Error: errTooMuchWork.Error()}}
	}
	_, details, err := program.Eval(input)
	input.work += c.fixed
	input.charge(details)
	e := explainer{condition: c}
	if state := details.State(); state != nil {
		e.state = state
		e.visit(c.checked.Expr())
	}
	if err != nil && !e.complete() {
		e.steps = append(e.steps, Step{Expression: c.text, Error: failureOf(err).Error()})
	}
	return e.steps
}

type explainer struct {
	condition *Condition
	state     interpreter.EvalState
	steps     []Step
}

// complete reports whether the whole condition has a value. It has none if it was
// stopped.
func (e *explainer) complete() bool {
	if e.state == nil {
		return false
	}
	_, known := e.state.Value(e.condition.checked.Expr().ID())
	return known
}

func (e *explainer) visit(part ast.Expr) {
	switch part.Kind() {
	case ast.CallKind:
		call := part.AsCall()
		if call.IsMemberFunction() {
			e.visit(call.Target())
		}
		for _, arg := range call.Args() {
			e.visit(arg)
		}
	case ast.SelectKind:
		// args and agent need no line of their own, but args.amount does.
		if operand := part.AsSelect().Operand(); operand.Kind() != ast.IdentKind {
			e.visit(operand)
		}
	case ast.ListKind:
		for _, element := range part.AsList().Elements() {
			e.visit(element)
		}
	case ast.ComprehensionKind:
		e.visit(part.AsComprehension().IterRange())
	case ast.LiteralKind:
		return
	}
	e.add(part)
}

func (e *explainer) add(part ast.Expr) {
	value, known := e.state.Value(part.ID())
	if !known || part.Kind() == ast.ListKind {
		return
	}
	text, err := parser.Unparse(part, e.condition.checked.SourceInfo(), parser.WrapOnColumn(maxText))
	if err != nil {
		return
	}
	step := Step{Expression: text}
	if failed, ok := value.(*types.Err); ok {
		step.Error = failed.Error()
	} else {
		step.Value = shortJSON(value)
	}
	e.steps = append(e.steps, step)
}
