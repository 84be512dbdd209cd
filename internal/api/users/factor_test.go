package users_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"writ/client"
	"writ/internal/audit"
	"writ/internal/fault"
	"writ/internal/mail"
	"writ/internal/principal"
	"writ/internal/testserver"
)

// m is a JSON object.
type m = map[string]any

// wantCode wants a refusal that programs know by a code.
func wantCode(t *testing.T, what string, err error, code string) {
	t.Helper()
	e, ok := errors.AsType[*client.Error](err)
	if !ok || e.StatusCode != http.StatusForbidden || e.Reason != code {
		t.Errorf("%s: %+v, want 403 %s", what, err, code)
	}
}

func call(t *testing.T, p *testserver.Person, method, path string, body any) error {
	t.Helper()
	return p.Call(t.Context(), method, path, nil, body, nil)
}

// mailed waits for the nth mail with a text in its subject.
func mailed(s *testserver.Server, to, subject string, n int) mail.Message {
	s.T.Helper()
	for wait := 1; ; wait++ {
		all := s.Mails(to, wait) // which fails after a while
		wait = len(all)
		about := slices.DeleteFunc(all, func(m mail.Message) bool { return !strings.Contains(m.Subject, subject) })
		if len(about) >= n {
			return about[n-1]
		}
	}
}

func TestSignInWithASecondFactor(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ctx, ada, bob := t.Context(), s.Person("ada"), s.Person("bob")
		s.BeginFactor(ada)
		if in, err := s.Public.Login(ctx, ada.Email, testserver.Password); err != nil || in.AccessToken == "" {
			t.Errorf("a factor that is not confirmed counts: %+v, %v", in.SecondFactor, err)
		}
		factor := s.Enrol(ada)
		challenge := func() string {
			t.Helper()
			s.NextMinute()
			in, err := s.Public.Login(ctx, ada.Email, testserver.Password)
			if err != nil || in.AccessToken != "" || in.RefreshToken != "" || in.User.ID != "" ||
				in.SecondFactor.Challenge == "" {
				t.Fatalf("sign in: %+v, %v, want a challenge alone", in, err)
			}
			return in.SecondFactor.Challenge
		}
		first := challenge()
		_, err := s.Public.FinishLogin(ctx, first, "000000")
		testserver.WantStatus(t, "a wrong code", err, http.StatusUnauthorized)
		code := factor.Code()
		in, err := s.Public.FinishLogin(ctx, first, code)
		if err != nil || in.User.ID != ada.ID || in.AccessToken == "" {
			t.Fatalf("the right code: %+v, %v", in, err)
		}
		if _, err := s.Public.As(in.AccessToken).Me(ctx); err != nil {
			t.Errorf("the session: %v", err)
		}
		_, err = s.Public.FinishLogin(ctx, first, factor.Code())
		testserver.WantStatus(t, "the challenge again", err, http.StatusUnauthorized)
		_, err = s.Public.FinishLogin(ctx, challenge(), code)
		testserver.WantStatus(t, "the code again", err, http.StatusUnauthorized)
		if _, err := s.Public.FinishLogin(ctx, challenge(), factor.Recovery[0]); err != nil {
			t.Errorf("a recovery code: %v", err)
		}
		_, err = s.Public.FinishLogin(ctx, challenge(), factor.Recovery[0])
		testserver.WantStatus(t, "the recovery code again", err, http.StatusUnauthorized)
		late := challenge()
		s.Advance(6 * time.Minute)
		_, err = s.Public.FinishLogin(ctx, late, factor.Code())
		testserver.WantStatus(t, "a challenge of six minutes", err, http.StatusUnauthorized)
		if in, err := s.Public.Login(ctx, bob.Email, testserver.Password); err != nil || in.AccessToken == "" {
			t.Errorf("a person without a second factor: %+v, %v", in, err)
		}
	})
}

// TestWrongCodesLock: ten wrong codes in an hour, in whichever sign-ins, lock the factor for the rest of it.
func TestWrongCodesLock(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ada := s.Person("ada")
		factor := s.Enrol(ada)
		prove := func(code string) error {
			s.NextMinute()
			return call(t, ada, http.MethodPost, "/user/second-factor/proof", m{"code": code})
		}
		for i := range 10 {
			if slices.Contains(s.Recorded(audit.System), "second_factor.locked") {
				t.Errorf("locked after %d wrong codes", i)
			}
			testserver.WantStatus(t, "a wrong code", prove("wrong code"), http.StatusBadRequest)
		}
		locked := func() int {
			return len(slices.DeleteFunc(s.Recorded(audit.System), func(action string) bool {
				return action != "second_factor.locked"
			}))
		}
		told := mailed(s, ada.Email, "is locked", 1)
		if locked() != 1 || !strings.Contains(told.Text, "reset your password") {
			t.Errorf("%d locks are recorded, the mail is %q", locked(), told.Text)
		}
		testserver.WantStatus(t, "the right code then", prove(factor.Code()), http.StatusTooManyRequests)
		s.Advance(time.Hour)
		again := s.SignInWith(ada.Email, factor)
		if err := call(t, again, http.MethodPost, "/user/second-factor/proof", m{"code": factor.Code()}); err != nil {
			t.Errorf("an hour later: %v", err)
		}
		// Those of sign-ins count too.
		for range 5 {
			s.NextMinute()
			in, err := s.Public.Login(t.Context(), ada.Email, testserver.Password)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				_, err := s.Public.FinishLogin(t.Context(), in.SecondFactor.Challenge, "wrong code")
				testserver.WantStatus(t, "a wrong code of a sign-in", err, http.StatusUnauthorized)
			}
		}
		mailed(s, ada.Email, "is locked", 2)
		if locked() != 2 {
			t.Errorf("%d locks are recorded, want 2", locked())
		}
	})
}

