package accounts_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"writ/internal/testserver"
)

// TestNeighboursPlantNoSignIn: a page of another host in our domain can set cookies
// for ours, except under the prefix that browsers keep for the host itself.
func TestNeighboursPlantNoSignIn(t *testing.T) {
	t.Parallel()
	google := testserver.NewProvider(t)
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		mine := s.Browser()
		back := google.SignInThere(t, mine.StartSignIn("/auth/google"), testserver.Someone(testserver.FreshAddress()))
		planted := s.Browser()
		planted.Cookies["writ_sign_in"] = mine.Cookies["__Host-writ_sign_in"]
		_, err := planted.FinishSignIn(back)
		testserver.WantStatus(t, "a sign-in that a neighbour planted", err, http.StatusUnauthorized)

		answer, err := mine.Open(http.MethodGet, back, "")
		if err != nil || answer.Status != http.StatusSeeOther {
			t.Fatalf("come back: %d %s %v", answer.Status, answer.Body, err)
		}
		for _, cookie := range (&http.Response{Header: answer.Header}).Cookies() {
			if !strings.HasPrefix(cookie.Name, "__Host-") && cookie.Name != "writ_return" ||
				strings.HasPrefix(cookie.Name, "__Host-") &&
					(!cookie.Secure || cookie.Path != "/" || cookie.Domain != "" || !cookie.HttpOnly) {
				t.Errorf("a cookie that others can set, or that browsers drop: %v", cookie)
			}
		}
		landed, err := url.Parse(answer.Header.Get("Location"))
		if err != nil {
			t.Fatal(err)
		}
		fragment, err := url.ParseQuery(landed.Fragment)
		if err != nil {
			t.Fatal(err)
		}
		body := `{"code":"` + fragment.Get("code") + `"}`
		planted.Cookies["writ_sign_in_code"] = mine.Cookies["__Host-writ_sign_in_code"]
		if answer, err := planted.Open(http.MethodPost, "/auth/sign-in-code", body); err != nil ||
			answer.Status != http.StatusUnauthorized {
			t.Errorf("a code that a neighbour planted: %d %v", answer.Status, err)
		}
		if answer, err := mine.Open(http.MethodPost, "/auth/sign-in-code", body); err != nil ||
			answer.Status != http.StatusOK {
			t.Errorf("in the browser it was given to: %d %s %v", answer.Status, answer.Body, err)
		}
	}, append([]string{"WRIT_PUBLIC_URL", "https://writ.example.org"}, google.AsGoogle()...)...)
}
