package expression

import "cel.dev/cel-go/common/ast"

// known are the variables that are settled before a call is made: who would
// make it, and to which tool.
var known = map[string]bool{"tool": true, "server": true, "agent": true, "user": true, "org": true, "environment": true}

// Foreseeable reports whether the condition looks at nothing but who calls
// which tool, so that its answer is the same for every call they make.
func (c *Condition) Foreseeable() bool {
	foreseeable := true
	ast.PreOrderVisit(c.checked.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.IdentKind:
			foreseeable = foreseeable && known[e.AsIdent()]
		case ast.CallKind:
			// What a path really is comes with the call.
			foreseeable = foreseeable && e.AsCall().FunctionName() != "path"
		case ast.ComprehensionKind:
			foreseeable = false // its own variables look like any other
		}
	}))
	return foreseeable
}
