// Package app assembles the server: it opens the stores and the areas in order, serves
// them, runs the scheduled work, and stops everything in reverse.
//
// Open builds the areas without serving them, for commands that work on the data beside a
// running server; Start serves. One server at a time uses the data folder. Nothing here
// decides anything about a request.
package app

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"writ/internal/accessrequest"
	"writ/internal/agent"
	"writ/internal/api/route"
	"writ/internal/apikey"
	"writ/internal/approval"
	"writ/internal/audit"
	"writ/internal/audit/witness"
	"writ/internal/auth"
	"writ/internal/auth/account"
	"writ/internal/auth/federation"
	"writ/internal/billing"
	"writ/internal/blog"
	"writ/internal/carrier"
	"writ/internal/certificate"
	"writ/internal/config"
	"writ/internal/connection"
	"writ/internal/database"
	"writ/internal/decision"
	"writ/internal/enforcement"
	"writ/internal/execution"
	"writ/internal/forwarding"
	"writ/internal/gateway"
	"writ/internal/guard"
	"writ/internal/intent"
	"writ/internal/intent/scope"
	"writ/internal/keyring"
	"writ/internal/mail"
	"writ/internal/mcp"
	"writ/internal/notification"
	"writ/internal/notification/webhook"
	"writ/internal/oauth"
	"writ/internal/operator"
	"writ/internal/organization"
	"writ/internal/outbound"
	"writ/internal/policy"
	"writ/internal/policy/drafting"
	"writ/internal/policy/drafting/model"
	"writ/internal/projection"
	"writ/internal/referral"
	"writ/internal/replay"
	"writ/internal/secret"
	"writ/internal/telemetry"
	"writ/internal/throttle"
)

// Options are what an operator sets, and what tests replace.
type Options struct {
	Config  config.Config
	Logger  *slog.Logger
	Version string
	Now     func() time.Time // nil: time.Now
	// ChangeLimit is how long a change of the database may take. 0: as long as clients wait
	ChangeLimit time.Duration

	Dashboard fs.FS // the built dashboard, or nil
}

// Areas are the assembled services.
type Areas struct {
	Database      *database.DB
	Keyring       *keyring.Ring
	Audit         *audit.Service
	Auth          *auth.Service
	Federation    *federation.Service
	Organizations *organization.Service
	Operators     *operator.Service
	Requests      *accessrequest.Service
	Blog          *blog.Service
	Referrals     *referral.Service
	Billing       *billing.Service
	Keys          *apikey.Service
	Limiter       *throttle.Limiter
	TelemetryDB   *database.DB
	Telemetry     *telemetry.Service
	Policies      *policy.Service
	Scopes        *scope.Service
	Intent        *intent.Service
	Approvals     *approval.Service
	Agents        *agent.Service
	Enforcement   *enforcement.Service
	Carrier       *carrier.Carrier
	Executions    *execution.Service
	Notifications *notification.Service
	Webhooks      *webhook.Service
	Forwarding    *forwarding.Service
	Servers       *mcp.Service
	Certificates  *certificate.Service
	OAuth         *oauth.Service
	Gateway       *gateway.Gateway
	Connections   *connection.Service
	Accounts      *account.Service
	Guard         *guard.Service
	Replays       *replay.Service
	Drafts        *drafting.Author

	sealer    *secret.Sealer
	log       *audit.Log
	recent    *decision.Recent // what this process decided last, for the projector
	projector *projection.Projector
	outbound  *outbound.Client
	toServers *outbound.Client // asks MCP servers what they offer
	lines     lines
	messages  *route.Bodies // of the MCP endpoint
	model     *model.Client // nil: words choose templates
	outgoing  *mail.Queue
	post      mail.Sender // the queue, or what refuses at once where there is no mail server
	letters   mail.Sender // the queue, or nil

	witness     *witness.Sender
	witnessFile *witness.File    // nil: none
	witnessPost *outbound.Client // nil: none
	evidence    evidence
}

// Open builds the areas on the configured database, from the bottom up. Mails wait
// until Start delivers them.
func Open(ctx context.Context, o Options, publicURL string) (_ *Areas, err error) {
	a := &Areas{}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Close())
		}
	}()
	if err := a.openStores(ctx, o); err != nil {
		return nil, err
	}
	if err := a.openTelemetry(ctx, o); err != nil {
		return nil, err
	}
	if err := a.openOutgoing(o); err != nil {
		return nil, err
	}
	if err := a.openPeople(ctx, o, publicURL); err != nil {
		return nil, err
	}
	a.openAgents(o, publicURL)
	a.openNotifications(publicURL)
	a.openDecisions(o, publicURL)
	a.openSignIn(o.Config, publicURL)
	a.witness, err = a.newWitness(o.Config, a.Database.Now)
	return a, err
}

// openStores opens what every area needs: the databases, the sealer of secrets and the
// audit log.
func (a *Areas) openStores(ctx context.Context, o Options) (err error) {
	c := o.Config
	if err := errors.Join(makeDataDir(c.DataDir), refuseInterruptedRestore(c), refuseMissingDatabase(c)); err != nil {
		return err
	}
	if a.sealer, err = openSealer(c); err != nil {
		return err
	}
	if a.Database, err = database.Open(ctx, databaseOptions(o)); err != nil {
		return err
	}
	// A wrong master key must stop the server here, not the first sign-in.
	if err := keyring.Check(ctx, a.Database, a.sealer); err != nil {
		return err
	}
	a.recent = decision.NewRecent()
	keys, known := checkpointKeys(a.Database, a.sealer)
	if a.log, err = audit.Open(ctx, a.Database, keys, a.recent, known); err != nil {
		return err
	}
	return nil
}

