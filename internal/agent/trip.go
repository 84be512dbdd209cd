package agent

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"writ/internal/fault"
)

// Rule is what trips the kill switch.
type Rule string

// The rules of trips.
const (
	CostPerDay       Rule = "costPerDay"
	CallsPerMinute   Rule = "callsPerMinute"
	DenialsPerMinute Rule = "denialsPerMinute"
	RejectedInARow   Rule = "rejectedInARow"
	FindingsPerDay   Rule = "findingsPerDay"
)

// Limits of trips.
const (
	maxTripCount = 1_000_000
	maxTripCost  = 1_000_000 // US dollars
	nanosPerUSD  = 1e9
)

// Trips are the numbers at which an agent is stopped without a person. A nil member of an
// agent is the organization's, and of an organization off; zero is off.
type Trips struct {
	CostPerDay       *float64         `json:"costPerDay,omitzero"` // US dollars in a day, UTC
	CallsPerMinute   *int64           `json:"callsPerMinute,omitzero"`
	DenialsPerMinute *int64           `json:"denialsPerMinute,omitzero"`
	RejectedInARow   *int64           `json:"rejectedInARow,omitzero"` // approval requests
	FindingsPerDay   map[string]int64 `json:"findingsPerDay,omitzero"` // by kind, in 24 hours
}

// IsZero reports whether nothing is set.
func (t Trips) IsZero() bool {
	return t.CostPerDay == nil && t.CallsPerMinute == nil && t.DenialsPerMinute == nil && t.RejectedInARow == nil &&
		len(t.FindingsPerDay) == 0
}

// check names every wrong field. Kinds are those of findings.
func (t Trips) check(kinds []string) error {
	var problems []fault.Detail
	refuse := func(field, message string) {
		problems = append(problems, fault.Detail{Field: "trips." + field, Message: message})
	}
	if c := t.CostPerDay; c != nil && !(*c >= 0 && *c <= maxTripCost) {
		refuse(string(CostPerDay), fmt.Sprintf("must be from 0 (off) to %d US dollars", maxTripCost))
	}
	count := func(n *int64, field string) {
		if n != nil && (*n < 0 || *n > maxTripCount) {
			refuse(field, fmt.Sprintf("must be from 0 (off) to %d", maxTripCount))
		}
	}
	count(t.CallsPerMinute, string(CallsPerMinute))
	count(t.DenialsPerMinute, string(DenialsPerMinute))
	count(t.RejectedInARow, string(RejectedInARow))
	for _, kind := range slices.Sorted(maps.Keys(t.FindingsPerDay)) {
		if !slices.Contains(kinds, kind) {
			refuse(string(FindingsPerDay), fmt.Sprintf("must be about kinds of findings: %q", kinds))
			break
		}
		n := t.FindingsPerDay[kind]
		count(&n, string(FindingsPerDay)+"."+kind)
	}
	if problems != nil {
		return fault.Fields(problems...)
	}
	return nil
}

// over is what holds for an agent with these trips in an organization with others.
func (t Trips) over(org Trips) Trips {
	pick := func(own, other *int64) *int64 {
		if own != nil {
			return own
		}
		return other
	}
	all := Trips{
		CostPerDay:       t.CostPerDay,
		CallsPerMinute:   pick(t.CallsPerMinute, org.CallsPerMinute),
		DenialsPerMinute: pick(t.DenialsPerMinute, org.DenialsPerMinute),
		RejectedInARow:   pick(t.RejectedInARow, org.RejectedInARow),
		FindingsPerDay:   maps.Clone(org.FindingsPerDay),
	}
	if all.CostPerDay == nil {
		all.CostPerDay = org.CostPerDay
	}
	if all.FindingsPerDay == nil {
		all.FindingsPerDay = t.FindingsPerDay
	} else {
		maps.Copy(all.FindingsPerDay, t.FindingsPerDay)
	}
	return all
}

// costNanos is the budget in 10^-9 US dollars; zero: there is none.
func (t Trips) costNanos() int64 {
	if t.CostPerDay == nil {
		return 0
	}
	return int64(math.Ceil(*t.CostPerDay * nanosPerUSD))
}

// most is the number of a rule that counts; zero: it is off.
func (t Trips) most(rule Rule) int64 {
	n := map[Rule]*int64{
		CallsPerMinute: t.CallsPerMinute, DenialsPerMinute: t.DenialsPerMinute, RejectedInARow: t.RejectedInARow,
	}[rule]
	if n == nil {
		return 0
	}
	return *n
}

// text is what is stored; empty: nothing is set.
func (t Trips) text() (string, error) {
	if t.IsZero() {
		return "", nil
	}
	text, err := json.Marshal(t, json.Deterministic(true))
	return string(text), err
}

// parseTrips reads what is stored.
func parseTrips(text string) (t Trips, err error) {
	if text == "" {
		return Trips{}, nil
	}
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		return Trips{}, fmt.Errorf("read stored trips: %w", err)
	}
	return t, nil
}

// Subject is what a trip counts and stops: an agent that is called with one of its bound
// keys, else the key, so that no key trips an agent that it is not bound to.
type Subject struct {
	Scope Scope // OfAgent or OfKey
	ID    string
}

// tripped is a trip with its numbers.
type tripped struct {
	rule  Rule
	words string // what was counted
}

func countedTrip(rule Rule, count int64) tripped {
	words := map[Rule]string{
		CallsPerMinute:   "%d calls within a minute",
		DenialsPerMinute: "%d denials within a minute",
		RejectedInARow:   "%d approval requests rejected in a row",
	}[rule]
	return tripped{rule, fmt.Sprintf(words, count)}
}

func costTrip(nanos int64) tripped {
	return tripped{CostPerDay, "cost of $" + strconv.FormatFloat(float64(nanos)/nanosPerUSD, 'f', 2, 64) + " today"}
}

func findingTrip(kind string, count int64) tripped {
	return tripped{FindingsPerDay, fmt.Sprintf("%d findings %s within a day", count, kind)}
}

// reason is that of the stop.
func (t tripped) reason(limit string) string {
	return fmt.Sprintf("tripped %s: %s, and %s is the limit", t.rule, t.words, limit)
}

// tripWindow is the span of what is counted a minute.
const tripWindow = time.Minute
