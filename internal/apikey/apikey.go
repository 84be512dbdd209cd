// Package apikey owns API keys, with which agents, SDKs, plugins and terminals sign
// in.
//
// A key is ak_test_ (sandbox) or ak_live_ (production) and 64 hex digits. It is shown
// once, when it is issued; only its SHA-256 and its first 16 characters are stored.
// A key belongs to a person and is bound to one organization or to none. It has
// scopes, and perhaps a product and an expiry. It is active until it expires or is
// revoked, which is final, and does not work while its organization is closed. A key
// with the scope cli acts for its owner. It also stops when the owner leaves the
// organization or sets a new password, when the identity provider that the owner
// signed in with no longer vouches for them, or when the session is ended that its
// terminal got beside it. Other keys belong to the organization
// and keep working.
//
// A key is made by
//
//   - Create: for a person, with scopes that anyone may ask for;
//   - Provision: for a person or a signed-in terminal, for one product, with at most
//     the default scopes;
//   - IssueCLI: for a person or a terminal, with the scope cli. No other request
//     gives this scope, because such a key makes keys;
//   - Rotate: in place of an old key, with the same settings. It belongs to the
//     person who rotated, who has seen it: an administrator must not come to hold a
//     key that acts as somebody else;
//   - Add: within another change (first run, sign-in from a terminal), with any scope;
//   - AddHidden: within the change in which a person consents to an OAuth client. Nobody
//     ever has the secret of a hidden key: the client's tokens refer to it. It cannot be
//     presented or rotated, and ends like a terminal's key, and when its owner may no
//     longer have keys.
//
// A person who leaves may hand keys over. They know the secrets, so that those end within a week: the new owner rotates
// the keys until then.
//
// A person whose session is limited to one organization makes keys with the same
// limit.
//
// The owner sees and revokes a key, within the organization the call is about, and
// so do people whose role there manages keys. A key with the scope cli sees those of
// its owner in its organization; other keys see none. To everyone else a key does
// not exist. A key revokes itself only by RevokeOwn.
//
// The edge has checked that a person is a member of the Principal's OrgID, and the
// role there. A key's rights are its scopes; if the edge also states its owner's
// role, that role must allow the action too.
//
// Resolve turns a presented key into a Principal and caches the answer for one
// second: a revocation takes effect at once in its own process, and within a second
// in all others. The last use of a key is kept in memory and written every few
// seconds, so a crash loses the latest.
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
	shownPrefix = 16 // characters of a key that are stored to recognize it by
)

// Environment is what a key is for. It decides the key's first characters.
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
	Limited     bool // it gives no access to other organizations of its owner
	Hidden      bool // it stands for a consent to an OAuth client, and nobody has its secret

	// HandedOverAt is when a former owner, who knows the secret, left; ExpiresAt is soon after. NextExpiry is then when
	// the key that replaces it expires.
	HandedOverAt *time.Time
	NextExpiry   *time.Time
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

// NewKey describes a key to be made.
type NewKey struct {
	Name        string
	OrgID       string            // empty: bound to none
	Environment Environment       // empty: Sandbox
	Product     string            // empty: any
	Scopes      []principal.Scope // none: principal.DefaultScopes
	ExpiresAt   *time.Time        // nil: never
	Limited     bool              // to OrgID, as the caller's session is
	SessionID   string            // of the terminal that gets the key; the key ends with it. Empty: it got none.

	hidden bool
	madeBy string // the key that makes it, or that it replaces; empty: none. It stops with that key.
}

// Issued is a new key with its secret, which is shown only now.
type Issued struct {
	Key
	Secret secret.Text
}

// checked is n trimmed, completed and sorted, or a fault that names every wrong
// field. Scopes must be among those allowed.
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

// checkScopes says what is wrong with the scopes; empty: nothing.
func checkScopes(scopes, allowed []principal.Scope) string {
	if len(scopes) > maxScopes {
		return fmt.Sprintf("must be at most %d", maxScopes)
	}
	for _, scope := range scopes {
		switch {
		case slices.Contains(allowed, scope):
		case scope == principal.CLI:
			return "cli cannot be requested: only signing in from a terminal gives it"
		default:
			return "must be among " + joinScopes(allowed, ", ")
		}
	}
	return ""
}

// allScopes are those that Add may give.
func allScopes() []principal.Scope { return append(principal.RequestableScopes(), principal.CLI) }

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
