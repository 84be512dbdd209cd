// Package suggest writes the narrowest policy that would have allowed the calls an
// agent has made.
//
// A suggestion allows nothing that was not seen and allowed: each rule allows a tool in
// an environment with exactly the arguments of calls that ran, for that agent, and the
// default denies the rest. Calls that differ in one argument become one rule with a list
// of its values. Nothing becomes a range, a prefix or a star, because what lies between
// two calls was not seen.
//
// More people read a policy than the calls, and it is stored longer. So a value that is a
// secret, or may be about a person, never becomes a literal (plain.go). Calls that cannot
// be written down, calls of which something is no longer known, and calls that only a
// person let through are left out, with the reason. A tool of which nothing can be
// written down gets a rule that holds.
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
	maxDistinct  = 5_000 // different calls that are collected
	maxToolRules = 20    // rules of one tool
	maxRules     = 400
	maxValues    = 25 // of one argument in one rule
	maxWhen      = document.MaxCondition * 3 / 4
	maxExamples  = 3 // decisions that evidence names
	maxKeys      = 5 // keys that it names
	maxTools     = 1_000
	besideWhen   = 1_000                 // bytes of a rule without its condition, at most
	maxSize      = document.MaxBytes / 2 // of the rules' texts
)

// Answer is the decision about an observed call.
type Answer int

// The answers. The zero value suggests nothing.
const (
	Refused  Answer = iota
	Approved        // a person let it through
	Doubted         // allowed, but a shadow would not have allowed it
	Confined        // allowed only confined
	Allowed
)

// Observed is a call that was decided.
type Observed struct {
	DecisionID string
	KeyID      string // of the caller, which a client cannot make up
	At         time.Time
	Call       *toolcall.Call
	Known      bool // whether all arguments, the environment and the labels are known
	Answer     Answer
}

// Seen is how often something was seen, and when.
type Seen struct {
	Calls       int64
	First, Last time.Time
	Decisions   []string // a few, as examples
	// Keys are a few keys that made the calls. Any client can name the agent, so the
	// keys show whose calls they were. MoreKeys says that there were others.
	Keys     []string
	MoreKeys bool
}

func (s *Seen) add(o Observed) {
	s.join(Seen{
		Calls:     1,
		First:     o.At,
		Last:      o.At,
		Decisions: []string{o.DecisionID},
		Keys:      []string{o.KeyID},
	})
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

// Evidence is the calls that a rule was made from.
type Evidence struct {
	Rule string
	Seen
}

// Reason is why calls are not among the rules.
type Reason string

// The reasons.
const (
	NotKnown     Reason = "its arguments are no longer all known: they were erased, redacted or not stored"
	NotPlain     Reason = "an argument may be a secret or about a person, or is too long to be written into a policy"
	ByPerson     Reason = "a person let it through"
	Disputed     Reason = "the same call was also refused"
	InShadow     Reason = "a policy in shadow would not have allowed it"
	OnlyConfined Reason = "it was allowed only confined, and a suggestion does not say to what"
	OddName      Reason = "its name cannot be written as the name of one tool"
	OddPath      Reason = "a path in it resolved to another one"
	TooMany      Reason = "there were too many different calls to list"
	Forgotten    Reason = "there were more different calls than are collected"
)

// LeftOut are calls of a tool that ran but that the suggestion does not allow.
type LeftOut struct {
	Server, Tool string
	Reason       Reason
	Seen
}

// Suggestion is a policy, the evidence for its rules, and what it leaves out.
type Suggestion struct {
	Document *document.Document
	Evidence []Evidence
	LeftOut  []LeftOut
	Calls    int64 // that were examined

	size int // of the rules' texts, approximately
}

// Collector collects the calls of one agent.
type Collector struct {
	agentID  string
	tools    map[toolName]*observedTool
	distinct int
	all      Seen
	unnamed  Seen // of tools beyond the maximum
}

type toolName struct{ server, tool string }

type observedTool struct {
	calls map[string]*observedCall
	left  map[Reason]*Seen
}

// observedCall is all calls that are equal.
type observedCall struct {
	values   map[string]string // literals, by the name of the argument
	context  string            // a condition on environment and labels
	allowed  Seen
	refused  bool
	doubted  bool
	confined bool
}

// NewCollector makes a collector for an agent's calls. It refuses an id that may be a
// secret or about a person, because every rule would contain it.
func NewCollector(agentID string) (*Collector, error) {
	if !plainID(agentID) {
		return nil, errors.New("must be an id of at most 200 bytes that is neither a key nor an address, because it is written into the policy")
	}
	return &Collector{agentID: agentID, tools: map[toolName]*observedTool{}}, nil
}

// Add collects a call.
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

// note collects a call that can be written down, or returns why it cannot.
func (c *Collector) note(tool *observedTool, o Observed) Reason {
	values, reason := literalsOf(o)
	if reason != "" {
		return reason
	}
	context := contextOf(o.Call)
	key := keyOf(context, values)
	call := tool.calls[key]
	if call == nil {
		if c.distinct >= maxDistinct {
			return Forgotten
		}
		c.distinct++
		call = &observedCall{values: values, context: context}
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
	case Confined:
		call.confined = true
		return OnlyConfined
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

// literalsOf are the arguments of a call as literals of a condition.
func literalsOf(o Observed) (map[string]string, Reason) {
	if !o.Known {
		return nil, NotKnown
	}
	for path, resolved := range o.Call.ResolvedPaths {
		if path != resolved {
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
	s.Document.Description = fmt.Sprintf("Suggested from %d calls of agent %s. It allows only what was seen and allowed. Its rules name the agent: leave it without bindings. A wider active policy still allows more: deactivate it when you activate this one.", c.all.Calls, c.agentID)
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
