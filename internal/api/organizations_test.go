package api_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/client"
	"writ/internal/apikey"
	"writ/internal/audit"
	"writ/internal/auth"
	"writ/internal/database"
	"writ/internal/principal"
	"writ/internal/secret"
)

// bareMember makes a member who never signs in, which saves the time of that.
func (s *server) bareMember(orgID, role string) (userID string) {
	s.t.Helper()
	now := s.Database.Now()
	user := auth.User{
		ID:         database.NewID(),
		Email:      role + "." + secret.Digits(9).Reveal() + "@example.org",
		Name:       role,
		VerifiedAt: &now,
	}
	err := s.Database.Write(s.t.Context(), database.Change{Logs: []string{audit.System}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
		return s.Auth.AddUser(ctx, tx, principal.Operator(), &user, "no password has this hash")
	}})
	if err != nil {
		s.t.Fatalf("make a %s: %v", role, err)
	}
	s.putMember(orgID, user.ID, role)
	return user.ID
}

func (s *server) putMember(orgID, userID, role string) {
	s.t.Helper()
	err := s.Database.Write(s.t.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.Exec(ctx,
			`INSERT INTO organization_member (org_id, user_id, role, joined_at) VALUES ($1, $2, $3, $4)`,
			orgID, userID, role, database.Micros(tx.Now()))
		return err
	}})
	if err != nil {
		s.t.Fatalf("put %s into %s: %v", userID, orgID, err)
	}
}

