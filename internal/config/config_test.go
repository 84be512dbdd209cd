package config_test

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"writ/internal/config"
	"writ/internal/outbound"
	"writ/internal/secret"
)

const (
	masterKey  = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
	proxyToken = "proxy-token-of-32-characters-abc"
)

// compare looks into secrets, which cmp cannot see by itself.
var compare = cmp.Options{
	cmp.Comparer(func(a, b secret.Text) bool { return a.Reveal() == b.Reveal() }),
	cmpopts.EquateComparable(netip.Prefix{}),
}

func noFiles(path string) ([]byte, error) {
	return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
}

func files(content map[string]string) func(string) ([]byte, error) {
	return func(path string) ([]byte, error) {
		if text, ok := content[path]; ok {
			return []byte(text), nil
		}
		return noFiles(path)
	}
}

func mustLoad(t *testing.T, environ ...string) config.Config {
	t.Helper()
	c, err := config.Load(environ, noFiles)
	if err != nil {
		t.Fatalf("Load(%q) failed: %v", environ, err)
	}
	return c
}

// problems loads settings that must be refused.
func problems(t *testing.T, readFile func(string) ([]byte, error), environ ...string) config.Problems {
	t.Helper()
	c, err := config.Load(environ, readFile)
	var got config.Problems
	if !errors.As(err, &got) {
		t.Fatalf("Load(%q): err = %v, want Problems", environ, err)
	}
	if diff := cmp.Diff(config.Config{}, c, compare); diff != "" {
		t.Errorf("a refused configuration is not empty:\n%s", diff)
	}
	return got
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	want := config.Config{
		Environment: config.Development, Listen: "127.0.0.1", Port: 8080,
		MaxBodyBytes: 1 << 20, ShutdownTimeout: 20 * time.Second, DataDir: "./data",
		SignUp: config.SignUpOpen, GoogleIssuer: "https://accounts.google.com", MailFrom: "Writ <writ@localhost>",
		Retention: 30 * 24 * time.Hour, SessionIdle: 30 * time.Minute,
		HoldWait: 25 * time.Second, MaxIngestBytes: 64 << 20,
		Billing:  config.Billing{Provider: "https://api.stripe.com"},
		Draft:    config.Draft{Timeout: 50 * time.Second, MaxTokens: 4000, PerDay: 20},
		LogLevel: slog.LevelInfo, LogFormat: config.LogText,
	}
	if diff := cmp.Diff(want, mustLoad(t), compare); diff != "" {
		t.Errorf("development defaults (-want +got):\n%s", diff)
	}
	want.Environment, want.Listen = config.Production, "0.0.0.0"
	want.PublicURL, want.MasterKey = "https://writ.example.com", secret.NewText(masterKey)
	want.SignUp, want.MailFrom, want.LogFormat = config.SignUpClosed, "", config.LogJSON
	got := mustLoad(t, "WRIT_ENV=production", "WRIT_PUBLIC_URL=https://writ.example.com", "WRIT_MASTER_KEY="+masterKey)
	if diff := cmp.Diff(want, got, compare); diff != "" {
		t.Errorf("production defaults (-want +got):\n%s", diff)
	}
}

