package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
)

const opa = "OPA, prepared query"

func newOPA(rules []rule) (func(call) func() bool, error) {
	ctx := context.Background()
	query, err := rego.New(rego.Query("data.bench.allow"), rego.Module("bench.rego", module(rules))).PrepareForEval(ctx)
	if err != nil {
		return nil, fmt.Errorf("prepare the query: %w", err)
	}
	return func(c call) func() bool {
		input, err := ast.InterfaceToValue(map[string]any{"server": c.server, "tool": c.tool, "args": c.arguments})
		return func() bool {
			if err != nil {
				return false
			}
			results, err := query.Eval(ctx, rego.EvalParsedInput(input))
			return err == nil && results.Allowed()
		}
	}, nil
}

// module writes equalities first, which OPA indexes rules by.
func module(rules []rule) string {
	var b strings.Builder
	b.WriteString("package bench\n\ndefault allow := false\n\nallow if {\n\tpermitted\n\tnot denied\n}\n")
	for _, r := range rules {
		name, tool := "permitted", "input.tool == "+strconv.Quote(r.tool)+"; "
		if r.deny {
			name = "denied"
		}
		if r.prefix {
			tool = "startswith(input.tool, " + strconv.Quote(r.tool) + "); "
		}
		if r.tool == "" {
			tool = ""
		}
		fmt.Fprintf(&b, "\n%s if { input.server == %q; %s%s }\n", name, r.server, tool, regoCondition(r))
	}
	return b.String()
}

// planned decides a call from the same request as Writ gets: the tool is a step of
// the plan in the token, the step's arguments hold, and the rules allow it. The
// token is taken at its word.
const planned = `
planned if {
	some step in input.intent_token.plan.steps
	step.action == input.tool
	every name, value in step.params { input.arguments[name] == value }
	allow with input as {"server": step.mcp, "tool": input.tool, "args": input.arguments}
}
`

func regoCondition(r rule) string {
	argument := "input.args." + r.argument
	switch r.test {
	case atMost:
		return fmt.Sprintf("%s <= %d", argument, r.number)
	case above:
		return fmt.Sprintf("%s > %d", argument, r.number)
	case equals:
		return argument + " == " + strconv.Quote(r.text)
	case oneOf:
		return argument + " in " + list(r.texts)
	}
	return "startswith(" + argument + ", " + strconv.Quote(r.text) + ")"
}
