package app_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"writ/client"
	"writ/internal/app"
	"writ/internal/database"
	"writ/internal/mail"
	"writ/internal/secret"
)

// certificate makes a pair for this machine, as PEM, and who trusts it.
func certificate(t *testing.T) (cert, key string, trusting *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	key = string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
	trusting = x509.NewCertPool()
	trusting.AppendCertsFromPEM([]byte(cert))
	return cert, key, trusting
}

func TestTLS(t *testing.T) {
	t.Parallel()
	cert, key, pool := certificate(t)
	server := start(t, options(t, database.Options{}, "WRIT_TLS_CERT", cert, "WRIT_TLS_KEY", key))
	if !strings.HasPrefix(server.URL, "https://localhost:") {
		t.Errorf("URL = %s", server.URL)
	}
	secure := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true, ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: pool},
	}}
	answer, err := secure.Get(server.URL + "/health")
	if err != nil {
		t.Fatalf("over TLS: %v", err)
	}
	answer.Body.Close()
	secure.CloseIdleConnections()
	if answer.StatusCode != http.StatusOK || answer.ProtoMajor != 2 ||
		answer.Header.Get("Strict-Transport-Security") == "" {
		t.Errorf("over TLS: %s by %s, headers %v", answer.Status, answer.Proto, answer.Header)
	}
	if _, err := server.public.Health(t.Context()); err == nil {
		t.Error("a client that does not trust the certificate got in")
	}
	clear := &client.Client{BaseURL: "http://" + server.Address, HTTP: fleeting()}
	if _, err := clear.Health(t.Context()); err == nil {
		t.Error("plain HTTP got in")
	}
}

func TestOldTLSIsRefused(t *testing.T) {
	t.Parallel()
	cert, key, pool := certificate(t)
	server := start(t, options(t, database.Options{}, "WRIT_TLS_CERT", cert, "WRIT_TLS_KEY", key))
	for version, want := range map[uint16]bool{
		tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true,
	} {
		conn, err := tls.Dial("tcp", server.Address, &tls.Config{
			RootCAs: pool, ServerName: "localhost", MinVersion: tls.VersionTLS10, MaxVersion: version,
		})
		if err == nil {
			conn.Close()
		}
		if got := err == nil; got != want {
			t.Errorf("%s: connected %v (%v), want %v", tls.VersionName(version), got, err, want)
		}
	}
}

func TestMetricsHaveAListenerOfTheirOwn(t *testing.T) {
	t.Parallel()
	address := freeAddress(t)
	server := start(t, options(t, database.Options{}, "WRIT_METRICS_LISTEN", address))
	if status, body := get(t, "http://"+address+"/metrics"); status != http.StatusOK ||
		!strings.Contains(body, "writ_") {
		t.Errorf("metrics: %d\n%s", status, body)
	}
	for _, path := range []string{"/health", "/auth/me"} {
		if status, _ := get(t, "http://"+address+path); status != http.StatusNotFound {
			t.Errorf("%s on the metrics listener: %d, want 404", path, status)
		}
	}
	if status, body := get(t, server.URL+"/metrics"); status == http.StatusOK || strings.Contains(body, "writ_") {
		t.Errorf("metrics on the main listener: %d\n%s", status, body)
	}
	server.stop()
	for _, at := range []string{address, server.Address} {
		if conn, err := net.Dial("tcp", at); err == nil {
			conn.Close()
			t.Errorf("%s still answers after Stop", at)
		}
	}
}

func TestTakenPort(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	cert, key, _ := certificate(t)
	o := options(t, database.Options{})
	for name, change := range map[string]func(o *app.Options){
		taken.Addr().String() + " (WRIT_AGENTS_LISTEN chooses another)": func(o *app.Options) {
			o.Config.TLSCertificate, o.Config.TLSKey = cert, secret.NewText(key)
			o.Config.AgentsListen = taken.Addr().String()
		},
		"(PORT and WRIT_LISTEN choose another)": func(o *app.Options) {
			o.Config.Port = taken.Addr().(*net.TCPAddr).Port
		},
		taken.Addr().String() + " (WRIT_METRICS_LISTEN chooses another)": func(o *app.Options) {
			o.Config.MetricsListen = taken.Addr().String()
		},
	} {
		unlucky := o
		change(&unlucky)
		refuses(t, unlucky, name)
	}
	start(t, o) // neither kept the data folder's lock
}

func TestWarnsOfListeningInClear(t *testing.T) {
	t.Parallel()
	cert, key, _ := certificate(t)
	for _, c := range []struct {
		name     string
		settings []string
		want     bool
	}{
		{"this machine only", nil, false},
		{"everyone", []string{"WRIT_LISTEN", "0.0.0.0"}, true},
		{"everyone with TLS", []string{"WRIT_LISTEN", "0.0.0.0", "WRIT_TLS_CERT", cert, "WRIT_TLS_KEY", key}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var log journal
			o := options(t, database.Options{}, c.settings...)
			o.Logger = slog.New(slog.NewTextHandler(&log, nil))
			start(t, o)
			if got := strings.Contains(log.String(),
				"level=WARN msg=\"keys and passwords travel in clear"); got != c.want {
				t.Errorf("warned: %v, want %v\n%s", got, c.want, log.String())
			}
		})
	}
}

