package main

import (
	"fmt"
	"strconv"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
)

const celScan = "cel-go, one rule after the other"

// newScan has every rule as one CEL program, its tool a part of the condition.
func newScan(rules []rule) (func(call) func() bool, error) {
	env, err := cel.NewEnv(
		cel.Variable("server", cel.StringType), cel.Variable("tool", cel.StringType),
		cel.Variable("args", cel.MapType(cel.StringType, cel.DynType)), cel.CrossTypeNumericComparisons(true),
	)
	if err != nil {
		return nil, fmt.Errorf("prepare CEL: %w", err)
	}
	var denies, allows []cel.Program
	for _, r := range rules {
		text := "server == " + strconv.Quote(r.server) + toolTest(r) + " && " + celCondition(r)
		compiled, issues := env.Compile(text)
		if issues.Err() != nil {
			return nil, fmt.Errorf("%s: %w", r.id, issues.Err())
		}
		program, err := env.Program(compiled, cel.EvalOptions(cel.OptOptimize))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.id, err)
		}
		if r.deny {
			denies = append(denies, program)
		} else {
			allows = append(allows, program)
		}
	}
	return func(c call) func() bool {
		vars := map[string]any{"server": c.server, "tool": c.tool, "args": c.arguments}
		return func() bool { return !anyHolds(denies, vars) && anyHolds(allows, vars) }
	}, nil
}

func toolTest(r rule) string {
	switch {
	case r.tool == "":
		return ""
	case r.prefix:
		return " && tool.startsWith(" + strconv.Quote(r.tool) + ")"
	}
	return " && tool == " + strconv.Quote(r.tool)
}

func anyHolds(programs []cel.Program, vars map[string]any) bool {
	for _, p := range programs {
		if value, _, err := p.Eval(vars); err == nil && value == types.True {
			return true
		}
	}
	return false
}