// fullEnviron sets every variable to something other than its default.
func fullEnviron(certificate, key string) []string {
	return []string{
		"WRIT_ENV=production", "WRIT_LISTEN=::1", "PORT=0", "WRIT_PUBLIC_URL=https://Writ.example.com:443/",
		"WRIT_HOST_NAMES=writ, Writ.Writ.svc",
		"WRIT_TLS_CERT=" + certificate, "WRIT_TLS_KEY=" + key, "WRIT_AGENTS_LISTEN=[::1]:8443",
		"WRIT_TRUSTED_PROXIES=10.0.0.0/8, 192.0.2.7,2001:db8::/32,::ffff:192.0.2.9",
		"WRIT_CORS_ORIGINS=https://console.example.com:443, HTTP://Localhost:3000,https://[2001:DB8::1]:8443,https://[::1]",
		"WRIT_MAX_BODY_BYTES=67108864", "WRIT_MEMORY_LIMIT_BYTES=1073741824", "WRIT_SHUTDOWN_SECONDS=300",
		"WRIT_DATA_DIR=/var/lib/writ",
		"DATABASE_URL=postgresql://writ:database-password@db/writ", "WRIT_MASTER_KEY=" + masterKey,
		"TELEMETRY_DATABASE_URL=postgres://writ:telemetry-password@db2/writ",
		"WRIT_SIGNUP=open", "WRIT_REFERRAL_CREDIT_CENTS=1500",
		"STRIPE_SECRET_KEY=stripe-key", "STRIPE_WEBHOOK_SECRET=stripe-webhook-secret",
		"WRIT_BILLING_PLANS_FILE=/etc/writ/plans.json", "STRIPE_API_URL=https://stripe.example.com",
		"WRIT_PROXY_HOLD_SECONDS=60", "WRIT_PROXY_TOKEN=" + proxyToken,
		"WRIT_SERVER_URL=https://writ.example.com",
		"WRIT_GOOGLE_CLIENT_ID=google-client",
		"WRIT_GOOGLE_CLIENT_SECRET=google-secret",
		"WRIT_GOOGLE_ISSUER=https://google.example.com",
		"WRIT_SMTP_URL=smtp://robot%40example.com:mail-password@mail.example.com",
		"WRIT_MAIL_FROM=Robot <robot@example.com>",
		"WRIT_OUTBOUND_ALLOW=Hooks.corp.example:8443, 10.20.0.0/16",
		"WRIT_DRAFT_URL=https://models.example.com/v1", "WRIT_DRAFT_MODEL=small", "WRIT_DRAFT_KEY=draft-key",
		"WRIT_DRAFT_SECONDS=10", "WRIT_DRAFT_MAX_TOKENS=1000", "WRIT_DRAFT_PER_DAY=5",
		"OBSERVABILITY_RETENTION_DAYS=90", "WRIT_SESSION_IDLE_MINUTES=5", "WRIT_MAX_INGEST_BYTES=1048576",
		"WRIT_PRICES_FILE=/etc/writ/prices.json",
		"AUDIT_PAYLOAD_RETENTION_DAYS=365",
		"WRIT_WITNESS_FILE=/mnt/witness/seen.ndjson",
		"WRIT_WITNESS_URL=https://witness.example.com/hook?secret=witness-secret",
		"WRIT_WITNESS_TOKEN=witness-token-16",
		"WRIT_METRICS_LISTEN=[::1]:9090", "WRIT_METRICS_TOKEN=metrics-token-16",
		"WRIT_LOG_LEVEL=debug", "WRIT_LOG_FORMAT=text",
	}
}

