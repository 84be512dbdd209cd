// Package engine decides what policies say about one call.
//
// Compile turns a document into a Policy once: its conditions are checked and
// compiled, its patterns taken apart. A Set is the policies that are active in
// an organization together, indexed by server and tool, so that a decision
// looks only at rules that name the tool: its cost does not grow with the
// number of rules.
//
// Evaluate is a pure function of set, call and what limits have spent. Over all
// rules of all policies that count for the caller, deny goes before hold, hold
// before ask, ask before allow; order means nothing. When no rule matches, the
// strictest default of those policies decides, and when no policy counts the
// answer is deny.
//
// A condition that fails (a missing argument, a wrong type, too much work) makes
// its rule match if it would deny, hold or ask, and not match if it would allow.
// With a limit, a rule that would deny, hold or ask matches once the limit is
// spent, and one that would allow until then.
//
// Explain decides in the same way and tells about every rule that names the
// tool.
package engine

import (
	"writ/internal/policy/document"
	"writ/internal/verdict"
)

// Bindings say for whom a policy counts. One with none counts for everybody.
type Bindings struct {
	Users  []string // ids of members
	Agents []string // ids of agents (clients)
	Roles  []string
}

// Active is a policy as a set holds it.
type Active struct {
	ID       string
	Version  int
	Policy   *Policy
	Bindings Bindings
}

// Spent tells how much of a limit is used up in its present window. An error
// counts as spent.
type Spent func(LimitKey) (int64, error)

// LimitKey names one counter of one limit: that of a rule, for one subject, in
// one window.
type LimitKey struct {
	PolicyID string
	RuleID   string
	Unit     Unit
	By       document.Subject
	Subject  string // id of the agent, session, user or organization
	Window   int64  // Unix seconds at which the window began
	Per      int64  // its length in seconds
}

// Unit is what a limit counts.
type Unit string

// The units of limits.
const (
	Calls  Unit = "calls"
	Cost   Unit = "cost"   // nano-dollars
	Tokens Unit = "tokens" // input and output
)

// Claim is a call to be counted before this one may run: it takes one from a
// limit of calls. Who acts on a decision makes each claim in the transaction
// that records it, and decides again when one cannot be had.
type Claim struct {
	LimitKey
	Max int64
}

// Decision is what the policies say.
type Decision struct {
	verdict.Ruling
	Approvers *document.Approvers // with Hold, where the rule says who

	// Failed lists conditions and limits that were needed and could not be
	// evaluated, the first 20, whatever decided.
	Failed []Failure
	// Claims are to be made if the call runs, allowed here or by an approval.
	Claims []Claim
}

// ByRule reports whether a rule decided, and not a default or the lack of any.
func (d Decision) ByRule() bool { return d.Rule != "" && d.Rule != defaultRule }

// Failure is a condition or a limit that failed. Error holds no value of the
// call.
type Failure struct {
	PolicyID string
	Rule     string
	Error    string
}
