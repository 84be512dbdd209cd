package authority_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"net"
	"net/url"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"writ/internal/certificate/authority"
)

var pilot = authority.Name{OrgID: acme, Kind: authority.Agent, ID: "Harbour pilot"}

func request(t *testing.T, key crypto.Signer, template *x509.CertificateRequest) string {
	t.Helper()
	der, err := x509.CreateCertificateRequest(rand.Reader, template, key)
	if err != nil {
		t.Fatal(err)
	}
	return authority.PEM(authority.RequestBlock, der)
}

func uri(t *testing.T, text string) []*url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return []*url.URL{u}
}

func TestRequestsThatAreTaken(t *testing.T) {
	t.Parallel()
	p256 := newKey(t, authority.P256)
	large, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"no names":     request(t, p256, &x509.CertificateRequest{}),
		"the id":       request(t, p256, &x509.CertificateRequest{Subject: pkix.Name{CommonName: pilot.ID}}),
		"the spiffe":   request(t, p256, &x509.CertificateRequest{URIs: uri(t, pilot.SPIFFE())}),
		"ed25519":      request(t, newKey(t, authority.Ed25519), &x509.CertificateRequest{}),
		"RSA of 2048":  request(t, large, &x509.CertificateRequest{}),
		"a blank line": request(t, p256, &x509.CertificateRequest{}) + "\n\n",
		"no authority": request(t, p256, &x509.CertificateRequest{ExtraExtensions: []pkix.Extension{
			{Id: asn1.ObjectIdentifier{2, 5, 29, 19}, Value: []byte{0x30, 0}},
		}}),
		"to sign and encrypt": request(t, p256, &x509.CertificateRequest{ExtraExtensions: []pkix.Extension{
			{Id: asn1.ObjectIdentifier{2, 5, 29, 15}, Value: []byte{3, 2, 5, 0xa0}},
		}}),
	} {
		if _, err := authority.ReadRequest(text, pilot); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRequestsThatAreRefused(t *testing.T) {
	t.Parallel()
	p256 := newKey(t, authority.P256)
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	p224, err := ecdsa.GenerateKey(elliptic.P224(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	huge, err := os.ReadFile("testdata/rsa4104.csr") // such a key takes seconds to make
	if err != nil {
		t.Fatal(err)
	}
	plain := request(t, p256, &x509.CertificateRequest{})
	otherName, err := asn1.Marshal([]asn1.RawValue{
		{Class: asn1.ClassContextSpecific, Tag: 8, Bytes: []byte{0x88, 1, 42}}, // a registered id
	})
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode([]byte(plain))
	block.Bytes[len(block.Bytes)-1] ^= 1 // of its signature
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "must be one certificate request"},
		{"text", "hello", "must be one certificate request"},
		{"a key", authority.PEM(authority.KeyBlock, []byte("x")), "must be one certificate request"},
		{"two", plain + plain, "must be one certificate request"},
		{"garbage", authority.PEM(authority.RequestBlock, []byte("x")), "is not a certificate request"},
		{"long", plain + strings.Repeat(" ", authority.MaxRequest), "must be at most"},
		{"weak RSA", request(t, small, &x509.CertificateRequest{}), "has an RSA key of 1024 bits"},
		{"slow RSA", string(huge), "has an RSA key of 4104 bits"},
		{"weak curve", request(t, p224, &x509.CertificateRequest{}), "weak curve"},
		{"another name", request(t, p256, &x509.CertificateRequest{
			Subject: pkix.Name{CommonName: "admin"},
		}), "has another subject"},
		{"more of a subject", request(t, p256, &x509.CertificateRequest{
			Subject: pkix.Name{CommonName: pilot.ID, Organization: []string{"Admins"}},
		}), "has another subject"},
		{"two names", request(t, p256, &x509.CertificateRequest{Subject: pkix.Name{
			CommonName: pilot.ID, ExtraNames: []pkix.AttributeTypeAndValue{
				{Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: pilot.ID},
				{Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: "admin"},
			},
		}}), "has another subject"},
		{"a host", request(t, p256, &x509.CertificateRequest{DNSNames: []string{"example.org"}}), "asks for other"},
		{"an address", request(t, p256, &x509.CertificateRequest{
			IPAddresses: []net.IP{{127, 0, 0, 1}},
		}), "asks for other"},
		{"a mailbox", request(t, p256, &x509.CertificateRequest{
			EmailAddresses: []string{"a@example.org"},
		}), "asks for other"},
		{"another agent", request(t, p256, &x509.CertificateRequest{
			URIs: uri(t, "spiffe://"+acme+"/agent/admin"),
		}), "asks for other"},
		{"another organization", request(t, p256, &x509.CertificateRequest{
			URIs: uri(t, strings.Replace(pilot.SPIFFE(), acme, other, 1)),
		}), "asks for other"},
		{"its name and another", request(t, p256, &x509.CertificateRequest{
			URIs: append(uri(t, pilot.SPIFFE()), uri(t, "spiffe://"+acme+"/agent/admin")...),
		}), "asks for other"},
		{"its name twice", request(t, p256, &x509.CertificateRequest{
			URIs: append(uri(t, pilot.SPIFFE()), uri(t, pilot.SPIFFE())...),
		}), "asks for other"},
		{"a name of another kind", request(t, p256, &x509.CertificateRequest{ExtraExtensions: []pkix.Extension{
			{Id: asn1.ObjectIdentifier{2, 5, 29, 17}, Value: otherName},
		}}), "of another kind"},
		{"an authority", request(t, p256, &x509.CertificateRequest{ExtraExtensions: []pkix.Extension{
			{Id: asn1.ObjectIdentifier{2, 5, 29, 19}, Value: []byte{0x30, 3, 1, 1, 0xff}},
		}}), "asks for an authority"},
		{"a key that signs certificates", request(t, p256, &x509.CertificateRequest{ExtraExtensions: []pkix.Extension{
			{Id: asn1.ObjectIdentifier{2, 5, 29, 15}, Value: []byte{3, 2, 2, 0x84}},
		}}), "asks for an authority"},
		{"a use that cannot be read", request(t, p256, &x509.CertificateRequest{ExtraExtensions: []pkix.Extension{
			{Id: asn1.ObjectIdentifier{2, 5, 29, 15}, Value: []byte{4, 1, 0x80}},
		}}), "asks for an authority"},
		{"altered", authority.PEM(authority.RequestBlock, block.Bytes), "is not signed with its own key"},
	} {
		public, err := authority.ReadRequest(c.text, pilot)
		if err == nil || public != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v; want an error with %q", c.name, public, err, c.want)
		}
	}
}

