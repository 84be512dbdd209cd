package organizations_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/client"
	"writ/internal/database"
	"writ/internal/testserver"
)

func TestAKeyExpires(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ctx := t.Context()
		p := s.Person("dev")
		org := s.Organization(p, "Keys")
		end := s.Database.Now().Add(10 * time.Minute)
		issued, err := p.CreateKey(ctx, client.NewKey{Name: "short", OrganizationID: org, ExpiresAt: &end})
		if err != nil {
			t.Fatal(err)
		}
		key := s.Public.WithKey(issued.APIKey)
		s.Advance(9 * time.Minute)
		if _, err := key.CurrentKey(ctx); err != nil {
			t.Fatalf("before its end: %v", err)
		}
		s.Advance(end.Sub(s.Database.Now()))
		_, err = key.CurrentKey(ctx)
		testserver.WantStatus(t, "at its end", err, http.StatusUnauthorized)
		listed, err := p.Keys(ctx, org, client.List{})
		if err != nil || len(listed.Items) != 1 || listed.Items[0].Status != "expired" ||
			!listed.Items[0].ExpiresAt.Equal(end.Truncate(time.Microsecond)) {
			t.Errorf("in the list: %+v, %v", listed.Items, err)
		}
		_, err = p.RotateKey(ctx, issued.ID)
		testserver.WantStatus(t, "rotate it", err, http.StatusConflict)
	})
}

func TestRevokedKeys(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ctx := t.Context()
		p := s.Person("dev")
		org := s.Organization(p, "Keys")
		issued, other := s.AgentKey(p, org), s.AgentKey(p, org)
		key := s.Public.WithKey(issued.APIKey)
		if _, err := key.CurrentKey(ctx); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second changes nothing, and records nothing
			if err := p.RevokeKey(ctx, issued.ID); err != nil {
				t.Fatalf("revoke: %v", err)
			}
			_, err := key.CurrentKey(ctx)
			testserver.WantStatus(t, "the revoked key, at once", err, http.StatusUnauthorized)
		}
		if log := s.Recorded(org); len(log) != 5 || log[4] != "key.revoked" {
			t.Errorf("recorded %v, want one key.revoked", log)
		}
		listed, err := p.Keys(ctx, org, client.List{})
		if err != nil || listed.Items[1].ID != issued.ID || listed.Items[1].Status != "revoked" ||
			listed.Items[1].RevokedAt == nil {
			t.Errorf("in the list: %+v, %v", listed.Items, err)
		}
		if _, err := s.Public.WithKey(other.APIKey).CurrentKey(ctx); err != nil || listed.Items[0].Status != "active" {
			t.Errorf("the other key: %v", err)
		}
		_, err = p.RotateKey(ctx, issued.ID)
		testserver.WantStatus(t, "rotate a revoked key", err, http.StatusConflict)
	})
}

func TestRotatedKeys(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ctx := t.Context()
		p := s.Person("dev")
		org := s.Organization(p, "Keys")
		end := s.Database.Now().Add(time.Hour)
		old, err := p.CreateKey(ctx, client.NewKey{
			Name:           "k",
			OrganizationID: org,
			Environment:    "production",
			Product:        "gemini-cli",
			Scopes:         []string{"audit"},
			ExpiresAt:      &end,
		})
		if err != nil {
			t.Fatal(err)
		}
		before := s.Public.WithKey(old.APIKey)
		if _, err := before.CurrentKey(ctx); err != nil {
			t.Fatal(err)
		}
		fresh, err := p.RotateKey(ctx, old.ID)
		if err != nil {
			t.Fatal(err)
		}
		want := old.Key
		want.ID, want.Prefix, want.CreatedAt = fresh.ID, fresh.APIKey[:16], fresh.CreatedAt
		if diff := cmp.Diff(want, fresh.Key); diff != "" || fresh.ID == old.ID {
			t.Errorf("the new key (-want +got):\n%s", diff)
		}
		_, err = before.CurrentKey(ctx)
		testserver.WantStatus(t, "the old key, at once", err, http.StatusUnauthorized)
		if _, err := s.Public.WithKey(fresh.APIKey).CurrentKey(ctx); err != nil {
			t.Errorf("the new key: %v", err)
		}
		for what, id := range map[string]string{"unknown": database.NewID(), "malformed": "x", "hostile": "' --\x00"} {
			_, err := p.RotateKey(ctx, id)
			testserver.WantStatus(t, "rotate one "+what, err, http.StatusNotFound)
			testserver.WantStatus(t, "revoke one "+what, p.RevokeKey(ctx, id), http.StatusNotFound)
		}
		mine, err := p.RotateKey(ctx, keyID(t, s.TerminalKey(p, org)))
		if err != nil || !slices.Contains(mine.Scopes, "cli") {
			t.Errorf("rotate one's terminal key: %+v, %v", mine.Scopes, err)
		}
		member := s.Join(p, org, "member")
		_, err = p.RotateKey(ctx, keyID(t, s.TerminalKey(member, org)))
		testserver.WantStatus(t, "rotate somebody's terminal key, to act as them", err, http.StatusConflict)
	})
}

func TestLastUseIsCurrent(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ctx := t.Context()
		p := s.Person("dev")
		org := s.Organization(p, "Keys")
		key := s.Public.WithKey(s.AgentKey(p, org).APIKey)
		unused := s.AgentKey(p, org)
		for range 2 {
			s.Advance(5 * time.Minute)
			before := s.Database.Now()
			if _, err := key.CurrentKey(ctx); err != nil {
				t.Fatal(err)
			}
			if err := s.Keys.FlushLastUsed(ctx); err != nil {
				t.Fatal(err)
			}
			listed, err := p.Keys(ctx, org, client.List{})
			if err != nil || len(listed.Items) != 2 {
				t.Fatalf("list: %+v, %v", listed.Items, err)
			}
			if used := listed.Items[1].LastUsedAt; used == nil || used.Before(before) || used.After(s.Database.Now()) {
				t.Errorf("lastUsedAt %v, want it since %v", used, before)
			}
			if listed.Items[0].ID != unused.ID || listed.Items[0].LastUsedAt != nil {
				t.Errorf("the unused key: %+v", listed.Items[0])
			}
		}
	})
}

// keyID is the id of a client's key.
func keyID(t *testing.T, key *client.Client) string {
	t.Helper()
	current, err := key.CurrentKey(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return current.ID
}
