// Package jwtform is the common form of the JWTs that Writ signs: access tokens, plans' JWTs, leases and tickets.
// It is pure: the caller gives keys and times.
//
// Each kind has its own type and audience, and either is reason to refuse one in the place of another, even where
// two kinds are signed with one key. Only EdDSA is accepted, whatever the header says.
package jwtform

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"

	"github.com/golang-jwt/jwt/v5"
)

const issuer = "writ"

// Form is a kind of JWT.
type Form struct {
	Name     string // for errors, with its article: "a lease"
	Type     string // in the header
	Audience string
	MaxBytes int
}

// Registered are the claims of this kind that all kinds have.
func (f Form) Registered(claims jwt.RegisteredClaims) jwt.RegisteredClaims {
	claims.Issuer, claims.Audience = issuer, jwt.ClaimStrings{f.Audience}
	return claims
}

// Sign makes the text of a JWT whose claims are based on Registered.
func (f Form) Sign(claims jwt.Claims, keyID string, key ed25519.PrivateKey) (string, error) {
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims)
	token.Header["kid"], token.Header["typ"] = keyID, f.Type
	signed, err := token.SignedString(key)
	if err != nil {
		return "", fmt.Errorf("sign %s: %w", f.Name, err)
	}
	return signed, nil
}

// Verify reads into claims a text of this kind that one of the keys signed, by their ids. It does not compare its
// times with a clock. An error of keyOf is in the error.
func (f Form) Verify(text string, claims jwt.Claims, keyOf func(id string) (ed25519.PublicKey, error)) error {
	if len(text) > f.MaxBytes {
		return fmt.Errorf("not %s: too long", f.Name)
	}
	_, err := jwt.NewParser(
		jwt.WithValidMethods([]string{jwt.SigningMethodEdDSA.Alg()}), jwt.WithoutClaimsValidation(),
	).ParseWithClaims(text, claims, func(t *jwt.Token) (any, error) {
		if t.Header["typ"] != f.Type {
			return nil, errors.New("another kind of token")
		}
		id, _ := t.Header["kid"].(string)
		return keyOf(id)
	})
	if err != nil {
		return fmt.Errorf("not %s: %w", f.Name, err)
	}
	by, err := claims.GetIssuer()
	if err != nil || by != issuer {
		return fmt.Errorf("not %s: another issuer", f.Name)
	}
	audience, err := claims.GetAudience()
	if err != nil || !slices.Contains(audience, f.Audience) {
		return fmt.Errorf("not %s: another audience", f.Name)
	}
	return nil
}
