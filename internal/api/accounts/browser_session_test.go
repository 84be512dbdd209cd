package accounts_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"writ/internal/testserver"
)

// page is a page of the server in a browser of its own.
type page struct {
	*testserver.Browser
	s *testserver.Server
	t *testing.T
}

// post sends what a page's script sends; more headers replace its own.
func (p page) post(path, body string, headers ...string) (testserver.Answer, map[string]any) {
	p.t.Helper()
	own := []string{"Writ-Session", "cookie", "Origin", p.s.URL, "Sec-Fetch-Site", "same-origin"}
	answer, err := p.Open(http.MethodPost, path, body, append(own, headers...)...)
	if err != nil {
		p.t.Fatal(err)
	}
	got := map[string]any{}
	if len(answer.Body) > 0 {
		if err := json.Unmarshal(answer.Body, &got); err != nil {
			p.t.Fatal(err)
		}
	}
	return answer, got
}

// signIn signs in with a password and gives the access token.
func (p page) signIn(email string) string {
	p.t.Helper()
	answer, got := p.post("/auth/login", `{"email":"`+email+`","password":"`+testserver.Password+`"}`)
	if _, inBody := got["refreshToken"]; answer.Status != http.StatusOK || inBody || len(p.Cookies) != 1 {
		p.t.Fatalf("sign in: %d %s, cookies %v", answer.Status, answer.Body, p.Cookies)
	}
	return got["accessToken"].(string)
}

func TestSessionInACookie(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		p := page{s.Browser(), s, t}
		ada := s.Person("ada")
		first := p.signIn(ada.Email)
		old := p.Cookies["writ_session"]

		answer, got := p.post("/auth/refresh", "{}")
		cookie := answer.Header.Get("Set-Cookie")
		if _, inBody := got["refreshToken"]; answer.Status != http.StatusOK || inBody ||
			p.Cookies["writ_session"] == old {
			t.Fatalf("refresh: %d %s %q", answer.Status, answer.Body, cookie)
		}
		for _, part := range []string{"HttpOnly", "SameSite=Strict", "Path=/auth", "Max-Age=25"} {
			if !strings.Contains(cookie, part) {
				t.Errorf("the cookie %q lacks %s", cookie, part)
			}
		}
		second := got["accessToken"].(string)
		// A cookie is no credential anywhere else.
		if me, _ := p.Open(http.MethodGet, "/auth/me", ""); me.Status != http.StatusUnauthorized {
			t.Errorf("/auth/me with the cookie alone: %d", me.Status)
		}
		if out, _ := p.post("/auth/logout", "", "Authorization",
			"Bearer "+second); out.Status != http.StatusNoContent ||
			len(p.Cookies) != 0 {
			t.Errorf("sign out: %d %s, cookies %v", out.Status, out.Body, p.Cookies)
		}
		wantRefusedToken(t, s, "after signing out: first", first)
		wantRefusedToken(t, s, "after signing out: second", second)
	})
}

// TestLostRefreshIsAnsweredAgain: a page that did not get the answer tries again with the old cookie. Later,
// it is a thief's.
func TestLostRefreshIsAnsweredAgain(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		p := page{s.Browser(), s, t}
		ada := s.Person("ada")
		p.signIn(ada.Email)
		lost := p.Cookies["writ_session"]
		for range 3 {
			p.Cookies["writ_session"] = lost
			if answer, _ := p.post("/auth/refresh", "{}"); answer.Status != http.StatusOK {
				t.Fatalf("again at once: %d %s", answer.Status, answer.Body)
			}
			s.Advance(3 * time.Second)
		}
		newest := p.Cookies["writ_session"]
		s.Advance(2 * time.Second)
		p.Cookies["writ_session"] = lost
		if answer, _ := p.post("/auth/refresh", "{}"); answer.Status != http.StatusUnauthorized {
			t.Errorf("after ten seconds: %d %s", answer.Status, answer.Body)
		}
		p.Cookies["writ_session"] = newest
		if answer, _ := p.post("/auth/refresh", "{}"); answer.Status != http.StatusUnauthorized {
			t.Errorf("the session goes on after a reuse: %d %s", answer.Status, answer.Body)
		}
		if n := times(s, "session.reuse_detected"); n != 1 {
			t.Errorf("session.reuse_detected recorded %d times, want once", n)
		}
	})
}

