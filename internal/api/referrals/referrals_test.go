package referrals_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"writ/client"
	"writ/internal/principal"
	"writ/internal/testserver"
)

type m = map[string]any

var on = []string{"WRIT_REFERRAL_CREDIT_CENTS", "1500"}

type stats struct {
	Referred    int
	CreditCents int64
	ClaimedAt   *time.Time
}

func call(s *testserver.Server, p *testserver.Person, method, path, org string, body, into any) error {
	return p.Call(s.T.Context(), method, "/referral/"+path, url.Values{"organizationId": {org}}, body, into)
}

func codeOf(s *testserver.Server, p *testserver.Person, org string) string {
	s.T.Helper()
	var made struct{ Code string }
	if err := call(s, p, http.MethodPost, "code", org, nil, &made); err != nil || len(made.Code) != 12 {
		s.T.Fatalf("make a code: %+v, %v", made, err)
	}
	return made.Code
}

func claim(s *testserver.Server, p *testserver.Person, org, code string) error {
	s.NextMinute()
	return call(s, p, http.MethodPost, "claim", org, m{"code": code}, nil)
}

func wantStats(s *testserver.Server, p *testserver.Person, org string, referred int, cents int64, claimed bool) {
	s.T.Helper()
	var got stats
	err := call(s, p, http.MethodGet, "stats", org, nil, &got)
	if err != nil || got.Referred != referred || got.CreditCents != cents || (got.ClaimedAt != nil) != claimed {
		s.T.Errorf("stats: %+v, %v; want %d, %d cents, claimed %t", got, err, referred, cents, claimed)
	}
}

// TestReferral: the first claim counts, and the one whose code it is gets the credit.
func TestReferral(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ada, bob, eve := s.Person("ada"), s.Person("bob"), s.Person("eve")
		from, to, other := s.Organization(ada, "From"), s.Organization(bob, "To"), s.Organization(eve, "Other")
		err := call(s, ada, http.MethodGet, "code", from, nil, nil)
		testserver.WantStatus(t, "no code yet", err, http.StatusNotFound)
		code := codeOf(s, ada, from)
		if again := codeOf(s, ada, from); again != code {
			t.Errorf("a second code %s, want %s", again, code)
		}
		if err := claim(s, bob, to, " "+strings.ToLower(code)+" "); err != nil {
			t.Fatalf("claim: %v", err)
		}
		testserver.WantStatus(t, "claim again", claim(s, bob, to, code), http.StatusConflict)
		testserver.WantStatus(t, "claim another", claim(s, bob, to, codeOf(s, eve, other)), http.StatusConflict)
		testserver.WantStatus(t, "refer each other", claim(s, ada, from, codeOf(s, bob, to)), http.StatusConflict)
		if err := claim(s, eve, other, code); err != nil {
			t.Fatalf("claim: %v", err)
		}
		wantStats(s, ada, from, 2, 3000, false)
		wantStats(s, bob, to, 0, 0, true)
		for org, want := range map[string]string{from: "referral.credited", to: "referral.claimed"} {
			if log := s.Recorded(org); !slices.Contains(log, want) {
				t.Errorf("the log lacks %s: %v", want, log)
			}
		}
	}, on...)
}

// TestNobodyRefersThemselves, by whichever of their organizations or people.
func TestNobodyRefersThemselves(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ada, bob := s.Person("ada"), s.Person("bob")
		from, second := s.Organization(ada, "From"), s.Organization(ada, "Second")
		to, shared := s.Organization(bob, "To"), s.Organization(bob, "Shared")
		admin := s.Join(bob, shared, "admin")
		s.MakeMember(shared, ada.ID, principal.Owner)
		s.MakeMember(from, admin.ID, principal.Viewer)
		code := codeOf(s, ada, from)
		own := s.Organization(admin, "Own")
		for what, c := range map[string]struct {
			who *testserver.Person
			org string
		}{
			"the same organization":                 {ada, from},
			"another organization of its owner":     {ada, second},
			"one with a common owner, by another":   {bob, shared},
			"one with a common owner, by its admin": {admin, shared},
			"an organization of a member":           {admin, own},
		} {
			testserver.WantStatus(t, what, claim(s, c.who, c.org, code), http.StatusConflict)
		}
		for what, code := range map[string]string{"unknown": "AAAAAAAAAAAA", "short": "A", "hostile": "' OR 1=1 --"} {
			testserver.WantStatus(t, what, claim(s, bob, to, code), http.StatusNotFound)
		}
		wantStats(s, ada, from, 0, 0, false)
		if err := ada.CloseOrganization(t.Context(), second); err != nil {
			t.Fatal(err)
		}
		if err := ada.CloseOrganization(t.Context(), from); err != nil {
			t.Fatal(err)
		}
		testserver.WantStatus(t, "of a closed organization", claim(s, bob, to, code), http.StatusNotFound)
	}, on...)
}

