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
)

const (
	issuer    = "writ"
	audience  = "writ:api"
	tokenType = "at+jwt"
	clockSkew = 60 * time.Second // how far ahead another replica's clock may be
	maxLength = 4096             // bytes; ours have about 400
)

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
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer:    issuer,
			Audience:  jwt.ClaimStrings{audience},
			Subject:   c.UserID,
			IssuedAt:  jwt.NewNumericDate(now),
			ExpiresAt: jwt.NewNumericDate(now.Add(life)),
		},
		SessionID: c.SessionID,
		OrgID:     c.OrgID,
	})
	token.Header["kid"], token.Header["typ"] = keyID, tokenType
	signed, err := token.SignedString(key)
	if err != nil {
		return "", fmt.Errorf("sign an access token: %w", err)
	}
	return signed, nil
}

// Verify gives the claims of a token that is ours and current. An error of find is
// returned as it is; every other one is ErrRefused.
func Verify(token string, find func(keyID string) (ed25519.PublicKey, error), now time.Time) (Claims, error) {
	if len(token) > maxLength {
		return Claims{}, fmt.Errorf("%w: too long", ErrRefused)
	}
	parser := jwt.NewParser(
		jwt.WithValidMethods([]string{jwt.SigningMethodEdDSA.Alg()}),
		jwt.WithIssuer(issuer),
		jwt.WithAudience(audience),
		jwt.WithExpirationRequired(),
		jwt.WithTimeFunc(func() time.Time { return now }),
	)
	var c claims
	var notFound error
	_, err := parser.ParseWithClaims(token, &c, func(t *jwt.Token) (key any, err error) {
		if t.Header["typ"] != tokenType {
			return nil, errors.New("another kind of token")
		}
		keyID, _ := t.Header["kid"].(string)
		key, notFound = find(keyID)
		return key, notFound
	})
	switch {
	case notFound != nil:
		return Claims{}, notFound
	case err != nil:
		return Claims{}, fmt.Errorf("%w: %w", ErrRefused, err)
	case c.IssuedAt == nil || c.IssuedAt.After(now.Add(clockSkew)):
		return Claims{}, fmt.Errorf("%w: issued in the future", ErrRefused)
	case c.Subject == "" || c.SessionID == "":
		return Claims{}, fmt.Errorf("%w: no subject or session", ErrRefused)
	}
	return Claims{UserID: c.Subject, SessionID: c.SessionID, OrgID: c.OrgID}, nil
}
