// Package principal says who is calling and what that caller may do.
//
// The edge makes a Principal once, from a verified token or key, and hands it
// down explicitly; areas never look one up in a context. A person's rights come
// from the role held in the organization the call is about, a key's rights from
// its scopes. Both tables are here and nowhere else.
package principal

import (
	"time"

	"writ/internal/fault"
)

// Kind is what kind of caller this is.
type Kind string

// The kinds of caller. The zero value is nobody, and nobody may do anything.
const (
	User   Kind = "user"   // a person with an access token
	Key    Kind = "key"    // an agent, SDK or plugin with an API key
	System Kind = "system" // the operator at the command line, and our own jobs
)

// Principal is a verified caller.
type Principal struct {
	Kind Kind

	// UserID is the person, or the owner of the key.
	UserID string
	// SessionID is the sign-in a person's token belongs to.
	SessionID string
	// LimitedTo is the one organization the sign-in is good for, because only that
	// organization's identity provider vouches for it. Empty is no limit.
	LimitedTo string

	// KeyID, Scopes, Product and Environment are of a key.
	KeyID       string
	Scopes      []Scope
	Product     string
	Environment string
	// ExpiresAt is when a key ends, nil when it does not. What it makes must not
	// outlive it.
	ExpiresAt *time.Time

	// OrgID is the organization the call acts in: checked membership for a
	// person, the key's own record for a key. Empty where the route has none.
	OrgID string
	// Role is the person's (or key owner's) role in OrgID.
	Role Role
}

// Operator is the caller of commands run on the server itself.
func Operator() Principal { return Principal{Kind: System} }

// ActorID names the caller in records: the key for a key, else the person.
func (p Principal) ActorID() string {
	if p.Kind == Key {
		return p.KeyID
	}
	return p.UserID
}

// May reports whether the caller's role allows the action. The system may do
// everything; a caller without a role nothing.
func (p Principal) May(action Action) bool {
	return p.Kind == System || p.Role.May(action)
}

// Require is May as an error.
func (p Principal) Require(action Action) error {
	if p.May(action) {
		return nil
	}
	return fault.New(fault.Forbidden, "your role in this organization does not allow this (%s)", action)
}

// HasScope reports whether a key carries the scope. Only keys have scopes.
func (p Principal) HasScope(scope Scope) bool {
	if p.Kind != Key {
		return false
	}
	for _, s := range p.Scopes {
		if s == scope {
			return true
		}
	}
	return false
}