// TestRepeatMakesNoSecondChain: whoever copies a cookie gets the same successor as its owner, so that one of
// the two reuses a token at their next step.
func TestRepeatMakesNoSecondChain(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		owner, thief := page{s.Browser(), s, t}, page{s.Browser(), s, t}
		owner.signIn(s.Person("ada").Email)
		thief.Cookies["writ_session"] = owner.Cookies["writ_session"]
		for name, p := range map[string]page{"owner": owner, "thief": thief} {
			if answer, _ := p.post("/auth/refresh", "{}"); answer.Status != http.StatusOK {
				t.Fatalf("%s: %d %s", name, answer.Status, answer.Body)
			}
		}
		if owner.Cookies["writ_session"] != thief.Cookies["writ_session"] {
			t.Fatal("a repeat made a second chain")
		}
		s.Advance(time.Minute)
		if answer, _ := thief.post("/auth/refresh", "{}"); answer.Status != http.StatusOK {
			t.Fatalf("the thief's next step: %d %s", answer.Status, answer.Body)
		}
		s.Advance(time.Minute)
		if answer, _ := owner.post("/auth/refresh", "{}"); answer.Status != http.StatusUnauthorized {
			t.Errorf("the owner's next step: %d %s", answer.Status, answer.Body)
		}
		if answer, _ := thief.post("/auth/refresh", "{}"); answer.Status != http.StatusUnauthorized {
			t.Errorf("the thief goes on: %d %s", answer.Status, answer.Body)
		}
		if n := times(s, "session.reuse_detected"); n != 1 {
			t.Errorf("session.reuse_detected recorded %d times, want once", n)
		}
	})
}

// TestSignOutWithTheCookieAlone: a page whose access token has expired can still end its session.
func TestSignOutWithTheCookieAlone(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		p := page{s.Browser(), s, t}
		ada := s.Person("ada")
		terminal := ada.Tokens
		for name, before := range map[string]func(){
			"the newest token": func() {},
			"an old token": func() {
				old := p.Cookies["writ_session"]
				p.post("/auth/refresh", "{}")
				p.Cookies["writ_session"] = old
			},
		} {
			p.signIn(ada.Email)
			before()
			kept := p.Cookies["writ_session"]
			s.Advance(20 * time.Minute)
			if answer, _ := p.post("/auth/logout", "", "Origin", "https://evil.example"); answer.Status !=
				http.StatusForbidden || answer.Header.Get("Set-Cookie") != "" {
				t.Errorf("%s, from another origin: %d %s", name, answer.Status, answer.Body)
			}
			if answer, _ := p.Open(http.MethodPost, "/auth/logout", ""); answer.Status != http.StatusUnauthorized {
				t.Errorf("%s, without the header: %d %s", name, answer.Status, answer.Body)
			}
			recorded := times(s, "session.revoked")
			if answer, _ := p.post("/auth/logout", ""); answer.Status != http.StatusNoContent || len(p.Cookies) != 0 {
				t.Errorf("%s: %d %s, cookies %v", name, answer.Status, answer.Body, p.Cookies)
			}
			if n := times(s, "session.revoked") - recorded; n != 1 {
				t.Errorf("%s: session.revoked recorded %d times, want once", name, n)
			}
			p.Cookies["writ_session"] = kept
			if answer, _ := p.post("/auth/refresh", "{}"); answer.Status != http.StatusUnauthorized {
				t.Errorf("%s: the session goes on: %d %s", name, answer.Status, answer.Body)
			}
			// Again, and with nothing that is known: the cookie goes all the same.
			for _, token := range []string{kept, "rc_unknown", terminal.RefreshToken, ""} {
				p.Cookies["writ_session"] = token
				if answer, _ := p.post("/auth/logout", ""); answer.Status != http.StatusNoContent ||
					len(p.Cookies) != 0 {
					t.Errorf("%s, again: %d %s, cookies %v", name, answer.Status, answer.Body, p.Cookies)
				}
			}
			var err error
			if terminal, err = s.Public.Refresh(t.Context(), terminal.RefreshToken); err != nil {
				t.Fatalf("%s: the session of a terminal: %v", name, err)
			}
		}
	})
}

