package accounts_test

import (
	"bytes"
	"context"
	"errors"
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
	"writ/internal/testserver"
)

// unverified makes an account whose address is not confirmed; its password is
// the known one, and it was sent no code yet.
func unverified(s *testserver.Server, name string) string {
	s.T.Helper()
	hash, err := testserver.PasswordHash()
	if err != nil {
		s.T.Fatal(err)
	}
	user := auth.User{ID: database.NewID(), Email: name + "." + secret.Digits(8).Reveal() + "@example.org", Name: name}
	err = s.Database.Write(s.T.Context(), database.Change{Logs: []string{audit.System}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
		return s.Auth.AddUser(ctx, tx, principal.Operator(), &user, hash)
	}})
	if err != nil {
		s.T.Fatalf("make %s: %v", name, err)
	}
	return user.Email
}

// count is the number a query finds.
func count(s *testserver.Server, query string, args ...any) (n int) {
	s.T.Helper()
	if err := s.Database.QueryRow(s.T.Context(), query, args...).Scan(&n); err != nil {
		s.T.Fatalf("%s: %v", query, err)
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
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ctx := t.Context()
		c, w := testserver.Watch(s.Public)
		err := c.Register(ctx, client.Registration{
			Email: "  Ada@Example.ORG ", Password: testserver.Password, Name: " Ada ",
		})
		if err != nil {
			t.Fatalf("register: %v", err)
		}
		const address = "ada@example.org"
		if w.Status != http.StatusAccepted || string(bytes.TrimSpace(w.Body)) != `{"next":"verify-otp"}` {
			t.Errorf("answer %d %s, want 202 and only what comes next", w.Status, w.Body)
		}
		_, err = c.Login(ctx, address, testserver.Password)
		testserver.WantStatus(t, "sign in before verifying", err, http.StatusUnauthorized)
		if err := c.VerifyOTP(ctx, " ADA@example.org", s.CodeFor(address), testserver.Password); err != nil {
			t.Fatalf("verify: %v", err)
		}
		in, err := c.Login(ctx, "Ada@example.org", testserver.Password)
		if err != nil {
			t.Fatalf("sign in: %v", err)
		}
		if user := in.User; user.Email != address || user.Name != "Ada" || !user.Verified || !database.IsID(user.ID) ||
			user.CreatedAt.IsZero() {
			t.Errorf("signed in as %+v, want a verified %s named Ada", user, address)
		}
		want := []string{"user.registered", "user.verified", "session.created"}
		if got := s.Recorded(audit.System); !slices.Equal(got[len(got)-3:], want) {
			t.Errorf("recorded %v, want it to end with %v", got, want)
		}
	})
}

// TestRegisterDoesNotTellWhoHasAnAccount: the answer for an address that has an account is that for a new
// one. Its owner gets a mail, nothing of the account changes, and the mails have an end.
func TestRegisterDoesNotTellWhoHasAnAccount(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ctx := t.Context()
		known, pending := s.Person("known"), unverified(s, "pending")
		c, w := testserver.Watch(s.Public)
		register := func(address string) string {
			t.Helper()
			if err := c.Register(ctx, client.Registration{Email: address, Password: "another password"}); err != nil {
				t.Errorf("register %s: %v", address, err)
			}
			return http.StatusText(w.Status) + string(w.Body)
		}
		want := register(testserver.FreshAddress())
		for _, address := range []string{known.Email, strings.ToUpper(known.Email), pending} {
			if diff := cmp.Diff(want, register(address)); diff != "" || w.Status != http.StatusAccepted {
				t.Errorf("the answer tells that %s has an account (-new +known):\n%s", address, diff)
			}
		}
		if text := s.Mails(known.Email, 2)[1].Text; !strings.Contains(text, "has an account already") ||
			strings.Contains(text, "code is") {
			t.Errorf("the mail to the owner of an account: %s", text)
		}
		if text := s.LastMail(pending); !strings.Contains(text, "was registered before") {
			t.Errorf("the mail to the owner of an unverified account: %s", text)
		}
		if _, err := c.Login(ctx, known.Email, testserver.Password); err != nil {
			t.Errorf("the password that the account had: %v", err)
		}
		_, err := c.Login(ctx, known.Email, "another password")
		testserver.WantStatus(t, "the password of the second registration", err, http.StatusUnauthorized)
		if err := c.VerifyOTP(ctx, pending, s.CodeFor(pending), testserver.Password); err != nil {
			t.Errorf("verify with the code of the second registration: %v", err)
		}
		got := s.Recorded(audit.System)
		if n := len(slices.DeleteFunc(got, func(a string) bool { return a != "user.registered_again" })); n != 3 {
			t.Errorf("%d entries about repeated registrations, want 3", n)
		}
		s.Advance(time.Minute)
		for range 5 {
			register(known.Email)
		}
		if n := count(s, `SELECT count(*) FROM mail_code WHERE user_id = $1`, known.ID); n != 5 {
			t.Errorf("%d mails in an hour, want 5", n)
		}
	})
}

