package organization_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/organization"
	"writ/internal/principal"
	"writ/internal/testenv"
)

func TestCreate(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		p := principal.Principal{Kind: principal.User, UserID: e.user(t, "one@example.org")}
		created, err := e.service.Create(t.Context(), p, "  Blue & Söhne\n")
		if err != nil {
			t.Fatal(err)
		}
		if want := (organization.Organization{
			ID: created.ID, Name: "Blue & Söhne", CreatedAt: e.Now(),
		}); created != want {
			t.Errorf("Create = %+v, want %+v", created, want)
		}
		p.OrgID, p.Role = created.ID, principal.Owner
		got, err := e.service.Get(t.Context(), p)
		if want := (organization.Membership{
			Organization: created, Role: principal.Owner, MemberCount: 1,
		}); err != nil || got != want {
			t.Errorf("Get = %+v, %v; want %+v", got, err, want)
		}
		want := []entry{
			{"organization.created", "user " + p.UserID, "organization " + created.ID, `{"name":"Blue & S\u00f6hne"}`},
			{"member.joined", "user " + p.UserID, "member " + p.UserID, `{"role":"owner"}`},
		}
		if diff := cmp.Diff(want, e.log(t, created.ID, 0)); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
	})
}

func TestCreateIsForPeople(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		id := e.user(t, "one@example.org")
		for name, p := range map[string]principal.Principal{
			"nobody": {UserID: id},
			"key": {
				Kind: principal.Key, UserID: id, KeyID: database.NewID(), Scopes: []principal.Scope{principal.CLI},
			},
			"operator": principal.Operator(),
		} {
			_, err := e.service.Create(t.Context(), p, "Blue")
			testenv.WantFault(t, name, err, fault.Forbidden)
		}
		if mine, err := e.service.ListForUser(t.Context(), id); err != nil || len(mine) != 0 {
			t.Errorf("Mine = %v, %v; want none", mine, err)
		}
	})
}

func TestNames(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		owner := e.create(t, "Before")
		for _, tt := range []struct{ name, give, want string }{
			{"shortest", "x", "x"},
			{"longest, in characters", strings.Repeat("ß", 100), strings.Repeat("ß", 100)},
			{"space around", "\t Blue  Sky \r\n", "Blue  Sky"},
			{"joined emoji", "👩\u200d🔬", "👩\u200d🔬"},
			{"empty", "", ""},
			{"spaces", " \t\n", ""},
			{"too long", strings.Repeat("x", 101), ""},
			{"line feed", "Blue\nBcc: x@example.org", ""},
			{"carriage return", "Blue\rSky", ""},
			{"NUL", "Blue\x00", ""},
			{"escape", "Blue\x1b[31m", ""},
			{"C1 control", "Blue\u0085Sky", ""},
			{"line separator", "Blue\u2028Sky", ""},
			{"right-to-left override", "Blue\u202eSky", ""},
			{"not UTF-8", "Blue\xff", ""},
		} {
			created, err := e.service.Create(t.Context(),
				principal.Principal{Kind: principal.User, UserID: owner.UserID}, tt.give)
			renamed, err2 := e.service.Rename(t.Context(), owner, tt.give)
			if tt.want == "" {
				testenv.WantFault(t, "create: "+tt.name, err, fault.Invalid)
				testenv.WantFault(t, "rename: "+tt.name, err2, fault.Invalid)
			} else if created.Name != tt.want || renamed.Name != tt.want || err != nil || err2 != nil {
				t.Errorf("%s: created %q (%v), renamed %q (%v), want %q", tt.name, created.Name, err, renamed.Name,
					err2, tt.want)
			}
		}
	})
}