// TestCookieIsForOwnPages: another page cannot use the cookie, nor plant one; and neither kind of token works
// as the other.
func TestCookieIsForOwnPages(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		p := page{s.Browser(), s, t}
		ada := s.Person("ada")
		p.signIn(ada.Email)
		login := `{"email":"` + ada.Email + `","password":"` + testserver.Password + `"}`
		for name, headers := range map[string][]string{
			"another origin":  {"Origin", "https://evil.example"},
			"another port":    {"Origin", "http://127.0.0.1:1"},
			"another scheme":  {"Origin", strings.Replace(s.URL, "http:", "https:", 1)},
			"no origin":       {"Origin", ""},
			"a null origin":   {"Origin", "null"},
			"a neighbour":     {"Sec-Fetch-Site", "same-site"},
			"another site":    {"Sec-Fetch-Site", "cross-site"},
			"an origin and a": {"Origin", s.URL + ".evil.example"},
		} {
			for path, body := range map[string]string{"/auth/refresh": "{}", "/auth/login": login} {
				if answer, _ := p.post(path, body, headers...); answer.Status != http.StatusForbidden ||
					answer.Header.Get("Set-Cookie") != "" {
					t.Errorf("%s, %s: %d %s", path, name, answer.Status, answer.Body)
				}
			}
		}
		if answer, _ := p.post("/auth/refresh", "{}", "Writ-Session", "body"); answer.Status != http.StatusBadRequest {
			t.Errorf("an unknown kind of session: %d %s", answer.Status, answer.Body)
		}
		if answer, err := p.Open(http.MethodPost, "/auth/refresh", "{}"); err != nil ||
			answer.Status != http.StatusBadRequest || !strings.Contains(string(answer.Body), "refreshToken") {
			t.Errorf("the cookie without the header: %d %s", answer.Status, answer.Body)
		}
		_, err := s.Public.Refresh(t.Context(), p.Cookies["writ_session"])
		testserver.WantStatus(t, "a cookie's token in a body", err, http.StatusUnauthorized)
		mine := p.Cookies["writ_session"]
		p.Cookies["writ_session"] = ada.Tokens.RefreshToken
		if answer, _ := p.post("/auth/refresh", "{}"); answer.Status != http.StatusUnauthorized {
			t.Errorf("a body's token in a cookie: %d %s", answer.Status, answer.Body)
		}
		wantAlive(t, s, "the session of the body", ada.Tokens)
		p.Cookies["writ_session"] = mine
		if answer, _ := p.post("/auth/refresh", "{}"); answer.Status != http.StatusOK {
			t.Errorf("after all of them: %d %s", answer.Status, answer.Body)
		}
	})
}

// TestSessionCookieWithTLS: only this host can set the cookie.
func TestSessionCookieWithTLS(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		p := page{s.Browser(), s, t}
		ada := s.Person("ada")
		p.signIn(ada.Email)
		token := p.Cookies["__Host-writ_session"]
		if token == "" {
			t.Fatalf("cookies %v", p.Cookies)
		}
		p.Cookies = map[string]string{"writ_session": token}
		if answer, _ := p.post("/auth/refresh", "{}"); answer.Status != http.StatusUnauthorized {
			t.Errorf("a cookie that a neighbour planted: %d %s", answer.Status, answer.Body)
		}
		p.Cookies = map[string]string{"__Host-writ_session": token}
		if answer, _ := p.post("/auth/refresh", "{}"); answer.Status != http.StatusOK ||
			!strings.Contains(answer.Header.Get("Set-Cookie"), "Secure") {
			t.Errorf("the cookie of this host: %d %s", answer.Status, answer.Body)
		}
	}, "WRIT_PUBLIC_URL", "https://writ.example.org")
}

func TestOptions(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		answer := s.Request(t, "GET", "/auth/options", "")
		want := `{"google":false,"signUp":false,"mail":"outbox","development":true,"billing":false,"referrals":true}`
		if answer.Status != http.StatusOK || strings.TrimSpace(string(answer.Body)) != want {
			t.Errorf("options: %d %s, want %s", answer.Status, answer.Body, want)
		}
	}, "WRIT_SIGNUP", "closed", "WRIT_REFERRAL_CREDIT_CENTS", "1000")
}
