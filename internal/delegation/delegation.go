// Package delegation is where a person says yes to a call that an agent may not
// make on its own.
//
// A decision that ends in hold or ask opens a request. The same call finds the
// same request again, however often a client polls. A person approves or
// rejects it; an approval is a grant for one run of exactly that call, and the
// decision that lets the call run consumes it in its own transaction.
//
//	Open ──> pending ──Approve──> approved (a grant: used once, or it expires)
//	            ├──Reject──> rejected: the call is denied until the request expires
//	            ├──Cancel──> cancelled, by who asked
//	            └──time────> expired: the next call opens another
//
// A call is its key, server, tool and the digest of its canonical arguments,
// and what is wanted of approvers: a grant that one person gave does not serve
// where the policy now wants two. Plan and e-mail tell calls apart where both
// sides state them.
//
// The owner of a key does not approve what the key asks for, unless there is
// nobody else in the organization who could; an ask, however, is a question to
// that very person. No key approves anything.
package delegation

import (
	"time"

	"writ/internal/fault"
	"writ/internal/policy/document"
)

// Times of requests and grants.
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

// Call is a call that needs a yes. What is not stated is empty.
type Call struct {
	OrgID   string
	KeyID   string
	OwnerID string // of the key
	Server  string
	Tool    string
	// Digest is over the canonical arguments, under the organization's key.
	Digest []byte
	// Arguments are those as people may see them: redacted JSON.
	Arguments string

	UserID, Email, AgentID, SessionID, PlanID string
}

// Want is what is wanted of whoever approves, and which rule wants it.
type Want struct {
	Kind          Kind
	PolicyID      string
	PolicyVersion int
	Rule          string
	Reason        string
	Message       string
	Approvers     *document.Approvers // nil: one person who may approve
}

// role is what an approver must be at least; empty: whoever may approve.
func (w Want) role() string {
	if w.Approvers == nil || w.Kind == Ask {
		return ""
	}
	return w.Approvers.Role
}

// needed is how many persons must say yes.
func (w Want) needed() int {
	if w.Approvers == nil || w.Kind == Ask || w.Approvers.Count < 1 {
		return 1
	}
	return w.Approvers.Count
}

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
	Status        Status // Expired, too, where its time is over
	Note          string
	SelfApproved  bool
	CreatedAt     time.Time
	ExpiresAt     time.Time
	DecidedAt     *time.Time

	grant grant
}

// grant is what an approval gave. Without an id there is none.
type grant struct {
	id        string
	expiresAt time.Time
	used      bool
}

// Granted reports whether the call may run once, now.
func (r *Request) Granted(now time.Time) bool {
	return r.Status == Approved && r.grant.id != "" && !r.grant.used && now.Before(r.grant.expiresAt)
}

// answers reports whether the request still says something about its call: it
// waits, was rejected, or has a grant that can be used. Otherwise the next call
// opens another.
func (r *Request) answers(now time.Time) bool {
	switch r.Status {
	case Pending, Rejected:
		return now.Before(r.ExpiresAt)
	case Approved:
		return r.Granted(now)
	}
	return false
}

func noSuchRequest() error { return fault.New(fault.NotFound, "no such request for approval") }

// ErrTooMany is the answer to a key whose requests nobody can read any more.
var ErrTooMany = fault.New(fault.TooMany, "%d requests of this key wait for an answer: wait until they are decided", MaxPending)
