package expression

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// amountNames are the arguments in which tools expect an amount of money.
var amountNames = []types.String{"amount", "value", "total", "price", "cost"}

const maxDigits = 40

// amount is the largest number among these arguments, so that a second argument cannot
// hide a large sum behind a small one.
func amount(args traits.Mapper) (float64, error) {
	var largest float64
	found := false
	for _, name := range amountNames {
		value, present := args.Find(name)
		if !present {
			continue
		}
		number, err := asNumber(value)
		if err != nil {
			return 0, failure("amount: " + string(name) + " " + err.Error())
		}
		if !found || number > largest {
			largest, found = number, true
		}
	}
	if found && respelt(args) {
		return 0, failure("amount: an argument is given in two spellings, and a tool may use either")
	}
	if !found {
		return 0, failure("amount: there is none of amount, value, total, price and cost")
	}
	return largest, nil
}

// respelt reports whether one of the names is also given in another case or with
// spaces: many JSON parsers read Amount as amount, and take the last of both.
func respelt(args traits.Mapper) bool {
	for it := args.Iterator(); it.HasNext() == types.True; {
		key, ok := it.Next().(types.String)
		if !ok || slices.Contains(amountNames, key) {
			continue
		}
		trimmed := strings.TrimSpace(string(key))
		if slices.ContainsFunc(amountNames, func(name types.String) bool {
			return strings.EqualFold(trimmed, string(name))
		}) {
			return true
		}
	}
	return false
}

func asNumber(value ref.Val) (float64, error) {
	switch v := value.(type) {
	case types.Int:
		return float64(v), nil
	case types.Uint:
		return float64(v), nil
	case types.Double:
		if v != v {
			break
		}
		return float64(v), nil
	case types.String:
		if len(v) <= maxDigits && decimal.MatchString(string(v)) {
			return strconv.ParseFloat(string(v), 64)
		}
	}
	return 0, failure("is not a number")
}

// decimal is digits with an optional minus sign and fraction. Parsers disagree about
// exponents, separators, spaces and currencies.
var decimal = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)
