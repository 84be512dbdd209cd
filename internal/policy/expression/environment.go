package expression

import (
	"errors"
	"fmt"
	"sync"
	_ "time/tzdata" // now.getHours("Europe/Berlin") must not depend on the host

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/ext"
	"cel.dev/cel-go/interpreter"
)

// environment compiles all expressions. It never changes.
var environment = sync.OnceValues(newEnvironment)

func newEnvironment() (*cel.Env, error) {
	options := []cel.EnvOption{
		cel.OptionalTypes(),
		ext.TwoVarComprehensions(),
		cel.CrossTypeNumericComparisons(true),
		cel.DefaultUTCTimeZone(true),
		cel.EnableMacroCallTracking(), // explanations show the source
		cel.ParserExpressionSizeLimit(maxText),
		cel.ParserRecursionLimit(maxDepth),
		cel.ParserErrorRecoveryLimit(maxRepairs),
		cel.ExpressionNodeLimit(maxNodes),
		cel.ExpressionNestingDepthLimit(maxDepth),
		cel.ASTValidators(
			cel.ValidateDurationLiterals(),
			cel.ValidateTimestampLiterals(),
			cel.ValidateComprehensionNestingLimit(maxLoops),
		),
		withOurTypes,
	}
	options = append(options, variables()...)
	options = append(options, declarations()...)
	env, err := cel.NewEnv(options...)
	if err != nil {
		return nil, fmt.Errorf("prepare the language of conditions: %w", err)
	}
	fillCatalogue(env)
	return env, nil
}

// fillCatalogue makes an environment safe for concurrent use. At the first unknown
// name, its checker fills a catalogue of names that other goroutines may be copying.
func fillCatalogue(env *cel.Env) {
	if parsed, issues := env.Parse("unknown()"); issues.Err() == nil {
		env.Check(parsed)
	}
}

func variables() []cel.EnvOption {
	return []cel.EnvOption{
		cel.Variable("tool", cel.StringType),
		cel.Variable("server", cel.StringType),
		cel.Variable("args", cel.MapType(cel.StringType, cel.DynType)),
		cel.Variable("agent", agentKind.celType),
		cel.Variable("user", userKind.celType),
		cel.Variable("org", orgKind.celType),
		cel.Variable("session", sessionKind.celType),
		cel.Variable("intent", intentKind.celType),
		cel.Variable("labels", cel.ListType(cel.StringType)),
		cel.Variable("environment", cel.StringType),
		cel.Variable("now", cel.TimestampType),
	}
}

func withOurTypes(env *cel.Env) (*cel.Env, error) {
	withProvider, err := cel.CustomTypeProvider(newProvider(env.CELTypeProvider()))(env)
	if err != nil {
		return nil, err
	}
	return cel.CustomTypeAdapter(adapter{env.CELTypeAdapter()})(withProvider)
}

// lightOptions are for conditions whose work is not counted.
func lightOptions() []cel.ProgramOption {
	return []cel.ProgramOption{cel.CustomDecoratorV2(keepCounted), cel.EvalOptions(cel.OptOptimize)}
}

// countedOptions are for all other conditions.
func countedOptions() []cel.ProgramOption {
	return append(lightOptions(), cel.CostTracking(meter{}), cel.CostLimit(MaxWork))
}

// counted is a call that CEL must not optimize: hashing a value for a list of literals,
// or matching a precompiled pattern, would not be counted as work.
type counted struct{ interpreter.InterpretableV2 }

func keepCounted(part interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	call, ok := part.(interpreter.InterpretableCall)
	if !ok {
		return part, nil
	}
	switch call.Function() {
	case operators.In:
		return counted{part}, nil
	case "matches":
		pattern, ok := constantText(call.Args()[1])
		if !ok {
			return nil, errors.New("matches needs a literal pattern")
		}
		compiled, err := withPattern(call, pattern)
		return counted{compiled}, err
	}
	return part, nil
}

func constantText(part interpreter.InterpretableV2) (string, bool) {
	constant, ok := part.(interpreter.InterpretableConst)
	if !ok {
		return "", false
	}
	text, ok := constant.Value().(types.String)
	return string(text), ok
}