// TestLostPhone: a command on the server removes the factor of somebody, and nobody else does.
func TestLostPhone(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ada, bob := s.Person("ada"), s.Person("bob")
		s.Enrol(ada)
		other := principal.Principal{Kind: principal.User, UserID: bob.ID}
		if err := s.Auth.RemoveSecondFactor(t.Context(), other, ada.ID); !fault.Is(err, fault.Forbidden) {
			t.Errorf("by somebody else: %v", err)
		}
		if err := s.Auth.RemoveSecondFactor(t.Context(), principal.Operator(), ada.ID); err != nil {
			t.Errorf("by the command: %v", err)
		}
		if in, err := s.Public.Login(t.Context(), ada.Email, testserver.Password); err != nil || in.AccessToken == "" {
			t.Errorf("sign in without it: %v", err)
		}
		if mails := s.Mails(ada.Email, 2); !strings.Contains(mails[len(mails)-1].Subject, "was removed") {
			t.Errorf("the last mail is %q", mails[len(mails)-1].Subject)
		}
	})
}

func TestDangerousActsAskAgain(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ada, bob := s.Person("ada"), s.Person("bob")
		org := s.Organization(ada, "Vault")
		makeKey := func(p *testserver.Person) error {
			return call(t, p, http.MethodPost, "/api-keys", m{"name": "new"})
		}
		if err := makeKey(ada); err != nil {
			t.Errorf("before there is a second factor: %v", err)
		}
		factor := s.Enrol(ada)
		if err := makeKey(ada); err != nil {
			t.Errorf("just proved: %v", err)
		}
		s.Advance(11 * time.Minute)
		for what, err := range map[string]error{
			"a key":           makeKey(ada),
			"the kill switch": call(t, ada, http.MethodPost, "/organization/"+org+"/kill-switch", m{}),
			"closing":         call(t, ada, http.MethodDelete, "/organization/"+org, nil),
			"removal":         call(t, ada, http.MethodDelete, "/user/second-factor", nil),
			"deletion":        call(t, ada, http.MethodDelete, "/user", m{"confirm": ada.Email}),
		} {
			wantCode(t, what, err, "second_factor_required")
		}
		if _, err := ada.Organizations(t.Context()); err != nil {
			t.Errorf("reading: %v", err)
		}
		if err := makeKey(bob); err != nil {
			t.Errorf("a person without a second factor: %v", err)
		}
		if err := call(t, ada, http.MethodPost, "/user/second-factor/proof", m{"code": factor.Code()}); err != nil {
			t.Fatalf("prove: %v", err)
		}
		if err := makeKey(ada); err != nil {
			t.Errorf("proved again: %v", err)
		}
		if err := call(t, ada, http.MethodDelete, "/user/second-factor", nil); err != nil {
			t.Errorf("remove it: %v", err)
		}
		if in, err := s.Public.Login(t.Context(), ada.Email, testserver.Password); err != nil || in.AccessToken == "" {
			t.Errorf("sign in without it: %v", err)
		}
	})
}

func TestOrganizationRequiresASecondFactor(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		owner := s.Person("owner")
		org := s.Organization(owner, "Vault")
		member, agent := s.Join(owner, org, "member"), s.Public.WithKey(s.AgentKey(owner, org).APIKey)
		terminal := s.TerminalKey(member, org)
		require := func(p *testserver.Person, on bool) error {
			return call(t, p, http.MethodPut, "/organization/"+org+"/second-factor", m{"required": on})
		}
		testserver.WantStatus(t, "without having one", require(owner, true), http.StatusConflict)
		s.Enrol(owner)
		if err := require(owner, true); err != nil {
			t.Fatalf("require it: %v", err)
		}
		get := func(p *testserver.Person) error { return call(t, p, http.MethodGet, "/organization/"+org, nil) }
		wantCode(t, "a member without one", get(member), "second_factor_enrolment_required")
		if _, err := terminal.SwitchOrganization(t.Context(), org, ""); client.StatusOf(err) != http.StatusForbidden {
			t.Errorf("a terminal of a member without one: %v", err)
		}
		if _, err := agent.CurrentKey(t.Context()); err != nil {
			t.Errorf("the key of an agent: %v", err)
		}
		if got := s.Declare(agent.APIKey, "look"); got.PlanID == "" {
			t.Error("an agent declares no plan")
		}
		elsewhere := s.SignIn(member.Email)
		s.Enrol(member)
		if err := get(member); err != nil {
			t.Errorf("a member with one: %v", err)
		}
		testserver.WantStatus(t, "a session from before", get(elsewhere), http.StatusUnauthorized)
		if err := get(owner); err != nil {
			t.Errorf("the owner: %v", err)
		}
		stranger := s.Person("stranger")
		if e, ok := errors.AsType[*client.Error](get(stranger)); !ok || e.StatusCode != 403 || e.Reason != "" {
			t.Errorf("a stranger learns that a second factor is required: %+v", e)
		}
		if err := require(owner, false); err != nil {
			t.Errorf("take it back: %v", err)
		}
		if err := get(member); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}