// openTelemetry opens the store that bulk goes to. Decisions do not need it: if it cannot be opened, the server works
// without it, and rules about cost, tokens and sessions fail closed.
func (a *Areas) openTelemetry(ctx context.Context, o Options) error {
	prices, err := Prices(o.Config.PricesFile)
	if err != nil {
		return fmt.Errorf("WRIT_PRICES_FILE: %w", err)
	}
	service := telemetry.Config{
		Prices:      prices,
		Logger:      o.Logger,
		SessionIdle: o.Config.SessionIdle,
		Retention:   o.Config.Retention,
		SpanLimit:   a.spanLimit(o.Config),
		AllCounted:  a.allCounted,
	}
	options := telemetryOptions(o)
	service.Database, err = database.Open(ctx, options)
	if err == nil {
		if a.Telemetry, err = telemetry.New(ctx, service); err != nil {
			err = errors.Join(err, service.Database.Close())
		}
	}
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		o.Logger.Error("telemetry is down: decisions go on, telemetry is refused, and rules about cost, tokens and sessions deny."+
			" Mend the store or, without its data, move it away: the server tries to open it every "+
			reopenEvery.String(), "error", err)
		service.Database = database.Down(options, err)
		a.Telemetry = telemetry.NewDown(service)
	}
	a.TelemetryDB = service.Database
	return nil
}

// checkpointKeys gives the audit log its key, and all whose signatures count. The ring
// that holds them writes to that log itself.
func checkpointKeys(db *database.DB, sealer *secret.Sealer) (audit.KeySource, audit.KnownKeys) {
	current := func(ctx context.Context, log *audit.Log) (ed25519.PrivateKey, error) {
		key, err := keyring.New(db, log, sealer).Current(ctx, keyring.Checkpoint)
		return key.Private, err
	}
	known := func(ctx context.Context, r database.Reader) ([]ed25519.PrivateKey, error) {
		return keyring.Privates(ctx, r, sealer, keyring.Checkpoint)
	}
	return current, known
}

// Prices reads a file, or returns the built-in prices.
func Prices(file string) (*telemetry.Prices, error) {
	if file == "" {
		return telemetry.BuiltInPrices(), nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	prices, err := telemetry.ParsePrices(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return prices, nil
}

// Close closes the databases and connections, as far as they were opened.
func (a *Areas) Close() (err error) {
	a.closeCarrier()
	if a.outbound != nil {
		a.outbound.Close()
	}
	if a.toServers != nil {
		a.toServers.Close()
	}
	if a.model != nil {
		a.model.Close()
	}
	if a.witnessPost != nil {
		a.witnessPost.Close()
	}
	for _, db := range []*database.DB{a.TelemetryDB, a.Database} {
		if db != nil {
			err = errors.Join(err, db.Close())
		}
	}
	return err
}

// telemetryOptions choose the telemetry database: its own file or schema, or another
// server.
func telemetryOptions(o Options) database.Options {
	options := databaseOptions(o)
	options.Store = database.Telemetry
	options.SQLitePath = telemetryPath(o.Config)
	if o.Config.TelemetryURL.IsSet() {
		options.PostgresURL = o.Config.TelemetryURL.Reveal()
	}
	return options
}

func telemetryPath(c config.Config) string { return filepath.Join(c.DataDir, "telemetry.db") }

func databaseOptions(o Options) database.Options {
	return database.Options{
		SQLitePath:  databasePath(o.Config),
		PostgresURL: o.Config.DatabaseURL.Reveal(),
		Now:         o.Now,
		Logger:      o.Logger,
		ChangeLimit: o.ChangeLimit,
	}
}

func databasePath(c config.Config) string { return filepath.Join(c.DataDir, "writ.db") }

// newSender chooses where mail goes: to a mail server, outside production to a folder, else
// nowhere, which is an error for whatever needs mail.
func newSender(c config.Config, logger *slog.Logger, now func() time.Time) (mail.Sender, error) {
	switch {
	case c.SMTPURL.IsSet():
		return mail.NewSMTP(mail.SMTPConfig{URL: c.SMTPURL, From: c.MailFrom})
	case c.IsProduction():
		return mail.None{}, nil
	}
	if now == nil {
		now = time.Now
	}
	return mail.NewOutbox(OutboxDir(c), c.MailFrom, logger, now)
}

// mailGoes says where mail goes, as newSender chooses.
func mailGoes(c config.Config) string {
	switch {
	case c.SMTPURL.IsSet():
		return "smtp"
	case c.IsProduction():
		return "none"
	}
	return "outbox"
}

// OutboxDir is the folder mail goes to without a mail server.
func OutboxDir(c config.Config) string { return filepath.Join(c.DataDir, "outbox") }

// publicURL is where people reach the server: as configured, else this machine.
func publicURL(c config.Config, port int) *url.URL {
	if c.PublicURL != "" {
		if u, err := url.Parse(c.PublicURL); err == nil {
			return u // config has checked it
		}
	}
	scheme := "http"
	if c.UsesTLS() {
		scheme = "https"
	}
	return &url.URL{Scheme: scheme, Host: fmt.Sprintf("localhost:%d", port)}
}
