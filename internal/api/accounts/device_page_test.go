package accounts

import (
	"net/http"
	"testing"
)

// TestLanding: only the page of a terminal has people brought back to it, and
// nothing that a cookie says leads off this server.
func TestLanding(t *testing.T) {
	t.Parallel()
	for cookie, want := range map[string]string{
		"": "/ui/", "writ_return=device": "/auth/device", "writ_return=https://evil.example": "/ui/",
		"writ_return=//evil.example": "/ui/", "other=device": "/ui/",
	} {
		if got := landing(&http.Request{Header: http.Header{"Cookie": {cookie}}}); got != want {
			t.Errorf("with the cookie %q: %q, want %q", cookie, got, want)
		}
	}
}
