// Package plan is what an agent says it will do, and the pure rules about it.
//
// Published clients write a plan in several shapes. Parse reads each of them
// into one form: a goal, a source and steps of server, tool and the arguments
// the step gives. A value that a step gives must be equal in the call; a key it
// does not give is free, unless the step says that it is strict. Steps may be
// used in any order and any number of times, unless the plan says ordered, or a
// step max_calls.
//
// A plan is committed to by one hash, the root of a Merkle tree, which the
// token signs. Two leaves a step stand for the form that is judged, one for the
// name of its tool and one for all the step says, and a last leaf for the exact
// text the client sent. So the proof of a name can be checked by whoever knows
// only the name, and yet nothing in the plan can change without another root.
//
// Check decides whether a call fits a plan. It knows no clock, database or
// caller but those it is given, so that the server and a hook on another
// machine come to the same answer.
//
// A plan is not trusted: it is text that a model wrote. Whatever two readers
// could read differently is refused (duplicate keys, an action and a tool that
// differ, two values for one argument), and so is what only costs (megabytes,
// thousands of steps, deep nesting).
package plan

import "crypto/sha256"

// Limits of a plan. A plan is written by a model in one turn and read by
// people: what is larger is a mistake or an attack.
const (
	MaxBytes = 256 << 10 // of the plan's JSON
	MaxSteps = 500
	MaxDepth = 64 // arrays and objects open at once

	maxGoal        = 4096 // bytes; longer ones are cut, as they decide nothing
	maxDescription = 1024
	maxCalls       = 1_000_000
)

// Local is the server of tools that belong to no MCP server and no harness.
const Local = "local"

// harnesses are the coding agents whose own tools stand without a server. They
// name themselves in the plan's source.
var harnesses = []string{"gemini-cli", "claude-code", "codex", "copilot"}

// Plan is a plan in the form that is judged. It is never changed after Parse.
type Plan struct {
	Goal    string
	Source  string // who wrote it, in the client's words
	Ordered bool   // steps may be used only in the order of their index
	Steps   []Step

	digest     [sha256.Size]byte // of the client's text in canonical form
	autoMinted bool
}

// Step is one thing the agent may do.
type Step struct {
	Server      string
	Tool        string
	Action      string // the tool's name as the client wrote it
	Description string
	// Given are the constraints on arguments, sorted by name, each once.
	Given []Constraint
	// Strict: arguments beside those given are refused.
	Strict bool
	// MaxCalls is how often the step may be used; 0: any number of times.
	MaxCalls int64

	name string // the tool's name as it is compared
}

// Limited reports whether using a step of this plan must be counted.
func (p *Plan) Limited() bool {
	if p.Ordered {
		return true
	}
	for i := range p.Steps {
		if p.Steps[i].MaxCalls > 0 {
			return true
		}
	}
	return false
}

// AutoMinted reports whether a plugin made this plan by itself, out of the very
// call that is about to be judged: one step without tool but with
// metadata.inputs, and a bare harness as its source. Such a plan says nothing
// about what the person wanted. Every other plan of one step is an ordinary one.
func (p *Plan) AutoMinted() bool { return p.autoMinted }

// Constraint is what a step says about one argument. Equality is the only kind
// so far; fits is where others will be told apart.
type Constraint struct {
	Key   string
	Equal string // the wanted value in canonical JSON
}

// fits reports whether the value, canonical JSON, is what the step wants.
func (c Constraint) fits(value string) bool { return c.Equal == value }
