package auth_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"writ/internal/audit"
	"writ/internal/auth"
	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/fault"
	"writ/internal/keyring"
	"writ/internal/mail"
	"writ/internal/principal"
	"writ/internal/secret"
)

const password = "correct horse battery"

// knownHash is that of password, made once to save time.
var knownHash = sync.OnceValues(func() (string, error) {
	return auth.NewPasswords().Hash(context.Background(), password)
})

// post takes mails, or fails to.
type post struct {
	mu   sync.Mutex // guards the rest
	sent []mail.Message
	fail error
}

func (p *post) Send(_ context.Context, m mail.Message) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fail != nil {
		return p.fail
	}
	p.sent = append(p.sent, m)
	return nil
}

func (p *post) breakDown(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fail = err
}

// to are the mails to an address, oldest first.
func (p *post) to(email string) (theirs []mail.Message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.sent {
		if m.To == email {
			theirs = append(theirs, m)
		}
	}
	return theirs
}

// env is a service on an empty database, with a clock that stands still until
// it is moved.
type env struct {
	t       *testing.T
	db      *database.DB
	service *auth.Service
	post    *post
	clock   *atomic.Int64 // microseconds
	options database.Options
}

func each(t *testing.T, body func(t *testing.T, e *env)) {
	t.Helper()
	dbtest.EachOptions(t, func(t *testing.T, o database.Options) {
		clock := new(atomic.Int64)
		clock.Store(database.Micros(time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)))
		o.Now = func() time.Time { return database.Time(clock.Load()) }
		e := &env{t: t, post: &post{}, clock: clock, options: o}
		e.db, e.service = e.replica()
		// The server makes its signing key when it starts.
		if _, err := e.service.PublicKeys(t.Context()); err != nil {
			t.Fatalf("make the signing key: %v", err)
		}
		body(t, e)
	})
}

// replica is another server on the same database.
func (e *env) replica() (*database.DB, *auth.Service) {
	e.t.Helper()
	sealer, err := secret.NewSealer(bytes.Repeat([]byte{7}, secret.MasterKeySize))
	if err != nil {
		e.t.Fatal(err)
	}
	db := dbtest.Open(e.t, e.options)
	log := audit.Unsigned(db)
	return db, auth.New(db, log, keyring.New(db, log, sealer), e.post, "https://writ.example.org")
}

func (e *env) pass(d time.Duration) { e.clock.Add(d.Microseconds()) }

// add stores an account.
func (e *env) add(email string, verified bool) (auth.User, error) {
	e.t.Helper()
	hash, err := knownHash()
	if err != nil {
		e.t.Fatal(err)
	}
	user := auth.User{ID: database.NewID(), Email: email, Name: "name"}
	return user, e.db.Write(e.t.Context(), database.Change{Logs: []string{audit.System}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
		if now := tx.Now(); verified {
			user.VerifiedAt = &now
		}
		return e.service.AddUser(ctx, tx, principal.Operator(), &user, hash)
	}})
}

// account is add that must work.
func (e *env) account(email string, verified bool) auth.User {
	e.t.Helper()
	user, err := e.add(email, verified)
	if err != nil {
		e.t.Fatalf("add %s: %v", email, err)
	}
	return user
}

func (e *env) login(email string) auth.Tokens {
	e.t.Helper()
	_, tokens, err := e.service.Login(e.t.Context(), email, secret.NewText(password), auth.Device{Address: "192.0.2.1"})
	if err != nil {
		e.t.Fatalf("sign in as %s: %v", email, err)
	}
	return tokens
}

// caller is who an access token belongs to.
func (e *env) caller(tokens auth.Tokens) principal.Principal {
	e.t.Helper()
	p, err := e.service.Authenticate(e.t.Context(), tokens.Access.Reveal())
	if err != nil {
		e.t.Fatalf("authenticate: %v", err)
	}
	return p
}

// code has a code mailed and gives it.
func (e *env) code(email string) string {
	e.t.Helper()
	if err := e.service.ResendOTP(e.t.Context(), email); err != nil {
		e.t.Fatalf("send a code: %v", err)
	}
	return e.inLastMail(email, "code is ")[:6]
}

// link has a reset link mailed and gives its token.
func (e *env) link(email string) secret.Text {
	e.t.Helper()
	if err := e.service.ForgotPassword(e.t.Context(), email); err != nil {
		e.t.Fatalf("send a link: %v", err)
	}
	return secret.NewText(strings.Fields(e.inLastMail(email, "https://writ.example.org/ui/reset-password?token="))[0])
}

func (e *env) inLastMail(email, mark string) string {
	e.t.Helper()
	mails := e.post.to(email)
	if len(mails) == 0 {
		e.t.Fatalf("no mail to %s", email)
	}
	_, rest, found := strings.Cut(mails[len(mails)-1].Text, mark)
	if !found {
		e.t.Fatalf("no %q in the last mail to %s", mark, email)
	}
	return rest
}

func (e *env) exec(query string, args ...any) {
	e.t.Helper()
	err := e.db.Write(e.t.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.Exec(ctx, query, args...)
		return err
	}})
	if err != nil {
		e.t.Fatalf("%s: %v", query, err)
	}
}

func (e *env) count(query string, args ...any) (n int) {
	e.t.Helper()
	if err := e.db.QueryRow(e.t.Context(), query, args...).Scan(&n); err != nil {
		e.t.Fatalf("%s: %v", query, err)
	}
	return n
}

// actions are what the system log holds, oldest first.
func (e *env) actions() (actions []string) {
	e.t.Helper()
	entries, err := audit.ReadEntries(e.t.Context(), e.db, audit.System, 0, 1000)
	if err != nil {
		e.t.Fatal(err)
	}
	for _, entry := range entries {
		actions = append(actions, entry.Action)
	}
	return actions
}

// rows are all rows of our tables and of the log's head, as text.
func (e *env) rows() map[string][]string {
	e.t.Helper()
	all := map[string][]string{}
	for _, table := range []string{
		"user_account", "user_session", "refresh_token", "mail_code", "device_login", "audit_head",
	} {
		rows, err := e.db.Query(e.t.Context(), `SELECT * FROM `+table+` ORDER BY 1`)
		if err != nil {
			e.t.Fatalf("read %s: %v", table, err)
		}
		defer rows.Close()
		columns, err := rows.Columns()
		if err != nil {
			e.t.Fatal(err)
		}
		for rows.Next() {
			values := make([]any, len(columns))
			targets := make([]any, len(columns))
			for i := range values {
				targets[i] = &values[i]
			}
			if err := rows.Scan(targets...); err != nil {
				e.t.Fatal(err)
			}
			all[table] = append(all[table], fmt.Sprintf("%q", values))
		}
		if err := rows.Err(); err != nil {
			e.t.Fatal(err)
		}
	}
	return all
}

// atOnce runs all at the same time.
func atOnce(do ...func() error) []error {
	errs := make([]error, len(do))
	var all sync.WaitGroup
	begin := make(chan struct{})
	for i := range do {
		all.Go(func() {
			<-begin
			errs[i] = do[i]()
		})
	}
	close(begin)
	all.Wait()
	return errs
}

func wantKind(t *testing.T, what string, err error, kind fault.Kind) {
	t.Helper()
	if !fault.Is(err, kind) {
		t.Errorf("%s: %v, want a fault of kind %s", what, err, kind)
	}
}
