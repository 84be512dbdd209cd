// Package testserver runs the whole application for tests of its HTTP interface: on
// a free port, on each database, with a clock that a test can move.
package testserver

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
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

// Server is the whole application on a free port, with a clock that a test can
// move and a folder that takes its mails.
type Server struct {
	*app.Server
	T      *testing.T
	Public *client.Client // without credentials
	Config config.Config
	Offset *atomic.Int64 // nanoseconds the clock is ahead
}

// Each runs the body against a server on each database. Settings are further
// environment variables, in pairs.
func Each(t *testing.T, body func(t *testing.T, s *Server), settings ...string) {
	t.Helper()
	dbtest.EachOptions(t, func(t *testing.T, o database.Options) {
		body(t, Start(t, o, settings...))
	})
}

// Start serves on the database until the test ends, without the dashboard.
func Start(t *testing.T, o database.Options, settings ...string) *Server {
	t.Helper()
	return StartWith(t, o, nil, settings...)
}

// StartWith serves with these files as the dashboard.
func StartWith(t *testing.T, o database.Options, dashboard fs.FS, settings ...string) *Server {
	t.Helper()
	c, err := config.Load(environ(t, o, settings), os.ReadFile)
	if err != nil {
		t.Fatalf("configuration: %v", err)
	}
	if !c.UsesPostgres() {
		dbtest.MigratedSQLite(t, filepath.Join(c.DataDir, "writ.db"), database.Main)
		dbtest.MigratedSQLite(t, filepath.Join(c.DataDir, "telemetry.db"), database.Telemetry)
	}
	s := &Server{T: t, Config: c, Offset: new(atomic.Int64)}
	s.Server, err = app.Start(t.Context(), app.Options{
		Config:      c,
		Logger:      slog.New(slog.DiscardHandler),
		Version:     "test",
		Now:         func() time.Time { return time.Now().Add(time.Duration(s.Offset.Load())) },
		ChangeLimit: o.ChangeLimit,
		Dashboard:   dashboard,
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
	s.Public = &client.Client{
		BaseURL: "http://" + s.Address, HTTP: &http.Client{Transport: s.transport(http.DefaultTransport)},
	}
	return s
}

// environ is the environment of a server on the test's database, with settings of the
// test's own (name, value, name, value).
func environ(t *testing.T, o database.Options, settings []string) (all []string) {
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
	for _, name := range slices.Sorted(maps.Keys(environment)) {
		all = append(all, name+"="+environment[name])
	}
	return all
}

// Advance moves the server's clock.
func (s *Server) Advance(d time.Duration) { s.Offset.Add(int64(d)) }

// Password is that of every person whom Person makes.
const Password = "correct horse battery"

// PasswordHash is the hash of Password, as cheap as a hash can be: a hash says what it
// costs to check, and most tests sign somebody in. That new ones cost what they
// must is for the tests of auth to say.
var PasswordHash = sync.OnceValues(func() (string, error) {
	return secret.HashPassword(Password, secret.PasswordCost{Memory: 8, Iterations: 1, Threads: 1}), nil
})

// Person is someone with a verified account who is signed in.
type Person struct {
	*client.Client
	ID     string
	Email  string
	Tokens client.Tokens
}

// Person makes a verified account and signs in.
func (s *Server) Person(name string) *Person {
	s.T.Helper()
	hash, err := PasswordHash()
	if err != nil {
		s.T.Fatal(err)
	}
	user := auth.User{
		ID: database.NewID(), Email: fmt.Sprintf("%s.%s@example.org", name, secret.Digits(8).Reveal()), Name: name,
	}
	err = s.Database.Write(s.T.Context(), database.Change{Logs: []string{audit.System}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
		now := tx.Now()
		user.VerifiedAt = &now
		return s.Auth.AddUser(ctx, tx, principal.Operator(), &user, hash)
	}})
	if err != nil {
		s.T.Fatalf("make %s: %v", name, err)
	}
	return s.SignIn(user.Email)
}

// SignIn signs a person in whom Person made.
func (s *Server) SignIn(email string) *Person {
	s.T.Helper()
	in, err := s.Public.Login(s.T.Context(), email, Password)
	if err != nil {
		s.T.Fatalf("sign in as %s: %v", email, err)
	}
	return &Person{Client: s.Public.As(in.AccessToken), ID: in.User.ID, Email: email, Tokens: in.Tokens}
}

// Organization makes an organization owned by p.
func (s *Server) Organization(p *Person, name string) string {
	s.T.Helper()
	org, err := p.CreateOrganization(s.T.Context(), name)
	if err != nil {
		s.T.Fatalf("create %s: %v", name, err)
	}
	return org.ID
}

// Join makes a person with a role in an organization, by invitation.
func (s *Server) Join(owner *Person, orgID, role string) *Person {
	s.T.Helper()
	p := s.Person(role)
	if _, err := owner.Invite(s.T.Context(), orgID, p.Email, role); err != nil {
		s.T.Fatalf("invite a %s: %v", role, err)
	}
	if _, err := p.AcceptInvite(s.T.Context(), s.TokenFor(p.Email)); err != nil {
		s.T.Fatalf("accept as %s: %v", role, err)
	}
	return p
}

// TerminalKey is a key as signing in from a terminal issues it.
func (s *Server) TerminalKey(p *Person, orgID string) *client.Client {
	s.T.Helper()
	var issued apikey.Issued
	err := s.Database.Write(s.T.Context(), database.Change{Logs: []string{audit.LogOf(orgID)}, Do: func(
		ctx context.Context, tx *database.Tx,
	) (err error) {
		issued, err = s.Keys.Add(ctx, tx, principal.Operator(), p.ID, apikey.NewKey{
			Name: "terminal", OrgID: orgID, Scopes: principal.TerminalScopes(),
		})
		return err
	}})
	if err != nil {
		s.T.Fatalf("issue a terminal key: %v", err)
	}
	return s.Public.WithKey(issued.Secret.Reveal())
}

// AgentKey is a key with default scopes in an organization.
func (s *Server) AgentKey(p *Person, orgID string) client.IssuedKey {
	s.T.Helper()
	key, err := p.CreateKey(s.T.Context(), client.NewKey{Name: "agent", OrganizationID: orgID})
	if err != nil {
		s.T.Fatalf("create a key: %v", err)
	}
	return key
}

// Mails waits for n mails to an address, oldest first.
func (s *Server) Mails(to string, n int) []mail.Message {
	s.T.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		all, err := mail.ReadOutbox(app.OutboxDir(s.Config))
		if err != nil {
			s.T.Fatalf("read the outbox: %v", err)
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
			s.T.Fatalf("%d mails to %s, want %d", len(theirs), to, n)
		}
	}
}

