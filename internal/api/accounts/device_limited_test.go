package accounts_test

import (
	"context"
	"net/http"
	"testing"

	"writ/client"
	"writ/internal/audit"
	"writ/internal/auth"
	"writ/internal/database"
	"writ/internal/testserver"
)

// confined is a session that is good for one organization alone, as the provider
// of that organization brings it about.
func confined(s *testserver.Server, p *testserver.Person, orgID string) *client.Client {
	s.T.Helper()
	var opened auth.Opened
	err := s.Database.Write(s.T.Context(), database.Change{Logs: []string{audit.System}, Do: func(
		ctx context.Context, tx *database.Tx,
	) (err error) {
		_, err = tx.Exec(ctx,
			`INSERT INTO external_identity (id, org_id, issuer, subject, user_id, email, linked, created_at) VALUES ($1, $2, 'i', $1, $3, '', 1, 1)`,
			database.NewID(), orgID, p.ID)
		if err != nil {
			return err
		}
		opened, err = s.Auth.StartSession(ctx, tx, p.ID, orgID, auth.Device{})
		return err
	}})
	if err != nil {
		s.T.Fatal(err)
	}
	tokens, err := s.Auth.Issue(s.T.Context(), opened)
	if err != nil {
		s.T.Fatal(err)
	}
	return s.Public.As(tokens.Access.Reveal())
}

// TestATerminalIsNoWayOutOfAnOrganization: who signed in with an organization's own
// provider lets a terminal in there, and nothing the terminal gets leads elsewhere.
func TestATerminalIsNoWayOutOfAnOrganization(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ada := s.Person("ada")
		corp, private := s.Organization(ada, "Corp"), s.Organization(ada, "Private")
		limited := confined(s, ada, corp)
		code := s.StartDevice(client.DeviceStart{Client: client.WritClient})
		testserver.WantStatus(t, "another organization",
			limited.ApproveDevice(t.Context(), client.DeviceApproval{UserCode: code.UserCode, OrganizationID: private}),
			http.StatusForbidden)
		// It need not name its own: it is in one alone.
		if err := limited.ApproveDevice(t.Context(), client.DeviceApproval{UserCode: code.UserCode}); err != nil {
			t.Fatal(err)
		}
		got, err := s.Public.PollDevice(t.Context(), code.DeviceCode, client.WritClient)
		if err != nil || got.OrganizationID != corp {
			t.Fatalf("the terminal gets %+v, %v", got, err)
		}
		terminal, session := s.Public.WithKey(got.APIKey), s.Public.As(got.AccessToken)
		if me, err := session.Me(t.Context()); err != nil || len(me.Organizations) != 1 ||
			me.Organizations[0].ID != corp {
			t.Errorf("its session sees %+v, %v", me, err)
		}
		_, err = session.Organization(t.Context(), private)
		testserver.WantStatus(t, "its session elsewhere", err, http.StatusForbidden)
		_, err = terminal.SwitchOrganization(t.Context(), private, "")
		testserver.WantStatus(t, "its key switches", err, http.StatusForbidden)
		again, err := terminal.SwitchOrganization(t.Context(), corp, "")
		if err != nil {
			t.Fatalf("its key renews itself: %v", err)
		}
		_, err = s.Public.WithKey(again.APIKey).SwitchOrganization(t.Context(), private, "")
		testserver.WantStatus(t, "the key of its key switches", err, http.StatusForbidden)
		next, err := s.Public.Refresh(t.Context(), got.RefreshToken)
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Public.As(next.AccessToken).Organization(t.Context(), private)
		testserver.WantStatus(t, "its session elsewhere, refreshed", err, http.StatusForbidden)
	})
}

// TestATerminalIsNoWayAroundAProvider: where an organization wants its members to
// sign in with its provider, neither a yes nor a switch of somebody who did not
// gives a key there.
func TestATerminalIsNoWayAroundAProvider(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		owner := s.Person("owner")
		corp := s.Organization(owner, "Corp")
		bob := s.Join(owner, corp, "member")
		private := s.Organization(bob, "Private")
		err := s.Database.Write(t.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
			_, err := tx.Exec(ctx, `
				INSERT INTO identity_provider (org_id, issuer, client_id, sealed_secret, default_role, enforced, created_at, updated_at)
				VALUES ($1, 'https://idp.example', 'c', $2, 'member', 1, 1, 1)`, corp, []byte{1})
			return err
		}})
		if err != nil {
			t.Fatal(err)
		}
		code := s.StartDevice(client.DeviceStart{})
		testserver.WantStatus(t, "a yes",
			bob.ApproveDevice(t.Context(), client.DeviceApproval{UserCode: code.UserCode, OrganizationID: corp}),
			http.StatusForbidden)
		_, err = s.TerminalKey(bob, private).SwitchOrganization(t.Context(), corp, "")
		testserver.WantStatus(t, "a switch", err, http.StatusForbidden)
		if err := confined(s, bob, corp).ApproveDevice(t.Context(), client.DeviceApproval{
			UserCode: code.UserCode,
		}); err != nil {
			t.Errorf("who signed in with it: %v", err)
		}
	})
}