// TestNamesAreApart: no two ids have the same SPIFFE ID, and every one is in the form that the specification permits.
func TestNamesAreApart(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) string {
			return rapid.OneOf(rapid.StringN(1, 40, 200), rapid.StringMatching(`[a_.\-%/5f0]{1,6}`)).Draw(t, label)
		}
		a := authority.Name{OrgID: acme, Kind: authority.Agent, ID: draw("a")}
		b := authority.Name{OrgID: acme, Kind: authority.Agent, ID: draw("b")}
		if (a.ID == b.ID) != (a.SPIFFE() == b.SPIFFE()) {
			t.Fatalf("%q and %q: %s and %s", a.ID, b.ID, a.SPIFFE(), b.SPIFFE())
		}
		segment := strings.TrimPrefix(a.SPIFFE(), "spiffe://"+acme+"/agent/")
		plain := "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_"
		if strings.Trim(segment, plain) != "" || segment == "" || segment == "." || segment == ".." ||
			len(a.SPIFFE()) > 2048 {
			t.Fatalf("%q is no path of a SPIFFE ID", segment)
		}
		parsed, err := url.Parse(a.SPIFFE())
		if err != nil || parsed.String() != a.SPIFFE() {
			t.Fatalf("%s is read as %v, %v", a.SPIFFE(), parsed, err)
		}
	})
}
