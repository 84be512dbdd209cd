package api_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"writ/client"
)

// TestDomainClaimTakesOverNobody has an owner set up a provider of their own for
// the domain of others, and have it say that they are those others.
func TestDomainClaimTakesOverNobody(t *testing.T) {
	t.Parallel()
	evil := newIDP(t)
	each(t, func(t *testing.T, s *server) {
		victim, attacker := s.person("victim"), s.person("attacker")
		vault := s.organization(victim, "Vault")
		lair := s.organization(attacker, "Lair")
		s.provider(attacker, lair, evil, "example.org") // the victim's domain
		claim := someone(victim.Email)

		_, err := s.signInAt(evil, "/auth/oidc/"+lair, claim)
		wantStatus(t, "as somebody who has an account", err, http.StatusConflict)
		for _, spelling := range []string{strings.ToUpper(victim.Email), " " + victim.Email + "\t"} {
			_, err := s.signInAt(evil, "/auth/oidc/"+lair, someone(spelling))
			wantStatus(t, "as "+spelling, err, http.StatusConflict)
		}
		pending := freshAddress()
		if _, err := s.public.Register(t.Context(), client.Registration{
			Email: pending, Password: knownPassword,
		}); err != nil {
			t.Fatal(err)
		}
		_, err = s.signInAt(evil, "/auth/oidc/"+lair, someone(pending))
		wantStatus(t, "as somebody who has not verified their address yet", err, http.StatusConflict)

		invited := s.join(attacker, lair, "member") // in the attacker's own organization
		_, err = s.signInAt(evil, "/auth/oidc/"+lair, someone(invited.Email))
		wantStatus(t, "as a member who never linked", err, http.StatusConflict)

		_, err = s.signInAt(evil, "/auth/oidc/"+lair, someone("boss@elsewhere.example"))
		wantStatus(t, "of a domain it was not set up with", err, http.StatusForbidden)
		for _, address := range []string{
			"", "no address", "boss@example.org@elsewhere.example", "boss@sub.example.org",
		} {
			_, err = s.signInAt(evil, "/auth/oidc/"+lair, someone(address))
			wantStatus(t, "with the address "+address, err, http.StatusForbidden)
		}
		if me, err := victim.Me(t.Context()); err != nil || len(me.Organizations) != 1 ||
			me.Organizations[0].ID != vault {
			t.Errorf("the victim has %+v, %v", me, err)
		}
	}, permitLoopback...)
}

// TestAccountMadeInAnothersName is made by a provider before its owner comes. The
// owner takes it by mail, and the provider has no more part in it.
func TestAccountMadeInAnothersName(t *testing.T) {
	t.Parallel()
	evil := newIDP(t)
	each(t, func(t *testing.T, s *server) {
		attacker := s.person("attacker")
		lair := s.organization(attacker, "Lair")
		s.provider(attacker, lair, evil, "example.org")
		address := freshAddress()
		squatter := someone(address)
		in, err := s.signInAt(evil, "/auth/oidc/"+lair, squatter)
		if err != nil {
			t.Fatal(err)
		}
		squatting := s.public.As(in.AccessToken)
		granted, err := s.public.PollDevice(t.Context(), s.letIn(&person{Client: squatting}, lair).DeviceCode,
			client.WritClient)
		if err != nil {
			t.Fatal(err)
		}
		wantStatus(t, "a password for it", squatting.ChangePassword(t.Context(), "", "a password of mine"),
			http.StatusForbidden)

		rich := s.person("rich")
		vault := s.organization(rich, "Vault")
		if _, err := rich.Invite(t.Context(), vault, address, "admin"); err != nil {
			t.Fatal(err)
		}
		invitation := s.tokenFor(address)
		_, err = squatting.AcceptInvite(t.Context(), invitation)
		wantStatus(t, "an invitation to the address", err, http.StatusForbidden)

		_, err = s.public.Register(t.Context(), client.Registration{Email: address, Password: knownPassword})
		wantStatus(t, "to register", err, http.StatusConflict)
		if err := s.public.ForgotPassword(t.Context(), address); err != nil {
			t.Fatal(err)
		}
		s.mails(address, 2)
		if err := s.public.ResetPassword(t.Context(), s.tokenFor(address), knownPassword); err != nil {
			t.Fatalf("to take it by mail: %v", err)
		}
		_, err = squatting.Me(t.Context())
		wantStatus(t, "the squatter's session", err, http.StatusUnauthorized)
		_, err = s.public.WithKey(granted.APIKey).CurrentKey(t.Context())
		wantStatus(t, "the squatter's terminal", err, http.StatusUnauthorized)
		_, err = s.public.As(granted.AccessToken).Me(t.Context())
		wantStatus(t, "the squatter's terminal's session", err, http.StatusUnauthorized)
		_, err = s.signInAt(evil, "/auth/oidc/"+lair, squatter)
		wantStatus(t, "the squatter again", err, http.StatusConflict)
		if _, err := s.signIn(address).AcceptInvite(t.Context(), invitation); err != nil {
			t.Errorf("the owner of the address: %v", err)
		}
	}, permitLoopback...)
}

