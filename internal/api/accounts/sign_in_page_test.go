package accounts_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"writ/internal/database/dbtest"
	"writ/internal/testserver"
)

// TestSignInEndsOnAPage: a browser comes back from a provider to /ui/, whose own
// script exchanges the code and says who is signed in.
func TestSignInEndsOnAPage(t *testing.T) {
	t.Parallel()
	corp := testserver.NewProvider(t)
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		owner := s.Person("owner")
		org := s.Organization(owner, `Corp <b>&"`)
		s.SetProvider(owner, org, corp, "corp.example")
		user, b := testserver.Someone(testserver.FreshIn("corp.example")), s.Browser()
		came, err := b.Open("GET", corp.SignInThere(t, b.StartSignIn("/auth/oidc/"+org), user), "", "Accept",
			"text/html")
		page, fragment, _ := strings.Cut(came.Header.Get("Location"), "#")
		if err != nil || page != "/ui/" {
			t.Fatalf("came back to %d %q, %v", came.Status, page, err)
		}
		steps := m{
			"hash": "#" + fragment, "cookie": "writ_sign_in_code=" + b.Cookies["writ_sign_in_code"], "signOut": true,
		}
		seen := visitPage(t, s, "uipage", steps)
		organizations, _ := seen["organizations"].([]any)
		if seen["title"] != "You are signed in" || seen["who"] != user.Email || seen["signedIn"] != true ||
			seen["form"] != false || seen["hash"] != "" ||
			len(organizations) != 1 || organizations[0] != `Corp <b>&" (member)` ||
			!strings.Contains(seen["limit"].(string), "nowhere else") {
			t.Errorf("the page shows %v", seen)
		}
		if seen["titleAfter"] != "You are signed out" || seen["messageAfter"] != "" {
			t.Errorf("after signing out the page shows %v", seen)
		}
		wantRecorded(t, s, "system", "session.revoked")

		again := visitPage(t, s, "uipage", steps)
		if again["signedIn"] != false || again["form"] != true ||
			!strings.Contains(again["message"].(string), "sign in again") || again["who"] != "" {
			t.Errorf("with a code that was used: %v", again)
		}
		if linked := visitPage(t, s, "uipage", m{"hash": "#linked=true"}); linked["signedIn"] != false ||
			!strings.Contains(linked["message"].(string), "is linked") {
			t.Errorf("after linking: %v", linked)
		}
		if plain := visitPage(t, s, "uipage", m{"email": "ada+x@corp.example"}); plain["signedIn"] != false ||
			plain["message"] != "" || plain["left"] != "/auth/oidc?email=ada%2Bx%40corp.example" {
			t.Errorf("without a code: %v", plain)
		}
	}, testserver.PermitLoopback...)
}

// TestPagesOfSignInAreClosed: nothing inline, nothing from elsewhere, and no text
// that becomes a program.
func TestPagesOfSignInAreClosed(t *testing.T) {
	t.Parallel()
	s := testserver.Start(t, dbtest.SQLite(t))
	page, script := s.Request(t, "GET", "/ui/", ""), s.Request(t, "GET", "/ui/sign-in.js", "")
	const policy = "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
	if got := page.Header.Get("Content-Security-Policy"); got != policy {
		t.Errorf("the policy is %q", got)
	}
	if kind := script.Header.Get("Content-Type"); script.Status != http.StatusOK ||
		!strings.HasPrefix(kind, "text/javascript") {
		t.Errorf("the script: status %d, Content-Type %q", script.Status, kind)
	}
	if inlined.Match(page.Body) || regexp.MustCompile(`(?i)\s(on\w+|style)=`).Match(page.Body) ||
		elsewhere.Match(page.Body) {
		t.Errorf("the page has what its policy forbids: %s", page.Body)
	}
	if regexp.MustCompile(`innerHTML|outerHTML|insertAdjacent|eval|Function\(|localStorage|document\.write`).Match(script.Body) || elsewhere.Match(script.Body) {
		t.Error("the script makes a program of text, keeps a token or names another server")
	}
}

