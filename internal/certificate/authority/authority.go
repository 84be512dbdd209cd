// Package authority makes and reads what an organization's certificate authority signs: certificates of agents and MCP
// servers, revocation lists, and statements about the tools of a server. It stores nothing and knows no database.
//
// Of a certificate request nothing is taken but its public key: names, lifetime and uses are the caller's to say.
package authority

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"time"
)

// Skew is how far the clocks of those who check may be behind ours: certificates and lists begin that much earlier.
const Skew = 5 * time.Minute

// Life is how long an authority's own certificate is valid.
const Life = 5 * 365 * 24 * time.Hour

// Algorithm is the kind of a key that is made here.
type Algorithm string

// The algorithms.
const (
	P256    Algorithm = "p256"
	Ed25519 Algorithm = "ed25519"
)

// Valid reports whether keys of this kind can be made.
func (a Algorithm) Valid() bool { return a == P256 || a == Ed25519 }

// NewKey makes a private key.
func NewKey(a Algorithm) (crypto.Signer, error) {
	switch a {
	case P256:
		return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case Ed25519:
		_, private, err := ed25519.GenerateKey(rand.Reader)
		return private, err
	}
	return nil, fmt.Errorf("no keys of the kind %q are made", a)
}

// Authority signs for one organization.
type Authority struct {
	Certificate *x509.Certificate
	Key         crypto.Signer // nil: it can check, and sign nothing
}

// New makes an authority of an organization, which is also the trust domain of all names that it signs.
func New(orgID string, a Algorithm, now time.Time) (*Authority, error) {
	key, err := NewKey(a)
	if err != nil {
		return nil, err
	}
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	id, err := keyID(key.Public())
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{Organization: []string{"Writ"}, CommonName: "Writ " + orgID},
		NotBefore:             now.Add(-Skew).Truncate(time.Second),
		NotAfter:              now.Add(Life).Truncate(time.Second),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true, // it signs no other authorities
		SubjectKeyId:          id,
		AuthorityKeyId:        id,
		// Whoever trusts the authorities of several organizations takes from each only its own names.
		PermittedDNSDomainsCritical: true,
		PermittedURIDomains:         []string{orgID},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make an authority: %w", err)
	}
	certificate, err := x509.ParseCertificate(der)
	return &Authority{certificate, key}, err
}

// Open reads a stored authority. Its key must be that of its certificate.
func Open(der, key []byte) (*Authority, error) {
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("read an authority's certificate: %w", err)
	}
	private, err := x509.ParsePKCS8PrivateKey(key)
	if err != nil {
		return nil, errors.New("an authority's private key cannot be read") // the cause may quote it
	}
	signer, ok := private.(crypto.Signer)
	public, comparable := certificate.PublicKey.(interface{ Equal(x crypto.PublicKey) bool })
	if !ok || !comparable || !public.Equal(signer.Public()) {
		return nil, errors.New("an authority's private key is not that of its certificate")
	}
	return &Authority{certificate, signer}, nil
}

// MarshalKey is a private key as PKCS #8.
func MarshalKey(key crypto.Signer) ([]byte, error) { return x509.MarshalPKCS8PrivateKey(key) }

// PEM is one block of PEM.
func PEM(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// The kinds of PEM blocks.
const (
	CertificateBlock = "CERTIFICATE"
	RequestBlock     = "CERTIFICATE REQUEST"
	KeyBlock         = "PRIVATE KEY"
)

// Fingerprint is the SHA-256 of a certificate or key, in hexadecimal.
func Fingerprint(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}

// KeyHash is the fingerprint of a public key.
func KeyHash(public crypto.PublicKey) (string, error) {
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return "", fmt.Errorf("write a public key: %w", err)
	}
	return Fingerprint(der), nil
}

// keyID is how certificates name the key that signed them: RFC 7093, method 1.
func keyID(public crypto.PublicKey) ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return nil, fmt.Errorf("write a public key: %w", err)
	}
	sum := sha256.Sum256(der)
	return sum[:20], nil
}

// newSerial is a number of 127 random bits, which nobody can guess before it is signed.
func newSerial() (*big.Int, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	return serial.Add(serial, big.NewInt(1)), nil // never 0
}

// Serial is a serial number as it is stored and shown.
func Serial(n *big.Int) string { return fmt.Sprintf("%032x", n) }
