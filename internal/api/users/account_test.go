package users_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"writ/client"
	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/principal"
	"writ/internal/testserver"
)

// verified checks logs whole.
func verified(s *testserver.Server, logs ...string) {
	s.T.Helper()
	for _, log := range append(logs, audit.System) {
		if _, err := s.Audit.Check(s.T.Context(), log, func(p audit.Problem) {
			s.T.Errorf("log %s: %+v", log, p)
		}); err != nil {
			s.T.Errorf("check log %s: %v", log, err)
		}
	}
}

// codes begins a change of address and gives the codes of the old and the new one.
func codes(s *testserver.Server, p *testserver.Person, address string) (current, next string) {
	s.T.Helper()
	s.NextMinute()
	before := len(s.Mails(p.Email, 0))
	wanted := m{"email": address, "password": testserver.Password}
	if err := call(s.T, p, http.MethodPost, "/user/email", wanted); err != nil {
		s.T.Fatalf("begin a change of address: %v", err)
	}
	read := func(text string) string {
		_, rest, found := strings.Cut(text, "address is ")
		if !found {
			s.T.Fatalf("no code in %q", text)
		}
		return rest[:8]
	}
	old := s.Mails(p.Email, before+1)
	return read(old[len(old)-1].Text), read(s.LastMail(address))
}

func confirm(p *testserver.Person, current, next string) error {
	return p.Call(context.Background(), http.MethodPost, "/user/email/confirm", nil,
		m{"currentCode": current, "newCode": next}, nil)
}

func TestChangeOfAddress(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ctx, ada := t.Context(), s.Person("ada")
		other, next := s.SignIn(ada.Email), testserver.FreshAddress()
		terminal := s.TerminalKey(ada, s.Organization(ada, "Acme"))
		wrong := call(t, ada, http.MethodPost, "/user/email", m{"email": next, "password": "a wrong password"})
		testserver.WantStatus(t, "a wrong password", wrong, http.StatusBadRequest)
		current, fresh := codes(s, ada, next)
		for what, err := range map[string]error{
			"the old code alone": confirm(ada, current, "00000000"),
			"the new code alone": confirm(ada, "00000000", fresh),
			"them exchanged":     confirm(ada, fresh, current),
			"by somebody else":   confirm(s.Person("bob"), current, fresh),
		} {
			testserver.WantStatus(t, what, err, http.StatusBadRequest)
		}
		if me, err := ada.Me(ctx); err != nil || me.User.Email != ada.Email {
			t.Errorf("before both codes: %+v, %v", me.User, err)
		}
		if err := confirm(ada, current, fresh); err != nil {
			t.Fatalf("both codes: %v", err)
		}
		if me, err := ada.Me(ctx); err != nil || me.User.Email != next {
			t.Errorf("afterwards: %+v, %v", me.User, err)
		}
		_, err := other.Me(ctx)
		testserver.WantStatus(t, "another session", err, http.StatusUnauthorized)
		_, err = terminal.CurrentKey(ctx)
		testserver.WantStatus(t, "a terminal", err, http.StatusUnauthorized)
		for _, address := range []string{ada.Email, next} {
			if mails := s.Mails(address, 2); !strings.Contains(mails[len(mails)-1].Subject, "was changed") {
				t.Errorf("the last mail to %s is %q", address, mails[len(mails)-1].Subject)
			}
		}
		s.NextMinute()
		testserver.WantStatus(t, "the codes again", confirm(ada, current, fresh), http.StatusBadRequest)
		if _, err := s.Public.Login(ctx, next, testserver.Password); err != nil {
			t.Errorf("sign in with the new address: %v", err)
		}
		_, err = s.Public.Login(ctx, ada.Email, testserver.Password)
		testserver.WantStatus(t, "sign in with the old address", err, http.StatusUnauthorized)
		verified(s)
	})
}

