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
	ring := keyring.New(db, sealer)
	areas := &Areas{
		Database:      db,
		Keyring:       ring,
		Auth:          auth.New(db, ring, post, publicURL),
		Organizations: organization.New(db, post, publicURL),
		Keys:          apikey.New(db, o.Logger),
		Limiter:       throttle.New(db),
		outgoing:      outgoing,
	}
	// A wrong master key must stop the server here, not the first sign-in.
	if _, err := ring.Current(ctx, keyring.AccessToken); err != nil {
		if errors.Is(err, secret.ErrSealBroken) {
			err = fmt.Errorf("the master key is not the one this database was sealed with: %w", err)
		}
		return nil, errors.Join(err, areas.Close())
	}
	if areas.Audit, err = audit.Open(ctx, db, checkpointKeys(ring)); err != nil {
		return nil, errors.Join(err, areas.Close())
	}
	if err := areas.openTelemetry(ctx, o); err != nil {
		return nil, errors.Join(err, areas.Close())
	}
	areas.Policies = policy.New(db, spending{areas.Telemetry})
	areas.Audit.AlsoErase(eraseCopies)
	areas.Intent = intent.New(db, ring, sealer)
	areas.Executions = execution.New(db, outcomes{areas.Intent, areas.Keys, db.Now}.sources())
	areas.projector = projection.New(db, areas.Telemetry)
	areas.Enforcement = enforcement.New(db, areas.Policies, areas.Intent, areas.Organizations, areas.Keys, o.Logger)
	areas.Approvals = approval.New(db, approval.Sources{
		Approvers: organization.CountApprovers, Role: organization.RoleOf, Address: organization.Address,
		Digest: outcomes{plans: areas.Intent}.digest, Denies: areas.Enforcement.Denies,
		Record: areas.Enforcement.RecordRelease,
	})
	areas.outbound = outbound.New(outbound.Options{Permits: o.Config.OutboundAllow})
	areas.openNotifications(sealer, post, publicURL)
	areas.Forwarding = forwarding.New(forwarding.Options{
		Database:  db,
		Telemetry: areas.Telemetry,
		Sealer:    sealer,
		Poster:    areas.outbound,
		Version:   o.Version,
	})
	areas.openFederation(c, sealer, publicURL)
	areas.openReplays()
	if err := areas.openDrafting(c.Draft, c.OutboundAllow); err != nil {
		return nil, errors.Join(err, areas.Close())
	}
	return areas, nil
}

// openSignIn builds what lets people sign in with an account elsewhere.
func (a *Areas) openFederation(c config.Config, sealer *secret.Sealer, publicURL string) {
	a.Federation = federation.New(federation.Options{
		Database:  a.Database,
		Sealer:    sealer,
		Auth:      a.Auth,
		Web:       a.outbound,
		PublicURL: publicURL,
		Members:   federation.Members{Role: organization.RoleIn, Join: organization.Join},
		Keys:      a.Keys,
		Google:    federation.Google{Issuer: c.GoogleIssuer, ClientID: c.GoogleClientID, Secret: c.GoogleClientSecret},
		OpenToAll: c.SignUp == config.SignUpOpen,
	})
}

// checkpointKeys gives the audit log, which the ring itself writes to, its key.
func checkpointKeys(ring *keyring.Ring) audit.KeySource {
	return func(ctx context.Context) (ed25519.PrivateKey, error) {
		key, err := ring.Current(ctx, keyring.Checkpoint)
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
