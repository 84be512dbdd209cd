package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/client"
	"writ/internal/audit"
	"writ/internal/auth"
	"writ/internal/database"
	"writ/internal/principal"
	"writ/internal/secret"
)

// wire is the transport of a client that adds headers to requests and keeps
// the last answer, for what the client itself does not show. It serves one
// request at a time.
type wire struct {
	headers map[string]string

	status int
	header http.Header
	body   []byte
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, value := range w.headers {
		r.Header.Set(name, value)
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if w.body, err = io.ReadAll(response.Body); err != nil {
		return nil, err
	}
	w.status, w.header = response.StatusCode, response.Header
	response.Body = io.NopCloser(bytes.NewReader(w.body))
	return response, nil
}

// answer is the last one without what differs from request to request.
func (w *wire) answer(t *testing.T) map[string]any {
	t.Helper()
	answer := map[string]any{"status": w.status}
	for name, values := range w.header {
		answer[name] = strings.Join(values, "\n")
	}
	delete(answer, "X-Request-Id")
	delete(answer, "Date")
	var body map[string]any
	if err := json.Unmarshal(w.body, &body); err != nil {
		t.Fatalf("body %q: %v", w.body, err)
	}
	if body["requestId"] == "" || body["requestId"] != w.header.Get("X-Request-Id") {
		t.Errorf("request id %v in the body, %q in the header", body["requestId"], w.header.Get("X-Request-Id"))
	}
	delete(body, "requestId")
	answer["body"] = body
	return answer
}

// wired is c with a wire of its own.
func wired(c *client.Client, headers ...string) (*client.Client, *wire) {
	w := &wire{headers: map[string]string{}}
	for i := 0; i < len(headers); i += 2 {
		w.headers[headers[i]] = headers[i+1]
	}
	return &client.Client{
		BaseURL: c.BaseURL, AccessToken: c.AccessToken, APIKey: c.APIKey, HTTP: &http.Client{Transport: w},
	}, w
}

// unverified makes an account whose address is not confirmed; its password is
// the known one, and it was sent no code yet.
func (s *server) unverified(name string) string {
	s.t.Helper()
	hash, err := knownHash()
	if err != nil {
		s.t.Fatal(err)
	}
	user := auth.User{ID: database.NewID(), Email: name + "." + secret.Digits(8).Reveal() + "@example.org", Name: name}
	err = s.Database.Write(s.t.Context(), database.Change{Logs: []string{audit.System}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
		return s.Auth.AddUser(ctx, tx, principal.Operator(), &user, hash)
	}})
	if err != nil {
		s.t.Fatalf("make %s: %v", name, err)
	}
	return user.Email
}

// nextMinute moves the clock to the start of a minute, where throttles begin
// to count anew.
func (s *server) nextMinute() {
	now := s.Database.Now()
	s.advance(now.Truncate(time.Minute).Add(time.Minute).Sub(now))
}

// count is the number a query finds.
func (s *server) count(query string, args ...any) (n int) {
	s.t.Helper()
	if err := s.Database.QueryRow(s.t.Context(), query, args...).Scan(&n); err != nil {
		s.t.Fatalf("%s: %v", query, err)
	}
	return n
}

// wantField checks that a call was refused because of one field, and that the
// answer names it to people and to programs.
func wantField(t *testing.T, what string, err error, field string) {
	t.Helper()
	refused, ok := errors.AsType[*client.Error](err)
	switch {
	case !ok || refused.StatusCode != http.StatusBadRequest:
		t.Errorf("%s: %v, want status 400", what, err)
	case len(refused.Details) == 0 || refused.Details[0].Field != field || refused.Details[0].Message == "":
		t.Errorf("%s: details %+v, want the field %q", what, refused.Details, field)
	case !strings.HasPrefix(refused.Message, field+": "):
		t.Errorf("%s: message %q, want it to begin with %q", what, refused.Message, field)
	}
}

// wantFields posts bodies that are each wrong in one field.
func wantFields(t *testing.T, c *client.Client, path string, good map[string]any, cases []badField) {
	t.Helper()
	for _, bad := range cases {
		body := maps.Clone(good)
		body[bad.field] = bad.value
		if bad.value == absent {
			delete(body, bad.field)
		}
		wantField(t, path+" with "+bad.field+" "+bad.name, c.Call(t.Context(), http.MethodPost, path, nil, body, nil),
			bad.field)
	}
}

