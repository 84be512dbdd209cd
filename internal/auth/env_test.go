package auth_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"writ/internal/audit"
	"writ/internal/auth"
	"writ/internal/database"
	"writ/internal/keyring"
	"writ/internal/mail"
	"writ/internal/principal"
	"writ/internal/secret"
	"writ/internal/testenv"
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

// env is a service on an empty database.
type env struct {
	*testenv.Env
	service *auth.Service
	post    *post
}

func each(t *testing.T, body func(t *testing.T, e *env)) {
	t.Helper()
	testenv.Each(t, func(t *testing.T, base *testenv.Env) {
		e := &env{Env: base, post: &post{}}
		e.service = e.serviceOn(e.DB)
		// The server makes its signing key when it starts.
		if _, err := e.service.PublicKeys(t.Context()); err != nil {
			t.Fatalf("make the signing key: %v", err)
		}
		body(t, e)
	})
}

// replica is another server on the same database.
func (e *env) replica() (*database.DB, *auth.Service) {
	e.T.Helper()
	db := e.Replica().DB
	return db, e.serviceOn(db)
}

func (e *env) serviceOn(db *database.DB) *auth.Service {
	e.T.Helper()
	log := audit.Unsigned(db)
	return auth.New(db, log, keyring.New(db, log, testenv.Sealer(e.T, 7)), testenv.Sealer(e.T, 7), e.post,
		"https://writ.example.org", noTerminals{})
}

// noTerminals have no keys. Those that have are tested with the routes.
type noTerminals struct{}

func (noTerminals) LogsOf(context.Context, *database.Tx, string, string) ([]string, error) {
	return nil, nil
}

func (noTerminals) End(context.Context, *database.Tx, principal.Principal, string, string) error {
	return nil
}

func (noTerminals) Forget() {}

// add stores an account.
func (e *env) add(email string, verified bool) (auth.User, error) {
	e.T.Helper()
	hash, err := knownHash()
	if err != nil {
		e.T.Fatal(err)
	}
	user := auth.User{ID: database.NewID(), Email: email, Name: "name"}
	return user, e.DB.Write(e.T.Context(), database.Change{Logs: []string{audit.System}, Do: func(
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
	e.T.Helper()
	user, err := e.add(email, verified)
	if err != nil {
		e.T.Fatalf("add %s: %v", email, err)
	}
	return user
}

func (e *env) login(email string) auth.Tokens {
	e.T.Helper()
	_, tokens, err := e.service.Login(e.T.Context(), email, secret.NewText(password), auth.Device{Address: "192.0.2.1"})
	if err != nil {
		e.T.Fatalf("sign in as %s: %v", email, err)
	}
	return tokens
}

// caller is who an access token belongs to.
func (e *env) caller(tokens auth.Tokens) principal.Principal {
	e.T.Helper()
	p, err := e.service.Authenticate(e.T.Context(), tokens.Access.Reveal())
	if err != nil {
		e.T.Fatalf("authenticate: %v", err)
	}
	return p
}

// code has a code mailed and gives it.
func (e *env) code(email string) string {
	e.T.Helper()
	if err := e.service.ResendOTP(e.T.Context(), email); err != nil {
		e.T.Fatalf("send a code: %v", err)
	}
	return e.inLastMail(email, "code is ")[:6]
}

// link has a reset link mailed and gives its token.
func (e *env) link(email string) secret.Text {
	e.T.Helper()
	if err := e.service.ForgotPassword(e.T.Context(), email); err != nil {
		e.T.Fatalf("send a link: %v", err)
	}
	return secret.NewText(strings.Fields(e.inLastMail(email, "https://writ.example.org/ui/reset-password?token="))[0])
}

func (e *env) inLastMail(email, mark string) string {
	e.T.Helper()
	mails := e.post.to(email)
	if len(mails) == 0 {
		e.T.Fatalf("no mail to %s", email)
	}
	_, rest, found := strings.Cut(mails[len(mails)-1].Text, mark)
	if !found {
		e.T.Fatalf("no %q in the last mail to %s", mark, email)
	}
	return rest
}

// actions are what the system log holds, oldest first.
func (e *env) actions() []string {
	e.T.Helper()
	return e.Actions(audit.System)
}

// rows are all rows of our tables and of the log's head, as text.
func (e *env) rows() map[string][]string {
	e.T.Helper()
	return e.Rows("user_account", "user_session", "refresh_token", "mail_code", "device_login", "second_factor",
		"recovery_code", "login_challenge", "audit_head")
}
