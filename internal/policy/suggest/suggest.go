// Package suggest writes the least policy that would have let an agent's calls
// run, from the calls themselves.
//
// A suggestion is never wider than what was seen and allowed: each of its rules
// allows the tool, the environment and the very arguments of calls that ran, for
// that agent, and the default denies the rest. Calls that differ in one argument
// become one rule with a list of its values; nothing is made into a range, a
// prefix or a star, for what lies between two calls was not seen.
//
// A policy is read by more people than the calls are, and kept for longer. So a
// value that is a secret, or that may be about a person, never becomes a literal
// (plain.go). Calls that cannot be written down, calls of which something is not
// known any more, and calls that only a person let through, are left out, and told
// with the reason. A tool of which nothing can be written down is left to a
// person: its rule is a hold.
package suggest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"writ/internal/policy/document"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

// Limits of a suggestion.
const (
	maxDistinct  = 5_000 // different calls that are remembered
	maxToolRules = 20    // rules of one tool
	maxRules     = 400
	maxValues    = 25 // of one argument in one rule
	maxWhen      = document.MaxCondition * 3 / 4
	maxExamples  = 3 // decisions that evidence names
	maxKeys      = 5 // keys that it names
	maxTools     = 1_000
	besideWhen   = 1_000                 // bytes that a rule takes beside its condition, at most
	maxSize      = document.MaxBytes / 2 // of the rules' texts
)

// Answer is what was decided about an observed call.
type Answer int

// The answers. The zero value is the one that suggests nothing.
const (
	Refused  Answer = iota
	Approved        // a person let it through
	Doubted         // allowed, and a policy that is tried beside the active ones would not have
	Allowed
)

// Observed is a call that was decided about.
type Observed struct {
	DecisionID string
	KeyID      string // that it was asked with, which no client makes up
	At         time.Time
	Call       *toolcall.Call
	Known      bool // every argument of it, and its environment and labels
	Answer     Answer
}

// Seen is how often something was seen, and when.
type Seen struct {
	Calls       int64
	First, Last time.Time
	Decisions   []string // a few, as examples
	// Keys are those that the calls were asked about with: any client can name the
	// agent, so who reads the evidence sees whose calls it is. A few; MoreKeys says
	// that there were others.
	Keys     []string
	MoreKeys bool
}

func (s *Seen) add(o Observed) {
	if s.Calls++; s.Calls == 1 || o.At.Before(s.First) {
		s.First = o.At
	}
	if o.At.After(s.Last) {
		s.Last = o.At
	}
	if len(s.Decisions) < maxExamples {
		s.Decisions = append(s.Decisions, o.DecisionID)
	}
	s.addKey(o.KeyID)
}

func (s *Seen) addKey(id string) {
	switch {
	case slices.Contains(s.Keys, id):
	case len(s.Keys) >= maxKeys:
		s.MoreKeys = true
	default:
		s.Keys = append(s.Keys, id)
	}
}

func (s *Seen) join(other Seen) {
	if s.Calls == 0 || other.First.Before(s.First) {
		s.First = other.First
	}
	if other.Last.After(s.Last) {
		s.Last = other.Last
	}
	s.Calls += other.Calls
	s.Decisions = append(s.Decisions, other.Decisions[:min(len(other.Decisions), maxExamples-len(s.Decisions))]...)
	for _, id := range other.Keys {
		s.addKey(id)
	}
	s.MoreKeys = s.MoreKeys || other.MoreKeys
}

// Evidence is what a rule was made of.
type Evidence struct {
	Rule string
	Seen
}

// Reason is why calls are not among the rules.
type Reason string

// The reasons.
const (
	NotKnown  Reason = "its arguments are not all known any more: they were erased, redacted or not kept"
	NotPlain  Reason = "an argument may be a secret or about a person, or is too long to be written into a policy"
	ByPerson  Reason = "a person let it through"
	Disputed  Reason = "the same call was also refused"
	InShadow  Reason = "a policy that is tried in shadow would not have allowed it"
	OddName   Reason = "its name cannot be written as that of one tool"
	OddPath   Reason = "a path in it really was another"
	TooMany   Reason = "there were too many different calls to list"
	Forgotten Reason = "there were more different calls than are remembered"
)

// LeftOut are calls of a tool that ran and are not allowed by the suggestion.
type LeftOut struct {
	Server, Tool string
	Reason       Reason
	Seen
}

