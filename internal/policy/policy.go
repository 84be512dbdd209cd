// Package policy keeps an organization's policies and says what they decide.
//
// A policy is a line of versions, each a document as somebody wrote it. Versions
// never change. The latest is what people edit; the active one, if any, is what
// calls are judged by, and no edit moves it:
//
//	draft ──Activate──> active ──Deactivate──> inactive ──Activate──> active
//	  any ──Update────> a new latest version, the active one stays
//	  any ──Rollback──> an old version again, as the latest; active if the policy is
//	  not active ──Delete──> gone from lists; its versions stay for the record
//
// Whoever may draft (also a key, with its scope) writes versions; only a person
// who manages policies says which of them counts and for whom. A policy without
// bindings counts for everybody, so the last binding is never taken away by
// removing it: that is said by setting none.
//
// A version can run as a shadow first: what the active policies would say with it
// in place is written down with each decision, and changes none (shadow.go).
//
// Plugins write policies of another face, profiles: staged, proposed, and
// confirmed by a person who has read that very text (profile.go). At most one is
// active, whoever proposed it.
//
// What is not parsed and compiled is not stored. Every change is recorded in the
// organization's log within its own transaction, which raises its generation.
// Snapshot gives the compiled set of an organization for its present generation:
// it is never older than that on any replica, and never smaller than it should
// be. A policy that cannot be read or compiled is an error, which denies.
//
// Limits of calls are counters that a decision takes from by conditional updates
// in its own transaction (Claim). Limits of cost and tokens compare what
// telemetry has recorded (Spending), which cannot be reserved.
package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"writ/internal/fault"
	"writ/internal/policy/document"
	"writ/internal/principal"
)

// Limits of what an organization keeps and counts.
const (
	MaxPolicies    = 1_000  // of an organization
	MaxActiveRules = 50_000 // of its active policies together
	MaxVersions    = 1_000  // of a policy
	MaxBindings    = 500    // of a policy
	MaxShadows     = 3      // of an organization: each is one more judgement a call
)

// Status is what a policy does at present.
type Status string

// The states of a policy.
const (
	Draft    Status = "draft"    // was never active
	Active   Status = "active"   // calls are judged by it
	Inactive Status = "inactive" // was active once
)

// Valid reports whether this is one of the states.
func (s Status) Valid() bool { return s == Draft || s == Active || s == Inactive }

// Policy is a policy without the texts of its versions.
type Policy struct {
	ID            string
	OrgID         string
	Name          string // of the latest version
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

// Face is how a policy came to be written.
type Face string

// The faces of policies.
const (
	AsDocument Face = ""        // as a document, by whoever drafts
	AsProfile  Face = "profile" // as the profile of a plugin; changed and put in force through profiles alone
)

// Author is who wrote a version.
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

// Document reads the source. What is stored was read before; an error here means
// that it was damaged, or written by a newer server.
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

// Bindings say for whom a policy counts. All empty: for everybody.
type Bindings struct {
	Members []string // ids of people
	Clients []string // ids of agents
	Roles   []string
}

// IsEmpty reports whether nobody is named.
func (b Bindings) IsEmpty() bool { return b.len() == 0 }

func (b Bindings) len() int { return len(b.Members) + len(b.Clients) + len(b.Roles) }

func notFound() error { return fault.New(fault.NotFound, "no such policy") }

func noVersion() error { return fault.New(fault.NotFound, "the policy has no such version") }
