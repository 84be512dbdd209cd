// Package plan has plans and the pure rules about them.
//
// Published clients write a plan in several shapes. Parse reads each of them into one
// form: a goal, a source and steps, each with server, tool and the arguments that it
// fixes. A fixed argument must be equal in the call; other arguments are free, unless
// the step is strict. Steps may be used in any order and any number of times, unless
// the plan is ordered or the step has max_calls.
//
// The token signs one hash, the root of a Merkle tree. Each step has two leaves, one
// for the name of its tool and one for the whole step, and the last leaf is the exact
// text that the client sent. So anyone who knows only a name can check its proof, and
// no part of the plan can change without changing the root.
//
// Check decides whether a call fits a plan. It is pure, so that the server and a hook
// on another machine get the same answer.
//
// A plan is not trusted: a model wrote it. Parse refuses what two readers could read
// differently (duplicate keys, an action and a tool that differ, two values for one
// argument), and what is too large (megabytes, thousands of steps, deep nesting).
package plan

import (
	"crypto/sha256"
	"slices"
)

// Limits of a plan. A model writes it in one turn and people read it: a larger one is a
// mistake or an attack.
const (
	MaxBytes = 256 << 10 // of the plan's JSON
	MaxSteps = 500
	MaxDepth = 64 // arrays and objects open at once

	MaxMay = 100 // tools that may be needed

	maxGoal        = 4096 // bytes; longer ones are cut where they are shown
	maxDescription = 1024
	maxCalls       = 1_000_000
)

// Plan is a parsed plan. It is immutable.
type Plan struct {
	Goal    string
	Source  string // who wrote it, in the client's words
	Ordered bool   // steps may be used only in the order of their index
	Steps   []Step
	// May are tools that may be needed beside those of the steps. They count only where a person is asked about
	// ungrounded calls.
	May []Step

	words      string            // the whole goal
	given      []string          // the texts and numbers that steps give
	digest     [sha256.Size]byte // of the client's text in canonical form
	autoMinted bool
}

// Step is one thing the agent may do.
type Step struct {
	Server      string
	Tool        string
	Action      string // the tool's name as the client wrote it
	Description string
	Given       []Constraint // sorted by key, each once
	Strict      bool         // other arguments than Given are refused
	MaxCalls    int64        // how often the step may be used; 0: any number of times

	name string // the tool's name as it is compared
}

// Limited reports whether using a step of this plan must be counted.
func (p *Plan) Limited() bool {
	return p.Ordered || slices.ContainsFunc(p.Steps, func(s Step) bool { return s.MaxCalls > 0 })
}

// AutoMinted reports whether a plugin made this plan from the very call that is about
// to be checked: one step without tool but with metadata.inputs, and a harness as its
// source. Such a plan does not say what the person wanted.
func (p *Plan) AutoMinted() bool { return p.autoMinted }

// Constraint fixes one argument of a step.
type Constraint struct {
	Key   string
	Equal string // canonical JSON
}

// fits reports whether a value in canonical JSON meets the constraint.
func (c Constraint) fits(value string) bool { return c.Equal == value }