func TestRegisterRefusesFields(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		people, entries := count(s, `SELECT count(*) FROM user_account`), len(s.Recorded(audit.System))
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
			{"password", "an array", []string{testserver.Password}},
			{"password", "that is the address", "ada@example.org"},
			{"name", "too long", strings.Repeat("n", 101)},
			{"name", "with a control character", "Ada\u0007"},
			{"name", "with a NUL", "Ada\x00"},
			{"name", "an object", map[string]any{}},
			{"inviteToken", "too long", strings.Repeat("t", 201)},
			{"inviteToken", "a truth value", true},
		}, 5)) {
			s.NextMinute()
			wantFields(t, s.Public, "/auth/register",
				map[string]any{"email": "ada@example.org", "password": testserver.Password}, minute)
		}
		if got := count(s, `SELECT count(*) FROM user_account`); got != people {
			t.Errorf("%d accounts, want still %d", got, people)
		}
		if got := len(s.Recorded(audit.System)); got != entries {
			t.Errorf("%d audit entries, want still %d", got, entries)
		}
	})
}

func TestRegisterCountsCharacters(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		err := s.Public.Register(t.Context(), client.Registration{
			Email: "ada@example.org", Password: strings.Repeat("é", 200), Name: strings.Repeat("é", 100),
		})
		if err != nil {
			t.Errorf("200 characters of password and 100 of name: %v", err)
		}
	})
}

// invitation invites someone and gives the token that was mailed.
func invitation(s *testserver.Server, owner *testserver.Person, orgID, email string) (client.Invite, string) {
	s.T.Helper()
	invite, err := owner.Invite(s.T.Context(), orgID, email, "")
	if err != nil {
		s.T.Fatalf("invite %s: %v", email, err)
	}
	return invite, s.TokenFor(email)
}

func TestClosedSignUp(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ctx := t.Context()
		owner := s.Person("owner")
		orgID := s.Organization(owner, "Blue")
		refused := func(what, email, token string) {
			t.Helper()
			s.NextMinute()
			err := s.Public.Register(ctx, client.Registration{
				Email: email, Password: testserver.Password, InviteToken: token,
			})
			testserver.WantStatus(t, what, err, http.StatusForbidden)
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
		if got := count(s,
			`SELECT count(*) FROM user_account WHERE email LIKE '%@example.org' AND name <> 'owner'`); got != 0 {
			t.Errorf("%d accounts were made, want none", got)
		}

		if err := s.Public.Register(ctx, client.Registration{
			Email: "Ada@example.org", Password: testserver.Password, InviteToken: ada,
		}); err != nil {
			t.Fatalf("register with an invitation: %v", err)
		}
		if err := s.Public.VerifyOTP(ctx, "ada@example.org", nthCode(s, "ada@example.org", 2),
			testserver.Password); err != nil {
			t.Fatalf("verify: %v", err)
		}
		if _, err := s.SignIn("ada@example.org").AcceptInvite(ctx, ada); err != nil {
			t.Errorf("accept after signing up: %v", err)
		}
		_, late := invitation(s, owner, orgID, "late@example.org")
		s.Advance(7 * 24 * time.Hour)
		refused("with an invitation that expired", "late@example.org", late)
	}, "WRIT_SIGNUP", "closed")
}

// TestProductionWithoutMail shows that a server that cannot send mail refuses
// everyone alike: who has an account stays unknown.
func TestProductionWithoutMail(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ctx := t.Context()
		known, pending := s.Person("known"), unverified(s, "pending")
		c, w := testserver.Watch(s.Public)
		for name, call := range map[string]func(email string) error{
			"register": func(email string) error {
				err := c.Register(ctx, client.Registration{Email: email, Password: testserver.Password})
				return err
			},
			"resend": func(email string) error { return c.ResendOTP(ctx, email) },
			"forgot": func(email string) error { return c.ForgotPassword(ctx, email) },
		} {
			testserver.WantStatus(t, name+" unknown", call("unknown@example.org"), http.StatusServiceUnavailable)
			want := w.Answer(t)
			if w.Header.Get("Retry-After") == "" {
				t.Errorf("%s: no Retry-After", name)
			}
			if body := string(w.Body); !strings.Contains(body, `"code":"mail_not_configured"`) {
				t.Errorf("%s: programs are not told why: %s", name, body)
			}
			for _, email := range []string{known.Email, pending} {
				testserver.WantStatus(t, name+" "+email, call(email), http.StatusServiceUnavailable)
				if diff := cmp.Diff(want, w.Answer(t)); diff != "" {
					t.Errorf("%s tells who has an account (-unknown +%s):\n%s", name, email, diff)
				}
			}
		}
		if got := count(s, `SELECT count(*) FROM user_account`); got != 2 {
			t.Errorf("%d accounts, want the 2 there were", got)
		}
		if got := count(s, `SELECT count(*) FROM mail_code`); got != 0 {
			t.Errorf("%d codes were made for mails that are never sent", got)
		}
	}, "WRIT_ENV", "production", "WRIT_PUBLIC_URL", "https://writ.example.org", "WRIT_LISTEN", "127.0.0.1",
		"WRIT_SIGNUP", "open")
}