type badField struct {
	field, name string
	value       any
}

// absent leaves a field out.
var absent any = &struct{ left int }{}

func TestSignUp(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		ctx := t.Context()
		c, w := wired(s.public)
		user, err := c.Register(ctx, client.Registration{
			Email: "  Ada@Example.ORG ", Password: knownPassword, Name: " Ada ",
		})
		if err != nil {
			t.Fatalf("register: %v", err)
		}
		if user.Email != "ada@example.org" || user.Name != "Ada" || user.Verified || !database.IsID(user.ID) ||
			user.CreatedAt.IsZero() {
			t.Errorf("user %+v, want an unverified ada@example.org named Ada", user)
		}
		if w.status != http.StatusCreated || !bytes.Contains(w.body, []byte(`"next":"verify-otp"`)) {
			t.Errorf("answer %d %s, want 201 and what comes next", w.status, w.body)
		}
		if bytes.Contains(w.body, []byte(knownPassword)) {
			t.Error("the answer quotes the password")
		}
		_, err = c.Login(ctx, user.Email, knownPassword)
		wantStatus(t, "sign in before verifying", err, http.StatusUnauthorized)
		_, err = c.Register(ctx, client.Registration{Email: "ADA@example.org", Password: "another password"})
		wantStatus(t, "register the address again", err, http.StatusConflict)

		if err := c.VerifyOTP(ctx, " ADA@example.org", s.codeFor(user.Email), knownPassword); err != nil {
			t.Fatalf("verify: %v", err)
		}
		in, err := c.Login(ctx, "Ada@example.org", knownPassword)
		if err != nil {
			t.Fatalf("sign in: %v", err)
		}
		if !in.User.Verified || in.User.ID != user.ID {
			t.Errorf("signed in as %+v, want the verified %s", in.User, user.ID)
		}
		want := []string{"user.registered", "user.verified", "session.created"}
		if got := s.recorded(audit.System); !slices.Equal(got[len(got)-3:], want) {
			t.Errorf("recorded %v, want it to end with %v", got, want)
		}
		_, err = c.Register(ctx, client.Registration{Email: user.Email, Password: knownPassword})
		wantStatus(t, "register a verified address", err, http.StatusConflict)
	})
}

func TestRegisterRefusesFields(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		people, entries := s.count(`SELECT count(*) FROM user_account`), len(s.recorded(audit.System))
		for _, minute := range slices.Collect(slices.Chunk([]badField{
			{"email", "absent", absent},
			{"email", "null", nil},
			{"email", "a number", 7},
			{"email", "empty", ""},
			{"email", "without a domain", "ada"},
			{"email", "with a name", "Ada <ada@example.org>"},
			{"email", "with a line break", "ada@example.org\nBcc: eve@example.org"},
			{"email", "too long", strings.Repeat("a", 250) + "@example.org"},
			{"password", "absent", absent},
			{"password", "too short", "123456789"},
			{"password", "too long", strings.Repeat("p", 201)},
			{"password", "an array", []string{knownPassword}},
			{"password", "that is the address", "ada@example.org"},
			{"name", "too long", strings.Repeat("n", 101)},
			{"name", "with a control character", "Ada\u0007"},
			{"name", "with a NUL", "Ada\x00"},
			{"name", "an object", map[string]any{}},
			{"inviteToken", "too long", strings.Repeat("t", 201)},
			{"inviteToken", "a truth value", true},
		}, 5)) {
			s.nextMinute()
			wantFields(t, s.public, "/auth/register",
				map[string]any{"email": "ada@example.org", "password": knownPassword}, minute)
		}
		if got := s.count(`SELECT count(*) FROM user_account`); got != people {
			t.Errorf("%d accounts, want still %d", got, people)
		}
		if got := len(s.recorded(audit.System)); got != entries {
			t.Errorf("%d audit entries, want still %d", got, entries)
		}
	})
}

func TestRegisterCountsCharacters(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		_, err := s.public.Register(t.Context(), client.Registration{
			Email: "ada@example.org", Password: strings.Repeat("é", 200), Name: strings.Repeat("é", 100),
		})
		if err != nil {
			t.Errorf("200 characters of password and 100 of name: %v", err)
		}
	})
}

