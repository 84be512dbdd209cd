package database_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"writ/internal/database"
	"writ/internal/database/dbtest"
)

// overTCP gives a test's database an address on the network, where a client
// tries TLS first unless it is told otherwise. The test server has none.
func overTCP(t *testing.T, o database.Options) *url.URL {
	t.Helper()
	u, err := url.Parse(o.PostgresURL)
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(u.Query().Get("host"), ".s.PGSQL."+u.Query().Get("port"))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return // the test is over
			}
			go forward(near, socket)
		}
	}()
	u.Host, u.RawQuery = listener.Addr().String(), ""
	return u
}

func forward(near net.Conn, socket string) {
	defer near.Close()
	far, err := net.Dial("unix", socket)
	if err != nil {
		return
	}
	defer far.Close()
	go func() {
		_, _ = io.Copy(far, near) // ends with either side
		far.Close()
	}()
	_, _ = io.Copy(near, far)
}

// TestDumpConnectsAsTheServerDoes backs up over a connection that the URL says
// nothing about, and over one for which it demands TLS.
func TestDumpConnectsAsTheServerDoes(t *testing.T) {
	t.Parallel()
	u := overTCP(t, dbtest.Postgres(t))
	dbtest.Open(t, database.Options{PostgresURL: u.String()})
	path := filepath.Join(t.TempDir(), "dump")
	if err := database.DumpPostgres(t.Context(), u.String(), path); err != nil {
		t.Errorf("dump without TLS, where the server connects without: %v", err)
	}
	u.RawQuery = "sslmode=require"
	if err := database.DumpPostgres(t.Context(), u.String(), path); err == nil ||
		!strings.Contains(err.Error(), "SSL") {
		t.Errorf("err = %v, want a refusal to go without TLS", err)
	}
}

func TestPostgresSettings(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "root.pem")
	if err := os.WriteFile(root, authority(t), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ query, want, not string }{
		{"", "PGPASSWORD=p@ss", "PGSSLMODE"},
		{"?sslmode=disable", "PGSSLMODE=disable", "PGSSLROOTCERT"},
		{"?sslmode=verify-full", "PGSSLMODE=verify-full", "PGSSLROOTCERT"},
		{
			"?sslmode=verify-ca&sslrootcert=" + url.QueryEscape(root), "PGSSLMODE=verify-ca PGSSLROOTCERT=" + root,
			"PGSSLKEY",
		},
	} {
		settings, err := database.PostgresSettings("postgres://writ:p%40ss@db.example:6543/main" + c.query)
		if err != nil {
			t.Errorf("%s: %v", c.query, err)
		}
		for _, want := range append(strings.Fields(c.want), "PGHOST=db.example", "PGPORT=6543", "PGUSER=writ",
			"PGDATABASE=main") {
			if !slices.Contains(settings, want) {
				t.Errorf("%s: %q is not among the settings", c.query, want)
			}
		}
		if strings.Contains(fmt.Sprint(settings), c.not) {
			t.Errorf("%s: %s is set", c.query, c.not)
		}
	}
	for _, bad := range []string{"postgres://u:hunter2@[bad/x", "postgres://u:hunter2@db/x?sslmode=maybe"} {
		if _, err := database.PostgresSettings(bad); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("err = %v, want one without the password", err)
		}
	}
}

// authority is a certificate authority's certificate, which pgx reads.
func authority(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
