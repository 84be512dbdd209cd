// Package approval lets people answer for calls that an agent may not make on its own.
//
// A decision that ends in hold or ask opens a request; a client may also open one
// itself. The same call finds the same request, however often a client polls. A person
// approves or rejects the request. An approval leaves a grant for exactly that call,
// and the decision that lets the call run uses up the grant in its own transaction.
//
//	Open ──> pending ──Approve──> approved (a grant: used once, or it expires)
//	            │          └────> approved (a standing approval: several calls, until it ends)
//	            ├──Reject──> rejected: the call is denied until the request expires
//	            ├──Cancel──> cancelled, by the key that asked or its owner
//	            └──time────> expired: the next call opens another
//
// A call is its key, server, tool and the digest of its canonical arguments. An
// approval is narrow: it is for the rule and the approvers that this rule requires, for
// the agent and the user of the request, and for its plan and e-mail where both sides
// state them. It is valid only while its approvers still have the right to approve. A
// rejection is wide: it covers what the call would do, whichever plan, agent or
// spelling comes with it.
//
// An approval is for one call unless its Scope permits more. Then it is a
// StandingApproval, bound to the caller, the rule, an end and a number of uses, and
// described to the approver in words. An approver may change the arguments; then only
// the changed call may run.
//
// The key's owner answers an ask. Anyone with the right answers a hold, except the
// key's owner, those whose keys delegated the call and the person the call is for,
// unless nobody else has the right or the organization allows self-approval. No key
// approves anything.
//
// Every change is an Event with a number, written in its transaction: pollers, streams
// and notifications follow the numbers and miss nothing.
package approval

import (
	"time"

	"writ/internal/fault"
	"writ/internal/intent/grounding"
	"writ/internal/policy/document"
)

// Times of requests and grants, unless an organization sets others.
const (
	PendingLife = 30 * time.Minute // of a request that nobody answers
	GrantLife   = 10 * time.Minute // from the approval to the run
)

const (
	// MaxPending is how many requests of one key may wait at a time. An agent that
	// asks for more floods its approvers.
	MaxPending = 500

	maxNote = 1000 // bytes
)

// Kind is whose approval a request needs.
type Kind string

// The kinds of requests.
const (
	Hold Kind = "hold" // anyone with the right to approve
	Ask  Kind = "ask"  // the person the agent works for
)

// Status is the state of a request.
type Status string

// The statuses.
const (
	Pending   Status = "pending"
	Approved  Status = "approved"
	Rejected  Status = "rejected"
	Cancelled Status = "cancelled"
	Expired   Status = "expired"
)

// Valid reports whether this is one of the statuses.
func (s Status) Valid() bool {
	switch s {
	case Pending, Approved, Rejected, Cancelled, Expired:
		return true
	}
	return false
}

// Call is a call that needs an approval. What is not stated is empty.
type Call struct {
	OrgID   string
	KeyID   string
	OwnerID string // of the key
	Server  string
	Tool    string
	// Digest is over the canonical arguments, under the organization's key. It is
	// empty where a client asked without arguments: no decision finds that.
	Digest []byte
	// Arguments are redacted JSON, as people may see them.
	Arguments string
	// Canonical are the unredacted arguments, for patterns. They are never stored.
	Canonical string

	UserID, Email, AgentID, SessionID, PlanID string
	Step                                      int // of the plan; -1: none
	Labels                                    []string
	// Widens: the step was added to a plan in use, or no step fits, and nobody has agreed to it. Not stored.
	Widens bool
	// Carried: the proxy would carry it out. Not stored; see ViaProxy.
	Carried bool
	// Since is the index of the log before which answers about the call have ended, and PlanSince that before which the
	// plan of the call had other steps. Neither is stored.
	Since, PlanSince int64
	// Delegated: only requests of its own plan answer it, because those show who delegated it. Not stored.
	Delegated bool
}

// Doubt says why an argument of a call is in doubt, without its value.
type Doubt = grounding.Reason

// Requirement is the approval that a rule requires.
type Requirement struct {
	Kind          Kind
	PolicyID      string
	PolicyVersion int
	Rule          string
	Reason        string
	Message       string
	Approvers     *document.Approvers // nil: one person who may approve
	Grounding     []Doubt             // the arguments in doubt, and why
	Doubted       bool                // only a person who sees this call, or its doubt, can agree to it
}

// role is the lowest role of an approver; empty: anyone with the right to approve.
func (w Requirement) role() string {
	if w.Approvers == nil || w.Kind == Ask {
		return ""
	}
	return w.Approvers.Role
}

// needed is how many people must approve.
func (w Requirement) needed() int {
	if w.Approvers == nil || w.Kind == Ask || w.Approvers.Count < 1 {
		return 1
	}
	return w.Approvers.Count
}

// Via is how a request was opened.
type Via string

