package api_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"writ/client"
	"writ/internal/apikey"
	"writ/internal/app"
	"writ/internal/audit"
	"writ/internal/auth"
	"writ/internal/config"
	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/mail"
	"writ/internal/principal"
	"writ/internal/secret"
)

// server is the whole application on a free port, with a clock that a test can
// move and a folder that takes its mails.
type server struct {
	*app.Server
	t      *testing.T
	public *client.Client // without credentials
	config config.Config
	offset *atomic.Int64 // nanoseconds the clock is ahead
}

// each runs the body against a server on each database. Settings are further
// environment variables, in pairs.
func each(t *testing.T, body func(t *testing.T, s *server), settings ...string) {
	t.Helper()
	dbtest.EachOptions(t, func(t *testing.T, o database.Options) {
		body(t, start(t, o, settings...))
	})
}

// start serves on the database until the test ends.
func start(t *testing.T, o database.Options, settings ...string) *server {
	t.Helper()
	environment := map[string]string{
		"PORT":          "0",
		"WRIT_DATA_DIR": t.TempDir(),
		"DATABASE_URL":  o.PostgresURL,
		// PostgreSQL wants one; any will do.
		"WRIT_MASTER_KEY": strings.Repeat("5a", 32),
	}
	for i := 0; i < len(settings); i += 2 {
		environment[settings[i]] = settings[i+1]
	}
	var environ []string
	for _, name := range slices.Sorted(maps.Keys(environment)) {
		environ = append(environ, name+"="+environment[name])
	}
	c, err := config.Load(environ, os.ReadFile)
	if err != nil {
		t.Fatalf("configuration: %v", err)
	}
	if !c.UsesPostgres() {
		dbtest.MigratedSQLite(t, filepath.Join(c.DataDir, "writ.db"), database.Main)
		dbtest.MigratedSQLite(t, filepath.Join(c.DataDir, "telemetry.db"), database.Telemetry)
	}
	s := &server{t: t, config: c, offset: new(atomic.Int64)}
	s.Server, err = app.Start(t.Context(), app.Options{
		Config: c, Logger: slog.New(slog.DiscardHandler), Version: "test",
		Now: func() time.Time { return time.Now().Add(time.Duration(s.offset.Load())) },
	})
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
		// testing keeps this function for as long as the whole program runs, and
		// must not keep hundreds of servers with it.
		s.Server = nil
	})
	s.public = &client.Client{BaseURL: "http://" + s.Address}
	return s
}

// advance moves the server's clock.
func (s *server) advance(d time.Duration) { s.offset.Add(int64(d)) }

// knownPassword is that of every person made by person.
const knownPassword = "correct horse battery"

// knownHash is that of knownPassword, as cheap as a hash can be: a hash says what it
// costs to check, and most tests sign somebody in. That new ones cost what they
// must is for the tests of auth to say.
var knownHash = sync.OnceValues(func() (string, error) {
	return secret.HashPassword(knownPassword, secret.PasswordCost{Memory: 8, Iterations: 1, Threads: 1}), nil
})

// person is someone with a verified account who is signed in.
type person struct {
	*client.Client
	ID     string
	Email  string
	Tokens client.Tokens
}

// person makes a verified account and signs in.
func (s *server) person(name string) *person {
	s.t.Helper()
	hash, err := knownHash()
	if err != nil {
		s.t.Fatal(err)
	}
	user := auth.User{
		ID: database.NewID(), Email: fmt.Sprintf("%s.%s@example.org", name, secret.Digits(8).Reveal()), Name: name,
	}
	err = s.Database.Write(s.t.Context(), database.Change{Logs: []string{audit.System}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
		now := tx.Now()
		user.VerifiedAt = &now
		return s.Auth.AddUser(ctx, tx, principal.Operator(), &user, hash)
	}})
	if err != nil {
		s.t.Fatalf("make %s: %v", name, err)
	}
	return s.signIn(user.Email)
}

func (s *server) signIn(email string) *person {
	s.t.Helper()
	in, err := s.public.Login(s.t.Context(), email, knownPassword)
	if err != nil {
		s.t.Fatalf("sign in as %s: %v", email, err)
	}
	return &person{Client: s.public.As(in.AccessToken), ID: in.User.ID, Email: email, Tokens: in.Tokens}
}

