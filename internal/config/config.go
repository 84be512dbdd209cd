// Package config is the server's settings: one struct, read once from the
// environment when the server starts and handed down from there.
//
// Variables is the list of all settings with their defaults; Load reads them in
// that order. The environment is the operator's, so it is trusted, but it is
// not believed to be free of mistakes: Load checks every value, collects
// everything that is wrong and gives either a complete Config or Problems,
// never something in between. A name that begins with WRIT_ and that nobody
// knows is a problem too, because a misspelt security setting would otherwise
// leave its default in force without a word.
//
// A secret can be given in a file (NAME_FILE) instead of the environment. An
// empty variable counts as not set. No problem ever quotes a value, secret or
// not: passwords are pasted into the wrong variable too.
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

// Environment says how careful the server must be with what is missing.
type Environment string

// Development fills gaps with something that works on one machine; Production
// asks the operator instead.
const (
	Development Environment = "development"
	Production  Environment = "production"
)

// SignUp says who may register an account.
type SignUp string

// The ways of signing up: anyone may, or only those who were invited.
const (
	SignUpOpen   SignUp = "open"
	SignUpClosed SignUp = "closed"
)

// LogFormat is the form of a log line.
type LogFormat string

// The log formats.
const (
	LogText LogFormat = "text"
	LogJSON LogFormat = "json"
)

// Draft is the model that drafts policies from words.
type Draft struct {
	URL       string // empty: there is none
	Model     string
	Key       secret.Text
	Timeout   time.Duration // of one draft
	MaxTokens int           // of one answer
	PerDay    int           // questions of one organization
}

// Config is every setting, checked. All fields are exported on purpose: fmt
// prints a secret.Text in an unexported field without asking it to hide.
type Config struct {
	Environment     Environment
	Listen          string // an IP address or "localhost", without a port
	Port            int    // 0 takes any free port
	PublicURL       string // an origin without a slash at the end; empty outside production: the app derives one
	TLSCertificate  string // PEM; empty means that the server speaks plain HTTP
	TLSKey          secret.Text
	TrustedProxies  []netip.Prefix
	CORSOrigins     []string // as a browser sends them: lower case, without the default port
	MaxBodyBytes    int64
	ShutdownTimeout time.Duration

	DataDir      string
	DatabaseURL  secret.Text // not set: SQLite in DataDir
	TelemetryURL secret.Text // not set: telemetry is beside everything else
	MasterKey    secret.Text // in the form secret.ParseMasterKey reads; not set: the app makes one in DataDir

	SignUp     SignUp
	ProxyToken secret.Text // what the enforcement proxy presents; not set: there is none

	GoogleClientID     string // empty: nobody signs in with Google
	GoogleClientSecret secret.Text
	GoogleIssuer       string

	SMTPURL  secret.Text // not set: no mail server
	MailFrom string      // an RFC 5322 address; empty only in production without a mail server

	OutboundAllow []outbound.Permit // what may be called beyond public addresses

	Draft Draft

	Retention        time.Duration // of telemetry
	PayloadRetention time.Duration // of the audit log's payloads; 0 is for ever
	SessionIdle      time.Duration // after which an agent's session is expired
	MaxIngestBytes   int64         // of a telemetry body, decompressed
	PricesFile       string        // replaces the built-in prices; empty: those

	MetricsListen string // host:port of a listener of its own; empty: none
	MetricsToken  secret.Text
	LogLevel      slog.Level
	LogFormat     LogFormat
}

// IsProduction reports whether gaps must be refused rather than filled.
func (c Config) IsProduction() bool { return c.Environment == Production }

// UsesPostgres reports whether the data is in PostgreSQL rather than SQLite.
func (c Config) UsesPostgres() bool { return c.DatabaseURL.IsSet() }

// UsesTLS reports whether the server itself ends TLS.
func (c Config) UsesTLS() bool { return c.TLSCertificate != "" }

// TLSKeyPair gives the certificate for a listener. Load has already refused a
// pair that does not fit, so it fails only on a Config that Load did not make.
func (c Config) TLSKeyPair() (tls.Certificate, error) {
	return tls.X509KeyPair([]byte(c.TLSCertificate), []byte(c.TLSKey.Reveal()))
}

// ListenAddress is what net.Listen takes.
func (c Config) ListenAddress() string {
	return net.JoinHostPort(c.Listen, strconv.Itoa(c.Port))
}

// IsLoopbackOnly reports whether only this machine can reach the server.
func (c Config) IsLoopbackOnly() bool { return isLoopback(c.Listen) }
