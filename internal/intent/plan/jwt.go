package plan

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/golang-jwt/jwt/v5"
)

// The plan's JWT names the plan in one string, for calls that have no room for a
// token. It has its own key, type and audience, so that it never passes for the access
// token of a person.
const (
	jwtIssuer   = "writ"
	jwtAudience = "writ:plan"
	jwtType     = "plan+jwt"
	maxJWT      = 4096 // bytes; ours have about 600
)

// JWT is what the plan's JWT says.
type JWT struct {
	PlanID   string
	PlanHash string
	Identity string
	Issued   time.Time
	Expires  time.Time
}

type jwtClaims struct {
	jwt.RegisteredClaims
	PlanHash   string `json:"plan_hash"`
	MerkleRoot string `json:"merkle_root"`
	Identity   string `json:"identity"`
}

// Sign makes the JWT.
func (j JWT) Sign(keyID string, key ed25519.PrivateKey) (string, error) {
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, jwtClaims{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer: jwtIssuer, Audience: jwt.ClaimStrings{jwtAudience}, Subject: j.Identity, ID: j.PlanID,
			IssuedAt: jwt.NewNumericDate(j.Issued), ExpiresAt: jwt.NewNumericDate(j.Expires),
		},
		PlanHash: j.PlanHash, MerkleRoot: j.PlanHash, Identity: j.Identity,
	})
	token.Header["kid"] = keyID
	token.Header["typ"] = jwtType
	signed, err := token.SignedString(key)
	if err != nil {
		return "", fmt.Errorf("sign a plan's JWT: %w", err)
	}
	return signed, nil
}

// VerifyJWT checks a JWT with the public key. The server itself compares it with the
// one it issued.
func VerifyJWT(text string, key ed25519.PublicKey, now time.Time) (JWT, error) {
	if len(text) > maxJWT {
		return JWT{}, errors.New("not a plan's JWT: too long")
	}
	var c jwtClaims
	_, err := jwt.NewParser(
		jwt.WithValidMethods([]string{jwt.SigningMethodEdDSA.Alg()}), jwt.WithIssuer(jwtIssuer),
		jwt.WithAudience(jwtAudience),
		jwt.WithExpirationRequired(), jwt.WithTimeFunc(func() time.Time { return now }),
	).ParseWithClaims(text, &c, func(t *jwt.Token) (any, error) {
		if t.Header["typ"] != jwtType {
			return nil, errors.New("another kind of token")
		}
		return key, nil
	})
	if err != nil {
		return JWT{}, fmt.Errorf("not a plan's JWT: %w", err)
	}
	if c.IssuedAt == nil || c.ID == "" {
		return JWT{}, errors.New("not a plan's JWT: it names no plan")
	}
	return JWT{
		PlanID:   c.ID,
		PlanHash: c.PlanHash,
		Identity: c.Identity,
		Issued:   c.IssuedAt.Time,
		Expires:  c.ExpiresAt.Time,
	}, nil
}

// planIDIn is the plan that a JWT names. It verifies nothing: the id only finds the
// stored plan to compare with.
func planIDIn(text string) (string, bool) {
	parts := strings.Split(text, ".")
	if len(text) > maxJWT || len(parts) != 3 {
		return "", false
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return "", false
	}
	var c struct {
		ID string `json:"jti"`
	}
	if err := json.Unmarshal(payload, &c); err != nil || c.ID == "" {
		return "", false
	}
	return c.ID, true
}