// TestFailedSignInIsAPage: a person reads plain words and finds a way back; a
// program gets the one shape of errors.
func TestFailedSignInIsAPage(t *testing.T) {
	t.Parallel()
	google := testserver.NewProvider(t)
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		owner := s.Person("owner")
		org := s.Organization(owner, "Corp")
		s.SetProvider(owner, org, google, "corp.example")
		taken := testserver.Someone(owner.Email)
		for _, c := range []struct {
			what, begin, query string // query is added to what the provider sends back
			status             int
			words, again       string
		}{
			{
				"refused there", "/auth/google", "&error=access_denied&error_description=<script>alert(1)</script>",
				401, "The identity provider did not let you in.", "/auth/google",
			},
			{"another state", "/auth/oidc/" + org, "&state=x", 401, "", "/auth/oidc/" + org},
			{
				"an address that has an account", "/auth/google", "", 409,
				"Your e-mail address has an account here already", "/auth/google",
			},
			{"another domain", "/auth/oidc/" + org, "", 403, "does not speak for the domain", "/auth/oidc/" + org},
		} {
			b := s.Browser()
			back := google.SignInThere(t, b.StartSignIn(c.begin), taken) + c.query
			if strings.Contains(c.query, "state=") {
				back = strings.Replace(back, "state=", "was=", 1)
			}
			answer, err := b.Open("GET", back, "", "Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
			if err != nil {
				t.Fatal(err)
			}
			wantFailedPage(t, c.what, answer, c.status, c.words)
			for _, link := range []string{
				`<a href="` + c.again + `">Begin this sign-in again</a>`, `<a href="/ui/">Back to Writ</a>`,
			} {
				if !strings.Contains(string(answer.Body), link) {
					t.Errorf("%s: the page lacks %s", c.what, link)
				}
			}
			if b.Cookies["writ_sign_in"] != "" {
				t.Errorf("%s: the browser keeps a sign-in that is over", c.what)
			}
		}
	}, google.AsGoogle()...)
}

func wantFailedPage(t *testing.T, what string, answer testserver.Answer, status int, words string) {
	t.Helper()
	text := string(answer.Body)
	if kind := answer.Header.Get("Content-Type"); answer.Status != status || kind != "text/html; charset=utf-8" {
		t.Errorf("%s: status %d, Content-Type %q, want a page with %d: %.300s", what, answer.Status, kind, status, text)
	}
	policy := answer.Header.Get("Content-Security-Policy")
	if !strings.HasPrefix(policy, "default-src 'none'; style-src 'sha256-") || strings.Contains(policy, "script") ||
		strings.Contains(policy, "unsafe") {
		t.Errorf("%s: the policy is %q", what, policy)
	}
	if !strings.Contains(text, words) || !strings.Contains(text, answer.Header.Get("X-Request-Id")) ||
		strings.Contains(text, "<script") || strings.Contains(text, "alert(1)") {
		t.Errorf("%s: the page says %s", what, text)
	}
}

// TestFailedPageReflectsNothing that could be a program, whatever the address is.
func TestFailedPageReflectsNothing(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		const hostile = `"><script>alert(1)</script>`
		b := s.Browser()
		visit := func(path, accept string) testserver.Answer {
			t.Helper()
			answer, err := b.Open("GET", path, "", "Accept", accept)
			if err != nil {
				t.Fatal(err)
			}
			return answer
		}
		query := url.QueryEscape(hostile)
		wantFailedPage(t, "a callback",
			visit("/auth/google/callback?state="+query+"&code="+query+"&error="+query+"&iss="+query, "text/html"), 401,
			"begin again")
		wantFailedPage(t, "a path", visit("/auth/oidc/"+url.PathEscape(hostile)+"/callback?state=x", "text/html"), 401,
			"begin again")
		wantFailedPage(t, "a slug", visit("/auth/oidc/"+url.PathEscape(hostile), "text/html"), 404,
			"There is no identity provider")
		wantFailedPage(t, "an address", visit("/auth/oidc?email="+query, "text/html"), 404,
			"There is no identity provider")
		wantFailedPage(t, "no address", visit("/auth/oidc", "text/html"), 400, "is required")

		b.Cookies["writ_return"] = "device"
		fromTerminal := visit("/auth/google", "text/html")
		if !strings.Contains(string(fromTerminal.Body),
			`<a href="/auth/device">Back to the request of your terminal</a>`) ||
			strings.Contains(string(fromTerminal.Body), "again</a>") {
			t.Errorf("from the page of a terminal: %s", fromTerminal.Body)
		}
		for _, accept := range []string{"application/json", "application/json, text/html", "*/*", ""} {
			visit("/auth/google/callback?state=x", accept).ErrorFields(t, http.StatusUnauthorized)
		}
	})
}
