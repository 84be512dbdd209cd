package plan

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/golang-jwt/jwt/v5"

	"writ/internal/jwtform"
)

// The plan's JWT names the plan in one string, for calls that have no room for a
// token. It has its own key, type and audience, so that it never passes for the access
// token of a person.
// Ours have about 600 bytes.
var jwtOfPlan = jwtform.Form{Name: "a plan's JWT", Type: "plan+jwt", Audience: "writ:plan", MaxBytes: 4096}

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
	return jwtOfPlan.Sign(jwtClaims{
		RegisteredClaims: jwtOfPlan.Registered(jwt.RegisteredClaims{
			Subject: j.Identity, ID: j.PlanID,
			IssuedAt: jwt.NewNumericDate(j.Issued), ExpiresAt: jwt.NewNumericDate(j.Expires),
		}),
		PlanHash: j.PlanHash, MerkleRoot: j.PlanHash, Identity: j.Identity,
	}, keyID, key)
}

// VerifyJWT checks a JWT with the public key. The server itself compares it with the
// one it issued.
func VerifyJWT(text string, key ed25519.PublicKey, now time.Time) (JWT, error) {
	var c jwtClaims
	if err := jwtOfPlan.Verify(text, &c, func(string) (ed25519.PublicKey, error) { return key, nil }); err != nil {
		return JWT{}, err
	}
	switch {
	case c.IssuedAt == nil || c.ID == "":
		return JWT{}, errors.New("not a plan's JWT: it names no plan")
	case c.ExpiresAt == nil || !now.Before(c.ExpiresAt.Time) || (c.NotBefore != nil && now.Before(c.NotBefore.Time)):
		return JWT{}, errors.New("not a plan's JWT: expired, or not valid yet")
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
	if len(text) > jwtOfPlan.MaxBytes {
		return "", false
	}
	return idIn(text)
}

// idIn is the id in a JWT.
func idIn(text string) (string, bool) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
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
