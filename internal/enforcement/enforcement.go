// Package enforcement answers whether a tool call may run.
//
// Decide asks other packages in a fixed order. The first that does not allow decides:
//
//	agent ──> intent ──> policy ──> approval
//
// It first judges the call by what is cached of the organization, without the
// database. Then it records the decision in one transaction. If the organization's
// log is newer than the cache, the call is judged again. Otherwise the transaction
// claims what the call uses up, and appends the decision to the log. Without a commit
// there is no allow, and every failure is a deny with a reason.
package enforcement

import (
	"time"

	"writ/internal/audit/ledger"
	"writ/internal/confine"
	"writ/internal/intent/grounding"
	"writ/internal/intent/plan"
	"writ/internal/intent/trust"
	"writ/internal/obligation"
	"writ/internal/policy/document"
	"writ/internal/verdict"
)

// SourceMCP is the MCP endpoint, which demands a token only of a call that shows something as its plan.
const SourceMCP = "mcp"

// Request is a call to be judged. Most of it is only what the client says.
type Request struct {
	Server string // empty: not stated
	Tool   string
	// CalledAs is the name that was called, where the host says which Server and Tool that is.
	CalledAs  string
	Arguments []byte // raw JSON; nil: {}

	Presented     plan.Presented // the plan that the call presents
	TokenRequired bool           // without a plan the call is denied

	AgentID, UserID, UserEmail, SessionID, ContextID string
	Source                                           string // the client: gemini-cli, ...
	Environment                                      string // if the key has none
	Labels                                           []string
	// ResolvedPaths maps paths in the arguments to the real paths on the agent's machine.
	ResolvedPaths map[string]string
	// CanConfine: the caller says that it can confine the call to what an answer demands.
	CanConfine bool
	// CanOblige: the caller keeps what an answer obliges it to do with the result.
	CanOblige bool
	// Carried is set if whoever asks also carries the call out: the proxy.
	Carried *Carried
	// UserOfPlan: a call that names no user is its plan's user's, instead of the key's owner's.
	UserOfPlan bool
	// Turn is the turn of a guarded session that the caller knows: in another one the call is denied. 0: not stated
	Turn int64
	// Held proves that the caller holds the delegation that it presents, and Sent is the request that the proof must be
	// about. HeldAs is the proof as it was sent, for a proxy that has another server judge it. Envelope is the sub-tree
	// that a published SDK shows instead; nil: none.
	Held     *trust.Proof
	HeldAs   []string
	Sent     trust.Request
	Envelope *plan.Envelope
}

// Answer is a decision as the caller gets it. The zero value denies.
type Answer struct {
	verdict.Ruling

	DecisionID string
	PlanID     string
	PlanRoot   string // of the plan's tree, in hex
	Step       int    // of the plan; -1: none
	Server     string
	// AgentID and SessionID are those that the call states, else its plan's.
	AgentID, SessionID string

	// ApprovalID is the request that a hold or ask waits for, or whose approval lets the call run. Approvers are those
	// that the rule demands, if any.
	ApprovalID string
	Approvers  *document.Approvers

	// Confine is what an allowed call must be confined to; nil: nothing.
	Confine *confine.Limits
	// Oblige is what whoever carries an allowed call out must do with its result; nil: nothing.
	Oblige *obligation.Set

	// Grounding says which arguments are in doubt, and why, without their values.
	Grounding []grounding.Reason

	// Session is of calls in a guarded session; nil: it is none.
	Session *GuardedSession

	Recorded bool // the decision is in the log
	Receipt  *ledger.Receipt
	Duration time.Duration
}

// GuardedSession is what an answer says of the guarded session of a call.
type GuardedSession struct {
	Turn         int64
	AllowMonitor bool // see Settings
}

// Allowed reports whether the call may run.
func (a Answer) Allowed() bool { return a.Verdict == verdict.Allow && a.Recorded }