// TokenFor is the token in the link of the last mail to an address.
func (s *Server) TokenFor(email string) string {
	s.T.Helper()
	text := s.LastMail(email)
	_, rest, found := strings.Cut(text, "token=")
	if !found {
		s.T.Fatalf("no token in the mail to %s", email)
	}
	return strings.Fields(rest)[0]
}

// CodeFor is the six-digit code in the last mail to an address.
func (s *Server) CodeFor(email string) string {
	s.T.Helper()
	text := s.LastMail(email)
	_, rest, found := strings.Cut(text, "code is ")
	if !found {
		s.T.Fatalf("no code in the mail to %s", email)
	}
	return rest[:6]
}

// LastMail is the text of the last mail to an address.
func (s *Server) LastMail(email string) string {
	s.T.Helper()
	mails := s.Mails(email, 1)
	return mails[len(mails)-1].Text
}

// Recorded are the actions in a log, oldest first.
func (s *Server) Recorded(log string) []string {
	s.T.Helper()
	entries, err := audit.ReadEntries(s.T.Context(), s.Database, log, 0, 10_000)
	if err != nil {
		s.T.Fatalf("read log %s: %v", log, err)
	}
	var actions []string
	for _, e := range entries {
		actions = append(actions, e.Action)
	}
	return actions
}

// WantStatus checks that a call failed with a status.
func WantStatus(t *testing.T, what string, err error, status int) {
	t.Helper()
	if got := client.StatusOf(err); got != status {
		t.Errorf("%s: %v, want status %d", what, err, status)
	}
}

// MetricsToken is a token for /metrics, as WRIT_METRICS_TOKEN takes it.
const MetricsToken = "0123456789abcdef-metrics"

// Now is the server's time.
func (s *Server) Now() time.Time { return time.Now().Add(time.Duration(s.Offset.Load())).UTC() }

// Ago is an instant before the server's present, as clients write it.
func (s *Server) Ago(d time.Duration) string { return s.Now().Add(-d).Format(time.RFC3339Nano) }