// invitation invites someone and gives the token that was mailed.
func invitation(s *server, owner *person, orgID, email string) (client.Invite, string) {
	s.t.Helper()
	invite, err := owner.Invite(s.t.Context(), orgID, email, "")
	if err != nil {
		s.t.Fatalf("invite %s: %v", email, err)
	}
	return invite, s.tokenFor(email)
}

func TestClosedSignUp(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		ctx := t.Context()
		owner := s.person("owner")
		orgID := s.organization(owner, "Blue")
		refused := func(what, email, token string) {
			t.Helper()
			s.nextMinute()
			_, err := s.public.Register(ctx, client.Registration{
				Email: email, Password: knownPassword, InviteToken: token,
			})
			wantStatus(t, what, err, http.StatusForbidden)
		}
		_, ada := invitation(s, owner, orgID, "ada@example.org")
		withdrawn, bob := invitation(s, owner, orgID, "bob@example.org")
		if err := owner.WithdrawInvite(ctx, orgID, withdrawn.ID); err != nil {
			t.Fatal(err)
		}
		refused("without an invitation", "ada@example.org", "")
		refused("with a token nobody made", "ada@example.org", secret.Token("inv_").Reveal())
		refused("with the token of another", "eve@example.org", ada)
		refused("with a withdrawn invitation", "bob@example.org", bob)
		if got := s.count(`SELECT count(*) FROM user_account WHERE email LIKE '%@example.org' AND name <> 'owner'`); got != 0 {
			t.Errorf("%d accounts were made, want none", got)
		}

		if _, err := s.public.Register(ctx, client.Registration{
			Email: "Ada@example.org", Password: knownPassword, InviteToken: ada,
		}); err != nil {
			t.Fatalf("register with an invitation: %v", err)
		}
		if err := s.public.VerifyOTP(ctx, "ada@example.org", nthCode(s, "ada@example.org", 2),
			knownPassword); err != nil {
			t.Fatalf("verify: %v", err)
		}
		if _, err := s.signIn("ada@example.org").AcceptInvite(ctx, ada); err != nil {
			t.Errorf("accept after signing up: %v", err)
		}
		_, late := invitation(s, owner, orgID, "late@example.org")
		s.advance(7 * 24 * time.Hour)
		refused("with an invitation that expired", "late@example.org", late)
	}, "WRIT_SIGNUP", "closed")
}

// TestProductionWithoutMail shows that a server that cannot send mail refuses
// everyone alike: who has an account stays unknown.
func TestProductionWithoutMail(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		ctx := t.Context()
		known, pending := s.person("known"), s.unverified("pending")
		c, w := wired(s.public)
		for name, call := range map[string]func(email string) error{
			"register": func(email string) error {
				_, err := c.Register(ctx, client.Registration{Email: email, Password: knownPassword})
				return err
			},
			"resend": func(email string) error { return c.ResendOTP(ctx, email) },
			"forgot": func(email string) error { return c.ForgotPassword(ctx, email) },
		} {
			wantStatus(t, name+" unknown", call("unknown@example.org"), http.StatusServiceUnavailable)
			want := w.answer(t)
			if w.header.Get("Retry-After") == "" {
				t.Errorf("%s: no Retry-After", name)
			}
			for _, email := range []string{known.Email, pending} {
				wantStatus(t, name+" "+email, call(email), http.StatusServiceUnavailable)
				if diff := cmp.Diff(want, w.answer(t)); diff != "" {
					t.Errorf("%s tells who has an account (-unknown +%s):\n%s", name, email, diff)
				}
			}
		}
		if got := s.count(`SELECT count(*) FROM user_account`); got != 2 {
			t.Errorf("%d accounts, want the 2 there were", got)
		}
		if got := s.count(`SELECT count(*) FROM mail_code`); got != 0 {
			t.Errorf("%d codes were made for mails that are never sent", got)
		}
	}, "WRIT_ENV", "production", "WRIT_PUBLIC_URL", "https://writ.example.org", "WRIT_LISTEN", "127.0.0.1",
		"WRIT_SIGNUP", "open")
}