func TestEveryVariable(t *testing.T) {
	t.Parallel()
	certificate, key := keyPair(t)
	environ := fullEnviron(certificate, key)
	want := config.Config{
		Environment: config.Production, Listen: "::1", Port: 0, PublicURL: "https://writ.example.com",
		TLSCertificate: certificate, TLSKey: secret.NewText(key),
		HostNames:    []string{"writ", "writ.writ.svc"},
		AgentsListen: "[::1]:8443",
		TrustedProxies: []netip.Prefix{
			netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.0.2.7/32"),
			netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("192.0.2.9/32"),
		},
		CORSOrigins: []string{
			"https://console.example.com", "http://localhost:3000", "https://[2001:db8::1]:8443", "https://[::1]",
		},
		MaxBodyBytes: 64 << 20, MemoryLimit: 1 << 30, ShutdownTimeout: 300 * time.Second, DataDir: "/var/lib/writ",
		DatabaseURL:  secret.NewText("postgresql://writ:database-password@db/writ"),
		MasterKey:    secret.NewText(masterKey),
		TelemetryURL: secret.NewText("postgres://writ:telemetry-password@db2/writ"),
		Retention:    90 * 24 * time.Hour, SessionIdle: 5 * time.Minute, MaxIngestBytes: 1 << 20,
		HoldWait:         time.Minute,
		PricesFile:       "/etc/writ/prices.json",
		PayloadRetention: 365 * 24 * time.Hour,
		Witness: config.Witness{
			File:  "/mnt/witness/seen.ndjson",
			URL:   secret.NewText("https://witness.example.com/hook?secret=witness-secret"),
			Token: secret.NewText("witness-token-16"),
		},
		Billing: config.Billing{
			Key: secret.NewText("stripe-key"), WebhookSecret: secret.NewText("stripe-webhook-secret"),
			PlansFile: "/etc/writ/plans.json", Provider: "https://stripe.example.com",
		},
		ReferralCents: 1500, ServerURL: "https://writ.example.com",
		SignUp: config.SignUpOpen, ProxyToken: secret.NewText(proxyToken),
		GoogleClientID: "google-client", GoogleClientSecret: secret.NewText("google-secret"),
		GoogleIssuer: "https://google.example.com",
		SMTPURL:      secret.NewText("smtp://robot%40example.com:mail-password@mail.example.com"),
		MailFrom:     "Robot <robot@example.com>",
		OutboundAllow: []outbound.Permit{
			{Host: "hooks.corp.example", Port: 8443}, {Network: netip.MustParsePrefix("10.20.0.0/16")},
		},
		Draft: config.Draft{
			URL: "https://models.example.com/v1", Model: "small", Key: secret.NewText("draft-key"),
			Timeout: 10 * time.Second, MaxTokens: 1000, PerDay: 5,
		},
		MetricsListen: "[::1]:9090", MetricsToken: secret.NewText("metrics-token-16"),
		LogLevel: slog.LevelDebug, LogFormat: config.LogText,
	}
	got := mustLoad(t, environ...)
	if diff := cmp.Diff(want, got, compare); diff != "" {
		t.Errorf("Load (-want +got):\n%s", diff)
	}
	if len(environ) != len(config.Variables()) {
		t.Errorf("%d variables are set, %d are listed", len(environ), len(config.Variables()))
	}
	for i, v := range config.Variables() {
		if !strings.HasPrefix(environ[i], v.Name+"=") {
			t.Errorf("entry %d does not set %s", i, v.Name)
		}
	}
	shown := fmt.Sprintf("%v %+v %#v", got, got, got)
	for _, hidden := range []string{
		key, "database-password", masterKey, proxyToken, "google-secret", "draft-key", "mail-password",
		"metrics-token-16",
	} {
		if strings.Contains(shown, hidden) {
			t.Errorf("printing the configuration shows a secret: %s", hidden)
		}
	}
}

func TestHelpers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		config   config.Config
		address  string
		loopback bool
	}{
		{"IPv4 loopback", config.Config{Listen: "127.0.0.1", Port: 80}, "127.0.0.1:80", true},
		{"other loopback", config.Config{Listen: "127.8.0.1", Port: 80}, "127.8.0.1:80", true},
		{"IPv6 loopback", config.Config{Listen: "::1", Port: 80}, "[::1]:80", true},
		{"localhost", config.Config{Listen: "localhost"}, "localhost:0", true},
		{"every address", config.Config{Listen: "0.0.0.0", Port: 80}, "0.0.0.0:80", false},
		{"every IPv6 address", config.Config{Listen: "::", Port: 80}, "[::]:80", false},
		{"one outside address", config.Config{Listen: "192.0.2.1", Port: 80}, "192.0.2.1:80", false},
		{"nothing", config.Config{}, ":0", false},
	} {
		if got := c.config.ListenAddress(); got != c.address {
			t.Errorf("%s: ListenAddress = %q, want %q", c.name, got, c.address)
		}
		if got := c.config.IsLoopbackOnly(); got != c.loopback {
			t.Errorf("%s: IsLoopbackOnly = %v, want %v", c.name, got, c.loopback)
		}
	}
	var zero config.Config
	if zero.IsProduction() || zero.UsesPostgres() || zero.UsesTLS() {
		t.Error("an empty configuration claims to use something")
	}
	certificate, key := keyPair(t)
	full := mustLoad(t, fullEnviron(certificate, key)...)
	if !full.IsProduction() || !full.UsesPostgres() || !full.UsesTLS() {
		t.Error("a full configuration denies what it uses")
	}
	if _, err := full.TLSKeyPair(); err != nil {
		t.Errorf("TLSKeyPair: %v", err)
	}
}
