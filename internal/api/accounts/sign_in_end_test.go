package accounts_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/oauth2-proxy/mockoidc"

	"writ/client"
	"writ/internal/principal"
	"writ/internal/testserver"
)

// guest is somebody whom an organization's provider vouches for, with all that came
// of it: a session, a terminal with a key and a session, a yes that no terminal has
// collected yet, and the key of an agent.
type guest struct {
	session          *client.Client
	terminal, inside *client.Client
	waiting          client.DeviceCode
	agent            *client.Client
}

func newGuest(t *testing.T, s *testserver.Server, orgID string, e *testserver.Provider, user mockoidc.User) guest {
	t.Helper()
	in, err := s.SignInAt(e, "/auth/oidc/"+orgID, user)
	if err != nil {
		t.Fatal(err)
	}
	g := guest{session: s.Public.As(in.AccessToken)}
	vouched := &testserver.Person{Client: g.session}
	granted, err := s.Public.PollDevice(t.Context(), s.ApprovedDevice(vouched, orgID).DeviceCode, client.WritClient)
	if err != nil {
		t.Fatal(err)
	}
	g.terminal, g.inside = s.Public.WithKey(granted.APIKey), s.Public.As(granted.AccessToken)
	g.waiting = s.ApprovedDevice(vouched, orgID)
	g.agent = s.Public.WithKey(s.AgentKey(vouched, orgID).APIKey)
	return g
}

// wantEnded checks that nothing is left of what stood for the person, and that the
// organization's agent goes on.
func (g guest) wantEnded(t *testing.T, s *testserver.Server, ended bool) {
	t.Helper()
	status := 0
	if ended {
		status = http.StatusUnauthorized
	}
	_, err := g.session.Me(t.Context())
	testserver.WantStatus(t, "the session", err, status)
	_, err = g.inside.Me(t.Context())
	testserver.WantStatus(t, "the terminal's session", err, status)
	_, err = g.terminal.CurrentKey(t.Context())
	testserver.WantStatus(t, "the terminal's key", err, status)
	_, err = g.agent.CurrentKey(t.Context())
	testserver.WantStatus(t, "the agent's key", err, 0)
	if ended {
		if _, err := s.Public.PollDevice(t.Context(), g.waiting.DeviceCode,
			client.WritClient); client.DeviceError(err) != client.DeviceDenied {
			t.Errorf("the yes that nobody had collected: %v", err)
		}
	}
}

// TestWhatEndsWithAProvider: with the provider, with another client in its place,
// and with the identity of one person.
func TestWhatEndsWithAProvider(t *testing.T) {
	t.Parallel()
	corp := testserver.NewProvider(t)
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		owner := s.Person("owner")
		org, other := s.Organization(owner, "Corp"), s.Organization(owner, "Other")
		s.SetProvider(owner, org, corp, "corp.example")
		s.SetProvider(owner, other, corp, "corp.example")
		guest := func(orgID string) guest {
			return newGuest(t, s, orgID, corp, testserver.Someone(testserver.FreshIn("corp.example")))
		}
		bystander, terminal := guest(other), s.TerminalKey(owner, org)

		member, known := s.Join(owner, org, "member"), testserver.Someone(testserver.FreshIn("corp.example"))
		s.Link(member, org, corp, known)
		first, second := newGuest(t, s, org, corp, known), guest(org)
		list, err := member.Identities(t.Context())
		if err != nil || len(list) != 1 {
			t.Fatalf("identities %+v, %v", list, err)
		}
		if err := member.UnlinkIdentity(t.Context(), list[0].ID); err != nil {
			t.Fatal(err)
		}
		first.wantEnded(t, s, true)
		second.wantEnded(t, s, false)

		changed := corp.Settings("corp.example")
		changed.ClientID = "another-client"
		if _, err := owner.SetIdentityProvider(t.Context(), org, changed); err != nil {
			t.Fatal(err)
		}
		second.wantEnded(t, s, true)

		s.SetProvider(owner, org, corp, "corp.example")
		third := guest(org)
		if err := owner.DeleteIdentityProvider(t.Context(), org); err != nil {
			t.Fatal(err)
		}
		third.wantEnded(t, s, true)
		bystander.wantEnded(t, s, false)
		if _, err := terminal.CurrentKey(t.Context()); err != nil {
			t.Errorf("a terminal of somebody who has a password: %v", err)
		}
		if n := len(slices.DeleteFunc(s.Recorded(org), func(a string) bool { return a != "key.revoked" })); n != 3 {
			t.Errorf("%d keys were recorded as revoked, want 3", n)
		}
	}, testserver.PermitLoopback...)
}

// TestWhatEndsWhenAProviderIsEnforced: the terminals of members who did not sign in
// with it, and nothing of owners, of agents or of who did.
func TestWhatEndsWhenAProviderIsEnforced(t *testing.T) {
	t.Parallel()
	corp := testserver.NewProvider(t)
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		owner := s.Person("owner")
		org, other := s.Organization(owner, "Corp"), s.Organization(owner, "Other")
		admin := s.Join(owner, org, "admin")
		s.MakeMember(other, admin.ID, principal.Member)
		s.SetProvider(owner, org, corp, "corp.example")
		if _, err := owner.TestIdentityProvider(t.Context(), org); err != nil {
			t.Fatal(err)
		}
		vouched := newGuest(t, s, org, corp, testserver.Someone(testserver.FreshIn("corp.example")))
		mine, waiting, agent := s.TerminalKey(admin, org), s.ApprovedDevice(admin, org),
			s.Public.WithKey(s.AgentKey(admin, org).APIKey)
		elsewhere, owners := s.TerminalKey(admin, other), s.TerminalKey(owner, org)
		settings := corp.Settings("corp.example")
		settings.Enforced = true
		if _, err := owner.SetIdentityProvider(t.Context(), org, settings); err != nil {
			t.Fatal(err)
		}
		_, err := mine.CurrentKey(t.Context())
		testserver.WantStatus(t, "the terminal of a member with a password", err, http.StatusUnauthorized)
		if _, err := s.Public.PollDevice(t.Context(), waiting.DeviceCode,
			""); client.DeviceError(err) != client.DeviceDenied {
			t.Errorf("a yes of theirs that nobody had collected: %v", err)
		}
		vouched.wantEnded(t, s, false)
		for what, key := range map[string]*client.Client{
			"an agent's key": agent, "a terminal elsewhere": elsewhere, "an owner's terminal": owners,
		} {
			if _, err := key.CurrentKey(t.Context()); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		if _, err := admin.Organization(t.Context(), other); err != nil {
			t.Errorf("their session, elsewhere: %v", err)
		}

		second := s.Person("second")
		s.MakeMember(org, second.ID, principal.Owner)
		terminal, product := s.TerminalKey(second, org), client.NewKey{Name: "p", Product: "p", OrganizationID: org}
		if _, err := terminal.ProvisionKey(t.Context(), product); err != nil {
			t.Errorf("an owner's terminal makes a key: %v", err)
		}
		if _, err := owner.ChangeRole(t.Context(), org, second.ID, "admin"); err != nil {
			t.Fatal(err)
		}
		_, err = terminal.ProvisionKey(t.Context(), product)
		testserver.WantStatus(t, "the terminal of who is an owner no more", err, http.StatusForbidden)
	}, testserver.PermitLoopback...)
}