// organization makes an organization owned by p.
func (s *server) organization(p *person, name string) string {
	s.t.Helper()
	org, err := p.CreateOrganization(s.t.Context(), name)
	if err != nil {
		s.t.Fatalf("create %s: %v", name, err)
	}
	return org.ID
}

// join makes a person with a role in an organization, by invitation.
func (s *server) join(owner *person, orgID, role string) *person {
	s.t.Helper()
	p := s.person(role)
	if _, err := owner.Invite(s.t.Context(), orgID, p.Email, role); err != nil {
		s.t.Fatalf("invite a %s: %v", role, err)
	}
	if _, err := p.AcceptInvite(s.t.Context(), s.tokenFor(p.Email)); err != nil {
		s.t.Fatalf("accept as %s: %v", role, err)
	}
	return p
}

// terminalKey is a key as signing in from a terminal issues it.
func (s *server) terminalKey(p *person, orgID string) *client.Client {
	s.t.Helper()
	var issued apikey.Issued
	err := s.Database.Write(s.t.Context(), database.Change{Logs: []string{audit.LogOf(orgID)}, Do: func(
		ctx context.Context, tx *database.Tx,
	) (err error) {
		issued, err = s.Keys.Add(ctx, tx, principal.Operator(), p.ID, apikey.NewKey{
			Name: "terminal", OrgID: orgID, Scopes: append(principal.DefaultScopes(), principal.CLI),
		})
		return err
	}})
	if err != nil {
		s.t.Fatalf("issue a terminal key: %v", err)
	}
	return s.public.WithKey(issued.Secret.Reveal())
}

// agentKey is a key with default scopes in an organization.
func (s *server) agentKey(p *person, orgID string) client.IssuedKey {
	s.t.Helper()
	key, err := p.CreateKey(s.t.Context(), client.NewKey{Name: "agent", OrganizationID: orgID})
	if err != nil {
		s.t.Fatalf("create a key: %v", err)
	}
	return key
}

// mails waits for n mails to an address, oldest first.
func (s *server) mails(to string, n int) []mail.Message {
	s.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		all, err := mail.ReadOutbox(app.OutboxDir(s.config))
		if err != nil {
			s.t.Fatalf("read the outbox: %v", err)
		}
		var theirs []mail.Message
		for _, m := range all {
			if m.To == to {
				theirs = append(theirs, m)
			}
		}
		if len(theirs) >= n {
			return theirs
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("%d mails to %s, want %d", len(theirs), to, n)
		}
	}
}

// tokenFor is the token in the link of the last mail to an address.
func (s *server) tokenFor(email string) string {
	s.t.Helper()
	text := s.lastMail(email)
	_, rest, found := strings.Cut(text, "token=")
	if !found {
		s.t.Fatalf("no token in the mail to %s", email)
	}
	return strings.Fields(rest)[0]
}

// codeFor is the six-digit code in the last mail to an address.
func (s *server) codeFor(email string) string {
	s.t.Helper()
	text := s.lastMail(email)
	_, rest, found := strings.Cut(text, "code is ")
	if !found {
		s.t.Fatalf("no code in the mail to %s", email)
	}
	return rest[:6]
}

func (s *server) lastMail(email string) string {
	s.t.Helper()
	mails := s.mails(email, 1)
	return mails[len(mails)-1].Text
}

// recorded are the actions in a log, oldest first.
func (s *server) recorded(log string) []string {
	s.t.Helper()
	entries, err := audit.ReadEntries(s.t.Context(), s.Database, log, 0, 10_000)
	if err != nil {
		s.t.Fatalf("read log %s: %v", log, err)
	}
	var actions []string
	for _, e := range entries {
		actions = append(actions, e.Action)
	}
	return actions
}

// wantStatus checks that a call failed with a status.
func wantStatus(t *testing.T, what string, err error, status int) {
	t.Helper()
	if got := client.StatusOf(err); got != status {
		t.Errorf("%s: %v, want status %d", what, err, status)
	}
}
