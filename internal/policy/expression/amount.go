package expression

import (
	"slices"
	"strconv"
	"strings"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// amountNames are what tools call the money they move.
var amountNames = []types.String{"amount", "value", "total", "price", "cost"}

// maxDigits is the length of a number given as text.
const maxDigits = 40

// amount is the largest number among the names that are there, so that a second
// name cannot hide a large sum behind a small one.
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
		return 0, failure("amount: a name is there in two spellings, of which a tool may take the other")
	}
	if !found {
		return 0, failure("amount: none of amount, value, total, price and cost is there")
	}
	return largest, nil
}

// respelt reports whether one of the names is there in other letters too: many
// readers of JSON take Amount for amount, and the last of both.
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
		if isDecimal(string(v)) {
			return strconv.ParseFloat(string(v), 64)
		}
	}
	return 0, failure("is no number")
}

// isDecimal accepts digits, perhaps with a sign before and a fraction after
// them. Exponents, separators, spaces and currencies mean different things to
// different readers.
func isDecimal(text string) bool {
	if len(text) > maxDigits {
		return false
	}
	if len(text) > 0 && text[0] == '-' {
		text = text[1:]
	}
	before, after, dot := 0, 0, false
	for i := range len(text) {
		switch c := text[i]; {
		case c == '.' && !dot:
			dot = true
		case c < '0' || c > '9':
			return false
		case dot:
			after++
		default:
			before++
		}
	}
	return before > 0 && (!dot || after > 0)
}
