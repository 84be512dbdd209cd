// Package risk says how careful a person should be with a request for approval,
// and why.
//
// People who are asked too often stop reading. So each request has a level and
// the reasons for it, in words, and a queue can show the riskiest first. The level
// decides nothing: no request is approved or refused because of it.
//
// Assess is pure: the same Facts always give the same Assessment. Each reason adds
// a fixed number of points, and the sum gives the level, so a further reason never
// makes a request look safer. History reads earlier calls from the audit log. Only
// calls that ran count: an agent does not make a call familiar by asking again.
//
// The caller chooses much of what is judged: the names of the tool, its server and
// its arguments, and the labels. A misleading name makes a request look harmless in
// its class, not in the rest. The level helps approvers; policies and plans protect.
package risk

import (
	"time"

	"writ/internal/intent/grounding"
	"writ/internal/toolclass"
)

// Level is how careful an approver should be.
type Level string

// The levels, and the points at which they begin.
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

// maxScore is the highest score.
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

// Assessment is the result.
type Assessment struct {
	Level   Level
	Score   int // 0 to 100
	Reasons []Reason
}

// Plan is how a call relates to the plan of its agent.
type Plan int

// The relations. In the zero value nothing was declared.
const (
	NoPlan Plan = iota
	WithinPlan
	OutsidePlan
	PlanUnchecked // the client names one, which was not checked
)

// Facts are all that is known about a request when it is opened.
type Facts struct {
	Server, Tool string
	// Class is what is stated about the tool, by the organization or for a known harness; empty: nothing.
	Class grounding.Class
	// Arguments are a redacted JSON object; empty: there are none to see.
	Arguments string
	// Unseen: the call has arguments that are not shown, because they are too long.
	Unseen bool
	// Unstated: the call may have any arguments, because nobody has stated them.
	Unstated bool
	// Amount is what the client states beside the arguments; nil: nothing.
	Amount *float64
	Labels []string
	Plan   Plan
	At     time.Time

	Past Past
	// Rejected counts the rejections of this key and tool in the last RejectedWindow.
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

// Past is what History knows about the caller's earlier calls of the tool.
type Past struct {
	Looked  int             // decisions about the tool that were read
	Ran     int             // of these, calls of this caller that ran
	Amounts []float64       // of the latter
	Names   map[string]bool // of their arguments
	Values  map[string]bool // of those that name a person or place; see valueKey
	Drifted int             // calls of this caller outside its plan, in the last DriftWindow
}

// Assess weighs the facts.
func Assess(f Facts) Assessment {
	args := readArguments(f.Arguments)
	class := toolclass.Refined(f.Class, f.Server, f.Tool)
	var t tally
	t.class(class)
	t.amount(largest(args.amounts, f.Amount), f.Past)
	t.novelty(f, args)
	t.labels(f.Labels, class)
	t.arguments(f, args)
	t.plan(f.Plan, f.Past)
	t.behavior(f)
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