// The ways to open one.
const (
	ViaDecision Via = "decision" // a decision ended in hold or ask
	ViaRequest  Via = "request"  // a client asked before any decision
	// ViaStep: a decision about a step of a plan, whose call nobody has seen, ended in hold or ask. Only a decision
	// about the same step of the same plan uses its grant.
	ViaStep Via = "step"
	// ViaProxy: a decision about a call that the proxy would carry out ended in hold or ask. Only such a decision uses
	// its grant: clients are told of the approval, and have the proxy call again.
	ViaProxy Via = "proxy"
)

// Request is a call that waits for an approval, or was answered.
type Request struct {
	ID string
	Call
	OpenedAt      int64 // the index of the entry that describes it; -1: not known
	Kind          Kind
	PolicyID      string
	PolicyVersion int
	Rule          string
	Reason        string
	Message       string
	Role          string
	Needed        int
	Via           Via
	Grounding     []Doubt  // the arguments in doubt, and why, without their values
	Doubted       bool     // as in Requirement
	ArgumentsFrom string   // as in decision.Details; empty: the call or client states them. Else nobody saw them
	Amount        *float64 // as the client states it
	Domain        string   // what the client calls the server
	AskedFor      string   // the client's own words
	Risk          Risk
	Repeats       int // how often it was asked again
	LastAskedAt   *time.Time

	Status       Status // Expired also where its time is over
	Withdrawn    bool   // the kill switch has ended it; a pending one is then Cancelled. Not stored
	Note         string
	SelfApproved bool
	// Scope is what the approval permits; before the last vote, what the first asked for.
	Scope Scope
	// Edited are the arguments as the approver changed them, in canonical JSON; empty:
	// they were not changed, or were erased.
	Edited      string
	DecidedBy   string // the person who decided
	DecidedRole string
	CoveredBy   string // the standing approval that answered it
	CreatedAt   time.Time
	ExpiresAt   time.Time
	DecidedAt   *time.Time
	ExecutedAt  *time.Time // when the client reported that the call ran

	// Votes are the people who approved; only Get reads them.
	Votes []Vote

	grant        grant
	grantLife    time.Duration
	editedDigest []byte
	scopeText    string // Scope as stored; empty before the first vote
	otherCall    bool   // other arguments were approved than those of the call that found it
}

// Vote is one person's approval.
type Vote struct {
	UserID string
	At     time.Time
}

// Risk is how risky a request looked when it was opened, and why.
type Risk struct {
	Level   string       `json:"level"` // low, medium, high, critical; empty: not known
	Score   int          `json:"score"`
	Reasons []RiskReason `json:"reasons"`
}

// RiskReason is one of the reasons: a code for programs, words for people.
type RiskReason struct {
	Code  string `json:"code"`
	Words string `json:"words"`
}

// grant is what an approval leaves for exactly one call. Without an id there is none.
type grant struct {
	id        string
	expiresAt time.Time
	used      bool
}

// Granted reports whether the call may run once, now.
func (r *Request) Granted(now time.Time) bool { return r.hasGrant(now) && !r.otherCall }

// Changed reports whether other arguments were approved than those of the call that
// found the request: Edited.
func (r *Request) Changed(now time.Time) bool { return r.hasGrant(now) && r.otherCall }

func (r *Request) hasGrant(now time.Time) bool {
	return r.Status == Approved && r.grant.id != "" && !r.grant.used && now.Before(r.grant.expiresAt)
}

// GrantExpiresAt is when the grant ends; nil: there is none.
func (r *Request) GrantExpiresAt() *time.Time {
	if r.grant.id == "" {
		return nil
	}
	return &r.grant.expiresAt
}

// Serves reports whether an approval of this request meets a requirement: the same
// approvers, and the same rule where the request knows its rule.
func (r *Request) Serves(w Requirement) bool {
	return r.Kind == w.Kind && r.Role == w.role() && r.Needed == w.needed() &&
		(r.PolicyID == "" || r.PolicyID == w.PolicyID && r.Rule == w.Rule)
}

// Used reports whether the grant let the call run.
func (r *Request) Used() bool { return r.grant.used }

// GrantLife is how long a grant of this request lasts.
func (r *Request) GrantLife() time.Duration {
	if r.grantLife <= 0 {
		return GrantLife
	}
	return r.grantLife
}

// answers reports whether the request still applies to its call: it waits, was
// rejected, or has a grant that can be used. Otherwise the next call opens another.
func (r *Request) answers(now time.Time) bool {
	switch r.Status {
	case Pending, Rejected:
		return now.Before(r.ExpiresAt)
	case Approved:
		return r.hasGrant(now)
	}
	return false
}

func noSuchRequest() error {
	return fault.New(fault.NotFound, "no such approval request: its id is the approvalId of the decision")
}

// ErrTooMany: so many requests of a key wait that nobody can read them.
var ErrTooMany = fault.New(fault.TooMany, "%d requests of this key wait for an answer: wait until they are decided",
	MaxPending)