// refusals gives the lines of a log that tell of refused connections.
type refusals chan string

func (r refusals) Write(line []byte) (int, error) {
	if strings.Contains(string(line), "the listener of agents was refused") {
		r <- string(line)
	}
	return len(line), nil
}

// TestRefusedAgentsAreLogged: at the usual level, with the reason, which the agent does not see.
func TestRefusedAgentsAreLogged(t *testing.T) {
	t.Parallel()
	cert, key, trusting := certificate(t)
	foreign, err := tls.X509KeyPair([]byte(cert), []byte(key))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		shown []tls.Certificate
		want  string
	}{
		"no certificate": {nil, "didn't provide a certificate"},
		"a foreign one":  {[]tls.Certificate{foreign}, "failed to verify certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said := make(refusals, 8)
			o := options(t, database.Options{},
				"WRIT_TLS_CERT", cert, "WRIT_TLS_KEY", key, "WRIT_AGENTS_LISTEN", "127.0.0.1:0")
			o.Logger = slog.New(slog.NewTextHandler(said, nil))
			server := start(t, o)
			agent, err := tls.Dial("tcp", server.AgentsAddress, &tls.Config{
				RootCAs: trusting, ServerName: "localhost", Certificates: c.shown,
			})
			if err == nil { // a client of TLS 1.3 learns of it when it reads
				defer agent.Close()
				if _, err = agent.Read(make([]byte, 1)); err == nil {
					t.Fatal("the agent was not refused")
				}
			}
			select {
			case line := <-said:
				if !strings.Contains(line, "level=WARN") || !strings.Contains(line, c.want) {
					t.Errorf("the log does not say %q: %s", c.want, line)
				}
			case <-time.After(time.Minute):
				t.Fatal("the log says nothing of it")
			}
		})
	}
}

// TestDevelopmentForOthersIsNamed: whoever forgets WRIT_ENV=production is told.
func TestDevelopmentForOthersIsNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		settings []string
		want     bool
	}{
		{"this machine only", nil, false},
		{"everyone", []string{"WRIT_LISTEN", "0.0.0.0"}, true},
		{"behind a TLS proxy", []string{"WRIT_PUBLIC_URL", "https://writ.example.com"}, true},
		{"production", []string{
			"WRIT_ENV", "production", "WRIT_PUBLIC_URL", "https://writ.example.com", "WRIT_MASTER_KEY", masterKey,
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var log journal
			o := options(t, database.Options{}, c.settings...)
			o.Logger = slog.New(slog.NewTextHandler(&log, nil))
			start(t, o)
			const warned = "level=WARN msg=\"this server runs in development"
			if got := strings.Contains(log.String(), warned); got != c.want {
				t.Errorf("warned: %v, want %v\n%s", got, c.want, log.String())
			}
		})
	}
}

// TestLastUseIsWrittenAtStop stops long before the next scheduled flush.
func TestLastUseIsWrittenAtStop(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o app.Options) {
		server := start(t, o)
		first := server.FirstRun
		began := time.Now().Add(-time.Millisecond) // stored in microseconds
		if _, err := server.public.WithKey(first.APIKey).CurrentKey(t.Context()); err != nil {
			t.Fatal(err)
		}
		server.stop()

		again := start(t, o)
		in, err := again.public.Login(t.Context(), first.Email, first.Password)
		if err != nil {
			t.Fatal(err)
		}
		keys, err := again.public.As(in.AccessToken).Keys(t.Context(), first.OrganizationID, client.List{})
		if err != nil || len(keys.Items) != 1 {
			t.Fatalf("keys = %+v, %v", keys, err)
		}
		if used := keys.Items[0].LastUsedAt; used == nil || used.Before(began) {
			t.Errorf("last used at %v, want after %v", used, began)
		}
	})
}

func TestStopDeliversMail(t *testing.T) {
	t.Parallel()
	o := options(t, database.Options{})
	server := start(t, o)
	err := server.public.Register(t.Context(), client.Registration{
		Email: "new@example.org", Password: "correct horse battery",
	})
	if err != nil {
		t.Fatal(err)
	}
	server.stop()
	mails, err := mail.ReadOutbox(app.OutboxDir(o.Config))
	if err != nil || len(mails) != 1 || mails[0].To != "new@example.org" {
		t.Errorf("outbox = %v, %v, want the code for new@example.org", mails, err)
	}
}

// freeAddress is an address of this machine that was free a moment ago.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(listener.Addr().(*net.TCPAddr).Port))
}

func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	answer, err := fleeting().Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(content)
}
