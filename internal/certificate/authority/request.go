package authority

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
)

// MaxRequest limits a certificate request, in bytes of PEM.
const MaxRequest = 16 << 10

// Sizes of RSA keys, in bits: smaller ones are weak, larger ones slow everybody who checks.
const (
	minRSA = 2048
	maxRSA = 4096
)

// signatures are those that a request may have.
var signatures = []x509.SignatureAlgorithm{
	x509.ECDSAWithSHA256, x509.ECDSAWithSHA384, x509.ECDSAWithSHA512, x509.PureEd25519,
	x509.SHA256WithRSA, x509.SHA384WithRSA, x509.SHA512WithRSA,
	x509.SHA256WithRSAPSS, x509.SHA384WithRSAPSS, x509.SHA512WithRSAPSS,
}

var (
	oidBasicConstraints = asn1.ObjectIdentifier{2, 5, 29, 19}
	oidKeyUsage         = asn1.ObjectIdentifier{2, 5, 29, 15}
	oidSubjectAltName   = asn1.ObjectIdentifier{2, 5, 29, 17}
	oidCommonName       = asn1.ObjectIdentifier{2, 5, 4, 3}
)

// ReadRequest reads a certificate request in PEM for a name, and gives its public key. A request that asks for any
// other name, or for more than a name, is refused: whoever wrote it expects what the certificate will not say.
func ReadRequest(text string, n Name) (crypto.PublicKey, error) {
	if len(text) > MaxRequest {
		return nil, fmt.Errorf("must be at most %d bytes", MaxRequest)
	}
	block, rest := pem.Decode([]byte(text))
	if block == nil || block.Type != RequestBlock && block.Type != "NEW CERTIFICATE REQUEST" ||
		len(bytes.TrimSpace(rest)) > 0 {
		return nil, errors.New("must be one certificate request in PEM: -----BEGIN CERTIFICATE REQUEST-----")
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, errors.New("is not a certificate request (PKCS #10) that can be read")
	}
	if err := checkKey(request.PublicKey); err != nil {
		return nil, err
	}
	if !slices.Contains(signatures, request.SignatureAlgorithm) {
		return nil, errors.New("must be signed with SHA-256 or better, or with Ed25519")
	}
	if err := request.CheckSignature(); err != nil {
		return nil, errors.New("is not signed with its own key")
	}
	if err := checkNames(request, n); err != nil {
		return nil, err
	}
	return request.PublicKey, nil
}

// checkKey refuses public keys that are weak, or that those who check may not know.
func checkKey(public crypto.PublicKey) error {
	switch key := public.(type) {
	case ed25519.PublicKey:
		return nil
	case *ecdsa.PublicKey:
		if key.Curve == elliptic.P256() || key.Curve == elliptic.P384() || key.Curve == elliptic.P521() {
			return nil
		}
		return errors.New("has a key on a weak curve: use P-256, P-384, P-521 or Ed25519")
	case *rsa.PublicKey:
		if bits := key.N.BitLen(); bits < minRSA || bits > maxRSA || key.E < 65537 {
			return fmt.Errorf("has an RSA key of %d bits with the exponent %d: use %d to %d bits and an exponent of at "+
				"least 65537, or better P-256 or Ed25519", bits, key.E, minRSA, maxRSA)
		}
		return nil
	}
	return errors.New("has a key of a kind that is not taken: use P-256, P-384, P-521, Ed25519 or RSA")
}

// checkNames refuses a request for anything but the name.
func checkNames(request *x509.CertificateRequest, n Name) error {
	for _, attribute := range request.Subject.Names {
		// People write the id there as it is, and openssl asks for one at least.
		if text, ok := attribute.Value.(string); !attribute.Type.Equal(oidCommonName) || !ok ||
			text != n.ID && text != n.SPIFFE() && text != n.common() {
			return fmt.Errorf("has another subject than the name it is for: leave it empty, or write CN=%s", n.common())
		}
	}
	extra := len(request.DNSNames) + len(request.EmailAddresses) + len(request.IPAddresses)
	for _, uri := range request.URIs {
		if uri.String() != n.SPIFFE() {
			extra++
		}
	}
	if extra > 0 || len(request.URIs) > 1 {
		return fmt.Errorf("asks for other alternative names than %s: ask for that alone, or for none", n.SPIFFE())
	}
	seen := 0
	for _, extension := range request.Extensions {
		switch {
		case extension.Id.Equal(oidSubjectAltName):
			if seen++; seen > 1 {
				return errors.New("lists alternative names twice")
			}
			if !isOnlyURIs(extension.Value) {
				return fmt.Errorf("asks for alternative names of another kind than %s", n.SPIFFE())
			}
		case extension.Id.Equal(oidBasicConstraints) && asksForCA(extension.Value),
			extension.Id.Equal(oidKeyUsage) && asksToSign(extension.Value):
			return errors.New("asks for an authority's certificate, which nobody is given")
		}
	}
	return nil
}

// isOnlyURIs reports whether a list of alternative names holds URIs alone: others are not all read by crypto/x509.
func isOnlyURIs(der []byte) bool {
	var list asn1.RawValue
	if rest, err := asn1.Unmarshal(der, &list); err != nil || len(rest) > 0 || list.Tag != asn1.TagSequence {
		return false
	}
	for rest := list.Bytes; len(rest) > 0; {
		var name asn1.RawValue
		var err error
		if rest, err = asn1.Unmarshal(rest, &name); err != nil {
			return false
		}
		if name.Class != asn1.ClassContextSpecific || name.Tag != 6 {
			return false
		}
	}
	return true
}

// asksForCA reports whether basic constraints are those of an authority. What cannot be read counts as such.
func asksForCA(der []byte) bool {
	var constraints struct {
		IsCA       bool `asn1:"optional"`
		MaxPathLen int  `asn1:"optional,default:-1"`
	}
	rest, err := asn1.Unmarshal(der, &constraints)
	return err != nil || len(rest) > 0 || constraints.IsCA
}

// The bits of key usage that only authorities have: to sign certificates and revocation lists.
const keyCertSign, crlSign = 5, 6

// asksToSign reports whether a key usage is that of an authority. What cannot be read counts as such.
func asksToSign(der []byte) bool {
	var usage asn1.BitString
	rest, err := asn1.Unmarshal(der, &usage)
	return err != nil || len(rest) > 0 || usage.At(keyCertSign) == 1 || usage.At(crlSign) == 1
}
