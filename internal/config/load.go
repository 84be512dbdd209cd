package config

import (
	"net/url"
	"slices"
	"time"

	"writ/internal/outbound"
)

// Load reads the settings from an environment in the form of os.Environ. Its error is always Problems.
func Load(environ []string, readFile func(path string) ([]byte, error)) (Config, error) {
	r := newReader(environ, readFile)
	var c Config
	c.Environment = read(r, "WRIT_ENV", oneOf(Development, Production))
	r.environment = c.Environment

	r.loadServer(&c)
	r.loadStorage(&c)
	c.SignUp = read(r, "WRIT_SIGNUP", oneOf(SignUpOpen, SignUpClosed))
	c.ReferralCents = read(r, "WRIT_REFERRAL_CREDIT_CENTS", wholeNumber(0, 1_000_000))
	r.loadBilling(&c.Billing)
	r.loadProxy(&c)
	r.loadGoogle(&c)
	r.loadMail(&c)
	c.OutboundAllow = read(r, "WRIT_OUTBOUND_ALLOW", listOf(outbound.ParsePermit))
	r.loadDraft(&c.Draft)
	r.loadTelemetry(&c)
	r.loadWitness(&c.Witness)
	r.loadMetricsAndLogs(&c)
	r.refuseUnknown()
	r.refuseLookalikes()
	c.Doubts = r.doubts

	if len(r.problems) > 0 {
		return Config{}, r.problems
	}
	return c, nil
}

// LoadProxy reads the settings of an enforcement proxy in a process of its own, which needs neither a database nor the
// master key. Its error is always Problems.
func LoadProxy(environ []string, readFile func(path string) ([]byte, error)) (Config, error) {
	r := newReader(environ, readFile)
	var c Config
	c.Environment = read(r, "WRIT_ENV", oneOf(Development, Production))
	r.environment = c.Environment

	r.loadServer(&c)
	r.require("WRIT_PROXY_TOKEN", "by writd proxy")
	r.require("WRIT_SERVER_URL", "by writd proxy")
	r.loadProxy(&c)
	c.OutboundAllow = read(r, "WRIT_OUTBOUND_ALLOW", listOf(outbound.ParsePermit))
	r.refusePlainServer(&c)
	r.loadMetricsAndLogs(&c)
	r.refuseUnknown()

	if len(r.problems) > 0 {
		return Config{}, r.problems
	}
	return c, nil
}

func (r *reader) loadProxy(c *Config) {
	c.HoldWait = time.Duration(read(r, "WRIT_PROXY_HOLD_SECONDS", wholeNumber(0, 300))) * time.Second
	c.ProxyToken = read(r, "WRIT_PROXY_TOKEN", strongToken(32))
	c.ServerURL = read(r, "WRIT_SERVER_URL", webURL("https://writ.example.com"))
}

// refusePlainServer refuses to send secrets in clear, but to this machine and where the operator permits it.
func (r *reader) refusePlainServer(c *Config) {
	u, err := url.Parse(c.ServerURL)
	if err != nil || u.Scheme != "http" || isLoopback(u.Hostname()) {
		return
	}
	if !outbound.New(outbound.Options{Permits: c.OutboundAllow}).IsPermitted(c.ServerURL) {
		r.report("WRIT_SERVER_URL", "must begin with https://, because secrets are sent: or list the host in WRIT_OUTBOUND_ALLOW")
	}
}

func (r *reader) loadServer(c *Config) {
	c.Listen = read(r, "WRIT_LISTEN", parseListen)
	c.Port = int(read(r, "PORT", wholeNumber(0, 65535)))
	if c.IsProduction() {
		r.require("WRIT_PUBLIC_URL", "in production")
	}
	c.PublicURL = read(r, "WRIT_PUBLIC_URL", r.parsePublicURL)
	c.HostNames = read(r, "WRIT_HOST_NAMES", listOf(parseHostName))
	r.loadTLS(c)
	c.TrustedProxies = read(r, "WRIT_TRUSTED_PROXIES", listOf(parseNetwork))
	c.CORSOrigins = read(r, "WRIT_CORS_ORIGINS", listOf(parseCORSOrigin))
	c.MaxBodyBytes = read(r, "WRIT_MAX_BODY_BYTES", wholeNumber(1<<10, 64<<20))
	c.MemoryLimit = read(r, "WRIT_MEMORY_LIMIT_BYTES", wholeNumber(64<<20, 1<<40))
	c.ShutdownTimeout = time.Duration(read(r, "WRIT_SHUTDOWN_SECONDS", wholeNumber(1, 300))) * time.Second
}

func (r *reader) loadStorage(c *Config) {
	c.DataDir = r.text("WRIT_DATA_DIR")
	c.DatabaseURL = read(r, "DATABASE_URL", parseDatabaseURL)
	c.TelemetryURL = read(r, "TELEMETRY_DATABASE_URL", parseDatabaseURL)
	if r.isSet("TELEMETRY_DATABASE_URL") {
		r.require("DATABASE_URL", "with TELEMETRY_DATABASE_URL")
	}
	switch {
	case c.IsProduction():
		r.require("WRIT_MASTER_KEY", "in production")
	case r.isSet("DATABASE_URL"):
		// Replicas share the database: a key in one's data folder would be missing in the others.
		r.require("WRIT_MASTER_KEY", "with PostgreSQL")
	}
	c.MasterKey = read(r, "WRIT_MASTER_KEY", parseMasterKey)
}

