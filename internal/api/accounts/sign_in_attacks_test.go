package accounts_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"writ/client"
	"writ/internal/testserver"
)

// TestDomainClaimTakesOverNobody has an owner set up a provider of their own for
// the domain of others, and have it say that they are those others.
func TestDomainClaimTakesOverNobody(t *testing.T) {
	t.Parallel()
	evil := testserver.NewProvider(t)
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		victim, attacker := s.Person("victim"), s.Person("attacker")
		vault := s.Organization(victim, "Vault")
		lair := s.Organization(attacker, "Lair")
		s.SetProvider(attacker, lair, evil, "example.org") // the victim's domain
		claim := testserver.Someone(victim.Email)

		_, err := s.SignInAt(evil, "/auth/oidc/"+lair, claim)
		testserver.WantStatus(t, "as somebody who has an account", err, http.StatusConflict)
		for _, spelling := range []string{strings.ToUpper(victim.Email), " " + victim.Email + "\t"} {
			_, err := s.SignInAt(evil, "/auth/oidc/"+lair, testserver.Someone(spelling))
			testserver.WantStatus(t, "as "+spelling, err, http.StatusConflict)
		}
		pending := testserver.FreshAddress()
		if err := s.Public.Register(t.Context(), client.Registration{
			Email: pending, Password: testserver.Password,
		}); err != nil {
			t.Fatal(err)
		}
		_, err = s.SignInAt(evil, "/auth/oidc/"+lair, testserver.Someone(pending))
		testserver.WantStatus(t, "as somebody who has not verified their address yet", err, http.StatusConflict)

		invited := s.Join(attacker, lair, "member") // in the attacker's own organization
		_, err = s.SignInAt(evil, "/auth/oidc/"+lair, testserver.Someone(invited.Email))
		testserver.WantStatus(t, "as a member who never linked", err, http.StatusConflict)

		_, err = s.SignInAt(evil, "/auth/oidc/"+lair, testserver.Someone("boss@elsewhere.example"))
		testserver.WantStatus(t, "of a domain it was not set up with", err, http.StatusForbidden)
		for _, address := range []string{
			"", "no address", "boss@example.org@elsewhere.example", "boss@sub.example.org",
		} {
			_, err = s.SignInAt(evil, "/auth/oidc/"+lair, testserver.Someone(address))
			testserver.WantStatus(t, "with the address "+address, err, http.StatusForbidden)
		}
		if me, err := victim.Me(t.Context()); err != nil || len(me.Organizations) != 1 ||
			me.Organizations[0].ID != vault {
			t.Errorf("the victim has %+v, %v", me, err)
		}
	}, testserver.PermitLoopback...)
}

// TestAccountMadeInAnothersName is made by a provider before its owner comes. The
// owner takes it by mail, and the provider has no more part in it.
func TestAccountMadeInAnothersName(t *testing.T) {
	t.Parallel()
	evil := testserver.NewProvider(t)
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		attacker := s.Person("attacker")
		lair := s.Organization(attacker, "Lair")
		s.SetProvider(attacker, lair, evil, "example.org")
		address := testserver.FreshAddress()
		squatter := testserver.Someone(address)
		in, err := s.SignInAt(evil, "/auth/oidc/"+lair, squatter)
		if err != nil {
			t.Fatal(err)
		}
		squatting := s.Public.As(in.AccessToken)
		granted, err := s.Public.PollDevice(t.Context(),
			s.ApprovedDevice(&testserver.Person{Client: squatting}, lair).DeviceCode,
			client.WritClient)
		if err != nil {
			t.Fatal(err)
		}
		testserver.WantStatus(t, "a password for it", squatting.ChangePassword(t.Context(), "", "a password of mine"),
			http.StatusForbidden)

		rich := s.Person("rich")
		vault := s.Organization(rich, "Vault")
		if _, err := rich.Invite(t.Context(), vault, address, "admin"); err != nil {
			t.Fatal(err)
		}
		invitation := s.TokenFor(address)
		_, err = squatting.AcceptInvite(t.Context(), invitation)
		testserver.WantStatus(t, "an invitation to the address", err, http.StatusForbidden)

		if err := s.Public.Register(t.Context(), client.Registration{
			Email: address, Password: testserver.Password,
		}); err != nil {
			t.Errorf("to register: %v", err)
		}
		if !strings.Contains(s.Mails(address, 2)[1].Text, "was registered before") {
			t.Error("the owner of the address is not told that it has an account")
		}
		if err := s.Public.ForgotPassword(t.Context(), address); err != nil {
			t.Fatal(err)
		}
		s.Mails(address, 3)
		if err := s.Public.ResetPassword(t.Context(), s.TokenFor(address), testserver.Password); err != nil {
			t.Fatalf("to take it by mail: %v", err)
		}
		_, err = squatting.Me(t.Context())
		testserver.WantStatus(t, "the squatter's session", err, http.StatusUnauthorized)
		_, err = s.Public.WithKey(granted.APIKey).CurrentKey(t.Context())
		testserver.WantStatus(t, "the squatter's terminal", err, http.StatusUnauthorized)
		_, err = s.Public.As(granted.AccessToken).Me(t.Context())
		testserver.WantStatus(t, "the squatter's terminal's session", err, http.StatusUnauthorized)
		_, err = s.SignInAt(evil, "/auth/oidc/"+lair, squatter)
		testserver.WantStatus(t, "the squatter again", err, http.StatusConflict)
		if _, err := s.SignIn(address).AcceptInvite(t.Context(), invitation); err != nil {
			t.Errorf("the owner of the address: %v", err)
		}
	}, testserver.PermitLoopback...)
}

