package config_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/internal/config"
)

// keyPair makes a certificate and its key as PEM text.
func keyPair(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"writ.example.com"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pemText("CERTIFICATE", der), pemText("PRIVATE KEY", keyDER)
}

func pemText(kind string, content []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}))
}

func TestTLSRefused(t *testing.T) {
	t.Parallel()
	certificate, key := keyPair(t)
	_, otherKey := keyPair(t)
	const (
		noPair        = "cannot be used with the certificate in WRIT_TLS_CERT"
		noCertificate = "must hold a certificate as PEM text"
		noKey         = "must hold a private key as PEM text"
	)
	for _, c := range []struct{ name, certificate, key, variable, want string }{
		{"certificate alone", certificate, "", "WRIT_TLS_KEY", "is required because WRIT_TLS_CERT is set"},
		{"key alone", "", key, "WRIT_TLS_CERT", "is required because WRIT_TLS_KEY is set"},
		{"key of another certificate", certificate, otherKey, "WRIT_TLS_KEY", noPair},
		{"a path as certificate", "/etc/writ/cert.pem", key, "WRIT_TLS_CERT", noCertificate},
		{"a path as key", certificate, "/etc/writ/key.pem", "WRIT_TLS_KEY", noKey},
		{"encrypted key", certificate, pemText("ENCRYPTED PRIVATE KEY", []byte("x")), "WRIT_TLS_KEY", noKey},
		{"damaged certificate", pemText("CERTIFICATE", []byte("x")), key, "WRIT_TLS_KEY", noPair},
		{"damaged key", certificate, pemText("EC PRIVATE KEY", []byte("x")), "WRIT_TLS_KEY", noPair},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := problems(t, noFiles, "WRIT_TLS_CERT="+c.certificate, "WRIT_TLS_KEY="+c.key)
			if len(got) != 1 || got[0].Variable != c.variable || !strings.Contains(got[0].Message, c.want) {
				t.Errorf("problems = %q, want one of %s with %q", got, c.variable, c.want)
			}
		})
	}
	t.Run("exchanged", func(t *testing.T) {
		t.Parallel()
		got := problems(t, noFiles, "WRIT_TLS_CERT="+key, "WRIT_TLS_KEY="+certificate)
		if want := "WRIT_TLS_CERT WRIT_TLS_KEY"; variablesOf(got) != want {
			t.Errorf("problems of %s, want %s", variablesOf(got), want)
		}
	})
}

// TestTLSRefusedFromFiles: the variables are named as they were set.
func TestTLSRefusedFromFiles(t *testing.T) {
	t.Parallel()
	certificate, key := keyPair(t)
	_, otherKey := keyPair(t)
	readFile := files(map[string]string{"cert": certificate, "key": key, "other": otherKey, "text": "no PEM"})
	const exchanged = "; it looks as if WRIT_TLS_CERT_FILE and WRIT_TLS_KEY_FILE were exchanged"
	for _, c := range []struct{ name, certificate, key, want string }{
		{"exchanged", "key", "cert",
			"WRIT_TLS_CERT_FILE: names a file whose content must hold a certificate as PEM text" + exchanged + "\n" +
				"WRIT_TLS_KEY_FILE: names a file whose content must hold a private key as PEM text, not encrypted" + exchanged},
		{"no PEM", "text", "key", "WRIT_TLS_CERT_FILE: names a file whose content must hold a certificate as PEM text"},
		{"key of another certificate", "cert", "other", "WRIT_TLS_KEY_FILE: cannot be used with the certificate in " +
			"WRIT_TLS_CERT_FILE: one of them is damaged, or the key belongs to another certificate"},
		{"key alone", "", "key", "WRIT_TLS_CERT: is required because WRIT_TLS_KEY_FILE is set"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, p := range problems(t, readFile, "WRIT_TLS_CERT_FILE="+c.certificate, "WRIT_TLS_KEY_FILE="+c.key) {
				got = append(got, p.Variable+": "+p.Message)
			}
			if diff := cmp.Diff(c.want, strings.Join(got, "\n")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAgentsListenNeedsTLS(t *testing.T) {
	t.Parallel()
	certificate, key := keyPair(t)
	for _, c := range []struct{ name, certificate, key, listen, variable, want string }{
		{"no TLS", "", "", "127.0.0.1:8443", "WRIT_TLS_CERT", "is required because WRIT_AGENTS_LISTEN is set"},
		{"no port", certificate, key, "127.0.0.1", "WRIT_AGENTS_LISTEN", "must be host:port"},
	} {
		got := problems(t, noFiles, "WRIT_TLS_CERT="+c.certificate, "WRIT_TLS_KEY="+c.key,
			"WRIT_AGENTS_LISTEN="+c.listen)
		if len(got) != 1 || got[0].Variable != c.variable || !strings.Contains(got[0].Message, c.want) {
			t.Errorf("%s: problems = %q, want one of %s with %q", c.name, got, c.variable, c.want)
		}
	}
}

// TestPublicURLOfTLS: nobody reaches a server that speaks TLS at an address without it.
func TestPublicURLOfTLS(t *testing.T) {
	t.Parallel()
	certificate, key := keyPair(t)
	readFile := files(map[string]string{"crt": certificate, "key": key})
	environ := []string{"WRIT_TLS_CERT_FILE=crt", "WRIT_TLS_KEY_FILE=key"}
	for _, url := range []string{"http://localhost:8080", "HTTP://writ.example.com"} {
		got := problems(t, readFile, append(environ, "WRIT_PUBLIC_URL="+url)...)
		want := config.Problem{Variable: "WRIT_PUBLIC_URL",
			Message: "must begin with https://, because this server speaks TLS: WRIT_TLS_CERT_FILE is set"}
		if len(got) != 1 || got[0] != want {
			t.Errorf("%s: problems = %q, want %q", url, got, want)
		}
	}
	if _, err := config.Load(append(environ, "WRIT_PUBLIC_URL=https://localhost:8080"), readFile); err != nil {
		t.Errorf("with TLS: %v", err)
	}
}

func variablesOf(p config.Problems) string {
	var names []string
	for _, problem := range p {
		names = append(names, problem.Variable)
	}
	return strings.Join(names, " ")
}
