// Package lease is the form of a lease: what an agent may call for some minutes without
// asking, signed, so that whoever has the server's published keys can check it offline.
// The package is pure.
//
// A lease is a JWT of its own type and audience. It is signed with the key of plans' JWTs,
// and never passes for one of them.
package lease

import (
	"crypto/ed25519"
	"errors"
	"slices"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"writ/internal/jwtform"
)

var form = jwtform.Form{Name: "a lease", Type: "lease+jwt", Audience: "writ:lease", MaxBytes: 64 << 10}

// Tool is a tool as calls name it, exactly.
type Tool struct {
	Server string `json:"server,omitzero"` // empty: calls name none
	Tool   string `json:"tool"`
}

// Lease is what a lease says.
type Lease struct {
	ID      string
	OrgID   string
	KeyID   string // the API key that it was given to
	AgentID string // empty: the calls name none
	UserID  string // for whom the calls are; empty: for the key's owner
	Tools   []Tool // allowed, whatever the arguments
	Issued  time.Time
	Expires time.Time
}

// Permits reports whether a call of a tool fits at a time. It says nothing about who calls.
func (l *Lease) Permits(tool Tool, at time.Time) bool {
	return slices.Contains(l.Tools, tool) && !at.Before(l.Issued) && at.Before(l.Expires)
}

type claims struct {
	jwt.RegisteredClaims
	OrgID   string `json:"org"`
	AgentID string `json:"agent,omitempty"`
	UserID  string `json:"user,omitempty"`
	Tools   []Tool `json:"tools"`
}

// Sign makes the text of a lease.
func (l *Lease) Sign(keyID string, key ed25519.PrivateKey) (string, error) {
	return form.Sign(claims{
		RegisteredClaims: form.Registered(jwt.RegisteredClaims{
			Subject: l.KeyID, ID: l.ID,
			IssuedAt: jwt.NewNumericDate(l.Issued), ExpiresAt: jwt.NewNumericDate(l.Expires),
		}),
		OrgID: l.OrgID, AgentID: l.AgentID, UserID: l.UserID, Tools: l.Tools,
	}, keyID, key)
}

// Verify reads a lease that one of the keys signed, by their ids. It does not compare its
// times with a clock: Permits does, with the time of a call.
func Verify(text string, keyOf func(id string) (ed25519.PublicKey, error)) (Lease, error) {
	var c claims
	if err := form.Verify(text, &c, keyOf); err != nil {
		return Lease{}, err
	}
	if c.ID == "" || c.IssuedAt == nil || c.ExpiresAt == nil {
		return Lease{}, errors.New("not a lease: it does not say what it is")
	}
	return Lease{
		ID:      c.ID,
		OrgID:   c.OrgID,
		KeyID:   c.Subject,
		AgentID: c.AgentID,
		UserID:  c.UserID,
		Tools:   c.Tools,
		Issued:  c.IssuedAt.Time,
		Expires: c.ExpiresAt.Time,
	}, nil
}
