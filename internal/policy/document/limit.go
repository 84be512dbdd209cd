package document

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"writ/internal/node"
)

// costPlaces is how many decimals a cost may have: it is stored in nano-dollars.
const costPlaces = 9

func readLimit(v *node.Value) *Limit {
	m := v.Members("calls", "cost", "tokens", "per", "by")
	units := 0
	for _, name := range []string{"calls", "cost", "tokens"} {
		if m.Get(name) != nil {
			units++
		}
	}
	if units != 1 && v.Node().Kind == node.Map {
		v.Problem("must have exactly one of calls, cost and tokens")
	}
	limit := &Limit{
		Calls:  m.Get("calls").Int(1, MaxCount),
		Cost:   readCost(m.Get("cost")),
		Tokens: m.Get("tokens").Int(1, MaxCount),
		Per:    readPer(m.Need("per")),
		By:     Agent,
	}
	if by := m.Get("by"); by != nil {
		limit.By = Subject(by.OneOf(string(Agent), string(Session), string(User), string(Organization)))
	}
	return limit
}

func readCost(v *node.Value) int64 {
	nano, ok := v.Decimal(costPlaces)
	if !ok || nano.Sign() == 0 || !nano.IsInt64() || nano.Int64() > MaxCost {
		v.Problem("must be an amount in dollars above 0 and at most 1000000000, with at most %d decimals, as 5.00",
			costPlaces)
		return 0
	}
	return nano.Int64()
}

// FormatCost writes nano-dollars as dollars with at least two decimals.
func FormatCost(nano int64) string {
	const dollar = 1_000_000_000
	fraction := strconv.FormatInt(dollar+nano%dollar, 10)[1:]
	fraction = strings.TrimRight(fraction, "0")
	return strconv.FormatInt(nano/dollar, 10) + "." + fraction + strings.Repeat("0", max(2-len(fraction), 0))
}

const day = 24 * time.Hour

var (
	perForm = regexp.MustCompile(`^[1-9][0-9]{0,6}[smhdw]$`)
	perUnit = map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': day, 'w': 7 * day}
)

func readPer(v *node.Value) time.Duration {
	text := v.Node().Text
	if v.Node().Kind == node.String && perForm.MatchString(text) {
		last := len(text) - 1
		count, err := strconv.ParseInt(text[:last], 10, 64)
		if unit := perUnit[text[last]]; err == nil && count <= int64(MaxPer/unit) { // else the product may wrap around
			return time.Duration(count) * unit
		}
	}
	v.Problem("must be a time from 1s to 31d, as 30s, 5m, 1h, 7d or 2w")
	return 0
}

// FormatPer writes the length of a window as a document does.
func FormatPer(per time.Duration) string {
	for _, unit := range []byte("dhm") {
		if length := perUnit[unit]; per%length == 0 && (unit != 'd' || per > day) {
			return strconv.FormatInt(int64(per/length), 10) + string(unit)
		}
	}
	return strconv.FormatInt(int64(per/time.Second), 10) + "s"
}
