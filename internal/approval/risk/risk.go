// Package risk says how careful a person should be with a request for approval,
// and why.
//
// People who are asked too often stop reading. So each request carries a level
// and the reasons for it, in words, and a queue can show first what deserves a
// look. The level decides nothing: no request is approved or refused by it.
//
// Assess is pure: the same Facts give the same Assessment, on every replica and
// in a test years later. Each reason has a fixed number of points, points only
// add up, and the sum gives the level; so a further reason never makes a request
// look safer. What was done before comes from the audit log (History), and only
// calls that ran count as done: an agent that keeps asking for something does
// not make it familiar.
//
// Much of what is judged is chosen by who asks: the name of the tool, of its
// server, of arguments, and labels. A name that lies makes a request look
// harmless in its class, not in the rest. The level is a help for the eye, not a
// guard; policies and plans are the guard.
package risk

import "time"

// Level is how careful to be.
type Level string

// The levels, and the points from which they hold.
const (
	Low      Level = "low"
	Medium   Level = "medium"   // from 25
	High     Level = "high"     // from 50
	Critical Level = "critical" // from 80
)

// Valid reports whether this is one of the levels.
func (l Level) Valid() bool { return l.Rank() >= 0 }

// Rank orders the levels, from 0 for Low; of anything else it is -1.
func (l Level) Rank() int {
	switch l {
	case Low:
		return 0
	case Medium:
		return 1
	case High:
		return 2
	case Critical:
		return 3
	}
	return -1
}

// maxScore is where points stop to count.
const maxScore = 100

// levelOf is the level of a sum of points.
func levelOf(score int) Level {
	switch {
	case score >= 80:
		return Critical
	case score >= 50:
		return High
	case score >= 25:
		return Medium
	}
	return Low
}

// Reason is why a request looks riskier than it might: a code for programs,
// words for people.
type Reason struct{ Code, Words string }

// Assessment is what came out.
type Assessment struct {
	Level   Level
	Score   int // 0 to 100
	Reasons []Reason
}

// Plan is how a call stands to what its agent declared.
type Plan int

// The ways. The zero value is that nothing was declared.
const (
	NoPlan Plan = iota
	WithinPlan
	OutsidePlan
	PlanUnchecked // the client names one, and nobody has compared
)

// Facts are all that is known about a request when it is opened.
type Facts struct {
	Server, Tool string
	// Arguments are the call's as people see them: a JSON object without its
	// secrets, empty where there are none to see.
	Arguments string
	// Unseen: the call has arguments that are not shown, because they are too long.
	Unseen bool
	// Amount is what the client states beside the arguments; nil: nothing.
	Amount *float64
	Labels []string
	Plan   Plan
	At     time.Time

	Past Past
	// Rejected is how often people said no to this key about this tool in the
	// last RejectedWindow.
	Rejected int
	// Opened is how many other requests this key opened in the last BurstWindow.
	Opened int
}

// Windows of what counts as recent.
const (
	RejectedWindow = 24 * time.Hour
	DriftWindow    = 24 * time.Hour
	BurstWindow    = 10 * time.Minute
)

// Past is what the caller did with the tool before, as far as it was looked at.
type Past struct {
	Looked  int             // decisions about the tool that were looked at
	Ran     int             // of these, calls of this caller that ran
	Amounts []float64       // of the latter
	Names   map[string]bool // of their arguments
	Values  map[string]bool // of those that name a person or place; see valueKey
	Drifted int             // calls of this caller that its plan did not hold, in the last DriftWindow
}

// Assess weighs the facts.
func Assess(f Facts) Assessment {
	args := readArguments(f.Arguments)
	class := ClassOf(f.Server, f.Tool)
	var t tally
	t.class(class)
	t.amount(largest(args.amounts, f.Amount), f.Past)
	t.novelty(f, args)
	t.labels(f.Labels, class)
	t.arguments(f, args)
	t.plan(f.Plan, f.Past)
	t.behaviour(f)
	return t.result()
}

// tally collects reasons and their points.
type tally struct {
	reasons []Reason
	score   int
}

func (t *tally) add(code, words string) {
	t.reasons = append(t.reasons, Reason{Code: code, Words: words})
	t.score += points[code]
}

func (t *tally) result() Assessment {
	score := min(t.score, maxScore)
	return Assessment{Level: levelOf(score), Score: score, Reasons: t.reasons}
}
