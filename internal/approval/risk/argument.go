package risk

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"writ/internal/redaction"
	"writ/internal/toolcall"
	"writ/internal/toolclass"
)

// Limits of the arguments that are read.
const (
	maxDepth = 8
	maxParts = 500
	maxValue = 300 // bytes of a value that is compared
)

// amountNames are what tools call the money they move.
var amountNames = []string{"amount", "value", "total", "price", "cost"}

// placeWords are names of arguments that hold a recipient, place or address.
var placeWords = toolclass.NewSet("recipient recipients to cc bcc email emails mail user username member participant participants attendee attendees account iban bic destination target payee beneficiary url uri link href endpoint webhook host hostname domain server address addresses phone channel room bucket repo repository path file filename folder directory branch remote")

// arguments are what matters of a call's arguments.
type arguments struct {
	names   []string // dotted, each once, sorted
	values  []value  // recipients, places and addresses
	amounts []float64
	secret  bool // something was redacted
	unclear bool // not everything was read
	parts   int
}

// value is a text and its name. The same text under another name is another value.
type value struct{ name, text string }

// key is the key of a value in Past.
func (v value) key() string { return valueKey(v.name, v.text) }

func valueKey(name, text string) string {
	return name + "\x00" + strings.ToLower(strings.TrimSpace(text))
}

// readArguments reads a JSON object. What cannot be read is unclear.
func readArguments(text string) (a arguments) {
	if text == "" {
		return a
	}
	object, err := toolcall.Decode([]byte(text))
	if err != nil {
		a.unclear = true
		return a
	}
	a.object("", object, 0)
	slices.Sort(a.names)
	a.names = slices.Compact(a.names)
	return a
}

func (a *arguments) object(path string, object map[string]any, depth int) {
	// Sorted, so that the limit always cuts off the same arguments.
	for _, name := range slices.Sorted(maps.Keys(object)) {
		full := name
		if path != "" {
			full = path + "." + name
		}
		a.names = append(a.names, full)
		a.part(full, name, object[name], depth+1)
	}
}

// part reads one value. Elements of a list have the list's name.
func (a *arguments) part(full, name string, v any, depth int) {
	a.parts++
	if depth > maxDepth || a.parts > maxParts {
		a.unclear = true
		return
	}
	switch v := v.(type) {
	case map[string]any:
		a.object(full, v, depth)
	case []any:
		for _, element := range v {
			a.part(full, name, element, depth+1)
		}
	case string:
		a.text(full, name, v)
	case int64:
		a.number(full, name, float64(v), strconv.FormatInt(v, 10))
	case float64:
		a.number(full, name, v, strconv.FormatFloat(v, 'g', -1, 64))
	}
}

func (a *arguments) text(full, name, text string) {
	if strings.Contains(text, redaction.Mark) {
		a.secret = true
		return // redacted values are all alike
	}
	if isAmount(name) {
		if n, err := strconv.ParseFloat(strings.TrimSpace(text), 64); err == nil {
			a.addAmount(n)
		}
	}
	if len(text) <= maxValue && placeWords.HasAny(toolclass.Words(name)) {
		a.values = append(a.values, value{full, text})
	}
}

func (a *arguments) number(full, name string, n float64, text string) {
	if isAmount(name) {
		a.addAmount(n)
	}
	if placeWords.HasAny(toolclass.Words(name)) {
		a.values = append(a.values, value{full, text})
	}
}

func (a *arguments) addAmount(n float64) {
	if n, ok := size(n); ok {
		a.amounts = append(a.amounts, n)
	}
}

// size is the absolute amount; clients without an amount send zero.
func size(n float64) (float64, bool) {
	n = math.Abs(n)
	return n, n > 0 && !math.IsInf(n, 0)
}

// isAmount reports whether a name is one of amountNames, whatever its case.
func isAmount(name string) bool {
	return slices.ContainsFunc(toolclass.Words(name), func(word string) bool {
		return slices.Contains(amountNames, word)
	})
}

// largest is the largest amount, or nil: a second amount must not hide a large one.
func largest(amounts []float64, stated *float64) *float64 {
	if stated != nil {
		if n, ok := size(*stated); ok {
			amounts = append(slices.Clone(amounts), n)
		}
	}
	if len(amounts) == 0 {
		return nil
	}
	most := slices.Max(amounts)
	return &most
}
