// Package apikey owns API keys: what agents, SDKs, plugins and terminals sign
// in with.
//
// A key is ak_test_ (sandbox) or ak_live_ (production) and 64 hex digits. It is
// shown once, when it is issued; only its SHA-256 and its first 16 characters
// are kept. A key belongs to a person, is bound to one organization or to none,
// and carries scopes, perhaps a product and an expiry. It is active until it
// expires or is revoked, and neither is ever undone. A key also stops working
// while its organization is closed. One with the scope cli acts for its owner,
// and stops when the owner is no longer a member or sets a new password, or when
// the identity provider that the owner had signed in with has no word for them any
// more; the others are the organization's, and go on.
//
// Ways to a key:
//
//   - Create: a person asks for one, with scopes anyone may ask for.
//   - Provision: a person, or a terminal that has signed in, asks for one for
//     a product, with default scopes at most.
//   - IssueCLI: a person or a terminal gets the key of a terminal, with the
//     scope cli. Nothing else that takes a request gives this scope, because
//     such a key makes keys.
//   - Rotate: a person replaces a key by a new one with the same settings. The
//     new key belongs to whoever rotated it, for that person has seen it: an
//     administrator must not come to hold a key that acts as somebody else.
//   - Add: another change (first run, sign-in from a terminal) makes one within
//     its own transaction, with any scope.
//
// A person whose sign-in is good for one organization alone makes keys with the
// same limit: the terminal's lead to no other organization of theirs.
//
// Who sees and revokes which key: its owner, within the organization the call
// is about, and persons whose role there manages keys. A key without the scope
// cli sees none, and one with it only those of its owner in its organization.
// What a caller may not see does not exist for it. A key revokes itself only by RevokeOwn.
//
// The edge is trusted to have checked that a person is a member of the
// Principal's OrgID, and the role there. A key's rights are its scopes; if the
// edge states the role of its owner too, that role must allow it as well.
//
// Resolve turns a presented key into a Principal and remembers the answer for
// one second: a revocation works at once in the process that made it, and
// within a second in all others. When a key was last used is kept in memory
// and written every few seconds, so a crash loses the last few.
package apikey

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/secret"
)

// Limits of a key's settings.
const (
	maxLabel    = 100 // characters of a name or product
	maxScopes   = 20
	maxYears    = 10 // how far ahead a key may expire
	shownPrefix = 16 // characters of a key that are kept to recognise it by
)

// Environment is what a key is for. It shows in the key's first letters.
type Environment string

// The environments.
const (
	Sandbox    Environment = "sandbox"
	Production Environment = "production"
)

const (
	sandboxMark    = "ak_test_"
	productionMark = "ak_live_"
)

func (e Environment) mark() string {
	if e == Production {
		return productionMark
	}
	return sandboxMark
}

// Key is an API key as it is shown: everything but the key itself.
type Key struct {
	ID          string
	OrgID       string // empty: bound to none
	OwnerID     string
	Name        string
	Environment Environment
	Product     string            // empty: any
	Scopes      []principal.Scope // sorted
	Prefix      string            // the first characters of the key
	CreatedAt   time.Time
	ExpiresAt   *time.Time
	LastUsedAt  *time.Time // some seconds behind
	RevokedAt   *time.Time
	Limited     bool // it leads to no other organization of its owner
}

// Status is active, expired or revoked.
func (k Key) Status(now time.Time) string {
	switch {
	case k.RevokedAt != nil:
		return "revoked"
	case k.ExpiresAt != nil && !now.Before(*k.ExpiresAt):
		return "expired"
	default:
		return "active"
	}
}

// NewKey says what key is wanted.
type NewKey struct {
	Name        string
	OrgID       string            // empty: bound to none
	Environment Environment       // empty: Sandbox
	Product     string            // empty: any
	Scopes      []principal.Scope // none: principal.DefaultScopes
	ExpiresAt   *time.Time        // nil: never
	Limited     bool              // to OrgID, as the sign-in of who asks is
}

// Issued is a new key, with the one sight of its secret there will ever be.
type Issued struct {
	Key
	Secret secret.Text
}

// checked is n trimmed, completed and in order, or a fault that names every
// field that breaks a rule. Scopes must be among those allowed.
func (n NewKey) checked(now time.Time, allowed []principal.Scope) (NewKey, error) {
	n.Name, n.Product = strings.TrimSpace(n.Name), strings.TrimSpace(n.Product)
	if n.Environment == "" {
		n.Environment = Sandbox
	}
	if len(n.Scopes) == 0 {
		n.Scopes = principal.DefaultScopes()
	}
	if n.ExpiresAt != nil {
		stored := n.ExpiresAt.UTC().Truncate(time.Microsecond)
		n.ExpiresAt = &stored
	}
	var problems []fault.Detail
	require := func(ok bool, field, message string) {
		if !ok {
			problems = append(problems, fault.Detail{Field: field, Message: message})
		}
	}
	require(n.Name != "" && isLabel(n.Name), "name", "must be 1 to 100 characters without control characters")
	require(isLabel(n.Product), "product", "must be at most 100 characters without control characters")
	require(n.Environment == Sandbox || n.Environment == Production, "environment", "must be sandbox or production")
	require(n.ExpiresAt == nil || n.ExpiresAt.After(now) && !n.ExpiresAt.After(now.AddDate(maxYears, 0, 0)),
		"expiresAt", "must be in the future and at most 10 years ahead")
	message := checkScopes(n.Scopes, allowed)
	require(message == "", "scopes", message)
	if problems != nil {
		return NewKey{}, fault.Fields(problems...)
	}
	n.Scopes = slices.Compact(slices.Sorted(slices.Values(n.Scopes)))
	return n, nil
}

// isLabel reports whether text can be shown on one line of a list.
func isLabel(text string) bool {
	return utf8.ValidString(text) && utf8.RuneCountInString(text) <= maxLabel &&
		!strings.ContainsFunc(text, unicode.IsControl)
}

// checkScopes says what is wrong with the scopes, and nothing if they are fine.
func checkScopes(scopes, allowed []principal.Scope) string {
	if len(scopes) > maxScopes {
		return fmt.Sprintf("must be at most %d", maxScopes)
	}
	for _, scope := range scopes {
		switch {
		case slices.Contains(allowed, scope):
		case scope == principal.CLI:
			return "cli is not given on request: only signing in from a terminal issues it"
		default:
			return "must be among " + joinScopes(allowed, ", ")
		}
	}
	return ""
}

// everyScope is what Add may give.
func everyScope() []principal.Scope { return append(principal.RequestableScopes(), principal.CLI) }

func joinScopes(scopes []principal.Scope, separator string) string {
	words := make([]string, len(scopes))
	for i, scope := range scopes {
		words[i] = string(scope)
	}
	return strings.Join(words, separator)
}

func splitScopes(text string) []principal.Scope {
	scopes := []principal.Scope{}
	for word := range strings.FieldsSeq(text) {
		scopes = append(scopes, principal.Scope(word))
	}
	return scopes
}
