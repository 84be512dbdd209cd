package organization_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/organization"
	"writ/internal/page"
	"writ/internal/principal"
	"writ/internal/testenv"
)

func TestMembers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		owner := e.create(t, "Blue")
		e.add(t, e.create(t, "Other").OrgID, principal.Member)
		joined := e.Now()
		want := []principal.Principal{owner}
		for i := range 6 {
			if i%3 == 0 {
				e.Pass(-time.Hour) // threes share an instant, later ones join earlier
			}
			want = append(want, e.add(t, owner.OrgID, principal.Roles()[i%5]))
		}
		slices.SortFunc(want[1:], func(a, b principal.Principal) int {
			return slices.Compare([]byte(a.UserID), []byte(b.UserID))
		})
		want = slices.Concat(want[4:], want[1:4], want[:1])

		var got []organization.Member
		cursor := ""
		for range 10 {
			p, err := e.service.Members(t.Context(), owner, cursor, 2)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, p.Items...)
			if cursor = p.NextCursor; !p.HasMore {
				break
			}
		}
		if len(got) != len(want) {
			t.Fatalf("%d members, want %d", len(got), len(want))
		}
		for i, m := range got {
			if m.UserID != want[i].UserID || m.Role != want[i].Role || m.Name != "Name of "+m.Email {
				t.Errorf("member %d = %+v, want %+v", i, m, want[i])
			}
		}
		if last := got[len(got)-1]; !last.JoinedAt.Equal(joined) {
			t.Errorf("the owner joined at %s, want %s", last.JoinedAt, joined)
		}
	})
}

func TestMembersLimits(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		owner := e.create(t, "Blue")
		e.Exec(`
			WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 250)
			INSERT INTO user_account (id, email, name, password_hash, created_at)
			SELECT 'user ' || CAST(i AS TEXT), 'user' || CAST(i AS TEXT) || '@example.org', '', '', 0 FROM n`)
		e.Exec(`
			INSERT INTO organization_member (org_id, user_id, role, joined_at)
			SELECT $1, id, 'member', 1 FROM user_account WHERE name = ''`, owner.OrgID)
		for give, want := range map[int]int{
			-1: page.DefaultLimit, 0: page.DefaultLimit, 1: 1, 200: 200, 201: page.MaxLimit, 1 << 40: page.MaxLimit,
		} {
			if p, err := e.service.Members(t.Context(), owner, "", give); err != nil || len(p.Items) != want ||
				!p.HasMore {
				t.Errorf("limit %d: %d members, more %t, %v; want %d", give, len(p.Items), p.HasMore, err, want)
			}
		}
		_, err := e.service.Members(t.Context(), owner, "made up", 1)
		wantFault(t, "a cursor of the caller's own", err, fault.Invalid, "Invalid cursor")
	})
}

// TestChangeRole tries every role on every role: owners may all, admins all
// that has nothing to do with owners, others nothing.
func TestChangeRole(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		owner := e.create(t, "Blue")
		target := e.add(t, owner.OrgID, principal.Member)
		for _, caller := range principal.Roles() {
			p := e.add(t, owner.OrgID, caller)
			for _, from := range principal.Roles() {
				for _, to := range principal.Roles() {
					e.Exec(`UPDATE organization_member SET role = $2 WHERE user_id = $1`, target.UserID,
						string(from))
					allowed := caller == principal.Owner ||
						caller == principal.Admin && from != principal.Owner && to != principal.Owner
					want, wantRole := fault.Kind(""), to
					if !allowed {
						want, wantRole = fault.Forbidden, from
					}
					what := fmt.Sprintf("%s changes %s to %s", caller, from, to)
					got, err := e.service.ChangeRole(t.Context(), p, target.UserID, to)
					testenv.WantFault(t, what, err, want)
					if allowed && (got.Role != to || got.UserID != target.UserID) ||
						!allowed && got != (organization.Member{}) {
						t.Errorf("%s: %+v", what, got)
					}
					if role, err := e.service.RoleOf(t.Context(), owner.OrgID, target.UserID); err != nil ||
						role != wantRole {
						t.Errorf("%s: the role is %s (%v), want %s", what, role, err, wantRole)
					}
				}
			}
		}
	})
}

