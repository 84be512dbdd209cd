package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/client"
	"writ/internal/secret"
)

func TestInvitationByMail(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		ctx := t.Context()
		owner, guest, thief := s.person("owner"), s.person("guest"), s.person("thief")
		org := s.organization(owner, `Inviting "Org"`)
		invite, err := owner.Invite(ctx, org, " "+strings.ToUpper(guest.Email)+" ", "")
		want := client.Invite{
			ID:        invite.ID,
			Email:     guest.Email,
			Role:      "member",
			InvitedBy: owner.ID,
			CreatedAt: invite.CreatedAt,
			ExpiresAt: invite.CreatedAt.Add(7 * 24 * time.Hour),
		}
		if diff := cmp.Diff(want, invite); diff != "" || err != nil {
			t.Fatalf("invited: %v (-want +got):\n%s", err, diff)
		}
		open, err := owner.Invites(ctx, org)
		if diff := cmp.Diff([]client.Invite{want}, open); diff != "" || err != nil {
			t.Errorf("open invitations: %v (-want +got):\n%s", err, diff)
		}
		text, token := s.lastMail(guest.Email), s.tokenFor(guest.Email)
		for _, part := range []string{`Inviting "Org"`, "member", s.URL + "/ui/invites/accept?token=" + token} {
			if !strings.Contains(text, part) {
				t.Errorf("the mail lacks %q:\n%s", part, text)
			}
		}

		_, err = thief.AcceptInvite(ctx, token)
		wantStatus(t, "accept what is for someone else", err, http.StatusForbidden)
		_, err = owner.AcceptInvite(ctx, token)
		wantStatus(t, "accept one's own invitation of another", err, http.StatusForbidden)
		joined, err := guest.AcceptInvite(ctx, token)
		if err != nil || joined.ID != org || joined.Role != "member" || joined.MemberCount != 2 {
			t.Fatalf("accepted: %+v, %v", joined, err)
		}
		for who, p := range map[string]*person{"guest": guest, "thief": thief} {
			_, err = p.AcceptInvite(ctx, token)
			wantStatus(t, "accept a second time as "+who, err, http.StatusNotFound)
		}
		if open, err := owner.Invites(ctx, org); err != nil || len(open) != 0 {
			t.Errorf("open invitations after: %v, %v", open, err)
		}
		_, err = owner.Invite(ctx, org, guest.Email, "admin")
		wantStatus(t, "invite a member", err, http.StatusConflict)
		wantStatus(t, "withdraw an accepted one", owner.WithdrawInvite(ctx, org, invite.ID), http.StatusNotFound)
	})
}

func TestInvitationsEnd(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		ctx := t.Context()
		owner, guest := s.person("owner"), s.person("guest")
		org := s.organization(owner, "Ending")
		invite := func(n int) (client.Invite, string) {
			t.Helper()
			invite, err := owner.Invite(ctx, org, guest.Email, "viewer")
			if err != nil {
				t.Fatal(err)
			}
			s.mails(guest.Email, n)
			return invite, s.tokenFor(guest.Email)
		}
		first, withdrawn := invite(1)
		if err := owner.WithdrawInvite(ctx, org, first.ID); err != nil {
			t.Fatalf("withdraw: %v", err)
		}
		wantStatus(t, "withdraw again", owner.WithdrawInvite(ctx, org, first.ID), http.StatusNotFound)
		_, replaced := invite(2)
		third, lasting := invite(3)
		for what, token := range map[string]string{
			"withdrawn": withdrawn, "replaced": replaced, "unknown": secret.Token("inv_").Reveal(), "malformed": "\x00",
			"cut off": lasting[:20],
		} {
			_, err := guest.AcceptInvite(ctx, token)
			wantStatus(t, "accept one that is "+what, err, http.StatusNotFound)
		}
		_, err := guest.AcceptInvite(ctx, "")
		wantInvalidField(t, "accept without a token", err, "token")
		log := s.recorded(org)
		if n := len(slices.DeleteFunc(log, func(a string) bool { return a != "invite.withdrawn" })); n != 2 {
			t.Errorf("%d entries invite.withdrawn, want one by request and one replaced", n)
		}

		s.advance(third.ExpiresAt.Sub(s.Database.Now()))
		owner, guest = s.signIn(owner.Email), s.signIn(guest.Email)
		_, err = guest.AcceptInvite(ctx, lasting)
		wantStatus(t, "accept after seven days", err, http.StatusNotFound)
		if open, err := owner.Invites(ctx, org); err != nil || len(open) != 0 {
			t.Errorf("open invitations after seven days: %v, %v", open, err)
		}
		fourth, inTime := invite(4)
		s.advance(fourth.ExpiresAt.Sub(s.Database.Now()) - time.Minute)
		if _, err := s.signIn(guest.Email).AcceptInvite(ctx, inTime); err != nil {
			t.Errorf("accept a minute before the end: %v", err)
		}
	})
}

