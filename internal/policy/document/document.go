// Package document is a policy as people write it: one YAML or JSON document,
// described by schema.json.
//
// Parse reads either format and refuses what it does not know. It reports all
// problems at once, each with line, column, rule and what was expected. A document
// that it accepts has its defaults filled in and is within the limits below. Its
// conditions are still text, which package expression compiles.
//
// Render writes a document as YAML. Parsing and rendering that again gives the same
// bytes.
package document

import (
	"time"

	"writ/internal/confine"
	"writ/internal/node"
	"writ/internal/verdict"
)

// Version is the only version of the format.
const Version = "v1"

// Limits of a document. They bound the cost of storing, compiling and evaluating it.
const (
	MaxBytes       = 1 << 20 // of the text
	MaxRules       = 10_000
	MaxTools       = 500     // patterns of one rule
	MaxPattern     = 256     // bytes of one pattern
	MaxCondition   = 4 << 10 // bytes of one condition
	MaxName        = 100     // characters of a policy's name
	MaxRuleID      = 100     // characters
	MaxDescription = 1_000   // characters of a description or message
	MaxApprovers   = 10      // people one rule may ask for
	MaxCount       = 1e12    // calls or tokens of a limit
	MaxCost        = 1e18    // nano-dollars of a limit
	MaxPer         = 31 * 24 * time.Hour
)

// Document is one policy.
type Document struct {
	Version     string          `json:"version"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Default     verdict.Verdict `json:"default"` // when no rule matches
	Rules       []Rule          `json:"rules"`
}

// Rule says what happens to the calls it matches: those of its tools for which its
// condition is true and, if it has one, its limit agrees.
type Rule struct {
	ID          string          `json:"id"`
	Description string          `json:"description,omitempty"`
	Effect      verdict.Verdict `json:"effect"`
	Tools       []Pattern       `json:"tools"`
	When        string          `json:"when,omitempty"` // a CEL expression; empty: always
	Limit       *Limit          `json:"limit,omitempty"`
	Approvers   *Approvers      `json:"approvers,omitempty"` // with hold
	Message     string          `json:"message,omitempty"`   // for the agent

	// Confine is what a call that the rule allows is confined to; nil: nothing. Otherwise is what callers get that
	// cannot confine: deny, hold or allow.
	Confine   *confine.Limits `json:"confine,omitzero"`
	Otherwise verdict.Verdict `json:"otherwise,omitzero"`
	// Oblige is what whoever carries the call out must do with its result; nil: nothing. Callers that cannot are
	// denied.
	Oblige *Obligations `json:"oblige,omitzero"`

	// At is the position of the rule and WhenAt that of its condition, for problems
	// that are found later. They are zero if the document was not parsed.
	At     Position `json:"-"`
	WhenAt Position `json:"-"`
	// WhenIndent is the indentation of the condition's lines.
	WhenIndent int `json:"-"`
}

// Limit is how much a rule lets through in each window of length Per, counted by
// agent, session, user or for the whole organization. Windows begin at multiples of
// Per since 1970 in UTC. Exactly one of Calls, Cost and Tokens is above zero.
type Limit struct {
	Calls  int64
	Cost   int64 // nano-dollars
	Tokens int64
	Per    time.Duration
	By     Subject
}

// Subject is whose calls a limit counts together.
type Subject string

// The subjects of limits.
const (
	Agent        Subject = "agent"
	Session      Subject = "session"
	User         Subject = "user"
	Organization Subject = "org"
)

// Approvers says who must approve a held call.
type Approvers struct {
	Role  string `json:"role"`  // one of the roles that may approve: owner, admin, approver
	Count int    `json:"count"` // of different people
}

// Position is a position in the text of a document.
type Position = node.Position

// InWhen turns a position in the rule's condition, whose lines and columns begin at
// 1, into one in the document.
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
