package api_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestNeighboursPlantNoSignIn: a page of another host in our domain can set cookies
// for ours, except under the prefix that browsers keep for the host itself.
func TestNeighboursPlantNoSignIn(t *testing.T) {
	t.Parallel()
	google := newIDP(t)
	each(t, func(t *testing.T, s *server) {
		mine := s.browser()
		back := google.signInThere(t, mine.depart("/auth/google"), someone(freshAddress()))
		planted := s.browser()
		planted.cookies["writ_sign_in"] = mine.cookies["__Host-writ_sign_in"]
		_, err := planted.arrive(back)
		wantStatus(t, "a sign-in that a neighbour planted", err, http.StatusUnauthorized)

		answer, err := mine.open(http.MethodGet, back, "")
		if err != nil || answer.status != http.StatusSeeOther {
			t.Fatalf("come back: %d %s %v", answer.status, answer.body, err)
		}
		for _, cookie := range (&http.Response{Header: answer.header}).Cookies() {
			if !strings.HasPrefix(cookie.Name, "__Host-") && cookie.Name != "writ_return" ||
				strings.HasPrefix(cookie.Name, "__Host-") &&
					(!cookie.Secure || cookie.Path != "/" || cookie.Domain != "" || !cookie.HttpOnly) {
				t.Errorf("a cookie that others can set, or that browsers drop: %v", cookie)
			}
		}
		landed, err := url.Parse(answer.header.Get("Location"))
		if err != nil {
			t.Fatal(err)
		}
		fragment, err := url.ParseQuery(landed.Fragment)
		if err != nil {
			t.Fatal(err)
		}
		body := `{"code":"` + fragment.Get("code") + `"}`
		planted.cookies["writ_sign_in_code"] = mine.cookies["__Host-writ_sign_in_code"]
		if answer, err := planted.open(http.MethodPost, "/auth/sign-in-code", body); err != nil ||
			answer.status != http.StatusUnauthorized {
			t.Errorf("a code that a neighbour planted: %d %v", answer.status, err)
		}
		if answer, err := mine.open(http.MethodPost, "/auth/sign-in-code", body); err != nil ||
			answer.status != http.StatusOK {
			t.Errorf("in the browser it was given to: %d %s %v", answer.status, answer.body, err)
		}
	}, append([]string{"WRIT_PUBLIC_URL", "https://writ.example.org"}, google.asGoogle()...)...)
}