// TestTakenAddress: whoever wants the address of somebody else learns nothing, and the owner is told.
func TestTakenAddress(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ada, bob := s.Person("ada"), s.Person("bob")
		want := func(address string) testserver.Reply {
			body := testserver.JSON(t, m{"email": address, "password": testserver.Password})
			got := s.Send(http.MethodPost, "/user/email", testserver.WithBearer(ada.Tokens.AccessToken), body)
			got.Header.Del("X-Request-Id")
			got.Header.Del("Date")
			return got
		}
		free, taken := want(testserver.FreshAddress()), want(bob.Email)
		if diff := testserver.DiffReplies(free, taken); diff != "" || free.Status != http.StatusAccepted {
			t.Errorf("%d: a free address can be told from a taken one:\n%s", free.Status, diff)
		}
		mails := s.Mails(bob.Email, 1)
		last := mails[len(mails)-1]
		if strings.Contains(last.Text, "code for") || !strings.Contains(last.Subject, "already") {
			t.Errorf("the owner is mailed %q", last.Text)
		}
	})
}

// leaver is a person with something of everything, in an organization that has another owner.
func leaver(s *testserver.Server) (p, heir *testserver.Person, org string) {
	s.T.Helper()
	p = s.Person("leaver")
	org = s.Organization(p, "Harbour")
	heir = s.Join(p, org, "owner")
	s.AgentKey(p, org)
	s.TerminalKey(p, org)
	s.UnboundKey(p)
	s.NextMinute()
	return p, heir, org
}

func deletion(p *testserver.Person, more m) error {
	body := m{"password": testserver.Password, "confirm": p.Email}
	for name, value := range more {
		body[name] = value
	}
	return p.Call(context.Background(), http.MethodDelete, "/user", nil, body, nil)
}

func TestDeletion(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ctx := t.Context()
		p, heir, org := leaver(s)
		key := s.AgentKey(p, org).APIKey
		alone := s.Organization(p, "Lighthouse")
		err := deletion(p, nil)
		if e, ok := errors.AsType[*client.Error](err); !ok || e.StatusCode != http.StatusConflict ||
			!strings.Contains(e.Message, "Lighthouse") || strings.Contains(e.Message, "Harbour") {
			t.Errorf("the last owner of an organization: %v", err)
		}
		if err := p.CloseOrganization(ctx, alone); err != nil {
			t.Fatal(err)
		}
		s.NextMinute()
		err = deletion(p, m{"password": "a wrong password"})
		testserver.WantStatus(t, "a wrong password", err, http.StatusBadRequest)
		testserver.WantStatus(t, "another address", deletion(p, m{"confirm": heir.Email}), http.StatusBadRequest)
		s.NextMinute()
		stranger := s.Person("stranger")
		testserver.WantStatus(t, "an heir from elsewhere", deletion(p,
			m{"keysTo": []m{{"organizationId": org, "userId": stranger.ID}}}), http.StatusBadRequest)
		if err := deletion(p, nil); err != nil {
			t.Fatalf("delete: %v", err)
		}
		_, err = p.Me(ctx)
		testserver.WantStatus(t, "the session", err, http.StatusUnauthorized)
		_, err = s.Public.Login(ctx, p.Email, testserver.Password)
		testserver.WantStatus(t, "sign in", err, http.StatusUnauthorized)
		_, err = s.Public.WithKey(key).CurrentKey(ctx)
		testserver.WantStatus(t, "the key of an agent", err, http.StatusUnauthorized)
		if at := slices.IndexFunc(s.Dump(), func(row string) bool {
			return strings.Contains(row, p.Email) && !strings.HasPrefix(row, "audit_entry") &&
				!strings.HasPrefix(row, "organization_invite")
		}); at >= 0 {
			t.Errorf("the address stays: %s", s.Dump()[at])
		}
		if n := payloadsWith(s, p.Email); n != 0 {
			t.Errorf("%d payloads of the system's log still hold the address", n)
		}
		verified(s, org)
		again := client.Registration{Email: p.Email, Password: testserver.Password}
		if err := s.Public.Register(ctx, again); err != nil {
			t.Errorf("register the address again: %v", err)
		}
		if _, err := heir.Organization(ctx, org); err != nil {
			t.Errorf("the other owner: %v", err)
		}
	})
}

