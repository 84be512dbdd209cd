// Package principal says who is calling and what that caller may do.
//
// The edge makes a Principal once, from a verified token or key, and passes it down
// as a parameter; areas never take one from a context. A person's rights come from
// the role in the organization the call is about, a key's rights from its scopes.
// Both tables are here and nowhere else.
package principal

import (
	"slices"
	"time"

	"writ/internal/fault"
)

// Kind is the kind of a caller.
type Kind string

// The kinds of caller. The zero value is nobody, who may do nothing.
const (
	User   Kind = "user"   // a person with an access token
	Key    Kind = "key"    // an agent, SDK or plugin with an API key
	System Kind = "system" // the operator at the command line, and our own jobs
	Proxy  Kind = "proxy"  // the enforcement proxy: it has no rights, and acts for agents with their own keys
)

// Principal is a verified caller.
type Principal struct {
	Kind Kind

	UserID    string // the person, or the owner of the key
	SessionID string // the session of a person's token
	// LimitedTo is the one organization a session or key may act in, because only that
	// organization's identity provider vouches for the person. Empty: no limit.
	LimitedTo string

	// SecondFactor is what is known of it for a person.
	SecondFactor SecondFactor

	// These are set for a key.
	KeyID       string
	Scopes      []Scope
	Product     string
	Environment string
	ExpiresAt   *time.Time // nil: never. What the key makes must not outlive it.
	// Attested is the agent that the caller has proven to be; zero: none.
	Attested Attestation
	// Audience is the one MCP server that the access token of an OAuth client is for, as the address names it. Only a
	// proxy apart from its server sets it: what it is told is for that token alone. Empty: no limit.
	Audience string

	// OrgID is the organization the call acts in: one the person is a member of, or
	// the key's own. Empty where the route has none.
	OrgID string
	Role  Role // of the person, or of the key's owner, in OrgID
}

// Attestation is what a caller has proven with a certificate of their agent.
type Attestation struct{ AgentID, CertificateID string }

// SecondFactor says whether a person has one, and when they last proved it in this session.
type SecondFactor struct {
	Enrolled bool
	ProvedAt time.Time // zero: never
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
// everything, a caller without a role nothing.
func (p Principal) May(action Action) bool {
	return p.Kind == System || p.Role.May(action)
}

// Require is May as an error. It names the least role that may, so that people know whom to ask.
func (p Principal) Require(action Action) error {
	if p.May(action) {
		return nil
	}
	return fault.New(fault.Forbidden,
		"your role in this organization does not allow this (%s): it takes at least the role %s", action, whoMay(action))
}

// whoMay names the least role that may. An approver uses the kill switch only where the organization says so.
func whoMay(action Action) string {
	if action == KillAgents {
		return string(leastRole(action)) + ", where an admin has set approversMayKill, and else " + string(Admin)
	}
	return string(leastRole(action))
}

// HasScope reports whether a key carries the scope. Only keys have scopes.
func (p Principal) HasScope(scope Scope) bool {
	return p.Kind == Key &&
		slices.ContainsFunc(p.Scopes, func(held Scope) bool { return held.includes(scope) })
}