func TestChangeRoleIsRecorded(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		owner := e.create(t, "Blue")
		target := e.add(t, owner.OrgID, principal.Member)
		for range 2 { // the second time there is nothing to change
			got, err := e.service.ChangeRole(t.Context(), owner, target.UserID, principal.Approver)
			if err != nil {
				t.Fatal(err)
			}
			want := organization.Member{
				UserID:   target.UserID,
				Email:    got.Email,
				Name:     "Name of " + got.Email,
				Role:     principal.Approver,
				JoinedAt: e.Now(),
			}
			if diff := cmp.Diff(want, got); diff != "" || got.Email == "" {
				t.Errorf("ChangeRole (-want +got):\n%s", diff)
			}
		}
		e.wantLog(t, owner.OrgID,
			entry{
				"member.role_changed", "user " + owner.UserID, "member " + target.UserID,
				`{"from":"member","to":"approver"}`,
			})
		for _, role := range []principal.Role{"", "root", "Owner", "owner "} {
			_, err := e.service.ChangeRole(t.Context(), owner, target.UserID, role)
			testenv.WantFault(t, "role "+string(role), err, fault.Invalid)
		}
	})
}

func TestRemove(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		owner := e.create(t, "Blue")
		var want []entry
		for _, caller := range principal.Roles() {
			p := e.add(t, owner.OrgID, caller)
			for _, role := range principal.Roles() {
				target := e.add(t, owner.OrgID, role)
				allowed := caller == principal.Owner || caller == principal.Admin && role != principal.Owner
				what := fmt.Sprintf("%s removes %s", caller, role)
				err := e.service.Remove(t.Context(), p, target.UserID, nil)
				_, roleErr := e.service.RoleOf(t.Context(), owner.OrgID, target.UserID)
				if !allowed {
					testenv.WantFault(t, what, err, fault.Forbidden)
					testenv.WantFault(t, what+": afterwards", roleErr, "")
					continue
				}
				testenv.WantFault(t, what, err, "")
				wantFault(t, what+": afterwards", roleErr, fault.Forbidden, notMember)
				wantFault(t, what+" twice", e.service.Remove(t.Context(), p, target.UserID, nil), fault.NotFound,
					noSuchMember)
				want = append(want, entry{
					"member.removed", "user " + p.UserID, "member " + target.UserID, `{"role":"` + string(role) + `"}`,
				})
			}
		}
		e.wantLog(t, owner.OrgID, want...)
	})
}

func TestLeave(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		owner := e.create(t, "Blue")
		var want []entry
		for _, role := range principal.Roles() {
			p := e.add(t, owner.OrgID, role)
			testenv.WantFault(t, string(role)+" leaves", e.service.Remove(t.Context(), p, p.UserID, nil), "")
			want = append(want, entry{
				"member.removed", "user " + p.UserID, "member " + p.UserID, `{"role":"` + string(role) + `"}`,
			})
			_, err := e.service.RoleOf(t.Context(), p.OrgID, p.UserID)
			wantFault(t, string(role)+" afterwards", err, fault.Forbidden, notMember)
		}
		// A key acts with its owner's role, but it is not the person.
		viewer := e.add(t, owner.OrgID, principal.Viewer)
		viewer.Kind, viewer.KeyID = principal.Key, database.NewID()
		testenv.WantFault(t, "a key leaves", e.service.Remove(t.Context(), viewer, viewer.UserID, nil), fault.Forbidden)
		e.wantLog(t, owner.OrgID, want...)
	})
}

