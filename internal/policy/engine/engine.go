// Package engine decides what policies say about one call.
//
// Compile turns a document into a Policy once: it checks and compiles the
// conditions and takes the patterns apart. A Set holds the policies that are
// active in an organization, indexed by server and tool, so that a decision looks
// only at rules that name the tool and does not slow down with the number of rules.
//
// Evaluate is a pure function of the set, the call and what limits have spent.
// Over all rules of all policies that apply to the caller, deny goes before hold,
// hold before ask, and ask before allow; the order of rules means nothing. An allow
// that confines goes before one that does not, and several confine to what all of them
// permit. To a caller that cannot confine a call, such a rule has the effect that it
// names for them, hold or deny. When no
// rule matches, the strictest default of those policies decides. When no policy
// applies, the answer is deny.
//
// A condition that fails (a missing argument, a wrong type, too much work) makes
// its rule match if the rule would deny, hold or ask, and not match if it would
// allow. A rule with a limit matches once the limit is spent if it would deny, hold
// or ask, and until then if it would allow.
//
// Explain decides in the same way and reports on every rule that names the tool.
// Outlook decides about a call of which parts are unknown, and Foresee about a call
// that has not been made yet.
package engine

import (
	"writ/internal/confine"
	"writ/internal/obligation"
	"writ/internal/policy/document"
	"writ/internal/verdict"
)

// Bindings say to whom a policy applies. Without any, it applies to everybody.
type Bindings struct {
	Users  []string // ids of members
	Agents []string // ids of agents (clients)
	Roles  []string
}

// Active is a policy in a set.
type Active struct {
	ID       string
	Version  int
	Policy   *Policy
	Bindings Bindings
}

// Spent returns how much of a limit is used up in its current window. An error
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

// Claim takes one call from a limit of calls, and must be made before the call
// may run. Whoever acts on a decision makes each claim in the transaction that
// records it, and decides again if a claim fails.
type Claim struct {
	LimitKey
	Max int64
}

// Decision is what the policies say.
type Decision struct {
	verdict.Ruling
	Approvers *document.Approvers // with Hold, where the rule names them

	// Confine is what the caller must confine the call to; nil: nothing. It comes from all rules that matched and
	// confine, and goes only to callers that can.
	Confine *confine.Limits
	// Demanded is what the rule would have confined the call to. It allows the call no other way, and the
	// caller cannot.
	Demanded *confine.Limits
	// Oblige is what whoever carries the call out must do with its result; nil: nothing. It comes from all rules that
	// matched, and goes only to callers that can.
	Oblige *obligation.Set

	// Failed lists the first 20 conditions and limits that were needed and could
	// not be evaluated, whatever decided.
	Failed []Failure
	// Claims must be made if the call runs, allowed here or by an approval.
	Claims []Claim
}

// ByRule reports whether a rule decided, rather than a default or the lack of any
// policy.
func (d Decision) ByRule() bool { return d.Rule != "" && d.Rule != DefaultRule }

// Failure is a condition or limit that failed. Error holds no value of the call.
type Failure struct {
	PolicyID string
	Rule     string
	Error    string
}
