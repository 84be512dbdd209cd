package expression

import (
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/functions"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"writ/internal/toolcall"
)

// Partial is a call of which parts are unknown. A condition has an answer only if
// it is the same whatever these parts are.
type Partial struct {
	Input
	gaps     toolcall.Gaps
	patterns []*cel.AttributePatternType // made when first needed
}

// NewPartial prepares a call with gaps for evaluation.
func NewPartial(call *toolcall.Call, gaps toolcall.Gaps) *Partial {
	return &Partial{Input: Input{call: call}, gaps: gaps}
}

// UnknownAttributePatterns returns the gaps to CEL. What holds a gap is as
// unknown as what is in it.
func (p *Partial) UnknownAttributePatterns() []*cel.AttributePatternType {
	if p.patterns == nil {
		for _, gap := range p.gaps {
			pattern := cel.AttributePattern(gap[0])
			for _, name := range gap[1:] {
				pattern = pattern.QualString(name)
			}
			p.patterns = append(p.patterns, pattern)
		}
	}
	return p.patterns
}

// AsPartialActivation makes CEL evaluate with gaps.
func (p *Partial) AsPartialActivation() (cel.PartialActivation, bool) { return p, true }

// ResolveFunction finds the functions that need more than their arguments.
func (p *Partial) ResolveFunction(name string) (functions.LateBoundOp, bool) {
	if name == "path" && p.gaps.Cover("paths") {
		return func(string, ...ref.Val) ref.Val { return types.NewUnknown(0, types.NewAttributeTrail("paths")) }, true
	}
	return p.Input.ResolveFunction(name)
}

// EvalPartial reports whether the condition holds, as EvalInput does. If it is not
// known, the condition may hold, not hold or fail, depending on the gaps.
func (c *Condition) EvalPartial(p *Partial) (holds, known bool, err error) {
	if !c.Concerns(p.gaps) {
		holds, err = c.EvalInput(&p.Input)
		return holds, true, err
	}
	program, err := c.partial()
	if err != nil {
		return false, false, nil
	}
	if p.work >= MaxDecisionWork {
		return false, false, nil // with the gaps filled, it may have taken less
	}
	value, details, err := program.Eval(p)
	p.work += c.fixed
	p.charge(details)
	if err != nil {
		// With the gaps filled, it may take less work.
		failed := failureOf(err)
		return false, failed != errTooMuchWork, failed
	}
	if types.IsUnknown(value) {
		return false, false, nil
	}
	result, ok := value.(types.Bool)
	if !ok {
		return false, true, errNotBool
	}
	return bool(result), true, nil
}

// Concerns reports whether the condition reads anything that has a gap.
func (c *Condition) Concerns(gaps toolcall.Gaps) bool {
	reads := c.reads()
	for _, gap := range gaps {
		if reads[gap[0]] {
			return true
		}
	}
	return false
}

// readsOf are the variables that an expression names, including those of its
// loops, which does no harm.
func readsOf(e ast.Expr) map[string]bool {
	reads := map[string]bool{}
	ast.PreOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		switch {
		case e.Kind() == ast.IdentKind:
			reads[strings.TrimPrefix(e.AsIdent(), ".")] = true // the dot says that it is not the variable of a loop
		case e.Kind() == ast.CallKind && e.AsCall().FunctionName() == "path":
			reads["paths"] = true
		}
	}))
	return reads
}
