// Package lint reports what a policy says that can never take effect, or that permits
// too much.
//
// A policy that compiles can still be wrong: another rule always comes first, a deny
// takes an allow back, a star lets unknown tools through, a limit never counts because
// of another, a pattern has braces of another language. Of finds these in a policy's
// text. A Tally is given calls that were made, and reports which conditions were true
// for all of them, which always failed, and which tools a star was needed for.
//
// Every finding has its position and a fix. What it says is certain, but may be what
// the author wanted, so that no finding stops a policy from being stored or activated.
package lint

import (
	"cmp"
	"slices"

	"writ/internal/policy/document"
)

// Kind is what was found.
type Kind string

// The kinds of findings.
const (
	Unreachable   Kind = "unreachable"          // the rule never decides
	ShadowedAllow Kind = "shadowed_allow"       // a deny always comes before the allow
	OverBroad     Kind = "over_broad"           // allows more tools than anybody named or used
	Contradictory Kind = "contradictory_limits" // the limit never stops a call
	LiteralMarks  Kind = "literal_marks"        // characters that mean something in other patterns
	AlwaysTrue    Kind = "always_true"          // a condition that held for all recorded calls
	AlwaysFails   Kind = "always_fails"         // a condition that failed for all recorded calls
)

// Finding is one thing that was found.
type Finding struct {
	Kind Kind
	document.Problem
	Fix   string
	Calls int64 // how many recorded calls show it; 0 if the text does
}

// Report is everything that was found, in the order of the text.
type Report struct {
	Findings   []Finding
	Incomplete bool // there are more findings, or the policy is too large to check whole
}

// Limits of one report.
const (
	maxFindings = 200
	maxNamed    = 5         // tools or rules that one finding names
	maxCompared = 5_000_000 // pairs of patterns
	// Steps of evaluating conditions without a call, and on recorded calls: a second or
	// two of CPU, of which ten thousand ordinary conditions need a part.
	maxWork      = 2_000_000
	maxTallyWork = 8_000_000
)

// sorted is the report in the order of the text, cut to its maximum length.
func (r Report) sorted() Report {
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if len(r.Findings) > maxFindings {
		r.Findings, r.Incomplete = r.Findings[:maxFindings], true
	}
	return r
}

// Join joins two reports about one policy.
func Join(a, b Report) Report {
	return Report{Findings: slices.Concat(a.Findings, b.Findings), Incomplete: a.Incomplete || b.Incomplete}.sorted()
}