// TestALongHistoryGoesWhole: a deletion keeps nobody waiting, so that what it leaves of a long history goes after it.
func TestALongHistoryGoesWhole(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		p, _, org := leaver(s)
		const changes, aMinute = 130, 20 // more than one change of the log erases
		for i := range changes {
			if i%aMinute == 0 {
				s.NextMinute()
			}
			name := m{"name": fmt.Sprintf("Quayside %d", i)}
			if err := call(t, p, http.MethodPatch, "/user/profile", name); err != nil {
				t.Fatalf("change %d: %v", i, err)
			}
		}
		kept := func() (n int) {
			if err := s.Database.QueryRow(t.Context(), `
				SELECT COUNT(*) FROM audit_entry
				WHERE log = 'system' AND action = 'profile.changed' AND payload IS NOT NULL`).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		if n := kept(); n != changes {
			t.Fatalf("%d of %d changes are in the log", n, changes)
		}
		if err := deletion(p, nil); err != nil {
			t.Fatalf("delete: %v", err)
		}
		if err := s.Accounts.EraseRest(t.Context()); err != nil {
			t.Fatalf("erase the rest: %v", err)
		}
		if n := kept(); n != 0 {
			t.Errorf("%d payloads about the person are left", n)
		}
		verified(s, org)
	})
}

// payloadsWith counts the entries of the system's log that hold a text.
func payloadsWith(s *testserver.Server, text string) (n int) {
	s.T.Helper()
	if err := s.Database.QueryRow(s.T.Context(),
		`SELECT COUNT(*) FROM audit_entry WHERE log = 'system' AND payload LIKE '%' || $1 || '%'`, text).
		Scan(&n); err != nil {
		s.T.Fatal(err)
	}
	return n
}

func TestHandOver(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		p, heir, org := leaver(s)
		agent := s.Public.WithKey(s.AgentKey(p, org).APIKey)
		lasting := s.Public.WithKey(s.AgentKey(p, org).APIKey)
		terminal := s.TerminalKey(p, org)
		s.NextMinute()
		if err := deletion(p, m{"keysTo": []m{{"organizationId": org, "userId": heir.ID}}}); err != nil {
			t.Fatalf("delete: %v", err)
		}
		current, err := agent.CurrentKey(t.Context())
		if err != nil {
			t.Fatalf("the agent's key with its new owner: %v", err)
		}
		keys, err := heir.Keys(t.Context(), org, client.List{})
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range keys.Items { // whoever left knows the secrets
			if key.Status == "active" &&
				(key.ExpiresAt == nil || key.ExpiresAt.After(s.Now().Add(7*24*time.Hour)) || key.OwnerID != heir.ID) {
				t.Errorf("a key that was handed over: %+v, want it to end within a week", key)
			}
		}
		wantHandOver(t, s, heir, org)
		_, err = terminal.CurrentKey(t.Context())
		testserver.WantStatus(t, "the terminal's key", err, http.StatusUnauthorized)
		if !slices.Contains(s.Recorded(org), "key.handed_over") {
			t.Errorf("the log: %v", s.Recorded(org))
		}
		// The key that replaces it lives on, and with it what was bound to it.
		rotated, err := heir.RotateKey(t.Context(), current.ID)
		if err != nil || rotated.ExpiresAt != nil {
			t.Fatalf("rotate: expires at %v, %v, want never", rotated.ExpiresAt, err)
		}
		_, err = agent.CurrentKey(t.Context())
		testserver.WantStatus(t, "the secret that was replaced", err, http.StatusUnauthorized)
		s.Advance(7 * 24 * time.Hour)
		_, err = lasting.CurrentKey(t.Context())
		testserver.WantStatus(t, "a secret that was not replaced, a week later", err, http.StatusUnauthorized)
		if _, err := s.Public.WithKey(rotated.APIKey).CurrentKey(t.Context()); err != nil {
			t.Errorf("the new secret a week later: %v", err)
		}
		verified(s, org)
	})
}

// TestHandedOverKeysWriteNoPolicies: who left knows the secret, and must not read and write policies in the name of who
// got the key.
func TestHandedOverKeysWriteNoPolicies(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		p, heir, org := leaver(s)
		keyWith := func(scopes ...string) *client.Client {
			t.Helper()
			key, err := p.CreateKey(t.Context(), client.NewKey{Name: "k", OrganizationID: org, Scopes: scopes})
			if err != nil {
				t.Fatal(err)
			}
			return s.Public.WithKey(key.APIKey)
		}
		both, drafts := keyWith("enforce", "policy.draft"), keyWith("policy.draft", "profile.propose")
		list := func(c *client.Client) error {
			return c.Call(t.Context(), http.MethodGet, "/policies", nil, nil, nil)
		}
		if err := list(both); err != nil {
			t.Fatalf("before: %v", err)
		}
		if err := deletion(p, m{"keysTo": []m{{"organizationId": org, "userId": heir.ID}}}); err != nil {
			t.Fatalf("delete: %v", err)
		}
		testserver.WantStatus(t, "policies", list(both), http.StatusForbidden)
		current, err := both.CurrentKey(t.Context())
		if err != nil || !slices.Equal(current.Scopes, []string{"enforce"}) {
			t.Errorf("the key has %v, %v; want to enforce alone", current.Scopes, err)
		}
		_, err = drafts.CurrentKey(t.Context())
		testserver.WantStatus(t, "a key that only drafts", err, http.StatusUnauthorized)
		verified(s, org)
	})
}

