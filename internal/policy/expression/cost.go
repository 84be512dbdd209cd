package expression

import (
	"strings"

	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// Bounds of evaluations, in units of about a step of the interpreter. It takes
// some tens of nanoseconds, two hundred at worst.
const (
	// MaxWork is what one condition may take. It is noticed after the step that
	// goes over it, and no step takes as much alone.
	MaxWork = 200_000
	// MaxDecisionWork is what all conditions over one input may take. Then the
	// others fail without being looked at.
	MaxDecisionWork = 2_000_000
)

// What makes up the work of functions.
const (
	bytesPerUnit = 16       // of text that is walked over once
	maxShell     = 64 << 10 // bytes of a command
	shellBytes   = 2        // of a command that are parsed for a unit
	maxRegexSize = 500      // instructions of a compiled pattern
	maxRegexWork = 4 << 20  // bytes of text times instructions, for one match
	regexPerUnit = 32       // of such products
	maxGlobWork  = 2 << 20  // bytes of text times patterns, for one call
	zoneWork     = 100      // of finding a time zone
	literalWork  = 2        // of reading a folder or a range
)

// meter counts the work of function calls. Steps between them are counted by
// the interpreter.
type meter struct{}

// small are the counts of most calls, ready to be pointed to.
var small = func() (counts [64]uint64) {
	for i := range counts {
		counts[i] = uint64(i)
	}
	return counts
}()

// CallCost is the work that a call has just done. It grows with whatever the
// function walks over: the standard counts take some of that to be free.
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
				work = uint64(size) * 2 // each name is looked at
			}
		}
	case operators.Add:
		work = joined(args)
	case "matches":
		if types.IsError(result) {
			break // it refused to begin
		}
		work = textUnits(args[0]) * bytesPerUnit * regexSize(overload) / regexPerUnit
	case "glob":
		if !types.IsError(result) {
			work = textUnits(args[0]) * uint64(literalCount(args[1]))
		}
	case "within", "inCidr":
		work = weigh(args[1], MaxWork) * literalWork // each is read anew
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
	large := work // so that work itself need not be allocated
	return &large
}

// textUnits is the length of a text, and nothing for other values.
func textUnits(value ref.Val) uint64 {
	switch v := value.(type) {
	case types.String:
		return uint64(len(v)) / bytesPerUnit
	case types.Bytes:
		return uint64(len(v)) / bytesPerUnit
	}
	return 0
}

// joined is the work of a + b: the bytes copied, or the elements of the list
// that comes out, which later steps will walk over. A loop adds to its own list
// in place.
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

// weigh is the size of a value with everything in it, or the limit if it is
// larger.
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
