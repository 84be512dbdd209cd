package organizations_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/client"
	"writ/internal/secret"
	"writ/internal/testserver"
)

func TestInvitationByMail(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ctx := t.Context()
		owner, guest, thief := s.Person("owner"), s.Person("guest"), s.Person("thief")
		org := s.Organization(owner, `Inviting "Org"`)
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
		text, token := s.LastMail(guest.Email), s.TokenFor(guest.Email)
		for _, part := range []string{`Inviting "Org"`, "member", s.URL + "/ui/invites/accept?token=" + token} {
			if !strings.Contains(text, part) {
				t.Errorf("the mail lacks %q:\n%s", part, text)
			}
		}

		for who, p := range map[string]*testserver.Person{"owner": owner, "thief": thief} {
			_, err = p.LookAtInvite(ctx, token)
			testserver.WantStatus(t, who+" looks at what is for someone else", err, http.StatusForbidden)
		}
		invited, err := guest.LookAtInvite(ctx, token)
		if want := (client.Invitation{Organization: `Inviting "Org"`, Role: "member"}); invited != want || err != nil {
			t.Errorf("the invitation: %+v, %v; want %+v", invited, err, want)
		}
		_, err = thief.AcceptInvite(ctx, token)
		testserver.WantStatus(t, "accept what is for someone else", err, http.StatusForbidden)
		_, err = owner.AcceptInvite(ctx, token)
		testserver.WantStatus(t, "accept one's own invitation of another", err, http.StatusForbidden)
		joined, err := guest.AcceptInvite(ctx, token)
		if err != nil || joined.ID != org || joined.Role != "member" || joined.MemberCount != 2 {
			t.Fatalf("accepted: %+v, %v", joined, err)
		}
		for who, p := range map[string]*testserver.Person{"guest": guest, "thief": thief} {
			_, err = p.LookAtInvite(ctx, token)
			testserver.WantStatus(t, "look at an accepted one as "+who, err, http.StatusNotFound)
			_, err = p.AcceptInvite(ctx, token)
			testserver.WantStatus(t, "accept a second time as "+who, err, http.StatusNotFound)
		}
		if open, err := owner.Invites(ctx, org); err != nil || len(open) != 0 {
			t.Errorf("open invitations after: %v, %v", open, err)
		}
		_, err = owner.Invite(ctx, org, guest.Email, "admin")
		testserver.WantStatus(t, "invite a member", err, http.StatusConflict)
		testserver.WantStatus(t, "withdraw an accepted one", owner.WithdrawInvite(ctx, org, invite.ID),
			http.StatusNotFound)
	})
}

func TestInvitationsEnd(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ctx := t.Context()
		owner, guest := s.Person("owner"), s.Person("guest")
		org := s.Organization(owner, "Ending")
		invite := func(n int) (client.Invite, string) {
			t.Helper()
			invite, err := owner.Invite(ctx, org, guest.Email, "viewer")
			if err != nil {
				t.Fatal(err)
			}
			s.Mails(guest.Email, n)
			return invite, s.TokenFor(guest.Email)
		}
		first, withdrawn := invite(1)
		if err := owner.WithdrawInvite(ctx, org, first.ID); err != nil {
			t.Fatalf("withdraw: %v", err)
		}
		testserver.WantStatus(t, "withdraw again", owner.WithdrawInvite(ctx, org, first.ID), http.StatusNotFound)
		_, replaced := invite(2)
		third, lasting := invite(3)
		for what, token := range map[string]string{
			"withdrawn": withdrawn, "replaced": replaced, "unknown": secret.Token("inv_").Reveal(), "malformed": "\x00",
			"cut off": lasting[:20],
		} {
			_, err := guest.AcceptInvite(ctx, token)
			testserver.WantStatus(t, "accept one that is "+what, err, http.StatusNotFound)
		}
		_, err := guest.AcceptInvite(ctx, "")
		wantInvalidField(t, "accept without a token", err, "token")
		log := s.Recorded(org)
		if n := len(slices.DeleteFunc(log, func(a string) bool { return a != "invite.withdrawn" })); n != 2 {
			t.Errorf("%d entries invite.withdrawn, want one by request and one replaced", n)
		}

		s.Advance(third.ExpiresAt.Sub(s.Database.Now()))
		owner, guest = s.SignIn(owner.Email), s.SignIn(guest.Email)
		_, err = guest.AcceptInvite(ctx, lasting)
		testserver.WantStatus(t, "accept after seven days", err, http.StatusNotFound)
		if open, err := owner.Invites(ctx, org); err != nil || len(open) != 0 {
			t.Errorf("open invitations after seven days: %v, %v", open, err)
		}
		fourth, inTime := invite(4)
		s.Advance(fourth.ExpiresAt.Sub(s.Database.Now()) - time.Minute)
		if _, err := s.SignIn(guest.Email).AcceptInvite(ctx, inTime); err != nil {
			t.Errorf("accept a minute before the end: %v", err)
		}
	})
}

func TestRefusedInvitations(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		owner := s.Person("owner")
		org := s.Organization(owner, "Strict")
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
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ctx := t.Context()
		owner := s.Person("owner")
		org := s.Organization(owner, "Closed house")
		invited, stranger := testserver.FreshAddress(), testserver.FreshAddress()
		register := func(address, token string) error {
			err := s.Public.Register(ctx, client.Registration{
				Email: address, Password: testserver.Password, InviteToken: token,
			})
			return err
		}
		old, err := owner.Invite(ctx, org, invited, "viewer")
		if err != nil {
			t.Fatal(err)
		}
		withdrawn := s.TokenFor(invited)
		if err := owner.WithdrawInvite(ctx, org, old.ID); err != nil {
			t.Fatal(err)
		}
		testserver.WantStatus(t, "with a withdrawn invitation", register(invited, withdrawn), http.StatusForbidden)
		if _, err := owner.Invite(ctx, org, invited, "approver"); err != nil {
			t.Fatal(err)
		}
		s.Mails(invited, 2)
		token := s.TokenFor(invited)
		testserver.WantStatus(t, "without an invitation", register(stranger, ""), http.StatusForbidden)
		testserver.WantStatus(t, "with an invented one", register(stranger, secret.Token("inv_").Reveal()),
			http.StatusForbidden)
		testserver.WantStatus(t, "with one for another", register(stranger, token), http.StatusForbidden)
		if err := register(strings.ToUpper(invited), token); err != nil {
			t.Fatalf("with the right one: %v", err)
		}
		s.Mails(invited, 3)
		if err := s.Public.VerifyOTP(ctx, invited, s.CodeFor(invited), testserver.Password); err != nil {
			t.Fatalf("verify: %v", err)
		}
		joined, err := s.SignIn(invited).AcceptInvite(ctx, token)
		if err != nil || joined.ID != org || joined.Role != "approver" {
			t.Errorf("accept after signing up: %+v, %v", joined, err)
		}
		late := testserver.FreshAddress()
		invite, err := owner.Invite(ctx, org, late, "viewer")
		if err != nil {
			t.Fatal(err)
		}
		token = s.TokenFor(late)
		s.Advance(invite.ExpiresAt.Sub(s.Database.Now()))
		testserver.WantStatus(t, "with one that has expired", register(late, token), http.StatusForbidden)
	}, "WRIT_SIGNUP", "closed")
}