func TestAdd(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		owner := e.user(t, "one@example.org")
		add := func(id, log, name string) (o organization.Organization, err error) {
			err = e.DB.Write(t.Context(), database.Change{Logs: []string{log, audit.System}, Do: func(
				ctx context.Context, tx *database.Tx,
			) (err error) {
				o, err = e.service.Add(ctx, tx, principal.Operator(), id, owner, name)
				return err
			}})
			return o, err
		}
		id := database.NewID()
		o, err := add(id, id, " Blue ")
		if want := (organization.Organization{ID: id, Name: "Blue", CreatedAt: e.Now()}); err != nil ||
			o != want {
			t.Fatalf("Add = %+v, %v; want %+v", o, err, want)
		}
		want := []entry{
			{"organization.created", "system ", "organization " + id, `{"name":"Blue"}`},
			{"member.joined", "system ", "member " + owner, `{"role":"owner"}`},
		}
		if diff := cmp.Diff(want, e.log(t, id, 0)); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
		if _, err := add(database.NewID(), "another log", "Red"); err == nil {
			t.Error("an organization was added without its log")
		}
		bad := database.NewID()
		_, err = add(bad, bad, "\n")
		testenv.WantFault(t, "empty name", err, fault.Invalid)
		if mine, err := e.service.ListForUser(t.Context(), owner); err != nil || len(mine) != 1 {
			t.Errorf("Mine = %v, %v; want Blue alone", mine, err)
		}
	})
}

func TestMine(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		blue, red, ash, closed := e.create(t, "blue"), e.create(t, "Red"), e.create(t, "Ärger"), e.create(t, "Closed")
		twin := e.create(t, "Red") // after red, as ids rise
		e.create(t, "Not mine")
		me := e.add(t, blue.OrgID, principal.Viewer)
		for _, o := range []principal.Principal{red, ash, closed, twin} {
			e.Exec(`INSERT INTO organization_member (org_id, user_id, role, joined_at) VALUES ($1, $2, 'admin', 1)`,
				o.OrgID, me.UserID)
		}
		e.add(t, red.OrgID, principal.Member)
		if err := e.service.Close(t.Context(), closed); err != nil {
			t.Fatal(err)
		}
		got, err := e.service.ListForUser(t.Context(), me.UserID)
		if err != nil {
			t.Fatal(err)
		}
		mine := func(id, name string, role principal.Role, members int) organization.Membership {
			return organization.Membership{
				Organization: organization.Organization{ID: id, Name: name, CreatedAt: e.Now()}, Role: role,
				MemberCount: members,
			}
		}
		want := []organization.Membership{
			mine(red.OrgID, "Red", principal.Admin, 3), mine(twin.OrgID, "Red", principal.Admin, 2),
			mine(blue.OrgID, "blue", principal.Viewer, 2), mine(ash.OrgID, "Ärger", principal.Admin, 2),
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Mine (-want +got):\n%s", diff)
		}
		if got, err := e.service.ListForUser(t.Context(), database.NewID()); err != nil || got == nil || len(got) != 0 {
			t.Errorf("Mine of a stranger = %#v, %v; want an empty list", got, err)
		}
	})
}

func TestRoleOf(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		owner, other, closed := e.create(t, "Blue"), e.create(t, "Red"), e.create(t, "Closed")
		for _, role := range principal.Roles() {
			member := e.add(t, owner.OrgID, role)
			if got, err := e.service.RoleOf(t.Context(), owner.OrgID, member.UserID); err != nil || got != role {
				t.Errorf("RoleOf = %s, %v; want %s", got, err, role)
			}
		}
		if err := e.service.Close(t.Context(), closed); err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct{ name, orgID, userID string }{
			{"another organization", other.OrgID, owner.UserID},
			{"closed", closed.OrgID, closed.UserID},
			{"unknown organization", database.NewID(), owner.UserID},
			{"unknown person", owner.OrgID, database.NewID()},
			{"no organization", "", owner.UserID},
			{"no person", owner.OrgID, ""},
			{"malformed organization", "x\x00'", owner.UserID},
			{"malformed person", owner.OrgID, "\xff"},
			{"upper case", strings.ToUpper(owner.OrgID), owner.UserID},
		} {
			role, err := e.service.RoleOf(t.Context(), tt.orgID, tt.userID)
			wantFault(t, tt.name, err, fault.Forbidden, notMember)
			if role != "" {
				t.Errorf("%s: role %q beside the fault", tt.name, role)
			}
		}
	})
}

