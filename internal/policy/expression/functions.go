package expression

import (
	"fmt"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"writ/internal/glob"
)

var (
	stringType = []*cel.Type{cel.StringType}
	stringList = cel.ListType(cel.StringType)
)

// declarations are the functions that expressions have besides those of CEL.
func declarations() []cel.EnvOption {
	return []cel.EnvOption{
		cel.Function("shell", cel.Overload("shell_string", stringType, shellKind.celType, cel.LateFunctionBinding())),
		cel.Function("path", cel.Overload("path_string", stringType, pathKind.celType, cel.LateFunctionBinding())),
		cel.Function("url", cel.Overload("url_string", stringType, urlKind.celType,
			cel.UnaryBinding(fromText(urlKind, parseURL)))),
		cel.Function("ip", cel.Overload("ip_string", stringType, ipKind.celType,
			cel.UnaryBinding(fromText(ipKind, parseIP)))),
		cel.Function("amount", cel.Overload("amount_map", []*cel.Type{cel.MapType(cel.StringType, cel.DynType)},
			cel.DoubleType, cel.UnaryBinding(callAmount))),
		against("within", pathKind.celType, testLiterals(parseDir, location.within)),
		against("inCidr", ipKind.celType, testLiterals(parseRange, ipAddress.inRange)),
		against("glob", cel.StringType, callGlob),
		cel.Function("glob",
			cel.Overload("glob_string_string", []*cel.Type{cel.StringType, cel.StringType}, cel.BoolType,
				cel.BinaryBinding(callGlob)),
			cel.Overload("glob_string_list", []*cel.Type{cel.StringType, stringList}, cel.BoolType,
				cel.BinaryBinding(callGlob)),
		),
		textFunction("lowerAscii", lowerASCII),
		textFunction("upperAscii", upperASCII),
		textFunction("trim", strings.TrimSpace),
	}
}

// against declares value.name(literal) and value.name([literals]).
func against(name string, receiver *cel.Type, call func(value, literal ref.Val) ref.Val) cel.EnvOption {
	return cel.Function(name,
		cel.MemberOverload("member_"+name+"_string", []*cel.Type{receiver, cel.StringType}, cel.BoolType,
			cel.BinaryBinding(call)),
		cel.MemberOverload("member_"+name+"_list", []*cel.Type{receiver, stringList}, cel.BoolType,
			cel.BinaryBinding(call)),
	)
}

func textFunction(name string, change func(string) string) cel.EnvOption {
	return cel.Function(name, cel.MemberOverload("string_"+name, stringType, cel.StringType,
		cel.UnaryBinding(func(value ref.Val) ref.Val {
			return onText(value, func(text string) ref.Val { return types.String(change(text)) })
		})))
}

// fromText is a function that parses a text into one of our objects.
func fromText[T any](k *kind, parse func(string) (T, error)) func(ref.Val) ref.Val {
	return func(value ref.Val) ref.Val {
		return onText(value, func(text string) ref.Val {
			parsed, err := parse(text)
			if err != nil {
				return types.WrapErr(err)
			}
			return object{kind: k, value: parsed}
		})
	}
}

// onText calls a function with a text. For other values it returns CEL's error.
func onText(value ref.Val, call func(string) ref.Val) ref.Val {
	text, ok := value.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(value)
	}
	return call(string(text))
}

func callAmount(value ref.Val) ref.Val {
	args, ok := value.(traits.Mapper)
	if !ok {
		return types.MaybeNoSuchOverloadErr(value)
	}
	sum, err := amount(args)
	if err != nil {
		return types.WrapErr(err)
	}
	return types.Double(sum)
}

// testLiterals tests one of our objects against a literal, or a list of them.
func testLiterals[T, L any](
	parse func(string) (L, error), test func(T, L) (bool, error),
) func(value, literals ref.Val) ref.Val {
	return func(value, literals ref.Val) ref.Val {
		ours, ok := value.Value().(T)
		if !ok {
			return types.MaybeNoSuchOverloadErr(value)
		}
		return anyOf(literals, func(text string) (bool, error) {
			literal, err := parse(text)
			if err != nil {
				return false, err
			}
			return test(ours, literal)
		})
	}
}

func callGlob(value, patterns ref.Val) ref.Val {
	return onText(value, func(text string) ref.Val {
		if count := literalCount(patterns); len(text)*count > maxGlobWork {
			return types.WrapErr(failure(fmt.Sprintf("glob: the text is longer than %d bytes, the maximum for these patterns", maxGlobWork/count)))
		}
		return anyOf(patterns, func(pattern string) (bool, error) { return glob.Match(pattern, text), nil })
	})
}

// literalCount is the length of a list of literals, or 1 for a single one.
func literalCount(literals ref.Val) int {
	if list, ok := literals.(traits.Lister); ok {
		if size, ok := list.Size().(types.Int); ok {
			return int(size)
		}
	}
	return 1
}

// anyOf tests one literal, or each of a list. As with ||, one that holds outweighs one
// that fails.
func anyOf(literals ref.Val, test func(string) (bool, error)) ref.Val {
	if text, ok := literals.(types.String); ok {
		return result(test(string(text)))
	}
	list, ok := literals.(traits.Lister)
	if !ok {
		return types.MaybeNoSuchOverloadErr(literals)
	}
	var failed error
	for it := list.Iterator(); it.HasNext() == types.True; {
		text, ok := it.Next().(types.String)
		if !ok {
			return types.MaybeNoSuchOverloadErr(literals)
		}
		holds, err := test(string(text))
		if holds {
			return types.True
		}
		if err != nil {
			failed = err
		}
	}
	return result(false, failed)
}

func result(holds bool, err error) ref.Val {
	if err != nil {
		return types.WrapErr(err)
	}
	return types.Bool(holds)
}

func lowerASCII(text string) string { return strings.Map(asciiCase('A', 'Z', 'a'-'A'), text) }
func upperASCII(text string) string { return strings.Map(asciiCase('a', 'z', 'A'-'a'), text) }

func asciiCase(first, last, shift rune) func(rune) rune {
	return func(r rune) rune {
		if first <= r && r <= last {
			return r + shift
		}
		return r
	}
}