// TestSameSubjectElsewhere: who somebody is at one organization's provider says
// nothing at another's, nor at Google, though issuer and subject be the same.
func TestSameSubjectElsewhere(t *testing.T) {
	t.Parallel()
	shared := testserver.NewProvider(t)
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ada, user := s.Person("ada"), testserver.Someone("ada@corp.example")
		s.Link(ada, "", shared, user) // as Google
		attacker := s.Person("attacker")
		lair := s.Organization(attacker, "Lair")
		s.SetProvider(attacker, lair, shared, "corp.example")
		in, err := s.SignInAt(shared, "/auth/oidc/"+lair, user)
		if err != nil || in.User.ID == ada.ID {
			t.Errorf("through the organization: %+v, %v", in, err)
		}
		if in, err := s.SignInAt(shared, "/auth/google", user); err != nil || in.User.ID != ada.ID {
			t.Errorf("through Google: %+v, %v", in, err)
		}
	}, shared.AsGoogle()...)
}

// TestGoogleNeedsAVerifiedAddress, and joins none to an account by it.
func TestGoogleNeedsAVerifiedAddress(t *testing.T) {
	t.Parallel()
	google := testserver.NewProvider(t)
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		unverified := testserver.Someone(testserver.FreshAddress())
		unverified.EmailVerified = false
		_, err := s.SignInAt(google, "/auth/google", unverified)
		testserver.WantStatus(t, "an address Google has not verified", err, http.StatusForbidden)
		_, err = s.SignInAt(google, "/auth/google", testserver.Someone(s.Person("ada").Email))
		testserver.WantStatus(t, "an address that has an account", err, http.StatusConflict)
	}, google.AsGoogle()...)
}

// TestAnswersOfOtherSignIns presents answers to browsers, states and callbacks they
// do not belong to.
func TestAnswersOfOtherSignIns(t *testing.T) {
	t.Parallel()
	google := testserver.NewProvider(t)
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		owner := s.Person("owner")
		org := s.Organization(owner, "Corp")
		s.SetProvider(owner, org, google, "corp.example")
		refuse := func(what string, b *testserver.Browser, back string) {
			t.Helper()
			_, err := b.FinishSignIn(back)
			testserver.WantStatus(t, what, err, http.StatusUnauthorized)
		}
		back := func(b *testserver.Browser) string {
			return google.SignInThere(t, b.StartSignIn("/auth/google"), testserver.Someone(testserver.FreshAddress()))
		}
		mine, other := s.Browser(), s.Browser()
		answer := back(mine)
		refuse("in a browser that began nothing", other, answer)
		other.StartSignIn("/auth/google")
		refuse("in a browser that began another", other, answer)
		refuse("without a state", mine, strings.Replace(answer, "state=", "x=", 1))

		mine = s.Browser()
		answer = back(mine)
		_, query, _ := strings.Cut(answer, "?")
		refuse("at an organization's callback", mine, "/auth/oidc/"+org+"/callback?"+query)

		mine = s.Browser()
		refuse("of another issuer", mine, back(mine)+"&iss="+url.QueryEscape("https://accounts.google.com"))
		mine = s.Browser()
		refuse("with a problem", mine, back(mine)+"&error=access_denied")

		mine = s.Browser()
		answer = back(mine)
		kept := mine.Cookies["writ_sign_in"]
		if _, err := mine.FinishSignIn(answer); err != nil {
			t.Fatalf("the right answer: %v", err)
		}
		refuse("a second time", mine, answer)
		mine.Cookies["writ_sign_in"] = kept
		refuse("a second time with the cookie", mine, answer)
		mine.Cookies["writ_sign_in"] = kept[:len(kept)-4] + "AAAA"
		refuse("with a cookie of one's own", mine, answer)

		mine = s.Browser()
		answer = back(mine)
		s.Advance(11 * time.Minute)
		refuse("too late", mine, answer)
	}, google.AsGoogle()...)
}

