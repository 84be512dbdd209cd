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
	"fmt"
	"slices"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

const (
	issuer   = "writ"
	audience = "writ:lease"
	kind     = "lease+jwt"
	maxText  = 64 << 10 // bytes
)

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
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer: issuer, Audience: jwt.ClaimStrings{audience}, Subject: l.KeyID, ID: l.ID,
			IssuedAt: jwt.NewNumericDate(l.Issued), ExpiresAt: jwt.NewNumericDate(l.Expires),
		},
		OrgID: l.OrgID, AgentID: l.AgentID, UserID: l.UserID, Tools: l.Tools,
	})
	token.Header["kid"] = keyID
	token.Header["typ"] = kind
	signed, err := token.SignedString(key)
	if err != nil {
		return "", fmt.Errorf("sign a lease: %w", err)
	}
	return signed, nil
}

// Verify reads a lease that one of the keys signed, by their ids. It does not compare its
// times with a clock: Permits does, with the time of a call.
func Verify(text string, keyOf func(id string) (ed25519.PublicKey, error)) (Lease, error) {
	if len(text) > maxText {
		return Lease{}, errors.New("not a lease: too long")
	}
	var c claims
	_, err := jwt.NewParser(
		jwt.WithValidMethods([]string{jwt.SigningMethodEdDSA.Alg()}), jwt.WithoutClaimsValidation(),
	).ParseWithClaims(text, &c, func(t *jwt.Token) (any, error) {
		if t.Header["typ"] != kind {
			return nil, errors.New("another kind of token")
		}
		id, _ := t.Header["kid"].(string)
		return keyOf(id)
	})
	switch {
	case err != nil:
		return Lease{}, fmt.Errorf("not a lease: %w", err)
	case c.Issuer != issuer || !slices.Contains(c.Audience, audience) || c.ID == "" || c.IssuedAt == nil ||
		c.ExpiresAt == nil:
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
