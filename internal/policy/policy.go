// Package policy stores an organization's policies and evaluates calls with them.
//
// A policy is a series of versions, each a document as its author wrote it. Versions
// never change. People edit the latest one. Calls are judged by the active one, if
// any, which no edit changes:
//
//	draft ──Activate──> active ──Deactivate──> inactive ──Activate──> active
//	  any ──Update────> a new latest version, the active one stays
//	  any ──Rollback──> an old version again, as the latest; active if the policy is
//	  not active ──Delete──> hidden from lists; its versions stay for the record
//
// Members and keys that may draft write versions. Only a person who manages policies
// activates one and binds it to callers. A policy without bindings applies to
// everybody, so Unbind never removes the last one; only SetBindings does.
//
// A version can run as a shadow first: each decision records what the active policies
// would say with it, but does not follow it (shadow.go).
//
// Plugins write policies in another form, profiles. They are staged, proposed, and
// confirmed by a person who has read exactly that text (profile.go). At most one
// profile is active in an organization.
//
// Only documents that compile are stored. Every change is recorded in the
// organization's log in the same transaction, which raises the log's generation.
// Snapshot returns the compiled set of an organization for its current generation. It
// is never older on any replica and never leaves a policy out: one that cannot be read
// or compiled is an error, and the call is denied.
//
// A decision takes from limits of calls in its own transaction (Claim). Limits of cost
// and tokens compare what telemetry has recorded (Spending) and reserve nothing.
package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"writ/internal/fault"
	"writ/internal/policy/document"
	"writ/internal/policy/engine"
	"writ/internal/principal"
)

// Limits of an organization.
const (
	MaxPolicies    = 1_000  // of an organization
	MaxActiveRules = 50_000 // of its active policies together
	MaxVersions    = 1_000  // of a policy
	MaxBindings    = 500    // of a policy
	MaxShadows     = 3      // of an organization: each call is also evaluated by every shadow
)

// Status is the status of a policy.
type Status string

// The statuses.
const (
	Draft    Status = "draft"    // was never active
	Active   Status = "active"   // calls are judged by it
	Inactive Status = "inactive" // was active once
)

// Valid reports whether this is one of the statuses.
func (s Status) Valid() bool { return s == Draft || s == Active || s == Inactive }

// Policy is a policy without the texts of its versions.
type Policy struct {
	ID            string
	OrgID         string
	Name          string // of the latest version; of the active one if that is a profile
	LatestVersion int
	ActiveVersion int // 0: none
	ShadowVersion int // 0: none
	ShadowSince   *time.Time
	Face          Face
	ActivatedAt   *time.Time
	CreatedAt     time.Time
	UpdatedAt     time.Time
}

// Status is draft, active or inactive.
func (p Policy) Status() Status {
	switch {
	case p.ActiveVersion != 0:
		return Active
	case p.ActivatedAt != nil:
		return Inactive
	default:
		return Draft
	}
}

// Face is the form in which a policy was written.
type Face string

// The forms of policies.
const (
	AsDocument Face = ""
	AsProfile  Face = "profile" // by a plugin; changed and activated only as a profile
)

// Author is the principal that wrote a version.
type Author struct {
	Kind principal.Kind
	ID   string
}

func authorOf(p principal.Principal) Author { return Author{Kind: p.Kind, ID: p.ActorID()} }

// Version is a policy's document at one time. It never changes.
type Version struct {
	PolicyID     string
	Number       int
	Source       Source
	Digest       string // hex SHA-256 of the source's text
	Rules        int
	RestoredFrom int // the version a rollback took it from; 0: none
	Author       Author
	CreatedAt    time.Time
}

// Source is a document as it was written.
type Source struct {
	Text   string
	Format document.Format
}

// Document parses the source. A stored source was parsed before, so an error means that it was damaged or written by a
// newer server.
func (s Source) Document() (*document.Document, error) {
	return document.Parse([]byte(s.Text), s.Format)
}

func (s Source) digest() string {
	sum := sha256.Sum256([]byte(s.Text))
	return hex.EncodeToString(sum[:])
}

// Full is a policy with one of its versions.
type Full struct {
	Policy
	Version  Version
	Document *document.Document
	Warnings []document.Problem // of the version just written; nil when it was only read
}

// Bindings say to whom a policy applies. Without any, it applies to everybody.
type Bindings struct {
	Members []string // ids of people
	Clients []string // ids of agents
	Roles   []string
}

// IsEmpty reports whether there are no bindings.
func (b Bindings) IsEmpty() bool { return b.len() == 0 }

func (b Bindings) len() int { return len(b.Members) + len(b.Clients) + len(b.Roles) }

func (b Bindings) forEngine() engine.Bindings {
	return engine.Bindings{Users: b.Members, Agents: b.Clients, Roles: b.Roles}
}

func notFound() error { return fault.New(fault.NotFound, "no such policy") }

func noVersion() error { return fault.New(fault.NotFound, "the policy has no such version") }