// TestLinkingNeedsTheAccountsOwner covers whose account an identity ends up with.
func TestLinkingNeedsTheAccountsOwner(t *testing.T) {
	t.Parallel()
	corp := testserver.NewProvider(t)
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		owner, outsider := s.Person("owner"), s.Person("outsider")
		org := s.Organization(owner, "Corp")
		s.SetProvider(owner, org, corp, "corp.example")
		body := `{"organizationId":"` + org + `"}`
		s.Request(t, "POST", "/auth/identities", body).ErrorFields(t, http.StatusUnauthorized)
		s.Request(t, "POST", "/auth/identities", body, testserver.Credentials(outsider.Client)...).ErrorFields(t,
			http.StatusForbidden)
		member, user := s.Join(owner, org, "member"), testserver.Someone("member@corp.example")
		s.Link(member, org, corp, user)
		_, err := s.TryLink(owner, org, corp, user)
		testserver.WantStatus(t, "an identity that is somebody else's", err, http.StatusConflict)

		thief := s.SignIn(owner.Email)
		b := s.Browser()
		answer, err := b.Open("POST", "/auth/identities", body, testserver.Credentials(thief.Client)...)
		var where struct{ URL string }
		if err != nil || json.Unmarshal(answer.Body, &where) != nil {
			t.Fatalf("begin to link: %s, %v", answer.Body, err)
		}
		if err := owner.ChangePassword(t.Context(), testserver.Password, testserver.NextPassword); err != nil {
			t.Fatal(err)
		}
		_, err = b.FinishSignIn(corp.SignInThere(t, where.URL, testserver.Someone("thief@corp.example")))
		testserver.WantStatus(t, "in a session that was ended meanwhile", err, http.StatusUnauthorized)

		list, err := member.Identities(t.Context())
		if err != nil || len(list) != 1 || !list[0].Linked || list[0].Email != "member@corp.example" {
			t.Fatalf("identities %+v, %v", list, err)
		}
		testserver.WantStatus(t, "to remove another's", owner.UnlinkIdentity(t.Context(), list[0].ID),
			http.StatusNotFound)
		vouched, err := s.SignInAt(corp, "/auth/oidc/"+org, user)
		if err != nil {
			t.Fatal(err)
		}
		if err := member.UnlinkIdentity(t.Context(), list[0].ID); err != nil {
			t.Fatal(err)
		}
		_, err = s.Public.As(vouched.AccessToken).Me(t.Context())
		testserver.WantStatus(t, "a session that came from it", err, http.StatusUnauthorized)
		if _, err := member.Me(t.Context()); err != nil {
			t.Errorf("the session of a password: %v", err)
		}
		user.Email = "new@corp.example"
		in, err := s.SignInAt(corp, "/auth/oidc/"+org, user)
		if err != nil || in.User.ID == member.ID {
			t.Errorf("after it was removed: %+v, %v", in, err)
		}
	}, testserver.PermitLoopback...)
}

// TestRemovedMembersStayOut though their provider vouches for them.
func TestRemovedMembersStayOut(t *testing.T) {
	t.Parallel()
	corp := testserver.NewProvider(t)
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		owner := s.Person("owner")
		org := s.Organization(owner, "Corp")
		s.SetProvider(owner, org, corp, "corp.example")
		user := testserver.Someone("gone@corp.example")
		in, err := s.SignInAt(corp, "/auth/oidc/"+org, user)
		if err != nil {
			t.Fatal(err)
		}
		if err := owner.RemoveMember(t.Context(), org, in.User.ID); err != nil {
			t.Fatal(err)
		}
		_, err = s.Public.As(in.AccessToken).Organization(t.Context(), org)
		testserver.WantStatus(t, "the session they had", err, http.StatusForbidden)
		_, err = s.SignInAt(corp, "/auth/oidc/"+org, user)
		testserver.WantStatus(t, "to sign in again", err, http.StatusForbidden)
	}, testserver.PermitLoopback...)
}

// TestAnotherIssuerIsAnotherPerson: a provider that is put in the place of another
// says the same subject and address, and comes into nobody's account.
func TestAnotherIssuerIsAnotherPerson(t *testing.T) {
	t.Parallel()
	corp, evil := testserver.NewProvider(t), testserver.NewProvider(t)
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		owner := s.Person("owner")
		org := s.Organization(owner, "Corp")
		s.SetProvider(owner, org, corp, "corp.example")
		user := testserver.Someone(testserver.FreshIn("corp.example"))
		in, err := s.SignInAt(corp, "/auth/oidc/"+org, user)
		if err != nil {
			t.Fatal(err)
		}
		b := s.Browser()
		underWay := corp.SignInThere(t, b.StartSignIn("/auth/oidc/"+org), user)
		s.SetProvider(owner, org, evil, "corp.example")
		_, err = b.FinishSignIn(underWay)
		testserver.WantStatus(t, "a sign-in that began with the one before", err, http.StatusUnauthorized)
		_, err = s.SignInAt(evil, "/auth/oidc/"+org, user)
		testserver.WantStatus(t, "the same subject and address", err, http.StatusConflict)
		moved := *user
		moved.Email = testserver.FreshIn("corp.example")
		other, err := s.SignInAt(evil, "/auth/oidc/"+org, &moved)
		if err != nil || other.User.ID == in.User.ID {
			t.Errorf("the same subject, another address: %+v, %v", other, err)
		}
	}, testserver.PermitLoopback...)
}
