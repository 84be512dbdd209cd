// Package accesstoken signs and verifies a person's access token, a JWT with an
// Ed25519 signature. It is pure: the caller gives keys and time.
//
// A token for another purpose has another key, type and audience, and any one of
// them is reason to refuse it here. Only EdDSA is accepted, whatever the header says.
package accesstoken

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"writ/internal/jwtform"
)

// Ours have about 400 bytes.
var form = jwtform.Form{Name: "an access token", Type: "at+jwt", Audience: "writ:api", MaxBytes: 4096}

const clockSkew = 60 * time.Second // how far ahead another replica's clock may be

// ErrRefused is the error of every token that is not accepted.
var ErrRefused = errors.New("not a valid access token")

// Claims say whose token it is.
type Claims struct {
	UserID    string
	SessionID string
	OrgID     string // the one organization it is limited to; empty: no limit
}

type claims struct {
	jwt.RegisteredClaims
	SessionID string `json:"sid"`
	OrgID     string `json:"org,omitempty"`
}

// Sign makes a token that is valid for life, from now on.
func Sign(c Claims, keyID string, key ed25519.PrivateKey, now time.Time, life time.Duration) (string, error) {
	return form.Sign(claims{
		RegisteredClaims: form.Registered(jwt.RegisteredClaims{
			Subject:   c.UserID,
			IssuedAt:  jwt.NewNumericDate(now),
			ExpiresAt: jwt.NewNumericDate(now.Add(life)),
		}),
		SessionID: c.SessionID,
		OrgID:     c.OrgID,
	}, keyID, key)
}

// Verify gives the claims of a token that is ours and current. An error of find is
// returned as it is; every other one is ErrRefused.
func Verify(token string, find func(keyID string) (ed25519.PublicKey, error), now time.Time) (Claims, error) {
	var c claims
	var notFound error
	err := form.Verify(token, &c, func(keyID string) (key ed25519.PublicKey, err error) {
		key, notFound = find(keyID)
		return key, notFound
	})
	switch {
	case notFound != nil:
		return Claims{}, notFound
	case err != nil:
		return Claims{}, fmt.Errorf("%w: %w", ErrRefused, err)
	case c.ExpiresAt == nil || !now.Before(c.ExpiresAt.Time) || (c.NotBefore != nil && now.Before(c.NotBefore.Time)):
		return Claims{}, fmt.Errorf("%w: expired, or not valid yet", ErrRefused)
	case c.IssuedAt == nil || c.IssuedAt.After(now.Add(clockSkew)):
		return Claims{}, fmt.Errorf("%w: issued in the future", ErrRefused)
	case c.Subject == "" || c.SessionID == "":
		return Claims{}, fmt.Errorf("%w: no subject or session", ErrRefused)
	}
	return Claims{UserID: c.Subject, SessionID: c.SessionID, OrgID: c.OrgID}, nil
}
