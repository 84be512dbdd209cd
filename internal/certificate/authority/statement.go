package authority

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// statementType is in the header of statements, so that nothing else that is signed can be taken for one.
const statementType = "mcp-definitions+jwt"

// Statement binds the certificate of an MCP server to the tools that a person has accepted of it.
type Statement struct {
	SPIFFEID    string
	Serial      string // of the certificate
	Fingerprint string // of the certificate: SHA-256 in hexadecimal
	Definitions string // the hash of the pinned tools
	Issued      time.Time
	Expires     time.Time
}

type statementClaims struct {
	jwt.RegisteredClaims
	Serial      string `json:"serial"`
	Definitions string `json:"definitions"`
	Confirm     struct {
		Thumbprint string `json:"x5t#S256"` // RFC 8705
	} `json:"cnf"`
}

// State signs a statement as a JWT. Its header names the authority by its certificate.
func (a *Authority) State(s Statement) (string, error) {
	if a.Key == nil {
		return "", errors.New("an authority without its key signs nothing")
	}
	method, err := a.method()
	if err != nil {
		return "", err
	}
	sum, err := hex.DecodeString(s.Fingerprint)
	if err != nil {
		return "", fmt.Errorf("read a fingerprint: %w", err)
	}
	claims := statementClaims{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer:    a.Certificate.Subject.CommonName,
			Subject:   s.SPIFFEID,
			IssuedAt:  jwt.NewNumericDate(s.Issued),
			ExpiresAt: jwt.NewNumericDate(s.Expires),
		},
		Serial: s.Serial, Definitions: s.Definitions,
	}
	claims.Confirm.Thumbprint = base64.RawURLEncoding.EncodeToString(sum)
	token := jwt.NewWithClaims(method, claims)
	token.Header["typ"] = statementType
	token.Header["x5c"] = []string{base64.StdEncoding.EncodeToString(a.Certificate.Raw)}
	signed, err := token.SignedString(a.Key)
	if err != nil {
		return "", fmt.Errorf("sign a statement: %w", err)
	}
	return signed, nil
}

// ReadStatement checks that the authority signed a statement about a certificate, and reads it. That it was not
// signed by another one is known by the key: the header is not asked.
func (a *Authority) ReadStatement(text string, about *x509.Certificate, now time.Time) (Statement, error) {
	method, err := a.method()
	if err != nil {
		return Statement{}, err
	}
	var claims statementClaims
	token, err := jwt.ParseWithClaims(text, &claims, func(*jwt.Token) (any, error) {
		return a.Certificate.PublicKey, nil
	}, jwt.WithValidMethods([]string{method.Alg()}), jwt.WithTimeFunc(func() time.Time { return now }),
		jwt.WithExpirationRequired())
	if err != nil {
		return Statement{}, fmt.Errorf("the statement is not valid: %w", err)
	}
	sum, err := base64.RawURLEncoding.DecodeString(claims.Confirm.Thumbprint)
	if err != nil || token.Header["typ"] != statementType {
		return Statement{}, errors.New("the statement is of another kind")
	}
	s := Statement{
		SPIFFEID:    claims.Subject,
		Serial:      claims.Serial,
		Fingerprint: hex.EncodeToString(sum),
		Definitions: claims.Definitions,
		Expires:     claims.ExpiresAt.Time,
	}
	if claims.IssuedAt != nil {
		s.Issued = claims.IssuedAt.Time
	}
	if s.Fingerprint != Fingerprint(about.Raw) || s.Serial != Serial(about.SerialNumber) {
		return Statement{}, errors.New("the statement is about another certificate")
	}
	return s, nil
}

func (a *Authority) method() (jwt.SigningMethod, error) {
	switch a.Certificate.PublicKey.(type) {
	case *ecdsa.PublicKey:
		return jwt.SigningMethodES256, nil
	case ed25519.PublicKey:
		return jwt.SigningMethodEdDSA, nil
	}
	return nil, errors.New("the authority has a key of another kind")
}
