// Package lint tells what a policy says in vain, or says too much of.
//
// What compiles can still be wrong: a rule that another always comes before, an
// allow that a deny takes back, a star that lets through tools nobody has seen,
// two limits of which one never counts. Of reads a policy alone and finds these
// from its text. A Tally is shown calls that were really made, and tells which
// conditions were true for all of them, which never could be evaluated, and which
// tools a star was needed for.
//
// Every finding has its place and what to do about it. A finding is certain about
// what it says, but the author may have wanted it so: none of them keeps a policy
// from being stored or put in force.
package lint

import (
	"cmp"
	"fmt"
	"slices"

	"writ/internal/policy/document"
)

// Kind is what was found.
type Kind string

// The kinds of findings.
const (
	Unreachable   Kind = "unreachable"          // the rule never decides
	ShadowedAllow Kind = "shadowed_allow"       // a deny always comes before the allow
	OverBroad     Kind = "over_broad"           // allows more tools than anybody named, or used
	Contradictory Kind = "contradictory_limits" // a limit that never holds back a call
	AlwaysTrue    Kind = "always_true"          // a condition that held for all recorded calls
	AlwaysFails   Kind = "always_fails"         // a condition that failed for all recorded calls
)

// Finding is one of them, with its place.
type Finding struct {
	Kind Kind
	document.Problem
	Fix   string
	Calls int64 // how many recorded calls say so; 0: the text does
}

// Report is everything that was found, in the order of the text.
type Report struct {
	Findings []Finding
	// Incomplete: there is more than fits, or the policy is too large to compare
	// all its rules.
	Incomplete bool
}

// Limits of one report.
const (
	maxFindings = 200
	maxNamed    = 5         // tools or rules that one finding names
	maxCompared = 5_000_000 // pairs of patterns
	// Steps of conditions that are tried: on no call, and on recorded ones. A second
	// or two of a processor, where ten thousand ordinary conditions take a part of it.
	maxWork      = 2_000_000
	maxTallyWork = 8_000_000
)

// place is where a finding about a field of a rule stands.
func place(doc *document.Document, i int, field string) document.Problem {
	r := &doc.Rules[i]
	p := document.Problem{Position: r.At, Rule: r.ID, Field: fmt.Sprintf("rules[%d]", i)}
	if field != "" {
		p.Field += "." + field
	}
	if field == "when" && r.WhenAt.Line > 0 {
		p.Position = r.WhenAt
	}
	return p
}

// sorted is the report in the order of the text, no longer than it may be.
func (r Report) sorted() Report {
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if len(r.Findings) > maxFindings {
		r.Findings, r.Incomplete = r.Findings[:maxFindings], true
	}
	return r
}

// Join is two reports about one policy as one.
func Join(a, b Report) Report {
	return Report{Findings: slices.Concat(a.Findings, b.Findings), Incomplete: a.Incomplete || b.Incomplete}.sorted()
}
