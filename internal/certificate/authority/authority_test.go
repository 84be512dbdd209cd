package authority_test

import (
	"crypto"
	"crypto/x509"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"writ/internal/certificate/authority"
)

const (
	acme  = "0190b0c8-0000-7000-8000-00000000acme" // no UUID, but a host all the same
	other = "0190b0c8-0000-7000-8000-0000000other"
)

func newAuthority(t *testing.T, orgID string, a authority.Algorithm, now time.Time) *authority.Authority {
	t.Helper()
	made, err := authority.New(orgID, a, now)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func newKey(t *testing.T, a authority.Algorithm) crypto.Signer {
	t.Helper()
	key, err := authority.NewKey(a)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func agentOrder(public crypto.PublicKey, id string, now time.Time) authority.Order {
	return authority.Order{
		Name: authority.Name{OrgID: acme, Kind: authority.Agent, ID: id}, Public: public, Now: now,
		Expires: now.Add(time.Hour), ListURL: "https://writ.example/certificate/crl/1",
		CAURL: "https://writ.example/certificate/ca/1",
	}
}

func issue(t *testing.T, a *authority.Authority, o authority.Order) *x509.Certificate {
	t.Helper()
	made, err := a.Issue(o)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// verdict is what each verifier says of a certificate: openssl with the revocation list, and Go's crypto/x509 with the
// entries of that list, which it does not compare itself.
func verdict(
	t *testing.T, root *authority.Authority, list []byte, leaf *x509.Certificate, at time.Time,
) (openssl, golang bool) {
	t.Helper()
	dir := t.TempDir()
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(authority.PEM(kind, der)), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	out, err := exec.Command("openssl", "verify", "-x509_strict", "-crl_check", "-purpose", "sslclient",
		"-attime", strconv.FormatInt(at.Unix(), 10),
		"-CAfile", write("ca.pem", authority.CertificateBlock, root.Certificate.Raw),
		"-CRLfile", write("crl.pem", "X509 CRL", list),
		write("leaf.pem", authority.CertificateBlock, leaf.Raw)).CombinedOutput()
	if err != nil && !strings.Contains(string(out), "error ") {
		t.Fatalf("openssl did not run: %v\n%s", err, out)
	}
	t.Logf("openssl: %s", out)
	openssl = err == nil

	read, err := x509.ParseRevocationList(list)
	if err != nil {
		t.Fatal(err)
	}
	golang = root.Check(leaf, at) == nil && read.CheckSignatureFrom(root.Certificate) == nil &&
		!at.Before(read.ThisUpdate) && at.Before(read.NextUpdate)
	for _, entry := range read.RevokedCertificateEntries {
		golang = golang && entry.SerialNumber.Cmp(leaf.SerialNumber) != 0
	}
	return openssl, golang
}

func TestOthersAgree(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Fatal("openssl is not installed: scripts/install openssl")
	}
	now := time.Now()
	for _, algorithm := range []authority.Algorithm{authority.P256, authority.Ed25519} {
		for _, of := range []authority.Algorithm{authority.P256, authority.Ed25519} {
			t.Run(string(algorithm)+" signs "+string(of), func(t *testing.T) {
				t.Parallel()
				compareVerdicts(t, algorithm, of, now)
			})
		}
	}
}

func compareVerdicts(t *testing.T, algorithm, of authority.Algorithm, now time.Time) {
	root := newAuthority(t, acme, algorithm, now)
	key := newKey(t, of).Public()
	good := issue(t, root, agentOrder(key, "pilot", now))
	revoked := issue(t, root, agentOrder(key, "pilot", now))
	strange := issue(t, root, agentOrder(key, "Größe/../ 🚢 *.example.org\\\"", now))
	server := agentOrder(key, "0190b0c8-0000-7000-8000-000000000001", now)
	server.Kind = authority.Server
	list, err := root.List([]authority.Revoked{
		{Serial: authority.Serial(revoked.SerialNumber), At: now, Cause: authority.KeyCompromise},
	}, now)
	if err != nil {
		t.Fatal(err)
	}
	foreign := newAuthority(t, other, algorithm, now)
	forged := agentOrder(key, "pilot", now)
	for name, c := range map[string]struct {
		leaf *x509.Certificate
		at   time.Time
		good bool
	}{
		"good":                     {good, now, true},
		"strange":                  {strange, now, true},
		"a server's":               {issue(t, root, server), now, true},
		"revoked":                  {revoked, now, false},
		"expired":                  {good, now.Add(time.Hour + time.Second), false},
		"just before it expires":   {good, now.Add(59 * time.Minute), true},
		"a clock somewhat behind":  {good, now.Add(-authority.Skew + 2*time.Second), true},
		"a clock far behind":       {good, now.Add(-authority.Skew - 2*time.Second), false},
		"another authority's":      {issue(t, foreign, forged), now, false},
		"an authority as an agent": {foreign.Certificate, now, false},
	} {
		openssl, golang := verdict(t, root, list, c.leaf, c.at)
		if openssl != c.good || golang != c.good {
			t.Errorf("%s: openssl %v, crypto/x509 %v, want %v", name, openssl, golang, c.good)
		}
	}
}

// TestNamesAreOnesOwn: an authority that signs a name of another organization is believed by nobody, also where both
// authorities are trusted.
func TestNamesAreOnesOwn(t *testing.T) {
	t.Parallel()
	now := time.Now()
	foreign := newAuthority(t, other, authority.P256, now)
	leaf := issue(t, foreign, agentOrder(newKey(t, authority.P256).Public(), "pilot", now)) // says that it is acme's
	list, err := foreign.List(nil, now)
	if err != nil {
		t.Fatal(err)
	}
	if openssl, golang := verdict(t, foreign, list, leaf, now); openssl || golang {
		t.Errorf("openssl %v, crypto/x509 %v, want neither", openssl, golang)
	}
}

func TestWhatACertificateSays(t *testing.T) {
	t.Parallel()
	now := time.Now()
	root := newAuthority(t, acme, authority.P256, now)
	leaf := issue(t, root, agentOrder(newKey(t, authority.Ed25519).Public(), "harbour_pilot 1", now))
	if len(leaf.URIs) != 1 || leaf.URIs[0].String() != "spiffe://"+acme+"/agent/harbour_5fpilot_201" {
		t.Errorf("URIs = %v", leaf.URIs)
	}
	if leaf.IsCA || leaf.KeyUsage != x509.KeyUsageDigitalSignature || len(leaf.DNSNames) > 0 {
		t.Errorf("the certificate says more than a name: CA %v, usage %v, hosts %v", leaf.IsCA, leaf.KeyUsage, leaf.DNSNames)
	}
	if !leaf.NotAfter.Equal(now.Add(time.Hour).UTC().Truncate(time.Second)) {
		t.Errorf("it expires at %v", leaf.NotAfter)
	}
	if leaf.CRLDistributionPoints[0] != "https://writ.example/certificate/crl/1" {
		t.Errorf("lists are at %v", leaf.CRLDistributionPoints)
	}
}

func TestOpenRefusesAnotherKey(t *testing.T) {
	t.Parallel()
	now := time.Now()
	one, two := newAuthority(t, acme, authority.P256, now), newAuthority(t, acme, authority.P256, now)
	own, err := authority.MarshalKey(one.Key)
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := authority.MarshalKey(two.Key)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := authority.Open(one.Certificate.Raw, own); err != nil {
		t.Errorf("its own key: %v", err)
	}
	for name, key := range map[string][]byte{"another key": foreign, "no key": []byte("x"), "nothing": nil} {
		if _, err := authority.Open(one.Certificate.Raw, key); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

func TestStatements(t *testing.T) {
	t.Parallel()
	now := time.Now().Truncate(time.Second)
	for _, algorithm := range []authority.Algorithm{authority.P256, authority.Ed25519} {
		root, twin := newAuthority(t, acme, algorithm, now), newAuthority(t, acme, algorithm, now)
		leaf := issue(t, root, agentOrder(newKey(t, authority.P256).Public(), "x", now))
		again := issue(t, root, agentOrder(newKey(t, authority.P256).Public(), "x", now))
		said := authority.Statement{
			SPIFFEID: leaf.URIs[0].String(), Serial: authority.Serial(leaf.SerialNumber),
			Fingerprint: authority.Fingerprint(leaf.Raw), Definitions: "sha256:00",
			Issued: now, Expires: now.Add(time.Hour),
		}
		text, err := root.State(said)
		if err != nil {
			t.Fatal(err)
		}
		got, err := root.ReadStatement(text, leaf, now)
		if err != nil || got.Definitions != said.Definitions || got.SPIFFEID != said.SPIFFEID ||
			!got.Expires.Equal(said.Expires) {
			t.Errorf("%s: read %+v, %v", algorithm, got, err)
		}
		parts := strings.Split(text, ".")
		for name, bad := range map[string]func() error{
			"another authority":   func() error { _, err := twin.ReadStatement(text, leaf, now); return err },
			"another certificate": func() error { _, err := root.ReadStatement(text, again, now); return err },
			"expired": func() error {
				_, err := root.ReadStatement(text, leaf, now.Add(time.Hour+time.Second))
				return err
			},
			"altered": func() error {
				_, err := root.ReadStatement(parts[0]+"."+parts[1]+"A."+parts[2], leaf, now)
				return err
			},
			"unsigned": func() error {
				_, err := root.ReadStatement("eyJhbGciOiJub25lIn0."+parts[1]+".", leaf, now)
				return err
			},
		} {
			if bad() == nil {
				t.Errorf("%s: %s is taken", algorithm, name)
			}
		}
	}
}
