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

// checkRegex refuses patterns that do not compile or are too large to run over
// text of some length.
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

// regexSizes adds up the patterns of a condition whose shape was checked.
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

// withPattern is a call of matches() with its pattern compiled. The time of a
// match grows with the text times the pattern, so that is what is bounded. The
// name of the overload tells the pattern's size to who counts the work.
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
		text, ok := args[0].(types.String)
		if !ok {
			return types.MaybeNoSuchOverloadErr(args[0])
		}
		if len(text)*size > maxRegexWork {
			return types.WrapErr(failure(fmt.Sprintf("matches: the text is longer than %d bytes, which is what the pattern can take", maxRegexWork/size)))
		}
		return types.Bool(regex.MatchString(string(text)))
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