func TestLastOwnerStays(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		owner, other := e.create(t, "Blue"), e.create(t, "Other")
		e.add(t, other.OrgID, principal.Owner) // another organization's owners do not count
		operator := principal.Principal{Kind: principal.System, OrgID: owner.OrgID}
		for name, p := range map[string]principal.Principal{"alone": owner, "the operator": operator} {
			_, err := e.service.ChangeRole(t.Context(), p, owner.UserID, principal.Admin)
			wantFault(t, name+": demote", err, fault.Conflict, onlyOwnerRefuse)
			wantFault(t, name+": remove", e.service.Remove(t.Context(), p, owner.UserID, nil), fault.Conflict,
				onlyOwnerRefuse)
		}
		if got, err := e.service.ChangeRole(t.Context(), owner, owner.UserID, principal.Owner); err != nil ||
			got.Role != principal.Owner {
			t.Errorf("the last owner stays owner: %+v, %v", got, err)
		}
		e.wantLog(t, owner.OrgID)

		second := e.add(t, owner.OrgID, principal.Owner)
		if _, err := e.service.ChangeRole(t.Context(), owner, owner.UserID, principal.Viewer); err != nil {
			t.Errorf("one of two owners steps down: %v", err)
		}
		wantFault(t, "the other leaves", e.service.Remove(t.Context(), second, second.UserID, nil), fault.Conflict,
			onlyOwnerRefuse)
	})
}

// TestAddMember: the operator needs no invitation, and what is done is in the log.
func TestAddMember(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		ctx := t.Context()
		owner, operator := e.create(t, "Blue"), principal.Operator()
		bob := e.user(t, "bob@example.org")
		if err := e.service.AddMember(ctx, operator, owner.OrgID, bob, principal.Approver); err != nil {
			t.Fatal(err)
		}
		if role, err := e.service.RoleOf(ctx, owner.OrgID, bob); err != nil || role != principal.Approver {
			t.Errorf("the role is %q, %v", role, err)
		}
		entries := e.log(t, owner.OrgID, 0)
		want := entry{"member.joined", "system ", "member " + bob, `{"role":"approver"}`}
		if last := entries[len(entries)-1]; last != want {
			t.Errorf("the log ends with %+v, want %+v", last, want)
		}
		carol := e.user(t, "carol@example.org")
		key := principal.Principal{Kind: principal.Key, OrgID: owner.OrgID}
		closed := e.create(t, "Red")
		if err := e.service.Close(ctx, closed); err != nil {
			t.Fatal(err)
		}
		for name, refused := range map[string]struct {
			by          principal.Principal
			orgID, user string
			role        principal.Role
			want        fault.Kind
		}{
			"a member again":      {operator, owner.OrgID, bob, principal.Owner, fault.Conflict},
			"no role":             {operator, owner.OrgID, carol, "king", fault.Invalid},
			"an empty role":       {operator, owner.OrgID, carol, "", fault.Invalid},
			"no organization":     {operator, database.NewID(), carol, principal.Viewer, fault.NotFound},
			"no id":               {operator, "blue", carol, principal.Viewer, fault.NotFound},
			"one that is closed":  {operator, closed.OrgID, carol, principal.Viewer, fault.NotFound},
			"the owner, directly": {owner, owner.OrgID, carol, principal.Viewer, fault.Forbidden},
			"an API key":          {key, owner.OrgID, carol, principal.Viewer, fault.Forbidden},
			"nobody":              {principal.Principal{}, owner.OrgID, carol, principal.Viewer, fault.Forbidden},
		} {
			testenv.WantFault(t, name, e.service.AddMember(ctx, refused.by, refused.orgID, refused.user, refused.role),
				refused.want)
		}
		if _, err := e.service.RoleOf(ctx, owner.OrgID, carol); err == nil {
			t.Error("a refusal made a member")
		}
		if n := len(e.log(t, owner.OrgID, 0)); n != len(entries) {
			t.Errorf("%d entries, want %d: a refusal is in the log", n, len(entries))
		}
	})
}
