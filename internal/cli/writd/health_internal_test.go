package writd

import (
	"crypto/x509"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"writ/internal/config"
	"writ/internal/secret"
)

func TestHealthAsksTheServerOfTheSettings(t *testing.T) {
	t.Parallel()
	status := http.StatusOK
	answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/ready" {
			t.Errorf("asked for %s, want /ready", r.URL.Path)
		}
		w.WriteHeader(status)
		if status != http.StatusOK {
			_, _ = w.Write([]byte(`{"statusCode":503,"message":"the database cannot be reached","error":"Service Unavailable"}`))
		}
	})
	server := httptest.NewServer(answer)
	defer server.Close()
	for _, listen := range []string{"127.0.0.1", "0.0.0.0"} {
		if err := askReady(t.Context(), settingsOf(t, server, listen)); err != nil {
			t.Errorf("a server that listens on %s: %v", listen, err)
		}
	}
	status = http.StatusServiceUnavailable
	err := askReady(t.Context(), settingsOf(t, server, "127.0.0.1"))
	if err == nil || !strings.Contains(err.Error(), "503 Service Unavailable: the database cannot be reached") {
		t.Errorf("a server that is not ready: %v, want an error with 503 and the reason", err)
	}
	server.Close()
	if err := askReady(t.Context(), settingsOf(t, server, "127.0.0.1")); err == nil {
		t.Error("a server that is gone is ready")
	}
	if err := askReady(t.Context(), config.Config{Listen: "127.0.0.1"}); err == nil {
		t.Error("a server without a port is ready")
	}
}

func TestHealthTakesNoOtherCertificate(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	settings := settingsOf(t, server, "127.0.0.1")
	if err := askReady(t.Context(), settings); err == nil || !strings.Contains(err.Error(), otherSettings) {
		t.Errorf("without the server's certificate: %v, want the settings to look at", err)
	}
	pair := server.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	settings.TLSCertificate = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}))
	settings.TLSKey = secret.NewText(string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})))
	if err := askReady(t.Context(), settings); err != nil {
		t.Errorf("with the server's certificate: %v", err)
	}
	other := onlyCertificate([]byte("another"))
	if err := other.VerifyPeerCertificate(pair.Certificate, nil); err == nil {
		t.Error("another certificate is accepted")
	}
	if err := other.VerifyPeerCertificate(nil, nil); err == nil {
		t.Error("no certificate is accepted")
	}
}

func settingsOf(t *testing.T, server *httptest.Server, listen string) config.Config {
	t.Helper()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	return config.Config{Listen: listen, Port: number}
}