// wantHandOver wants who got three keys told, in the inbox and by mail, what to do until when.
func wantHandOver(t *testing.T, s *testserver.Server, heir *testserver.Person, org string) {
	t.Helper()
	var inbox struct {
		Items []struct{ Kind, Title string }
	}
	if err := heir.Call(t.Context(), http.MethodGet, "/notifications", url.Values{"organizationId": {org}}, nil,
		&inbox); err != nil {
		t.Fatal(err)
	}
	if len(inbox.Items) != 1 || inbox.Items[0].Kind != "key.handed_over" ||
		!strings.Contains(inbox.Items[0].Title, "3 API keys of somebody who left are yours: rotate them by") {
		t.Errorf("the inbox of who gets the keys: %+v", inbox.Items)
	}
	if err := s.Notifications.SendMails(t.Context()); err != nil {
		t.Fatal(err)
	}
	if told := mailed(s, heir.Email, "handed over", 1); !strings.Contains(told.Text, "rotate them by") ||
		!strings.Contains(told.Text, "/ui/settings/keys") {
		t.Errorf("the mail: %q", told.Text)
	}
}

// TestFaults fails at each statement in turn that changes something in a change of address and in a deletion: nothing
// stays of either, the log verifies, and both work afterwards.
func TestFaults(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		p, _, org := leaver(s)
		if err := s.Operators.Add(t.Context(), principal.Operator(), p.ID); err != nil {
			t.Fatal(err)
		}
		query := url.Values{"organizationId": {org}}
		told := p.Call(t.Context(), http.MethodPut, "/notifications/preferences", query, m{"mail": false}, nil)
		if err := errors.Join(told, s.Public.ForgotPassword(t.Context(), p.Email),
			call(t, p, http.MethodPut, "/user/preferences", m{"theme": "dark", "density": "roomy"})); err != nil {
			t.Fatal(err)
		}
		next := testserver.FreshAddress()
		current, fresh := codes(s, p, next)
		change := func(p *testserver.Person) error { return confirm(p, current, fresh) }
		failAt(s, p.Email, "a change of address", org, change, []refusal{
			{"email_change", "UPDATE"}, {"user_account", "UPDATE"}, {"mail_code", "UPDATE"}, {"user_session", "UPDATE"},
			{"audit_entry", "INSERT"}, {"audit_head", "UPDATE"},
		})
		if err := change(s.SignIn(p.Email)); err != nil {
			t.Fatalf("change the address after the faults: %v", err)
		}
		leave := func(p *testserver.Person) error { return deletion(p, nil) }
		failAt(s, next, "a deletion", org, leave, []refusal{
			{"api_key", "UPDATE"}, {"organization_member", "DELETE"}, {"operator", "DELETE"},
			{"notification_reader", "DELETE"}, {"user_session", "DELETE"}, {"refresh_token", "DELETE"},
			{"mail_code", "DELETE"}, {"email_change", "DELETE"}, {"user_preference", "DELETE"},
			{"user_account", "UPDATE"}, {"audit_entry", "UPDATE"}, {"audit_entry", "INSERT"}, {"audit_head", "UPDATE"},
		})
		if err := leave(s.SignIn(next)); err != nil {
			t.Fatalf("delete after the faults: %v", err)
		}
		verified(s, org)
	})
}

// refusal is a kind of statement on a table.
type refusal struct{ table, kind string }

// failAt has the database refuse one statement after the other. A change that runs without it was not the one that is
// meant.
func failAt(
	s *testserver.Server, email, what, org string, change func(p *testserver.Person) error, refusals []refusal,
) {
	s.T.Helper()
	for _, f := range refusals {
		s.NextMinute() // the throttle counts
		p := s.SignIn(email)
		before := s.Dump()
		refuse(s, f)
		err := change(p)
		admit(s, f)
		if client.StatusOf(err) < 500 {
			s.T.Fatalf("%s without %s of %s: %v, want a failure of the server", what, f.kind, f.table, err)
		}
		testserver.WantSame(s.T, before, s.Dump())
		verified(s, org)
	}
}

