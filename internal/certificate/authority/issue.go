package authority

import (
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"time"
)

// Order is a certificate to be signed.
type Order struct {
	Name
	Public  crypto.PublicKey
	Now     time.Time
	Expires time.Time
	ListURL string // where the revocation list of the authority is
	CAURL   string // where the authority's own certificate is
}

// Issue signs a certificate.
func (a *Authority) Issue(o Order) (*x509.Certificate, error) {
	if a.Key == nil {
		return nil, errors.New("an authority without its key signs nothing")
	}
	if err := checkKey(o.Public); err != nil {
		return nil, fmt.Errorf("the certificate %w", err)
	}
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	id, err := keyID(o.Public)
	if err != nil {
		return nil, err
	}
	uses := []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if o.Kind == Server {
		uses = append(uses, x509.ExtKeyUsageServerAuth) // servers are clients of each other too
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: o.common()},
		NotBefore:             o.Now.Add(-Skew).Truncate(time.Second),
		NotAfter:              o.Expires.Truncate(time.Second),
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           uses,
		BasicConstraintsValid: true,
		SubjectKeyId:          id,
		URIs:                  []*url.URL{o.url()},
		CRLDistributionPoints: []string{o.ListURL},
		IssuingCertificateURL: []string{o.CAURL},
	}, a.Certificate, o.Public, a.Key)
	if err != nil {
		return nil, fmt.Errorf("sign a certificate: %w", err)
	}
	return x509.ParseCertificate(der)
}

// Check reports why a certificate is not one that the authority signed and that is valid now; nil: it is.
func (a *Authority) Check(certificate *x509.Certificate, now time.Time) error {
	roots := x509.NewCertPool()
	roots.AddCert(a.Certificate)
	_, err := certificate.Verify(x509.VerifyOptions{
		Roots: roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	return err
}

// ListLife is how long a revocation list may be used before the next one is fetched.
const ListLife = time.Hour

// Cause is why a certificate was revoked, as revocation lists say it.
type Cause string

// causes are the codes of RFC 5280 for what people say.
var causes = map[Cause]int{
	"unspecified": 0, "key_compromise": 1, "superseded": 4, "cessation_of_operation": 5, "privilege_withdrawn": 9,
}

// The causes that have a meaning here.
const (
	Unspecified   Cause = "unspecified"
	KeyCompromise Cause = "key_compromise"
	Superseded    Cause = "superseded"
	Cessation     Cause = "cessation_of_operation"
)

// Valid reports whether lists can say it.
func (c Cause) Valid() bool { _, ok := causes[c]; return ok }

// Revoked is one entry of a revocation list.
type Revoked struct {
	Serial string
	At     time.Time
	Cause  Cause
}

// List signs a revocation list. Its number grows with time.
func (a *Authority) List(revoked []Revoked, now time.Time) ([]byte, error) {
	if a.Key == nil {
		return nil, errors.New("an authority without its key signs nothing")
	}
	entries := make([]x509.RevocationListEntry, len(revoked))
	for i, r := range revoked {
		serial, ok := new(big.Int).SetString(r.Serial, 16)
		if !ok {
			return nil, fmt.Errorf("the serial number %q cannot be read", r.Serial)
		}
		entries[i] = x509.RevocationListEntry{SerialNumber: serial, RevocationTime: r.At, ReasonCode: causes[r.Cause]}
	}
	der, err := x509.CreateRevocationList(rand.Reader, &x509.RevocationList{
		Number:                    big.NewInt(now.UnixMicro()),
		ThisUpdate:                now.Add(-Skew),
		NextUpdate:                now.Add(ListLife),
		RevokedCertificateEntries: entries,
	}, a.Certificate, a.Key)
	if err != nil {
		return nil, fmt.Errorf("sign a revocation list: %w", err)
	}
	return der, nil
}
