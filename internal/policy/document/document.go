// Package document is a policy as people write it: YAML or JSON, one document
// a policy, described by the schema in schema.json.
//
// Parse reads either form and refuses what it does not know: every problem is
// told at once, with line, column, rule and what was expected. What it accepts
// is complete (defaults filled in) and within the limits below; the conditions
// in it are still text, which package expression compiles.
//
// Render writes a document back as YAML. Parsing that and rendering it again
// gives the same bytes.
package document

import (
	"time"

	"writ/internal/policy/document/node"
	"writ/internal/verdict"
)

// Version is the only version of the form there is.
const Version = "v1"

// Limits of a document. They bound what a policy can cost to keep, compile and
// evaluate.
const (
	MaxBytes       = 1 << 20 // of the text
	MaxRules       = 10_000
	MaxTools       = 500     // patterns of one rule
	MaxPattern     = 256     // bytes of one pattern
	MaxCondition   = 4 << 10 // bytes of one condition
	MaxName        = 100     // characters of a policy's name
	MaxRuleID      = 100     // characters
	MaxDescription = 1_000   // characters of a description or message
	MaxApprovers   = 10      // persons one rule may ask for
	MaxCount       = 1e12    // calls or tokens of a limit
	MaxCost        = 1e18    // nano-dollars of a limit
	MinPer         = time.Second
	MaxPer         = 31 * 24 * time.Hour
)

// Document is one policy.
type Document struct {
	Version     string
	Name        string
	Description string
	Default     verdict.Verdict // when no rule matches
	Rules       []Rule
}

// Rule says what happens to the calls it matches: those of its tools for which
// its condition is true and its limit says so.
type Rule struct {
	ID          string
	Description string
	Effect      verdict.Verdict
	Tools       []Pattern
	When        string // a CEL expression; empty: always
	Limit       *Limit
	Approvers   *Approvers // with hold
	Message     string     // what the agent is told

	// At is where the rule begins and WhenAt where its condition does, for
	// whoever reports a problem found later. Zero where the document was made,
	// not read.
	At, WhenAt Position
	// WhenIndent is by how many columns each line of the condition is set in.
	WhenIndent int
}

// Limit is how much a rule lets pass in each window of Per, counted for each
// agent, session, user or the whole organization. Windows are fixed and begin
// at multiples of Per since 1970 in UTC. Exactly one of Calls, Cost and Tokens
// is above zero.
type Limit struct {
	Calls  int64
	Cost   int64 // nano-dollars
	Tokens int64
	Per    time.Duration
	By     Subject
}

// Subject is what a limit is counted for.
type Subject string

// The subjects of limits.
const (
	Agent        Subject = "agent"
	Session      Subject = "session"
	User         Subject = "user"
	Organization Subject = "org"
)

// Approvers says who must say yes to a call on hold.
type Approvers struct {
	Role  string // one of the roles that may approve: owner, admin, approver
	Count int    // different persons
}

// Position is a place in the text; lines and columns begin at 1. Column counts
// characters.
type Position = node.Position

// InWhen is the place in the document of a place in the rule's condition, whose
// own lines and columns begin at 1.
func (r *Rule) InWhen(line, column int) Position {
	switch {
	case r.WhenAt == Position{}:
		return Position{}
	case line <= 1:
		return Position{Line: r.WhenAt.Line, Column: r.WhenAt.Column + max(column, 1) - 1}
	default:
		return Position{Line: r.WhenAt.Line + line - 1, Column: r.WhenIndent + max(column, 1)}
	}
}