// keyFor issues a key with default scopes without asking anybody.
func (s *server) keyFor(userID, orgID string) apikey.Issued {
	s.t.Helper()
	var issued apikey.Issued
	err := s.Database.Write(s.t.Context(), database.Change{Logs: []string{audit.LogOf(orgID)}, Do: func(
		ctx context.Context, tx *database.Tx,
	) (err error) {
		issued, err = s.Keys.Add(ctx, tx, principal.Operator(), userID, apikey.NewKey{Name: "issued", OrgID: orgID})
		return err
	}})
	if err != nil {
		s.t.Fatalf("issue a key: %v", err)
	}
	return issued
}

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
	wantStatus(t, what, err, http.StatusBadRequest)
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
	each(t, func(t *testing.T, s *server) {
		ctx := t.Context()
		p := s.person("founder")
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
		ant := s.organization(p, "Ant")
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
		if diff := cmp.Diff(log, s.recorded(zebra.ID)); diff != "" {
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
	each(t, func(t *testing.T, s *server) {
		p := s.person("founder")
		org := s.organization(p, "Kept")
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
	each(t, func(t *testing.T, s *server) {
		ctx := t.Context()
		owner := s.person("owner")
		org, other := s.organization(owner, "Closing"), s.organization(owner, "Staying")
		member := s.join(owner, org, "member")
		agent := s.public.WithKey(s.agentKey(member, org).APIKey)
		terminal := s.terminalKey(member, org)
		elsewhere := s.public.WithKey(s.agentKey(owner, other).APIKey)
		guest := s.person("guest")
		if _, err := owner.Invite(ctx, org, guest.Email, "member"); err != nil {
			t.Fatal(err)
		}
		token := s.tokenFor(guest.Email)
		for name, key := range map[string]*client.Client{"agent": agent, "terminal": terminal} {
			if _, err := key.CurrentKey(ctx); err != nil {
				t.Fatalf("%s key before: %v", name, err)
			}
		}

		wantStatus(t, "close as a member", member.CloseOrganization(ctx, org), http.StatusForbidden)
		if err := owner.CloseOrganization(ctx, org); err != nil {
			t.Fatalf("close: %v", err)
		}

		for name, p := range map[string]*person{"owner": owner, "member": member} {
			_, err := p.Organization(ctx, org)
			wantStatus(t, "read as the "+name, err, http.StatusForbidden)
			_, err = p.Members(ctx, org, client.List{})
			wantStatus(t, "members as the "+name, err, http.StatusForbidden)
			_, err = p.CreateKey(ctx, client.NewKey{Name: "late", OrganizationID: org})
			wantStatus(t, "a new key as the "+name, err, http.StatusForbidden)
		}
		wantStatus(t, "close again", owner.CloseOrganization(ctx, org), http.StatusForbidden)
		mine, err := owner.Organizations(ctx)
		if err != nil || len(mine) != 1 || mine[0].ID != other {
			t.Errorf("organizations after: %v, %v", mine, err)
		}
		_, err = guest.AcceptInvite(ctx, token)
		wantStatus(t, "accept an invitation to it", err, http.StatusNotFound)

		s.advance(time.Second) // how long a key is trusted without asking
		for name, key := range map[string]*client.Client{"agent": agent, "terminal": terminal} {
			_, err := key.CurrentKey(ctx)
			wantStatus(t, name+" key after", err, http.StatusUnauthorized)
		}
		if _, err := elsewhere.CurrentKey(ctx); err != nil {
			t.Errorf("a key of another organization: %v", err)
		}
		if log := s.recorded(org); log[len(log)-1] != "organization.closed" {
			t.Errorf("recorded %v, want organization.closed at the end", log)
		}
	})
}

// roleCase is a call and the roles that may make it.
type roleCase struct {
	route     string // method and path as declared
	what      string
	may       []string
	otherwise int
	call      func(ctx context.Context, s *server, org string, p *person) error
}

var (
	anyRole    = []string{"viewer", "member", "approver", "admin", "owner"}
	managers   = []string{"admin", "owner"}
	ownerOnly  = []string{"owner"}
	keyHolders = []string{"member", "approver", "admin", "owner"}
)

// TestWhatEachRoleMayDo has its own table of rights, so that a change of the
// real one has to be made twice.
func TestWhatEachRoleMayDo(t *testing.T) {
	t.Parallel()
	provider := newIDP(t)
	each(t, func(t *testing.T, s *server) {
		founder := s.person("founder")
		org := s.organization(founder, "Roles")
		people := map[string]*person{}
		for _, role := range anyRole {
			people[role] = s.join(founder, org, role)
		}
		cases := slices.Concat(organizationRoleCases(), memberRoleCases(), keyRoleCases(), telemetryRoleCases(),
			tailRoleCases(), enforcementRoleCases(), webhookRoleCases(),
			forwardingRoleCases(), identityProviderRoleCases(provider), closingRoleCases())
		for _, r := range s.API.Routes() {
			declared := r.Method + " " + r.Path
			if r.OrganizationScoped() &&
				!slices.ContainsFunc(cases, func(c roleCase) bool { return c.route == declared }) {
				t.Errorf("%s: no case says which roles may call it", declared)
			}
		}
		for _, c := range cases {
			for _, role := range anyRole { // the owner last: one of the cases closes the organization
				err := c.call(t.Context(), s, org, people[role])
				want := c.otherwise
				if slices.Contains(c.may, role) {
					want = 0
				}
				if got := client.StatusOf(err); got != want || want == 0 && err != nil {
					t.Errorf("%s (%s) as %s: %v, want status %d", c.route, c.what, role, err, want)
				}
			}
		}
	}, permitLoopback...)
}

func organizationRoleCases() []roleCase {
	return []roleCase{
		{"GET /organization/{orgId}", "read", anyRole, 0,
			func(ctx context.Context, s *server, org string, p *person) error {
				_, err := p.Organization(ctx, org)
				return err
			}},
		{"PATCH /organization/{orgId}", "rename", managers, 403,
			func(ctx context.Context, s *server, org string, p *person) error {
				_, err := p.RenameOrganization(ctx, org, "Renamed")
				return err
			}},
		{"GET /organization/{orgId}/members", "list", anyRole, 0,
			func(ctx context.Context, s *server, org string, p *person) error {
				_, err := p.Members(ctx, org, client.List{})
				return err
			}},
		{"GET /organization/{orgId}/invites", "list", managers, 403,
			func(ctx context.Context, s *server, org string, p *person) error {
				_, err := p.Invites(ctx, org)
				return err
			}},
	}
}

func closingRoleCases() []roleCase {
	return []roleCase{
		{"DELETE /organization/{orgId}", "close", ownerOnly, 403,
			func(ctx context.Context, s *server, org string, p *person) error {
				return p.CloseOrganization(ctx, org)
			}},
	}
}
