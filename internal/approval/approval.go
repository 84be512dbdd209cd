// Package approval is where a person says yes to a call that an agent may not
// make on its own.
//
// A decision that ends in hold or ask opens a request; a client may also ask by
// itself. The same call finds the same request again, however often a client
// polls. A person approves or rejects it; an approval is a grant for one run of
// exactly that call, and the decision that lets the call run consumes it in its
// own transaction.
//
//	Open ──> pending ──Approve──> approved (a grant: used once, or it expires)
//	            │          └────> approved (an Allow: wider, until it ends)
//	            ├──Reject──> rejected: the call is denied until the request expires
//	            ├──Cancel──> cancelled, by who asked
//	            └──time────> expired: the next call opens another
//
// A call is its key, server, tool and the digest of its canonical arguments. A yes
// is narrow: it serves the rule and what that wanted of approvers, the agent and
// the user it was asked about, plan and e-mail where both sides state them, and
// only while who said it may still say it. A no is wide: it is about what the call
// would do, whichever plan, agent or spelling it comes with.
//
// A yes is for one run unless its Scope says more; then it is an Allow: bound to
// who asked, the rule, an end and a number of uses, told to the approver in words.
// A yes may change the arguments, and then permits the changed call alone.
//
// Who asks does not approve: not the owner of the key nor the person the call is
// for, unless nobody else could, or the organization says otherwise. An ask,
// however, is a question to the owner. No key approves anything.
//
// Every change is an Event with a number, written in its transaction: pollers,
// streams and notifications follow the numbers and miss nothing.
package approval

import (
	"time"

	"writ/internal/fault"
	"writ/internal/policy/document"
)

// Times of requests and grants, unless an organization sets others.
const (
	PendingLife = 30 * time.Minute // of a request that nobody answers
	GrantLife   = 10 * time.Minute // from the approval to the run
)

const (
	// MaxPending is how many requests of one key may wait at a time. An agent that
	// asks for more floods who should read them.
	MaxPending = 500

	maxNote = 1000 // bytes
)

// Kind is whose yes is wanted.
type Kind string

// The kinds of requests.
const (
	Hold Kind = "hold" // of somebody who may approve
	Ask  Kind = "ask"  // of the person the agent works for
)

// Status is where a request stands.
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

// Call is a call that needs a yes. What is not stated is empty.
type Call struct {
	OrgID   string
	KeyID   string
	OwnerID string // of the key
	Server  string
	Tool    string
	// Digest is over the canonical arguments, under the organization's key. It is
	// empty where a client asked without arguments: no decision finds that.
	Digest []byte
	// Arguments are those as people may see them: redacted JSON.
	Arguments string
	// Canonical are those as they are, for patterns. They are never stored.
	Canonical string

	UserID, Email, AgentID, SessionID, PlanID string
	Step                                      int // of the plan; -1: none
	Labels                                    []string
	// Widens: the step was added to a plan under way, and nobody has agreed to it.
	// It is not stored.
	Widens bool
}

// Want is what is wanted of whoever approves, and which rule wants it.
type Requirement struct {
	Kind          Kind
	PolicyID      string
	PolicyVersion int
	Rule          string
	Reason        string
	Message       string
	Approvers     *document.Approvers // nil: one person who may approve
}

// role is what an approver must be at least; empty: whoever may approve.
func (w Requirement) role() string {
	if w.Approvers == nil || w.Kind == Ask {
		return ""
	}
	return w.Approvers.Role
}

// needed is how many persons must say yes.
func (w Requirement) needed() int {
	if w.Approvers == nil || w.Kind == Ask || w.Approvers.Count < 1 {
		return 1
	}
	return w.Approvers.Count
}

// Via is how a request came to be.
type Via string

// The ways.
const (
	ViaDecision Via = "decision" // a decision ended in hold or ask
	ViaRequest  Via = "request"  // a client asked before any decision
)

// Request is a call that waits for a yes, or has got its answer.
type Request struct {
	ID string
	Call
	Kind          Kind
	PolicyID      string
	PolicyVersion int
	Rule          string
	Reason        string
	Message       string
	Role          string
	Needed        int
	Via           Via
	Amount        *float64 // as the client states it
	Domain        string   // what the client calls the server
	AskedFor      string   // the client's own words
	Risk          Risk
	Repeats       int // how often it was asked again
	LastAskedAt   *time.Time

	Status       Status // Expired, too, where its time is over
	Note         string
	SelfApproved bool
	// Scope is what the yes permits; before the last yes, what the first would.
	Scope Scope
	// Edited are the arguments as the yes changed them, in canonical JSON; empty:
	// it did not, or they were erased.
	Edited      string
	DecidedBy   string // the person who decided
	DecidedRole string
	CoveredBy   string // the Allow that answered it without a person
	CreatedAt   time.Time
	ExpiresAt   time.Time
	DecidedAt   *time.Time
	ExecutedAt  *time.Time // when the client said that it ran

	// Votes are who said yes; only Get reads them.
	Votes []Vote

	grant        grant
	grantLife    time.Duration
	editedDigest []byte
	scopeText    string // Scope as it is stored; empty before the first yes
	otherCall    bool   // the yes was to other arguments than the call's that found it
}

// Vote is a person's yes.
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

// grant is what an approval gave. Without an id there is none.
type grant struct {
	id        string
	expiresAt time.Time
	used      bool
}

// Granted reports whether the call may run once, now.
func (r *Request) Granted(now time.Time) bool { return r.hasGrant(now) && !r.otherCall }

// Changed reports whether a call of other arguments was approved in place of the
// one that found the request: that of Edited.
func (r *Request) Changed(now time.Time) bool { return r.hasGrant(now) && r.otherCall }

func (r *Request) hasGrant(now time.Time) bool {
	return r.Status == Approved && r.grant.id != "" && !r.grant.used && now.Before(r.grant.expiresAt)
}

// GrantExpiresAt is when the grant of a yes ends; nil where there is none.
func (r *Request) GrantExpiresAt() *time.Time {
	if r.grant.id == "" {
		return nil
	}
	return &r.grant.expiresAt
}

// Serves reports whether a yes to this request is one to what a decision wants: the
// same of approvers, and the same rule where the request knows it.
func (r *Request) Serves(w Requirement) bool {
	return r.Kind == w.Kind && r.Role == w.role() && r.Needed == w.needed() &&
		(r.PolicyID == "" || r.PolicyID == w.PolicyID && r.Rule == w.Rule)
}

// Used reports whether the grant let the call run.
func (r *Request) Used() bool { return r.grant.used }

// GrantLife is how long a yes to this request lasts.
func (r *Request) GrantLife() time.Duration {
	if r.grantLife <= 0 {
		return GrantLife
	}
	return r.grantLife
}

// answers reports whether the request still says something about its call: it
// waits, was rejected, or has a grant that can be used. Otherwise the next call
// opens another.
func (r *Request) answers(now time.Time) bool {
	switch r.Status {
	case Pending, Rejected:
		return now.Before(r.ExpiresAt)
	case Approved:
		return r.hasGrant(now)
	}
	return false
}

func noSuchRequest() error { return fault.New(fault.NotFound, "no such request for approval") }

// ErrTooMany is the answer to a key whose requests nobody can read any more.
var ErrTooMany = fault.New(fault.TooMany, "%d requests of this key wait for an answer: wait until they are decided",
	MaxPending)