func TestRename(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		owner, other := e.create(t, "Blue"), e.create(t, "Other")
		admin := e.add(t, owner.OrgID, principal.Admin)
		for range 2 { // the second time there is nothing to change
			got, err := e.service.Rename(t.Context(), admin, " Red ")
			if err != nil || got.Name != "Red" || got.ID != owner.OrgID || got.Role != principal.Admin ||
				got.MemberCount != 2 {
				t.Errorf("Rename = %+v, %v", got, err)
			}
		}
		for p, want := range map[*principal.Principal]string{&owner: "Red", &other: "Other"} {
			if got, err := e.service.Get(t.Context(), *p); err != nil || got.Name != want {
				t.Errorf("Get = %+v, %v; want name %s", got, err, want)
			}
		}
		e.wantLog(t, owner.OrgID,
			entry{
				"organization.renamed", "user " + admin.UserID, "organization " + owner.OrgID,
				`{"from":"Blue","to":"Red"}`,
			})
		e.wantLog(t, other.OrgID)
	})
}

func TestClose(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		owner, other := e.create(t, "Blue"), e.create(t, "Other")
		member := e.add(t, owner.OrgID, principal.Member)
		invite, token := e.invite(t, owner, "two@example.org", principal.Viewer)
		_, otherToken := e.invite(t, other, "two@example.org", principal.Viewer)
		before := e.log(t, owner.OrgID, 0)

		if err := e.service.Close(t.Context(), owner); err != nil {
			t.Fatal(err)
		}
		for _, p := range []principal.Principal{owner, member} {
			_, err := e.service.RoleOf(t.Context(), p.OrgID, p.UserID)
			wantFault(t, "role", err, fault.Forbidden, notMember)
		}
		_, err := e.service.Get(t.Context(), owner)
		testenv.WantFault(t, "get", err, fault.NotFound)
		_, err = e.service.InvitedEmail(t.Context(), token)
		wantFault(t, "invitation", err, fault.NotFound, invalidInvite)
		if _, err := e.service.InvitedEmail(t.Context(), otherToken); err != nil {
			t.Errorf("the invitation of another organization: %v", err)
		}
		// A request that was let in before must not change it any more.
		for name, change := range changes(e, database.NewID(), database.NewID()) {
			wantFault(t, name, change(t.Context(), owner), fault.Forbidden, notMember)
		}
		operator := principal.Principal{Kind: principal.System, OrgID: owner.OrgID}
		testenv.WantFault(t, "the operator", e.service.Close(t.Context(), operator), fault.NotFound)

		closed := entry{
			"organization.closed", "user " + owner.UserID, "organization " + owner.OrgID,
			`{"withdrawnInvites":["` + invite.ID + `"]}`,
		}
		if diff := cmp.Diff(append(before, closed), e.log(t, owner.OrgID, 0)); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
	})
}

// changes are the changes to an organization, each with a target.
func changes(e *env, userID, inviteID string) map[string]func(context.Context, principal.Principal) error {
	return map[string]func(context.Context, principal.Principal) error{
		"rename": func(ctx context.Context, p principal.Principal) error {
			_, err := e.service.Rename(ctx, p, "New name")
			return err
		},
		"close": e.service.Close,
		"invite": func(ctx context.Context, p principal.Principal) error {
			_, err := e.service.Invite(ctx, p, "new@example.org", principal.Member)
			return err
		},
		"invite owner": func(ctx context.Context, p principal.Principal) error {
			_, err := e.service.Invite(ctx, p, "new@example.org", principal.Owner)
			return err
		},
		"withdraw": func(ctx context.Context, p principal.Principal) error {
			return e.service.Withdraw(ctx, p, inviteID)
		},
		"change role": func(ctx context.Context, p principal.Principal) error {
			_, err := e.service.ChangeRole(ctx, p, userID, principal.Viewer)
			return err
		},
		"remove": func(ctx context.Context, p principal.Principal) error {
			return e.service.Remove(ctx, p, userID, nil)
		},
		"leave": func(ctx context.Context, p principal.Principal) error {
			return e.service.Remove(ctx, p, p.UserID, nil)
		},
	}
}
