package expression

import (
	"fmt"
	"regexp"
	"strconv"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"
)

// checkRegex refuses patterns that do not compile or are too large.
func checkRegex(pattern string) error {
	size, err := types.RegexProgramSize(pattern)
	if err != nil {
		return fmt.Errorf("matches: %w", err)
	}
	if size > maxRegexSize {
		return fmt.Errorf("matches: the pattern is too large: %d instructions, %d at most", size, maxRegexSize)
	}
	if _, err := regexp.Compile(pattern); err != nil {
		return fmt.Errorf("matches: %w", err)
	}
	return nil
}

func regexSizes(checked *ast.AST) int {
	total := 0
	ast.PreOrderVisit(checked.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != "matches" {
			return
		}
		args := e.AsCall().Args()
		if pattern, ok := literalText(args[len(args)-1]); ok {
			size, _ := types.RegexProgramSize(pattern)
			total += size
		}
	}))
	return total
}

// withPattern is a call of matches() with its compiled pattern. The time of a match grows
// with text times pattern, so that product is bounded. The name of the overload is the
// pattern's size, for the meter.
func withPattern(call interpreter.InterpretableCall, pattern string) (interpreter.InterpretableCall, error) {
	regex, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	size, err := types.RegexProgramSize(pattern)
	if err != nil {
		return nil, err
	}
	match := func(args ...ref.Val) ref.Val {
		return onText(args[0], func(text string) ref.Val {
			if len(text)*size > maxRegexWork {
				return types.WrapErr(failure(fmt.Sprintf("matches: the text is longer than %d bytes, the maximum for this pattern", maxRegexWork/size)))
			}
			return types.Bool(regex.MatchString(text))
		})
	}
	return interpreter.NewCall(call.ID(), call.Function(), strconv.Itoa(size), call.Args(), match), nil
}

func regexSize(overload string) uint64 {
	size, err := strconv.ParseUint(overload, 10, 32)
	if err != nil {
		return maxRegexSize
	}
	return size
}