// TestSameSubjectElsewhere: who somebody is at one organization's provider says
// nothing at another's, nor at Google, though issuer and subject be the same.
func TestSameSubjectElsewhere(t *testing.T) {
	t.Parallel()
	shared := newIDP(t)
	each(t, func(t *testing.T, s *server) {
		ada, user := s.person("ada"), someone("ada@corp.example")
		s.link(ada, "", shared, user) // as Google
		attacker := s.person("attacker")
		lair := s.organization(attacker, "Lair")
		s.provider(attacker, lair, shared, "corp.example")
		in, err := s.signInAt(shared, "/auth/oidc/"+lair, user)
		if err != nil || in.User.ID == ada.ID {
			t.Errorf("through the organization: %+v, %v", in, err)
		}
		if in, err := s.signInAt(shared, "/auth/google", user); err != nil || in.User.ID != ada.ID {
			t.Errorf("through Google: %+v, %v", in, err)
		}
	}, shared.asGoogle()...)
}

// TestGoogleNeedsAVerifiedAddress, and joins none to an account by it.
func TestGoogleNeedsAVerifiedAddress(t *testing.T) {
	t.Parallel()
	google := newIDP(t)
	each(t, func(t *testing.T, s *server) {
		unverified := someone(freshAddress())
		unverified.EmailVerified = false
		_, err := s.signInAt(google, "/auth/google", unverified)
		wantStatus(t, "an address Google has not verified", err, http.StatusForbidden)
		_, err = s.signInAt(google, "/auth/google", someone(s.person("ada").Email))
		wantStatus(t, "an address that has an account", err, http.StatusConflict)
	}, google.asGoogle()...)
}

// TestAnswersOfOtherSignIns presents answers to browsers, states and callbacks they
// do not belong to.
func TestAnswersOfOtherSignIns(t *testing.T) {
	t.Parallel()
	google := newIDP(t)
	each(t, func(t *testing.T, s *server) {
		owner := s.person("owner")
		org := s.organization(owner, "Corp")
		s.provider(owner, org, google, "corp.example")
		refuse := func(what string, b *browser, back string) {
			t.Helper()
			_, err := b.arrive(back)
			wantStatus(t, what, err, http.StatusUnauthorized)
		}
		back := func(b *browser) string {
			return google.signInThere(t, b.depart("/auth/google"), someone(freshAddress()))
		}
		mine, other := s.browser(), s.browser()
		answer := back(mine)
		refuse("in a browser that began nothing", other, answer)
		other.depart("/auth/google")
		refuse("in a browser that began another", other, answer)
		refuse("without a state", mine, strings.Replace(answer, "state=", "x=", 1))

		mine = s.browser()
		answer = back(mine)
		_, query, _ := strings.Cut(answer, "?")
		refuse("at an organization's callback", mine, "/auth/oidc/"+org+"/callback?"+query)

		mine = s.browser()
		refuse("of another issuer", mine, back(mine)+"&iss="+url.QueryEscape("https://accounts.google.com"))
		mine = s.browser()
		refuse("with a problem", mine, back(mine)+"&error=access_denied")

		mine = s.browser()
		answer = back(mine)
		kept := mine.cookies["writ_sign_in"]
		if _, err := mine.arrive(answer); err != nil {
			t.Fatalf("the right answer: %v", err)
		}
		refuse("a second time", mine, answer)
		mine.cookies["writ_sign_in"] = kept
		refuse("a second time with the cookie", mine, answer)
		mine.cookies["writ_sign_in"] = kept[:len(kept)-4] + "AAAA"
		refuse("with a cookie of one's own", mine, answer)

		mine = s.browser()
		answer = back(mine)
		s.advance(11 * time.Minute)
		refuse("too late", mine, answer)
	}, google.asGoogle()...)
}

