package expression

import (
	"strings"

	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// Limits of evaluations, in units of about one step of the interpreter, which takes
// tens of nanoseconds and 200 at most.
const (
	// MaxWork is for one condition. The step that exceeds it still finishes, but no
	// single step takes that much.
	MaxWork = 200_000
	// MaxDecisionWork is for all conditions over one input. Further conditions fail.
	MaxDecisionWork = 2_000_000
)

// The work of functions.
const (
	bytesPerUnit = 16       // of text that is read once
	maxShell     = 64 << 10 // bytes of a command
	shellBytes   = 2        // of a command that are parsed in one unit
	maxRegexSize = 500      // instructions of a compiled pattern
	maxRegexWork = 4 << 20  // bytes of text times instructions, for one match
	regexPerUnit = 32       // of such products
	maxGlobWork  = 2 << 20  // bytes of text times patterns, for one call
	zoneWork     = 100      // to find a time zone
	literalWork  = 2        // to parse a folder or range
)

// meter counts the work of function calls. The interpreter counts the steps between
// them.
type meter struct{}

// small holds the counts of most calls, so that they need not be allocated.
var small = func() (counts [64]uint64) {
	for i := range counts {
		counts[i] = uint64(i)
	}
	return counts
}()

// CallCost is the work of a call that was just made. It grows with everything that the
// function reads, some of which CEL's own counts take to be free.
func (meter) CallCost(function, overload string, args []ref.Val, result ref.Val) *uint64 {
	var work uint64
	switch function {
	case operators.Equals, operators.NotEquals:
		work = min(weigh(args[0], MaxWork), weigh(args[1], MaxWork))
	case operators.In:
		if _, isList := args[1].(traits.Lister); isList {
			work = weigh(args[1], MaxWork)
		}
		work += weigh(args[0], MaxWork)
	case "amount":
		if args, ok := args[0].(traits.Mapper); ok {
			if size, ok := args.Size().(types.Int); ok {
				work = uint64(size) * 2 // every name is compared
			}
		}
	case operators.Add:
		work = joined(args)
	case "matches":
		if types.IsError(result) {
			break // it did not run
		}
		work = textUnits(args[0]) * bytesPerUnit * regexSize(overload) / regexPerUnit
	case "glob":
		if !types.IsError(result) {
			work = textUnits(args[0]) * uint64(literalCount(args[1]))
		}
	case "within", "inCidr":
		work = weigh(args[1], MaxWork) * literalWork // each is parsed again
	case overloads.TypeConvertTimestamp:
		work = textUnits(args[0]) * 2
	case "shell":
		if text, ok := args[0].(types.String); ok && !types.IsError(result) {
			work = uint64(len(text)) / shellBytes
		}
	default:
		if len(args) == 2 && strings.HasPrefix(function, "get") {
			work = zoneWork
		}
		for _, arg := range args {
			work += textUnits(arg)
		}
	}
	work++
	if work < uint64(len(small)) {
		return &small[work]
	}
	large := work // so that work itself stays on the stack
	return &large
}

// textUnits is the length of a text, and zero for other values.
func textUnits(value ref.Val) uint64 {
	switch v := value.(type) {
	case types.String:
		return uint64(len(v)) / bytesPerUnit
	case types.Bytes:
		return uint64(len(v)) / bytesPerUnit
	}
	return 0
}

// joined is the work of a + b: the bytes that are copied, or the elements of the
// resulting list. A loop appends to its own list in place.
func joined(args []ref.Val) uint64 {
	var work uint64
	for i, arg := range args {
		if _, inPlace := arg.(traits.MutableLister); inPlace && i == 0 {
			continue
		}
		if list, ok := arg.(traits.Lister); ok {
			if size, ok := list.Size().(types.Int); ok {
				work += uint64(size)
			}
		}
		work += textUnits(arg)
	}
	return work
}

// weigh is the size of a value with everything in it, up to a limit.
func weigh(value any, limit uint64) uint64 {
	total := uint64(1)
	add := func(part any) bool {
		total += weigh(part, limit-min(total, limit))
		return total < limit
	}
	switch v := value.(type) {
	case string:
		total += uint64(len(v)) / bytesPerUnit
	case types.String:
		total += uint64(len(v)) / bytesPerUnit
	case types.Bytes:
		total += uint64(len(v)) / bytesPerUnit
	case []any:
		for _, part := range v {
			if !add(part) {
				return limit
			}
		}
	case map[string]any:
		for key, part := range v {
			total += uint64(len(key)) / bytesPerUnit
			if !add(part) {
				return limit
			}
		}
	case traits.Lister:
		return weighList(v, limit)
	case traits.Mapper:
		return weighMap(v, limit)
	}
	return min(total, limit)
}

func weighList(list traits.Lister, limit uint64) uint64 {
	if plain, ok := list.Value().([]any); ok {
		return weigh(plain, limit)
	}
	total := uint64(1)
	for it := list.Iterator(); it.HasNext() == types.True && total < limit; {
		total += weigh(it.Next(), limit-total)
	}
	return min(total, limit)
}

func weighMap(m traits.Mapper, limit uint64) uint64 {
	if plain, ok := m.Value().(map[string]any); ok {
		return weigh(plain, limit)
	}
	total := uint64(1)
	for it := m.Iterator(); it.HasNext() == types.True && total < limit; {
		key := it.Next()
		total += weigh(key, limit-total)
		if value, found := m.Find(key); found && total < limit {
			total += weigh(value, limit-total)
		}
	}
	return min(total, limit)
}
