package organization_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/organization"
	"writ/internal/principal"
	"writ/internal/testenv"
)

const joinerEmail = "two@example.org"

func (e *env) joiner(t *testing.T) principal.Principal {
	t.Helper()
	return principal.Principal{Kind: principal.User, UserID: e.user(t, joinerEmail)}
}

func TestAccept(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		joiner := e.joiner(t)
		for _, role := range principal.Roles() {
			owner := e.create(t, "Blue")
			invite, token := e.invite(t, owner, joinerEmail, role)
			e.Pass(lifetime - time.Microsecond) // the last instant it is valid
			got, err := e.service.Accept(t.Context(), joiner, " TWO@example.org", token)
			if err != nil {
				t.Fatalf("%s: %v", role, err)
			}
			want := organization.Membership{
				Organization: organization.Organization{ID: owner.OrgID, Name: "Blue", CreatedAt: invite.CreatedAt},
				Role:         role, MemberCount: 2,
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("Accept (-want +got):\n%s", diff)
			}
			if got, err := e.service.RoleOf(t.Context(), owner.OrgID, joiner.UserID); err != nil || got != role {
				t.Errorf("RoleOf = %s, %v; want %s", got, err, role)
			}
			_, err = e.service.Accept(t.Context(), joiner, joinerEmail, token)
			wantFault(t, "a second time", err, fault.NotFound, invalidInvite)
			payload := `{"email":"two@example.org","role":"` + string(role) + `"}`
			e.wantLog(t, owner.OrgID,
				entry{"invite.created", "user " + owner.UserID, "invite " + invite.ID, payload},
				entry{"invite.accepted", "user " + joiner.UserID, "invite " + invite.ID, payload},
				entry{
					"member.joined", "user " + joiner.UserID, "member " + joiner.UserID,
					`{"role":"` + string(role) + `"}`,
				},
			)
		}
	})
}

// TestEndedInvitations has one answer for every token that opens nothing.
func TestEndedInvitations(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		joiner := e.joiner(t)
		expired, withdrawn, closed, used := e.create(t, "Expired"), e.create(t, "Withdrawn"), e.create(t, "Closed"),
			e.create(t, "Used")
		_, expiredToken := e.invite(t, expired, joinerEmail, principal.Member)
		e.Pass(lifetime) // the first instant it is not valid
		invite, withdrawnToken := e.invite(t, withdrawn, joinerEmail, principal.Member)
		_, closedToken := e.invite(t, closed, joinerEmail, principal.Member)
		_, usedToken := e.invite(t, used, joinerEmail, principal.Member)
		if err := e.service.Withdraw(t.Context(), withdrawn, invite.ID); err != nil {
			t.Fatal(err)
		}
		if err := e.service.Close(t.Context(), closed); err != nil {
			t.Fatal(err)
		}
		if _, err := e.service.Accept(t.Context(), joiner, joinerEmail, usedToken); err != nil {
			t.Fatal(err)
		}
		// Removed again, so that the membership is not what refuses.
		if err := e.service.Remove(t.Context(), used, joiner.UserID, nil); err != nil {
			t.Fatal(err)
		}
		for name, token := range map[string]string{
			"expired": expiredToken, "withdrawn": withdrawnToken, "closed": closedToken, "used": usedToken,
			"unknown": "inv_0000000000000000000000000000000000000000000000000000000000000000",
			"empty":   "", "not UTF-8": "\xff\x00", "id": invite.ID,
		} {
			_, err := e.service.Accept(t.Context(), joiner, joinerEmail, token)
			wantFault(t, name+": accept", err, fault.NotFound, invalidInvite)
			email, err := e.service.InvitedEmail(t.Context(), token)
			wantFault(t, name+": e-mail", err, fault.NotFound, invalidInvite)
			if email != "" {
				t.Errorf("%s: e-mail %q beside the fault", name, email)
			}
		}
		if mine, err := e.service.ListForUser(t.Context(), joiner.UserID); err != nil || len(mine) != 0 {
			t.Errorf("Mine = %+v, %v; want none", mine, err)
		}
	})
}

// TestAcceptRefuses also proves that a refusal leaves the invitation as it was.
func TestAcceptRefuses(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		owner, joiner := e.create(t, "Blue"), e.joiner(t)
		_, token := e.invite(t, owner, joinerEmail, principal.Owner)
		key := joiner
		key.Kind, key.KeyID = principal.Key, database.NewID()
		stranger := principal.Principal{Kind: principal.User, UserID: e.user(t, "three@example.org")}
		before := e.log(t, owner.OrgID, 0)
		for _, tt := range []struct {
			name, email string
			p           principal.Principal
			want        fault.Kind
		}{
			{"a key", joinerEmail, key, fault.Forbidden},
			{"the operator", joinerEmail, principal.Operator(), fault.Forbidden},
			{"nobody", joinerEmail, principal.Principal{}, fault.Forbidden},
			{"another e-mail", "three@example.org", stranger, fault.Forbidden},
			{"no e-mail", "", joiner, fault.Invalid},
			// The owner has this address now and belongs to the organization.
			{"a member", joinerEmail, owner, fault.Conflict},
		} {
			got, err := e.service.Accept(t.Context(), tt.p, tt.email, token)
			testenv.WantFault(t, tt.name, err, tt.want)
			if got != (organization.Membership{}) {
				t.Errorf("%s: %+v beside the fault", tt.name, got)
			}
			if email, err := e.service.InvitedEmail(t.Context(), token); err != nil || email != joinerEmail {
				t.Errorf("%s: the invitation is gone: %q, %v", tt.name, email, err)
			}
		}
		if diff := cmp.Diff(before, e.log(t, owner.OrgID, 0)); diff != "" {
			t.Errorf("log (-before +after):\n%s", diff)
		}
		if _, err := e.service.Accept(t.Context(), joiner, joinerEmail, token); err != nil {
			t.Errorf("the person who was invited: %v", err)
		}
	})
}

// TestInvitationsOfThosePutOut: whoever was removed or demoted does not come back
// through someone they invited.
func TestInvitationsOfThosePutOut(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		joiner := e.joiner(t)
		for what, putOut := range map[string]func(owner, rogue principal.Principal) error{
			"removed": func(owner, rogue principal.Principal) error {
				return e.service.Remove(t.Context(), owner, rogue.UserID, nil)
			},
			"demoted": func(owner, rogue principal.Principal) error {
				_, err := e.service.ChangeRole(t.Context(), owner, rogue.UserID, principal.Admin)
				return err
			},
		} {
			e.Pass(time.Hour)
			owner := e.create(t, "Blue")
			rogue := e.add(t, owner.OrgID, principal.Owner)
			_, token := e.invite(t, rogue, joinerEmail, principal.Owner)
			if err := putOut(owner, rogue); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			_, err := e.service.Accept(t.Context(), joiner, joinerEmail, token)
			if !fault.Is(err, fault.NotFound) {
				t.Errorf("an invitation of someone %s: %v, want not found", what, err)
			}
		}
	})
}

func TestInvitationsToOneAddressAreFew(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		for range 5 {
			e.invite(t, e.create(t, "Blue"), "two@example.org", principal.Member)
		}
		owner := e.create(t, "Blue")
		if _, err := e.service.Invite(t.Context(), owner, "two@example.org",
			principal.Member); !fault.Is(err, fault.TooMany) {
			t.Errorf("the sixth within the hour: %v, want too many", err)
		}
		e.invite(t, owner, "three@example.org", principal.Member)
		e.Pass(time.Hour)
		e.invite(t, owner, "two@example.org", principal.Member)
	})
}
