package risk

import (
	"maps"
	"slices"
)

// Codes are those of all reasons.
func Codes() []string { return slices.Sorted(maps.Keys(points)) }

// Weigh is the assessment of reasons by their codes.
func Weigh(codes []string) Assessment {
	var t tally
	for _, code := range codes {
		t.add(code, "")
	}
	return t.result()
}
