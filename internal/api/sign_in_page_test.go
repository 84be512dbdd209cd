package api_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"writ/internal/database/dbtest"
)

// TestSignInEndsOnAPage: a browser comes back from a provider to /ui/, whose own
// script exchanges the code and says who is signed in.
func TestSignInEndsOnAPage(t *testing.T) {
	t.Parallel()
	corp := newIDP(t)
	each(t, func(t *testing.T, s *server) {
		owner := s.person("owner")
		org := s.organization(owner, `Corp <b>&"`)
		s.provider(owner, org, corp, "corp.example")
		user, b := someone(freshIn("corp.example")), s.browser()
		came, err := b.open("GET", corp.signInThere(t, b.depart("/auth/oidc/"+org), user), "", "Accept", "text/html")
		page, fragment, _ := strings.Cut(came.header.Get("Location"), "#")
		if err != nil || page != "/ui/" {
			t.Fatalf("came back to %d %q, %v", came.status, page, err)
		}
		steps := m{
			"hash": "#" + fragment, "cookie": "writ_sign_in_code=" + b.cookies["writ_sign_in_code"], "signOut": true,
		}
		seen := s.visitPage(t, "uipage", steps)
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

		again := s.visitPage(t, "uipage", steps)
		if again["signedIn"] != false || again["form"] != true ||
			!strings.Contains(again["message"].(string), "sign in again") || again["who"] != "" {
			t.Errorf("with a code that was used: %v", again)
		}
		if linked := s.visitPage(t, "uipage", m{"hash": "#linked=true"}); linked["signedIn"] != false ||
			!strings.Contains(linked["message"].(string), "is linked") {
			t.Errorf("after linking: %v", linked)
		}
		if plain := s.visitPage(t, "uipage", m{"email": "ada+x@corp.example"}); plain["signedIn"] != false ||
			plain["message"] != "" || plain["left"] != "/auth/oidc?email=ada%2Bx%40corp.example" {
			t.Errorf("without a code: %v", plain)
		}
	}, permitLoopback...)
}

// TestPagesOfSignInAreClosed: nothing inline, nothing from elsewhere, and no text
// that becomes a program.
func TestPagesOfSignInAreClosed(t *testing.T) {
	t.Parallel()
	s := start(t, dbtest.SQLite(t))
	page, script := s.wire(t, "GET", "/ui/", ""), s.wire(t, "GET", "/ui/sign-in.js", "")
	const policy = "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
	if got := page.header.Get("Content-Security-Policy"); got != policy {
		t.Errorf("the policy is %q", got)
	}
	if kind := script.header.Get("Content-Type"); script.status != http.StatusOK ||
		!strings.HasPrefix(kind, "text/javascript") {
		t.Errorf("the script: status %d, Content-Type %q", script.status, kind)
	}
	if inlined.Match(page.body) || regexp.MustCompile(`(?i)\s(on\w+|style)=`).Match(page.body) ||
		elsewhere.Match(page.body) {
		t.Errorf("the page has what its policy forbids: %s", page.body)
	}
	if regexp.MustCompile(`innerHTML|outerHTML|insertAdjacent|eval|Function\(|localStorage|document\.write`).Match(script.body) || elsewhere.Match(script.body) {
		t.Error("the script makes a program of text, keeps a token or names another server")
	}
}

// TestFailedSignInIsAPage: a person reads plain words and finds a way back; a
// program gets the one shape of errors.
func TestFailedSignInIsAPage(t *testing.T) {
	t.Parallel()
	google := newIDP(t)
	each(t, func(t *testing.T, s *server) {
		owner := s.person("owner")
		org := s.organization(owner, "Corp")
		s.provider(owner, org, google, "corp.example")
		taken := someone(owner.Email)
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
			b := s.browser()
			back := google.signInThere(t, b.depart(c.begin), taken) + c.query
			if strings.Contains(c.query, "state=") {
				back = strings.Replace(back, "state=", "was=", 1)
			}
			answer, err := b.open("GET", back, "", "Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
			if err != nil {
				t.Fatal(err)
			}
			wantFailedPage(t, c.what, answer, c.status, c.words)
			for _, link := range []string{
				`<a href="` + c.again + `">Begin this sign-in again</a>`, `<a href="/ui/">Back to Writ</a>`,
			} {
				if !strings.Contains(string(answer.body), link) {
					t.Errorf("%s: the page lacks %s", c.what, link)
				}
			}
			if b.cookies["writ_sign_in"] != "" {
				t.Errorf("%s: the browser keeps a sign-in that is over", c.what)
			}
		}
	}, google.asGoogle()...)
}

func wantFailedPage(t *testing.T, what string, answer wireAnswer, status int, words string) {
	t.Helper()
	text := string(answer.body)
	if kind := answer.header.Get("Content-Type"); answer.status != status || kind != "text/html; charset=utf-8" {
		t.Errorf("%s: status %d, Content-Type %q, want a page with %d: %.300s", what, answer.status, kind, status, text)
	}
	policy := answer.header.Get("Content-Security-Policy")
	if !strings.HasPrefix(policy, "default-src 'none'; style-src 'sha256-") || strings.Contains(policy, "script") ||
		strings.Contains(policy, "unsafe") {
		t.Errorf("%s: the policy is %q", what, policy)
	}
	if !strings.Contains(text, words) || !strings.Contains(text, answer.header.Get("X-Request-Id")) ||
		strings.Contains(text, "<script") || strings.Contains(text, "alert(1)") {
		t.Errorf("%s: the page says %s", what, text)
	}
}

// TestFailedPageReflectsNothing that could be a program, whatever the address is.
func TestFailedPageReflectsNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *server) {
		const hostile = `"><script>alert(1)</script>`
		b := s.browser()
		visit := func(path, accept string) wireAnswer {
			t.Helper()
			answer, err := b.open("GET", path, "", "Accept", accept)
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

		b.cookies["writ_return"] = "device"
		fromTerminal := visit("/auth/google", "text/html")
		if !strings.Contains(string(fromTerminal.body),
			`<a href="/auth/device">Back to the request of your terminal</a>`) ||
			strings.Contains(string(fromTerminal.body), "again</a>") {
			t.Errorf("from the page of a terminal: %s", fromTerminal.body)
		}
		for _, accept := range []string{"application/json", "application/json, text/html", "*/*", ""} {
			visit("/auth/google/callback?state=x", accept).errorFields(t, http.StatusUnauthorized)
		}
	})
}
