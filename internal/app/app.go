// Package app assembles the server: it opens what the areas stand on, in order,
// serves them, runs the scheduled work, and stops everything in reverse.
//
// Open builds the areas without serving them, for commands that work on the
// data beside a running server; Start serves. The data folder belongs to one
// server at a time. Nothing here decides anything about a request.
package app

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"writ/internal/apikey"
	"writ/internal/approval"
	"writ/internal/audit"
	"writ/internal/auth"
	"writ/internal/auth/federation"
	"writ/internal/config"
	"writ/internal/database"
	"writ/internal/decision"
	"writ/internal/enforcement"
	"writ/internal/execution"
	"writ/internal/forwarding"
	"writ/internal/intent"
	"writ/internal/keyring"
	"writ/internal/mail"
	"writ/internal/notification"
	"writ/internal/notification/webhook"
	"writ/internal/organization"
	"writ/internal/outbound"
	"writ/internal/policy"
	"writ/internal/policy/drafting"
	"writ/internal/policy/drafting/model"
	"writ/internal/projection"
	"writ/internal/replay"
	"writ/internal/secret"
	"writ/internal/telemetry"
	"writ/internal/throttle"
)

// Options are what an operator decides, and what tests replace.
type Options struct {
	Config  config.Config
	Logger  *slog.Logger
	Version string
	Now     func() time.Time // time.Now unless a test sets the clock
}

// Areas are the assembled services.
type Areas struct {
	Database      *database.DB
	Keyring       *keyring.Ring
	Audit         *audit.Service
	Auth          *auth.Service
	Federation    *federation.Service
	Organizations *organization.Service
	Keys          *apikey.Service
	Limiter       *throttle.Limiter
	TelemetryDB   *database.DB
	Telemetry     *telemetry.Service
	Policies      *policy.Service
	Intent        *intent.Service
	Approvals     *approval.Service
	Enforcement   *enforcement.Service
	Executions    *execution.Service
	Notifications *notification.Service
	Webhooks      *webhook.Service
	Forwarding    *forwarding.Service
	Replays       *replay.Service
	Drafts        *drafting.Author

	projector *projection.Projector
	outbound  *outbound.Client
	model     *model.Client // nil: words choose templates
	outgoing  *mail.Queue
}

// Open builds the areas on the configured database. Mails wait until Start
// delivers them.
func Open(ctx context.Context, o Options, publicURL string) (*Areas, error) {
	c := o.Config
	if err := makeDataDir(c.DataDir); err != nil {
		return nil, err
	}
	if err := refuseInterruptedRestore(c); err != nil {
		return nil, err
	}
	sealer, err := openSealer(c)
	if err != nil {
		return nil, err
	}
	sender, err := newSender(c, o.Logger, o.Now)
	if err != nil {
		return nil, err
	}
	db, err := database.Open(ctx, databaseOptions(o))
	if err != nil {
		return nil, err
	}
	outgoing := mail.NewQueue(sender, o.Logger)
	var post mail.Sender = outgoing
	if none, ok := sender.(mail.None); ok {
		post = none // refuses at once, where a queue would accept and fail later
	}
	areas := &Areas{Database: db, outgoing: outgoing}
	// A wrong master key must stop the server here, not the first sign-in.
	if err := keyring.Check(ctx, db, sealer); err != nil {
		return nil, errors.Join(err, areas.Close())
	}
	recent := decision.NewRecent()
	log, err := audit.Open(ctx, db, checkpointKeys(db, sealer), recent)
	if err != nil {
		return nil, errors.Join(err, areas.Close())
	}
	if err := areas.openTelemetry(ctx, o); err != nil {
		return nil, errors.Join(err, areas.Close())
	}
	areas.Audit = audit.New(log, eraseCopies)
	areas.Keyring = keyring.New(db, log, sealer)
	areas.Auth = auth.New(db, log, areas.Keyring, post, publicURL)
	areas.Organizations = organization.New(db, log, post, publicURL)
	areas.Keys = apikey.New(db, log, o.Logger)
	areas.Limiter = throttle.New(db)
	areas.Policies = policy.New(db, log, spending{areas.Telemetry})
	areas.Intent = intent.New(db, log, areas.Keyring, sealer)
	areas.Executions = execution.New(db, log, outcomes{areas.Intent, areas.Keys, db.Now}.sources())
	areas.projector = projection.New(db, areas.Telemetry, recent)
	areas.Approvals = approval.New(db, log, approval.Sources{
		Approvers: organization.CountApprovers, Role: organization.RoleOf, Address: organization.Address,
		Digest: outcomes{plans: areas.Intent}.digest,
	})
	areas.Enforcement = enforcement.New(db, log, areas.Policies, areas.Intent,
		areas.Approvals, areas.Organizations, areas.Keys, o.Logger)
	areas.outbound = outbound.New(outbound.Options{Permits: o.Config.OutboundAllow})
	areas.openNotifications(log, sealer, post, publicURL)
	areas.Forwarding = forwarding.New(forwarding.Options{
		Database:  db,
		Log:       log,
		Telemetry: areas.Telemetry,
		Sealer:    sealer,
		Poster:    areas.outbound,
		Version:   o.Version,
	})
	areas.openFederation(c, log, sealer, publicURL)
	areas.openReplays()
	if err := areas.openDrafting(c.Draft, c.OutboundAllow); err != nil {
		return nil, errors.Join(err, areas.Close())
	}
	return areas, nil
}