func (r *reader) loadBilling(b *Billing) {
	together := []string{"STRIPE_SECRET_KEY", "STRIPE_WEBHOOK_SECRET", "WRIT_BILLING_PLANS_FILE"}
	if i := slices.IndexFunc(together, r.isSet); i >= 0 {
		for _, name := range together {
			r.require(name, "with "+together[i])
		}
	}
	b.Key = read(r, "STRIPE_SECRET_KEY", token(1))
	b.WebhookSecret = read(r, "STRIPE_WEBHOOK_SECRET", token(16))
	b.PlansFile = r.text("WRIT_BILLING_PLANS_FILE")
	b.Provider = read(r, "STRIPE_API_URL", webURL("https://api.stripe.com"))
}

func (r *reader) loadGoogle(c *Config) {
	if r.isSet("WRIT_GOOGLE_CLIENT_ID") {
		r.require("WRIT_GOOGLE_CLIENT_SECRET", "with WRIT_GOOGLE_CLIENT_ID")
	}
	if r.isSet("WRIT_GOOGLE_CLIENT_SECRET") {
		r.require("WRIT_GOOGLE_CLIENT_ID", "with WRIT_GOOGLE_CLIENT_SECRET")
	}
	c.GoogleClientID = r.text("WRIT_GOOGLE_CLIENT_ID")
	c.GoogleClientSecret = read(r, "WRIT_GOOGLE_CLIENT_SECRET", token(1))
	c.GoogleIssuer = read(r, "WRIT_GOOGLE_ISSUER", webURL("https://accounts.google.com"))
}

func (r *reader) loadMail(c *Config) {
	c.SMTPURL = read(r, "WRIT_SMTP_URL", parseSMTPURL)
	if c.IsProduction() && r.isSet("WRIT_SMTP_URL") {
		r.require("WRIT_MAIL_FROM", "in production with a mail server")
	}
	c.MailFrom = read(r, "WRIT_MAIL_FROM", parseSender)
}

func (r *reader) loadDraft(d *Draft) {
	switch {
	case r.isSet("WRIT_DRAFT_URL"):
		r.require("WRIT_DRAFT_MODEL", "with WRIT_DRAFT_URL")
	case r.isSet("WRIT_DRAFT_MODEL") || r.isSet("WRIT_DRAFT_KEY"):
		r.require("WRIT_DRAFT_URL", "with WRIT_DRAFT_MODEL or WRIT_DRAFT_KEY")
	}
	d.URL = read(r, "WRIT_DRAFT_URL", webURL("https://api.openai.com/v1"))
	d.Model = r.text("WRIT_DRAFT_MODEL")
	d.Key = read(r, "WRIT_DRAFT_KEY", token(1))
	d.Timeout = time.Duration(read(r, "WRIT_DRAFT_SECONDS", wholeNumber(1, 55))) * time.Second
	d.MaxTokens = int(read(r, "WRIT_DRAFT_MAX_TOKENS", wholeNumber(100, 32000)))
	d.PerDay = int(read(r, "WRIT_DRAFT_PER_DAY", wholeNumber(1, 10000)))
}

func (r *reader) loadTelemetry(c *Config) {
	c.Retention = time.Duration(read(r, "OBSERVABILITY_RETENTION_DAYS", wholeNumber(1, 3650))) * 24 * time.Hour
	c.SessionIdle = time.Duration(read(r, "WRIT_SESSION_IDLE_MINUTES", wholeNumber(1, 10080))) * time.Minute
	c.MaxIngestBytes = read(r, "WRIT_MAX_INGEST_BYTES", wholeNumber(1<<10, 256<<20))
	c.PricesFile = r.text("WRIT_PRICES_FILE")
	c.PayloadRetention = time.Duration(read(r, "AUDIT_PAYLOAD_RETENTION_DAYS", wholeNumber(1, 36500))) * 24 * time.Hour
}

func (r *reader) loadWitness(w *Witness) {
	if r.isSet("WRIT_WITNESS_TOKEN") {
		r.require("WRIT_WITNESS_URL", "with WRIT_WITNESS_TOKEN")
	}
	w.File = r.text("WRIT_WITNESS_FILE")
	w.URL = read(r, "WRIT_WITNESS_URL", parseWitnessURL)
	w.Token = read(r, "WRIT_WITNESS_TOKEN", WitnessToken)
}

func (r *reader) loadMetricsAndLogs(c *Config) {
	c.MetricsListen = read(r, "WRIT_METRICS_LISTEN", parseHostPort)
	c.MetricsToken = read(r, "WRIT_METRICS_TOKEN", token(16))
	c.LogLevel = read(r, "WRIT_LOG_LEVEL", parseLogLevel)
	c.LogFormat = read(r, "WRIT_LOG_FORMAT", oneOf(LogText, LogJSON))
}
