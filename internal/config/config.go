// Package config holds the server's settings, read once from the environment when the server starts.
//
// Variables lists all settings with their defaults; Load reads them in that order. The environment comes from the
// operator, so it is trusted, but it may contain mistakes. Load checks every value, collects everything that is wrong,
// and returns either a complete Config or Problems. An unknown name that begins with WRIT_ is a problem too: a
// misspelled security setting would otherwise silently leave its default in force.
//
// A secret can be given in a file (NAME_FILE) instead of the environment. An empty variable counts as not set. No
// problem ever quotes a value, secret or not: passwords are pasted into the wrong variable too.
package config

import (
	"crypto/tls"
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"time"

	"writ/internal/outbound"
	"writ/internal/secret"
)

// Environment says how the server treats missing settings.
type Environment string

// Development fills gaps with something that works on one machine. Production asks the operator instead.
const (
	Development Environment = "development"
	Production  Environment = "production"
)

// SignUp says who may register an account.
type SignUp string

// Anyone may sign up, or only people who were invited.
const (
	SignUpOpen   SignUp = "open"
	SignUpClosed SignUp = "closed"
)

// LogFormat is the format of log lines.
type LogFormat string

// The log formats.
const (
	LogText LogFormat = "text"
	LogJSON LogFormat = "json"
)

// Draft configures the model that drafts policies from a description.
type Draft struct {
	URL       string // empty: none
	Model     string
	Key       secret.Text
	Timeout   time.Duration // of one draft
	MaxTokens int           // of one answer
	PerDay    int           // requests by one organization
}

// Witness is where the checkpoints of the audit logs go.
type Witness struct {
	File  string      // empty: no file
	URL   secret.Text // not set: no endpoint
	Token secret.Text // sent to the URL; not set: none
}

// Billing is how organizations pay.
type Billing struct {
	Key           secret.Text // of the payment provider; not set: nobody pays, and there are no plans
	WebhookSecret secret.Text
	PlansFile     string
	Provider      string // where its API is
}

// Config is every setting, checked. All fields are exported on purpose: fmt prints a secret.Text in an unexported
// field without calling its methods.
type Config struct {
	Environment     Environment
	Doubts          []Problem // variables that may be misspelled settings, or another program's
	Listen          string    // an IP address or "localhost", without a port
	Port            int       // 0 takes any free port
	PublicURL       string    // an origin without a trailing slash; empty outside production: the app derives one
	HostNames       []string  // in lower case, beside that of PublicURL
	TLSCertificate  string    // PEM; empty: the server speaks plain HTTP
	TLSKey          secret.Text
	TLSCertFile     string // where the certificate was read; empty: it came as text
	TLSKeyFile      string
	AgentsListen    string // host:port of a separate listener that asks for agents' certificates; empty: none
	TrustedProxies  []netip.Prefix
	CORSOrigins     []string // as a browser sends them: lower case, without the default port
	MaxBodyBytes    int64
	MemoryLimit     int64 // in bytes; 0: GOMEMLIMIT, or what the machine has
	ShutdownTimeout time.Duration

	DataDir      string
	DatabaseURL  secret.Text // not set: SQLite in DataDir
	TelemetryURL secret.Text // not set: in the same database server
	MasterKey    secret.Text // as secret.ParseMasterKey reads it; not set: the app makes one in DataDir

	SignUp SignUp
	// ReferralCents is what a referral earns an organization; 0: referrals are off.
	ReferralCents int64
	Billing       Billing
	HoldWait      time.Duration // how long a call through the proxy waits for a person's yes; 0: it does not
	ProxyToken    secret.Text   // that the enforcement proxy presents; not set: there is none
	ServerURL     string        // the server that writd proxy belongs to; empty: none

	GoogleClientID     string // empty: no sign-in with Google
	GoogleClientSecret secret.Text
	GoogleIssuer       string

	SMTPURL  secret.Text // not set: no mail server
	MailFrom string      // an RFC 5322 address; empty only in production without a mail server

	OutboundAllow []outbound.Permit // what may be called beyond public addresses

	Draft Draft

	Retention        time.Duration // of telemetry
	PayloadRetention time.Duration // of the audit log's payloads; 0: forever
	Witness          Witness       // of the audit logs' checkpoints
	SessionIdle      time.Duration // after which an agent's session expires
	MaxIngestBytes   int64         // of a telemetry body, decompressed
	PricesFile       string        // replaces or extends the built-in prices; empty: neither

	MetricsListen string // host:port of a separate listener; empty: none
	MetricsToken  secret.Text
	LogLevel      slog.Level
	LogFormat     LogFormat
}

// IsProduction reports whether gaps are refused rather than filled.
func (c Config) IsProduction() bool { return c.Environment == Production }

// UsesPostgres reports whether the data is in PostgreSQL rather than SQLite.
func (c Config) UsesPostgres() bool { return c.DatabaseURL.IsSet() }

// MasterKeyIsWeak reports whether the master key is one of an example, or one that nobody made. It serves all the same:
// who has begun with it cannot change it, and must be told, not stopped.
func (c Config) MasterKeyIsWeak() bool { return c.MasterKey.IsSet() && isWeak(c.MasterKey.Reveal()) }

// UsesTLS reports whether the server itself terminates TLS.
func (c Config) UsesTLS() bool { return c.TLSCertificate != "" }

// TLSKeyPair returns the certificate for a listener. Load has already refused a pair that does not match, so it fails
// only on a Config that Load did not make.
func (c Config) TLSKeyPair() (tls.Certificate, error) {
	return tls.X509KeyPair([]byte(c.TLSCertificate), []byte(c.TLSKey.Reveal()))
}

// ListenAddress is what net.Listen takes.
func (c Config) ListenAddress() string {
	return net.JoinHostPort(c.Listen, strconv.Itoa(c.Port))
}

// IsLoopbackOnly reports whether only this machine can reach the server.
func (c Config) IsLoopbackOnly() bool { return isLoopback(c.Listen) }
