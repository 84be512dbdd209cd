package app

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"writ/internal/config"
)

// writeCertificate writes a certificate for a host, valid for a day from then on, and its key.
func writeCertificate(t *testing.T, folder, host string, from time.Time) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{host}, NotBefore: from, NotAfter: from.Add(24 * time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{
		"crt": {Type: "CERTIFICATE", Bytes: der}, "key": {Type: "PRIVATE KEY", Bytes: key},
	} {
		if err := os.WriteFile(filepath.Join(folder, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// servedFrom serves the certificate in a folder.
func servedFrom(t *testing.T, folder string, log io.Writer, now func() time.Time) *servedCertificate {
	t.Helper()
	c, err := config.Load([]string{
		"WRIT_TLS_CERT_FILE=" + filepath.Join(folder, "crt"), "WRIT_TLS_KEY_FILE=" + filepath.Join(folder, "key"),
		"WRIT_PUBLIC_URL=https://writ.example.org",
	}, os.ReadFile)
	if err != nil {
		t.Fatal(err)
	}
	s, err := newServedCertificate(c, slog.New(slog.NewTextHandler(log, nil)), now)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestRenewedCertificateIsServed: without a restart, and never one that cannot be used.
func TestRenewedCertificateIsServed(t *testing.T) {
	t.Parallel()
	folder, now, log := t.TempDir(), time.Now(), &bytes.Buffer{}
	writeCertificate(t, folder, "writ.example.org", now.Add(-time.Hour))
	s := servedFrom(t, folder, log, func() time.Time { return now })
	serves := func(what, host string, logged ...string) {
		t.Helper()
		_, _ = s.get(nil) // has the files read
		s.reads.Wait()
		pair, err := s.get(nil)
		if err != nil || pair.Leaf.DNSNames[0] != host {
			t.Errorf("%s: %v, %v, want %s", what, pair.Leaf.DNSNames, err, host)
		}
		for _, words := range logged {
			if strings.Count(log.String(), words) != 1 {
				t.Errorf("%s: logged %s, want once %q", what, log, words)
			}
		}
		if len(logged) == 0 && log.Len() > 0 {
			t.Errorf("%s: logged %s", what, log)
		}
		log.Reset()
	}
	serves("at first", "writ.example.org")
	writeCertificate(t, folder, "other.example.org", now.Add(-48*time.Hour))
	serves("within the minute", "writ.example.org")
	now = now.Add(rereadEvery)
	serves("renewed", "other.example.org", "a renewed certificate is served", "is not valid now",
		"is not for the host of WRIT_PUBLIC_URL")
	if err := os.WriteFile(filepath.Join(folder, "key"), []byte("half of"), 0o600); err != nil {
		t.Fatal(err)
	}
	now = now.Add(rereadEvery)
	serves("one that is half written", "other.example.org", "the one before is still served")
	now = now.Add(rereadEvery)
	serves("the same once more", "other.example.org")
	writeCertificate(t, folder, "writ.example.org", now.Add(-time.Hour))
	now = now.Add(rereadEvery)
	serves("whole again", "writ.example.org", "a renewed certificate is served")
}

// TestFilesThatCannotBeReadStopNoConnection: a volume that does not answer leaves the one before in service, and is
// asked once.
func TestFilesThatCannotBeReadStopNoConnection(t *testing.T) {
	t.Parallel()
	folder, now := t.TempDir(), time.Now()
	writeCertificate(t, folder, "writ.example.org", now.Add(-time.Hour))
	s := servedFrom(t, folder, io.Discard, func() time.Time { return now })
	answers, asked := make(chan struct{}), 0
	s.read = func(c config.Config) (config.Config, error) {
		asked++
		<-answers
		return c.RereadTLS()
	}
	serves := func(host string) {
		t.Helper()
		if pair, err := s.get(nil); err != nil || pair.Leaf.DNSNames[0] != host {
			t.Errorf("%v, %v, want %s", pair.Leaf.DNSNames, err, host)
		}
	}
	writeCertificate(t, folder, "other.example.org", now.Add(-time.Hour))
	for range 3 {
		now = now.Add(rereadEvery)
		serves("writ.example.org")
	}
	close(answers)
	s.reads.Wait()
	serves("other.example.org")
	if asked != 1 {
		t.Errorf("the files were read %d times at once", asked)
	}
	now = now.Add(rereadEvery)
	serves("other.example.org")
	if s.reads.Wait(); asked != 2 {
		t.Errorf("the files were read %d times, want 2", asked)
	}
}