// openSignIn builds what lets people sign in with an account elsewhere.
func (a *Areas) openFederation(c config.Config, log *audit.Log, sealer *secret.Sealer, publicURL string) {
	a.Federation = federation.New(federation.Options{
		Database:  a.Database,
		Log:       log,
		Sealer:    sealer,
		Auth:      a.Auth,
		Web:       a.outbound,
		PublicURL: publicURL,
		Members:   federation.Members{Role: organization.RoleFrom, Join: a.Organizations.Join},
		Keys:      a.Keys,
		Google:    federation.Google{Issuer: c.GoogleIssuer, ClientID: c.GoogleClientID, Secret: c.GoogleClientSecret},
		OpenToAll: c.SignUp == config.SignUpOpen,
	})
}

// checkpointKeys gives the audit log, which the ring itself writes to, its key.
func checkpointKeys(db *database.DB, sealer *secret.Sealer) audit.KeySource {
	return func(ctx context.Context, log *audit.Log) (ed25519.PrivateKey, error) {
		key, err := keyring.New(db, log, sealer).Current(ctx, keyring.Checkpoint)
		return key.Private, err
	}
}

// Prices are those of a file, or the built-in ones where none is named.
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

// openTelemetry opens the store that bulk goes to.
func (a *Areas) openTelemetry(ctx context.Context, o Options) (err error) {
	prices, err := Prices(o.Config.PricesFile)
	if err != nil {
		return fmt.Errorf("WRIT_PRICES_FILE: %w", err)
	}
	if a.TelemetryDB, err = database.Open(ctx, telemetryOptions(o)); err != nil {
		return fmt.Errorf("open the telemetry store: %w", err)
	}
	a.Telemetry, err = telemetry.New(ctx, telemetry.Config{
		Database:    a.TelemetryDB,
		Prices:      prices,
		Logger:      o.Logger,
		SessionIdle: o.Config.SessionIdle,
		Retention:   o.Config.Retention,
	})
	return err
}

// Close closes the databases and what is open to others.
func (a *Areas) Close() error {
	if a.outbound != nil {
		a.outbound.Close()
	}
	if a.model != nil {
		a.model.Close()
	}
	if a.TelemetryDB == nil {
		return a.Database.Close()
	}
	return errors.Join(a.TelemetryDB.Close(), a.Database.Close())
}

// telemetryOptions say where bulk goes: a file or schema of its own beside the
// rest, or another server.
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
	}
}

func databasePath(c config.Config) string { return filepath.Join(c.DataDir, "writ.db") }

// newSender chooses where mail goes: to a mail server, to a folder outside
// production, else nowhere, and then whoever needs mail is told so.
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
