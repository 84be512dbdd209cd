package organizations_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/client"
	"writ/internal/database"
	"writ/internal/testserver"
)

// refusalOf is the server's error answer.
func refusalOf(t *testing.T, what string, err error) *client.Error {
	t.Helper()
	refusal, ok := err.(*client.Error)
	if !ok {
		t.Fatalf("%s: %v, want an error answer", what, err)
	}
	return refusal
}

// wantInvalidField checks for a 400 whose details and message name the field.
func wantInvalidField(t *testing.T, what string, err error, field string) {
	t.Helper()
	testserver.WantStatus(t, what, err, http.StatusBadRequest)
	if client.StatusOf(err) != http.StatusBadRequest {
		return
	}
	refusal := refusalOf(t, what, err)
	named := slices.ContainsFunc(refusal.Details, func(d client.Detail) bool {
		return d.Field == field || strings.HasPrefix(d.Field, field+"[")
	})
	if !named || !strings.Contains(refusal.Message, field) {
		t.Errorf("%s: %q with details %v, want them to name %s", what, refusal.Message, refusal.Details, field)
	}
}

func TestOrganizationLife(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ctx := t.Context()
		p := s.Person("founder")
		if mine, err := p.Organizations(ctx); err != nil || len(mine) != 0 {
			t.Fatalf("organizations before the first: %v, %v", mine, err)
		}
		zebra, err := p.CreateOrganization(ctx, "  Zebra ")
		if err != nil {
			t.Fatal(err)
		}
		want := client.Organization{
			ID:          zebra.ID,
			Name:        "Zebra",
			Role:        "owner",
			MemberCount: 1,
			CreatedAt:   zebra.CreatedAt,
		}
		if diff := cmp.Diff(want, zebra); diff != "" || !database.IsID(zebra.ID) {
			t.Errorf("created (-want +got):\n%s", diff)
		}
		if age := s.Database.Now().Sub(zebra.CreatedAt); age < 0 || age > time.Minute {
			t.Errorf("createdAt is %s ago", age)
		}
		ant := s.Organization(p, "Ant")
		mine, err := p.Organizations(ctx)
		if err != nil || len(mine) != 2 || mine[0].ID != ant {
			t.Fatalf("organizations by name: %v, %v", mine, err)
		}
		if diff := cmp.Diff(want, mine[1]); diff != "" {
			t.Errorf("in the list (-want +got):\n%s", diff)
		}
		want.Name = "Quagga"
		for range 2 { // the second changes nothing, and records nothing
			got, err := p.RenameOrganization(ctx, zebra.ID, " Quagga ")
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("renamed: %v (-want +got):\n%s", err, diff)
			}
		}
		got, err := p.Organization(ctx, zebra.ID)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("read again: %v (-want +got):\n%s", err, diff)
		}
		log := []string{"organization.created", "member.joined", "organization.renamed"}
		if diff := cmp.Diff(log, s.Recorded(zebra.ID)); diff != "" {
			t.Errorf("recorded (-want +got):\n%s", diff)
		}
		me, err := p.Me(ctx)
		if err != nil || len(me.Organizations) != 2 || me.Organizations[1].Name != "Quagga" {
			t.Errorf("me: %+v, %v", me, err)
		}
	})
}

func TestOrganizationNameIsChecked(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		p := s.Person("founder")
		org := s.Organization(p, "Kept")
		for what, body := range map[string]any{
			"no name":        map[string]any{},
			"empty":          map[string]any{"name": ""},
			"blank":          map[string]any{"name": "   "},
			"too long":       map[string]any{"name": strings.Repeat("ä", 101)},
			"two lines":      map[string]any{"name": "a\nb"},
			"turned around":  map[string]any{"name": "a\u202eb"},
			"a number":       map[string]any{"name": 5},
			"null":           map[string]any{"name": nil},
			"in other case":  map[string]any{"NAME": "Other"},
			"a name in list": map[string]any{"name": []string{"x"}},
		} {
			wantInvalidField(t, "create with "+what,
				p.Call(t.Context(), http.MethodPost, "/organization", nil, body, nil), "name")
			wantInvalidField(t, "rename with "+what,
				p.Call(t.Context(), http.MethodPatch, "/organization/"+org, nil, body, nil), "name")
		}
		if _, err := p.CreateOrganization(t.Context(), strings.Repeat("ä", 100)); err != nil {
			t.Errorf("a name of 100 characters: %v", err)
		}
		mine, err := p.Organizations(t.Context())
		if err != nil || len(mine) != 2 || mine[0].Name != "Kept" {
			t.Errorf("after all refusals: %v, %v", mine, err)
		}
	})
}

func TestClosingAnOrganization(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ctx := t.Context()
		owner := s.Person("owner")
		org, other := s.Organization(owner, "Closing"), s.Organization(owner, "Staying")
		member := s.Join(owner, org, "member")
		agent := s.Public.WithKey(s.AgentKey(member, org).APIKey)
		terminal := s.TerminalKey(member, org)
		elsewhere := s.Public.WithKey(s.AgentKey(owner, other).APIKey)
		guest := s.Person("guest")
		if _, err := owner.Invite(ctx, org, guest.Email, "member"); err != nil {
			t.Fatal(err)
		}
		token := s.TokenFor(guest.Email)
		for name, key := range map[string]*client.Client{"agent": agent, "terminal": terminal} {
			if _, err := key.CurrentKey(ctx); err != nil {
				t.Fatalf("%s key before: %v", name, err)
			}
		}

		testserver.WantStatus(t, "close as a member", member.CloseOrganization(ctx, org), http.StatusForbidden)
		if err := owner.CloseOrganization(ctx, org); err != nil {
			t.Fatalf("close: %v", err)
		}

		for name, p := range map[string]*testserver.Person{"owner": owner, "member": member} {
			_, err := p.Organization(ctx, org)
			testserver.WantStatus(t, "read as the "+name, err, http.StatusForbidden)
			_, err = p.Members(ctx, org, client.List{})
			testserver.WantStatus(t, "members as the "+name, err, http.StatusForbidden)
			_, err = p.CreateKey(ctx, client.NewKey{Name: "late", OrganizationID: org})
			testserver.WantStatus(t, "a new key as the "+name, err, http.StatusForbidden)
		}
		testserver.WantStatus(t, "close again", owner.CloseOrganization(ctx, org), http.StatusForbidden)
		mine, err := owner.Organizations(ctx)
		if err != nil || len(mine) != 1 || mine[0].ID != other {
			t.Errorf("organizations after: %v, %v", mine, err)
		}
		_, err = guest.AcceptInvite(ctx, token)
		testserver.WantStatus(t, "accept an invitation to it", err, http.StatusNotFound)

		s.Advance(time.Second) // how long a key is trusted without asking
		for name, key := range map[string]*client.Client{"agent": agent, "terminal": terminal} {
			_, err := key.CurrentKey(ctx)
			testserver.WantStatus(t, name+" key after", err, http.StatusUnauthorized)
		}
		if _, err := elsewhere.CurrentKey(ctx); err != nil {
			t.Errorf("a key of another organization: %v", err)
		}
		if log := s.Recorded(org); log[len(log)-1] != "organization.closed" {
			t.Errorf("recorded %v, want organization.closed at the end", log)
		}
	})
}