// Suggestion is a policy, what its rules were made of, and what is not in it.
type Suggestion struct {
	Document *document.Document
	Evidence []Evidence
	LeftOut  []LeftOut
	Calls    int64 // that were looked at

	size int // of the rules' texts, about
}

// Collector gathers the calls of one agent.
type Collector struct {
	agentID  string
	tools    map[toolName]*observedTool
	distinct int
	all      Seen
	unnamed  Seen // of tools beyond those that are remembered
}

type toolName struct{ server, tool string }

// observedTool is what was seen of one tool.
type observedTool struct {
	calls map[string]*observedCall
	left  map[Reason]*Seen
}

// observedCall are all calls that are the same.
type observedCall struct {
	values  map[string]string // literals, by the name of the argument
	place   string            // a condition: environment and labels
	allowed Seen
	refused bool
	doubted bool
}

// NewCollector begins to gather calls of an agent. An id that may be a secret or
// about a person is refused, for every rule would hold it.
func NewCollector(agentID string) (*Collector, error) {
	if !plainID(agentID) {
		return nil, errors.New("must be an id of at most 200 bytes that is neither a key nor somebody's address, for it is written into the policy")
	}
	return &Collector{agentID: agentID, tools: map[toolName]*observedTool{}}, nil
}

// Add gathers a call.
func (c *Collector) Add(o Observed) {
	c.all.add(o)
	server, name := o.Call.Name()
	tool := c.tools[toolName{server, name}]
	if tool == nil {
		if len(c.tools) >= maxTools {
			c.unnamed.add(o)
			return
		}
		tool = &observedTool{calls: map[string]*observedCall{}, left: map[Reason]*Seen{}}
		c.tools[toolName{server, name}] = tool
	}
	if reason := c.note(tool, o); reason != "" && o.Answer != Refused {
		tool.leave(reason).add(o)
	}
}

// note remembers a call that can be written down, or says why it cannot.
func (c *Collector) note(tool *observedTool, o Observed) Reason {
	values, reason := literalsOf(o)
	if reason != "" {
		return reason
	}
	place := placeOf(o.Call)
	key := keyOf(place, values)
	call := tool.calls[key]
	if call == nil {
		if c.distinct >= maxDistinct {
			return Forgotten
		}
		c.distinct++
		call = &observedCall{values: values, place: place}
		tool.calls[key] = call
	}
	switch o.Answer {
	case Allowed:
		call.allowed.add(o)
	case Approved:
		return ByPerson
	case Doubted:
		call.doubted = true
		return InShadow
	default:
		call.refused = true
	}
	return ""
}

func (t *observedTool) leave(reason Reason) *Seen {
	if t.left[reason] == nil {
		t.left[reason] = &Seen{}
	}
	return t.left[reason]
}

// literalsOf are the arguments of a call as they stand in a condition.
func literalsOf(o Observed) (map[string]string, Reason) {
	if !o.Known {
		return nil, NotKnown
	}
	for path, really := range o.Call.ResolvedPaths {
		if path != really {
			return nil, OddPath
		}
	}
	if !plainText(o.Call.Environment) ||
		slices.ContainsFunc(o.Call.Labels, func(label string) bool { return !plainText(label) }) {
		return nil, NotPlain
	}
	values := make(map[string]string, len(o.Call.Args))
	for name, value := range o.Call.Args {
		text, ok := literal(name, value, 0)
		if !ok || !plainText(name) {
			return nil, NotPlain
		}
		values[name] = text
	}
	return values, ""
}

// Suggest writes the policy.
func (c *Collector) Suggest(name string) Suggestion {
	s := Suggestion{
		Calls: c.all.Calls, Document: &document.Document{Version: document.Version, Name: name, Default: verdict.Deny},
	}
	s.Document.Description = fmt.Sprintf("Suggested from %d calls of agent %s. It allows what was seen and allowed, and nothing else. Its rules name the agent: leave it without bindings. A wider policy that is active goes on allowing more: deactivate that one as this is activated.", c.all.Calls, c.agentID)
	names := slices.SortedFunc(maps.Keys(c.tools), compareNames)
	ids := map[string]bool{}
	for _, name := range names {
		c.addTool(&s, name, c.tools[name], ids)
	}
	if c.unnamed.Calls > 0 {
		s.LeftOut = append(s.LeftOut, LeftOut{Reason: Forgotten, Seen: c.unnamed})
	}
	return s
}