// TestLinkingNeedsTheAccountsOwner covers whose account an identity ends up with.
func TestLinkingNeedsTheAccountsOwner(t *testing.T) {
	t.Parallel()
	corp := newIDP(t)
	each(t, func(t *testing.T, s *server) {
		owner, outsider := s.person("owner"), s.person("outsider")
		org := s.organization(owner, "Corp")
		s.provider(owner, org, corp, "corp.example")
		body := `{"organizationId":"` + org + `"}`
		s.wire(t, "POST", "/auth/identities", body).errorFields(t, http.StatusUnauthorized)
		s.wire(t, "POST", "/auth/identities", body, credentials(outsider.Client)...).errorFields(t,
			http.StatusForbidden)
		member, user := s.join(owner, org, "member"), someone("member@corp.example")
		s.link(member, org, corp, user)
		_, err := s.tryLink(owner, org, corp, user)
		wantStatus(t, "an identity that is somebody else's", err, http.StatusConflict)

		thief := s.signIn(owner.Email)
		b := s.browser()
		answer, err := b.open("POST", "/auth/identities", body, credentials(thief.Client)...)
		var where struct{ URL string }
		if err != nil || json.Unmarshal(answer.body, &where) != nil {
			t.Fatalf("begin to link: %s, %v", answer.body, err)
		}
		if err := owner.ChangePassword(t.Context(), knownPassword, nextPassword); err != nil {
			t.Fatal(err)
		}
		_, err = b.arrive(corp.signInThere(t, where.URL, someone("thief@corp.example")))
		wantStatus(t, "in a session that was ended meanwhile", err, http.StatusUnauthorized)

		list, err := member.Identities(t.Context())
		if err != nil || len(list) != 1 || !list[0].Linked || list[0].Email != "member@corp.example" {
			t.Fatalf("identities %+v, %v", list, err)
		}
		wantStatus(t, "to remove another's", owner.UnlinkIdentity(t.Context(), list[0].ID), http.StatusNotFound)
		vouched, err := s.signInAt(corp, "/auth/oidc/"+org, user)
		if err != nil {
			t.Fatal(err)
		}
		if err := member.UnlinkIdentity(t.Context(), list[0].ID); err != nil {
			t.Fatal(err)
		}
		_, err = s.public.As(vouched.AccessToken).Me(t.Context())
		wantStatus(t, "a session that came from it", err, http.StatusUnauthorized)
		if _, err := member.Me(t.Context()); err != nil {
			t.Errorf("the session of a password: %v", err)
		}
		user.Email = "new@corp.example"
		in, err := s.signInAt(corp, "/auth/oidc/"+org, user)
		if err != nil || in.User.ID == member.ID {
			t.Errorf("after it was removed: %+v, %v", in, err)
		}
	}, permitLoopback...)
}

// TestRemovedMembersStayOut though their provider vouches for them.
func TestRemovedMembersStayOut(t *testing.T) {
	t.Parallel()
	corp := newIDP(t)
	each(t, func(t *testing.T, s *server) {
		owner := s.person("owner")
		org := s.organization(owner, "Corp")
		s.provider(owner, org, corp, "corp.example")
		user := someone("gone@corp.example")
		in, err := s.signInAt(corp, "/auth/oidc/"+org, user)
		if err != nil {
			t.Fatal(err)
		}
		if err := owner.RemoveMember(t.Context(), org, in.User.ID); err != nil {
			t.Fatal(err)
		}
		_, err = s.public.As(in.AccessToken).Organization(t.Context(), org)
		wantStatus(t, "the session they had", err, http.StatusForbidden)
		_, err = s.signInAt(corp, "/auth/oidc/"+org, user)
		wantStatus(t, "to sign in again", err, http.StatusForbidden)
	}, permitLoopback...)
}

// TestAnotherIssuerIsAnotherPerson: a provider that is put in the place of another
// says the same subject and address, and comes into nobody's account.
func TestAnotherIssuerIsAnotherPerson(t *testing.T) {
	t.Parallel()
	corp, evil := newIDP(t), newIDP(t)
	each(t, func(t *testing.T, s *server) {
		owner := s.person("owner")
		org := s.organization(owner, "Corp")
		s.provider(owner, org, corp, "corp.example")
		user := someone(freshIn("corp.example"))
		in, err := s.signInAt(corp, "/auth/oidc/"+org, user)
		if err != nil {
			t.Fatal(err)
		}
		b := s.browser()
		underWay := corp.signInThere(t, b.depart("/auth/oidc/"+org), user)
		s.provider(owner, org, evil, "corp.example")
		_, err = b.arrive(underWay)
		wantStatus(t, "a sign-in that began with the one before", err, http.StatusUnauthorized)
		_, err = s.signInAt(evil, "/auth/oidc/"+org, user)
		wantStatus(t, "the same subject and address", err, http.StatusConflict)
		moved := *user
		moved.Email = freshIn("corp.example")
		other, err := s.signInAt(evil, "/auth/oidc/"+org, &moved)
		if err != nil || other.User.ID == in.User.ID {
			t.Errorf("the same subject, another address: %+v, %v", other, err)
		}
	}, permitLoopback...)
}
