// Package agent owns the registry of agents.
//
// Clients name the agent that calls: an id is their text, unique in its organization.
// A person registers an agent under its id and binds keys to it. What a key registers is a
// proposal until a person confirms it: its id counts as unregistered.
// An id that is bound to keys counts only with those: with any other key it is a
// stranger, judged as unregistered, so that nobody gains by naming an agent. One
// without bound keys counts with every key, and proves nothing.
//
// An agent has an owner, who is a member. It is suspended when that member leaves, and
// when a person says so. A suspended agent's calls are denied, and so are those of its
// bound keys, whatever agent they name.
//
// StandingOf says what a decision must know of an agent. All of it changes only with the
// generation of the organization's log, so that decisions may cache it. What was seen of
// agents (Saw, Flush) is no part of it: it raises no generation and decides nothing.
package agent

import (
	"crypto/ed25519"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/names"
	"writ/internal/redaction"
)

// Limits of the registry.
const (
	MaxAgents      = 20_000 // registered in an organization
	MaxKeys        = 100    // bound to an agent
	MaxSeen        = 10_000 // ids with keys that are remembered of an organization
	maxLabel       = 100    // characters of a name or product
	maxDescription = 1_000  // characters
	maxReason      = 500    // characters
)

// Status is what an agent may do.
type Status string

// The statuses.
const (
	Unregistered Status = "unregistered" // enforcement has seen its id
	Pending      Status = "pending"      // a key proposes it; it counts as unregistered
	Active       Status = "active"
	Suspended    Status = "suspended" // a person may set it active again
	Killed       Status = "killed"    // by the kill switch; a person may revive it
)

// Agent is an agent as it is shown.
type Agent struct {
	ID     string
	Status Status
	// SuspendedFor says why it is suspended.
	SuspendedFor string

	Profile
	OwnerID   string // empty: nobody has registered or proposed it
	CreatedAt time.Time
	UpdatedAt *time.Time // nil: it is not registered

	// What was seen of it, some seconds behind.
	LastSeenAt *time.Time // nil: never
	Host       string     // the client that it ran in last; empty: not stated
	SeenKeys   []string   // with which its id was sent; not in lists
	Sharing    []string   // other agents that stop with it, because they use its keys, sorted; not in lists

	Stop        *Stop    // what keeps it from acting, without its keys; nil: nothing, or it was not asked for
	StoppedKeys []string // those of its keys that are stopped, sorted, 100 at most

	Plan *Plan // the latest that was declared under its id and has not ended; nil: none
}

// Plan is a plan of an agent.
type Plan struct {
	ID         string
	KeyID      string // that declared it
	DeclaredAt time.Time
	ExpiresAt  time.Time
}

// Profile is what people and clients say about an agent.
type Profile struct {
	Name        string
	Product     string
	Environment string // sandbox or production; empty: any
	Description string
	Keys        []string // that it may use, sorted; none: its id proves nothing
	PublicKey   ed25519.PublicKey
	// IntentRequired: a call without a plan is denied, whatever the organization's setting is.
	IntentRequired bool
	// ProofsOptional: its calls through the proxy need not prove their step, where its manifest says so too. It counts
	// only with its bound keys, and only a person sets it.
	ProofsOptional bool
	// Trips that differ from the organization's. They count calls with bound keys only.
	Trips Trips
}

// isRegistered reports whether a person has registered the agent.
func (a Agent) isRegistered() bool { return a.UpdatedAt != nil }

// isProposed reports whether a key wants the agent registered, and nobody has yet.
func (a Agent) isProposed() bool { return a.OwnerID != "" && a.UpdatedAt == nil }

// checkID is an id as it is stored. Records with ids cannot be erased.
func checkID(id string) (string, error) {
	id = strings.TrimSpace(id)
	switch {
	case id == "" || !names.Valid(id):
		return "", fault.Field("agentId", "must be 1 to %d bytes without control characters", names.MaxBytes)
	case id == "." || id == "..":
		return "", fault.Field("agentId", "must not be a dot or two: no path can name it")
	case redaction.HoldsKey(id):
		return "", fault.Field("agentId", "must not hold a key")
	}
	return id, nil
}

// checked is the profile trimmed and sorted, or a fault that names every wrong field.
func (p Profile) checked() (Profile, error) {
	p.Name, p.Product = strings.TrimSpace(p.Name), strings.TrimSpace(p.Product)
	var problems []fault.Detail
	require := func(ok bool, field, message string) {
		if !ok {
			problems = append(problems, fault.Detail{Field: field, Message: message})
		}
	}
	require(isText(p.Name, maxLabel), "name", "must be at most 100 characters without control characters")
	require(isText(p.Product, maxLabel), "product", "must be at most 100 characters without control characters")
	require(slices.Contains([]string{"", "sandbox", "production"}, p.Environment), "environment",
		"must be sandbox or production, or empty for any")
	require(isText(p.Description, maxDescription), "description",
		"must be at most 1000 characters without control characters")
	require(len(p.Keys) <= MaxKeys, "keys", "must be at most 100")
	require(!slices.ContainsFunc(p.Keys, func(id string) bool { return !database.IsID(id) }), "keys",
		"must be ids of API keys")
	require(len(p.PublicKey) == 0 || len(p.PublicKey) == ed25519.PublicKeySize, "publicKey",
		"must be an Ed25519 public key: 32 bytes in base64")
	if problems != nil {
		return Profile{}, fault.Fields(problems...)
	}
	p.Keys = slices.Compact(slices.Sorted(slices.Values(p.Keys)))
	return p, nil
}

// isText reports whether text can be shown on one line.
func isText(text string, most int) bool {
	return utf8.ValidString(text) && utf8.RuneCountInString(text) <= most &&
		!strings.ContainsFunc(text, unicode.IsControl)
}

func checkReason(reason string) (string, error) {
	reason = strings.TrimSpace(reason)
	if reason == "" || !isText(reason, maxReason) {
		return "", fault.Field("reason", "must be 1 to %d characters without control characters", maxReason)
	}
	return reason, nil
}

func noSuchAgent() error {
	return fault.New(fault.NotFound, "no such agent: writ agents list shows those that are registered or were seen")
}

func isRegistered() error {
	return fault.New(fault.Conflict,
		"an agent with this id is registered: writ agents add-key adds keys, and PATCH /agent/agents/{agentId} changes the rest")
}