// refuse makes the database refuse a statement that touches a row, until admit.
func refuse(s *testserver.Server, f refusal) {
	s.T.Helper()
	if s.Database.Engine() == database.SQLite {
		define(s, `CREATE TRIGGER fault BEFORE `+f.kind+` ON `+f.table+` BEGIN SELECT RAISE(ABORT, 'refused'); END`)
		return
	}
	define(s,
		`CREATE OR REPLACE FUNCTION fault() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''refused''; END'`,
		`CREATE TRIGGER fault BEFORE `+f.kind+` ON `+f.table+` FOR EACH ROW EXECUTE FUNCTION fault()`)
}

func admit(s *testserver.Server, f refusal) {
	s.T.Helper()
	if s.Database.Engine() == database.SQLite {
		define(s, `DROP TRIGGER fault`)
		return
	}
	define(s, `DROP TRIGGER fault ON `+f.table)
}

func define(s *testserver.Server, statements ...string) {
	s.T.Helper()
	err := s.Database.Write(s.T.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		for _, statement := range statements {
			if _, err := tx.Exec(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	}})
	if err != nil {
		s.T.Fatalf("%v: %v", statements, err)
	}
}

func TestProfileAndPreferences(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		p := s.Person("ada")
		var got struct{ Name, Initials, Locale, TimeZone string }
		change := m{"name": " Ada Lovelace ", "locale": "en-GB", "timeZone": "Europe/London"}
		err := p.Call(t.Context(), http.MethodPatch, "/user/profile", nil, change, &got)
		if err != nil || got.Name != "Ada Lovelace" || got.Initials != "AL" || got.TimeZone != "Europe/London" {
			t.Errorf("%+v, %v", got, err)
		}
		for _, wrong := range []m{
			{"name": "a\nb"}, {"locale": "english"}, {"timeZone": "Mars/Olympus"}, {"timeZone": "Local"},
			{"nickname": "a"},
		} {
			testserver.WantStatus(t, testserver.JSON(t, wrong), call(t, p, http.MethodPatch, "/user/profile", wrong),
				http.StatusBadRequest)
		}
		if err := call(t, p, http.MethodPut, "/user/preferences", m{"theme": "dark", "density": "roomy"}); err != nil {
			t.Errorf("set preferences: %v", err)
		}
		err = call(t, p, http.MethodPut, "/user/preferences", m{"theme": "pink", "density": "roomy"})
		testserver.WantStatus(t, "an unknown theme", err, http.StatusBadRequest)
		var chosen struct{ Theme, Density string }
		err = p.Call(t.Context(), http.MethodGet, "/user/preferences", nil, nil, &chosen)
		if err != nil || chosen.Theme != "dark" || chosen.Density != "roomy" {
			t.Errorf("%+v, %v", chosen, err)
		}
	})
}

// TestExport: the file has everything and no secret.
func TestExport(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		p, heir, org := leaver(s)
		key, factor := s.AgentKey(p, org).APIKey, s.Enrol(p)
		got := s.Send(http.MethodGet, "/user/export", testserver.WithBearer(p.Tokens.AccessToken), "")
		var file map[string]json.RawMessage
		if err := json.Unmarshal([]byte(got.Body), &file); err != nil || got.Status != http.StatusOK {
			t.Fatalf("%d %v: %s", got.Status, err, got.Body)
		}
		for _, name := range []string{
			"profile", "preferences", "secondFactor", "organizations", "sessions", "identities", "keys", "entries",
		} {
			if len(file[name]) == 0 {
				t.Errorf("%s is missing", name)
			}
		}
		for _, has := range []string{p.Email, org, key[:16], "user.registered", "second_factor.added"} {
			if !strings.Contains(got.Body, has) {
				t.Errorf("%q is missing", has)
			}
		}
		tokens := []string{key, p.Tokens.RefreshToken, p.Tokens.AccessToken, "argon2", heir.Email}
		for _, secret := range append(tokens, factor.Recovery...) {
			if strings.Contains(got.Body, secret) {
				t.Errorf("it holds %q", secret)
			}
		}
	})
}
