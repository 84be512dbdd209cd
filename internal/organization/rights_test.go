package organization_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/organization"
	"writ/internal/principal"
	"writ/internal/testenv"
)

// TestRights is the table of who may what, beside a plain member as target and
// a second owner, so that nobody is the last one.
func TestRights(t *testing.T) {
	t.Parallel()
	const all = "owner admin approver member viewer"
	wants := map[string]string{
		"get": all, "members": all, "leave": all,
		"rename": "owner admin", "invite": "owner admin", "invites": "owner admin", "withdraw": "owner admin",
		"change role": "owner admin", "remove": "owner admin",
		"invite owner": "owner", "close": "owner",
	}
	each(t, func(t *testing.T, e *env) {
		for _, role := range principal.Roles() {
			for what, allowed := range wants {
				e.Pass(time.Hour) // an address is invited only so often
				owner := e.create(t, "Blue")
				target, caller := e.add(t, owner.OrgID, principal.Member), e.add(t, owner.OrgID, role)
				invite, _ := e.invite(t, owner, "open@example.org", principal.Member)
				want := fault.Kind("")
				if !strings.Contains(allowed, string(role)) {
					want = fault.Forbidden
				}
				err := actions(e, target.UserID, invite.ID)[what](t.Context(), caller)
				testenv.WantFault(t, string(role)+": "+what, err, want)
			}
		}
	})
}

// actions are the changes and the reads.
func actions(e *env, userID, inviteID string) map[string]func(context.Context, principal.Principal) error {
	all := changes(e, userID, inviteID)
	all["get"] = func(ctx context.Context, p principal.Principal) error {
		_, err := e.service.Get(ctx, p)
		return err
	}
	all["members"] = func(ctx context.Context, p principal.Principal) error {
		_, err := e.service.Members(ctx, p, "", 10)
		return err
	}
	all["invites"] = func(ctx context.Context, p principal.Principal) error {
		_, err := e.service.Invites(ctx, p)
		return err
	}
	return all
}

// A principal without a role, and one that names another organization, must
// get nowhere even if an edge let it through.
func TestNobodyMayNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		owner := e.create(t, "Blue")
		target := e.add(t, owner.OrgID, principal.Member)
		invite, _ := e.invite(t, owner, "open@example.org", principal.Member)
		before := e.log(t, owner.OrgID, 0)
		for what, act := range actions(e, target.UserID, invite.ID) {
			for name, p := range map[string]principal.Principal{
				"zero value":   {},
				"no role":      {Kind: principal.User, UserID: owner.UserID, OrgID: owner.OrgID},
				"unknown role": {Kind: principal.User, UserID: owner.UserID, OrgID: owner.OrgID, Role: "root"},
				"key alone": {
					Kind: principal.Key, UserID: owner.UserID, OrgID: owner.OrgID, KeyID: database.NewID(),
				},
				"no organization": {Kind: principal.User, UserID: owner.UserID},
			} {
				testenv.WantFault(t, name+": "+what, act(t.Context(), p), fault.Forbidden)
			}
		}
		if diff := cmp.Diff(before, e.log(t, owner.OrgID, 0)); diff != "" {
			t.Errorf("log (-before +after):\n%s", diff)
		}
	})
}

// TestChangesAreJudgedByThePresentRole has callers whose role was taken after
// the edge saw it.
func TestChangesAreJudgedByThePresentRole(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		owner, other := e.create(t, "Blue"), e.create(t, "Other")
		target := e.add(t, owner.OrgID, principal.Member)
		invite, _ := e.invite(t, owner, "open@example.org", principal.Member)
		demoted := e.add(t, owner.OrgID, principal.Viewer)
		demoted.Role = principal.Owner
		removed := principal.Principal{
			Kind: principal.User, UserID: e.user(t, "gone@example.org"), OrgID: owner.OrgID, Role: principal.Owner,
		}
		stranger := other
		stranger.OrgID = owner.OrgID
		before := e.log(t, owner.OrgID, 0)
		for what, change := range changes(e, target.UserID, invite.ID) {
			if what != "leave" {
				testenv.WantFault(t, "demoted: "+what, change(t.Context(), demoted), fault.Forbidden)
			}
			wantFault(t, "removed: "+what, change(t.Context(), removed), fault.Forbidden, notMember)
			wantFault(t, "stranger: "+what, change(t.Context(), stranger), fault.Forbidden, notMember)
		}
		if diff := cmp.Diff(before, e.log(t, owner.OrgID, 0)); diff != "" {
			t.Errorf("log (-before +after):\n%s", diff)
		}
	})
}