// TestAPersonBringsOneCredit: organizations cost nothing to make, so that those of one person earn a credit once.
func TestAPersonBringsOneCredit(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ada, bob, eve := s.Person("ada"), s.Person("bob"), s.Person("eve")
		from, other := s.Organization(ada, "From"), s.Organization(eve, "Other")
		code, another := codeOf(s, ada, from), codeOf(s, eve, other)
		if err := claim(s, bob, s.Organization(bob, "First"), code); err != nil {
			t.Fatal(err)
		}
		second := s.Organization(bob, "Second")
		admin := s.Join(bob, second, "admin")
		testserver.WantStatus(t, "the second of one owner", claim(s, bob, second, code), http.StatusConflict)
		testserver.WantStatus(t, "by its admin", claim(s, admin, second, code), http.StatusConflict)
		wantStats(s, ada, from, 1, 1500, false)
		if err := claim(s, bob, second, another); err != nil {
			t.Errorf("the code of another organization: %v", err)
		}
	}, on...)
}

// TestClaimsAtOnce: one claim counts, once.
func TestClaimsAtOnce(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ada, eve, bob := s.Person("ada"), s.Person("eve"), s.Person("bob")
		from, other, to := s.Organization(ada, "From"), s.Organization(eve, "Other"), s.Organization(bob, "To")
		codes := []string{codeOf(s, ada, from), codeOf(s, eve, other)}
		s.NextMinute()
		results := make(chan error, 8)
		for i := range cap(results) {
			go func() { results <- call(s, bob, http.MethodPost, "claim", to, m{"code": codes[i%2]}, nil) }()
		}
		claimed := 0
		for range cap(results) {
			if err := <-results; err == nil {
				claimed++
			} else if client.StatusOf(err) != http.StatusConflict {
				t.Error(err)
			}
		}
		var first, second stats
		_ = call(s, ada, http.MethodGet, "stats", from, nil, &first)
		_ = call(s, eve, http.MethodGet, "stats", other, nil, &second)
		if claimed != 1 || first.CreditCents+second.CreditCents != 1500 {
			t.Errorf("%d claims, %d cents", claimed, first.CreditCents+second.CreditCents)
		}
	}, on...)
}

// TestReferralsAreOff unless they are set, and then for those who may change the organization.
func TestReferralsAreOff(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ada := s.Person("ada")
		org := s.Organization(ada, "From")
		for path, method := range map[string]string{"code": "POST", "stats": "GET", "claim": "POST"} {
			err := call(s, ada, method, path, org, m{"code": "AAAAAAAAAAAA"}, nil)
			testserver.WantStatus(t, path, err, http.StatusNotFound)
		}
	})
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ada := s.Person("ada")
		org := s.Organization(ada, "From")
		for role, want := range map[string]int{"viewer": 403, "member": 403, "approver": 403, "admin": 0} {
			p := s.Join(ada, org, role)
			if got := client.StatusOf(call(s, p, http.MethodPost, "code", org, nil, nil)); got != want {
				t.Errorf("make a code as %s: %d, want %d", role, got, want)
			}
			if err := call(s, p, http.MethodGet, "stats", org, nil, nil); err != nil {
				t.Errorf("stats as %s: %v", role, err)
			}
			if want != 0 {
				testserver.WantStatus(t, "claim as "+role, claim(s, p, org, "AAAAAAAAAAAA"), want)
			}
		}
	}, on...)
}