func TestRefusedInvitations(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		owner := s.person("owner")
		org := s.organization(owner, "Strict")
		for what, c := range map[string]struct {
			body  any
			field string
		}{
			"no address":      {map[string]any{"role": "member"}, "email"},
			"an empty one":    {map[string]any{"email": ""}, "email"},
			"no address form": {map[string]any{"email": "nobody"}, "email"},
			"two lines":       {map[string]any{"email": "a@example.org\nBcc: b@example.org"}, "email"},
			"a long one":      {map[string]any{"email": strings.Repeat("a", 250) + "@example.org"}, "email"},
			"a number":        {map[string]any{"email": 7}, "email"},
			"an unknown role": {map[string]any{"email": "a@example.org", "role": "king"}, "role"},
			"an empty role":   {map[string]any{"email": "a@example.org", "role": ""}, "role"},
		} {
			err := owner.Call(t.Context(), http.MethodPost, "/organization/"+org+"/members/invite", nil, c.body, nil)
			wantInvalidField(t, "invite with "+what, err, c.field)
		}
		if open, err := owner.Invites(t.Context(), org); err != nil || len(open) != 0 {
			t.Errorf("invitations after all refusals: %v, %v", open, err)
		}
	})
}

// TestSignUpByInvitation is for servers where strangers cannot register.
func TestSignUpByInvitation(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		ctx := t.Context()
		owner := s.person("owner")
		org := s.organization(owner, "Closed house")
		invited, stranger := freshAddress(), freshAddress()
		register := func(address, token string) error {
			_, err := s.public.Register(ctx, client.Registration{
				Email: address, Password: knownPassword, InviteToken: token,
			})
			return err
		}
		old, err := owner.Invite(ctx, org, invited, "viewer")
		if err != nil {
			t.Fatal(err)
		}
		withdrawn := s.tokenFor(invited)
		if err := owner.WithdrawInvite(ctx, org, old.ID); err != nil {
			t.Fatal(err)
		}
		wantStatus(t, "with a withdrawn invitation", register(invited, withdrawn), http.StatusForbidden)
		if _, err := owner.Invite(ctx, org, invited, "approver"); err != nil {
			t.Fatal(err)
		}
		s.mails(invited, 2)
		token := s.tokenFor(invited)
		wantStatus(t, "without an invitation", register(stranger, ""), http.StatusForbidden)
		wantStatus(t, "with an invented one", register(stranger, secret.Token("inv_").Reveal()), http.StatusForbidden)
		wantStatus(t, "with one for another", register(stranger, token), http.StatusForbidden)
		if err := register(strings.ToUpper(invited), token); err != nil {
			t.Fatalf("with the right one: %v", err)
		}
		s.mails(invited, 3)
		if err := s.public.VerifyOTP(ctx, invited, s.codeFor(invited), knownPassword); err != nil {
			t.Fatalf("verify: %v", err)
		}
		joined, err := s.signIn(invited).AcceptInvite(ctx, token)
		if err != nil || joined.ID != org || joined.Role != "approver" {
			t.Errorf("accept after signing up: %+v, %v", joined, err)
		}
		late := freshAddress()
		invite, err := owner.Invite(ctx, org, late, "viewer")
		if err != nil {
			t.Fatal(err)
		}
		token = s.tokenFor(late)
		s.advance(invite.ExpiresAt.Sub(s.Database.Now()))
		wantStatus(t, "with one that has expired", register(late, token), http.StatusForbidden)
	}, "WRIT_SIGNUP", "closed")
}