// An id of another organization must behave exactly as one that does not exist.
func TestOtherOrganizationsDoNotExist(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		mine, theirs := e.create(t, "Mine"), e.create(t, "Theirs")
		victim := e.add(t, theirs.OrgID, principal.Member)
		e.add(t, theirs.OrgID, principal.Member)
		invite, token := e.invite(t, theirs, "open@example.org", principal.Member)
		for name, id := range map[string][2]string{
			"theirs":    {victim.UserID, invite.ID},
			"unknown":   {database.NewID(), database.NewID()},
			"empty":     {"", ""},
			"malformed": {"\x00'", "\xff"},
		} {
			all := changes(e, id[0], id[1])
			wantFault(t, name+": change role", all["change role"](t.Context(), mine), fault.NotFound, noSuchMember)
			wantFault(t, name+": remove", all["remove"](t.Context(), mine), fault.NotFound, noSuchMember)
			wantFault(t, name+": withdraw", all["withdraw"](t.Context(), mine), fault.NotFound, noSuchInvite)
		}
		page, err := e.service.Members(t.Context(), theirs, "", 1)
		if err != nil || !page.HasMore {
			t.Fatalf("Members = %+v, %v", page, err)
		}
		_, err = e.service.Members(t.Context(), mine, page.NextCursor, 1)
		wantFault(t, "their cursor", err, fault.Invalid, "Invalid cursor")
		if page, err := e.service.Members(t.Context(), mine, "", 10); err != nil || len(page.Items) != 1 {
			t.Errorf("my members = %+v, %v; want me alone", page, err)
		}
		if invites, err := e.service.Invites(t.Context(), mine); err != nil || len(invites) != 0 {
			t.Errorf("my invitations = %+v, %v; want none", invites, err)
		}
		// Someone who was invited there can be invited here as well.
		e.invite(t, mine, "open@example.org", principal.Member)
		if _, err := e.service.InvitedEmail(t.Context(), token); err != nil {
			t.Errorf("their invitation: %v", err)
		}
	})
}

// What happens to a person in one organization leaves their others alone.
func TestMembershipsAreApart(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		here, there := e.create(t, "Here"), e.create(t, "There")
		both := e.add(t, here.OrgID, principal.Member)
		e.Exec(`INSERT INTO organization_member (org_id, user_id, role, joined_at) VALUES ($1, $2, 'admin', 1)`,
			there.OrgID, both.UserID)
		_, err := e.service.ChangeRole(t.Context(), here, both.UserID, principal.Viewer)
		testenv.WantFault(t, "change role", err, "")
		if got, err := e.service.RoleOf(t.Context(), here.OrgID, both.UserID); err != nil || got != principal.Viewer {
			t.Errorf("the role here is %s, %v; want viewer", got, err)
		}
		testenv.WantFault(t, "remove", e.service.Remove(t.Context(), here, both.UserID, nil), "")
		if got, err := e.service.RoleOf(t.Context(), there.OrgID, both.UserID); err != nil || got != principal.Admin {
			t.Errorf("the role there is %s, %v; want admin as before", got, err)
		}
	})
}

// The operator has no role and no membership, and manages members all the same:
// it is how an organization whose owners are gone gets one again.
func TestOperator(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		owner := e.create(t, "Blue")
		member := e.add(t, owner.OrgID, principal.Member)
		operator := principal.Operator()
		operator.OrgID = owner.OrgID
		if got, err := e.service.ChangeRole(t.Context(), operator, member.UserID, principal.Owner); err != nil ||
			got.Role != principal.Owner {
			t.Errorf("ChangeRole = %+v, %v", got, err)
		}
		e.wantLog(t, owner.OrgID,
			entry{"member.role_changed", "system ", "member " + member.UserID, `{"from":"member","to":"owner"}`})
		for _, id := range []string{"", "\x00", database.NewID()} {
			operator.OrgID = id
			_, err := e.service.Rename(t.Context(), operator, "Red")
			testenv.WantFault(t, "organization "+id, err, fault.NotFound)
			if got, err := e.service.Get(t.Context(), operator); !fault.Is(err, fault.NotFound) ||
				got != (organization.Membership{}) {
				t.Errorf("Get = %+v, %v; want not found", got, err)
			}
		}
	})
}
