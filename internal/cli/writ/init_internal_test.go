package writ

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestAbandon: a key that was made for an init that failed is revoked, and named where that cannot be done.
func TestAbandon(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	failure := errors.New("the settings cannot be replaced")
	status, revoked := http.StatusNoContent, ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		revoked = r.Method + " " + r.URL.Path
		w.WriteHeader(status)
	}))
	defer server.Close()
	t.Setenv("WRIT_ACCESS_TOKEN", "a token")
	made := access{url: server.URL, keyID: "0b7d2a5e-0000-4000-8000-000000000001", made: true}

	given := made
	given.made = false
	if err := given.abandon(t.Context(), failure); err != failure || revoked != "" {
		t.Errorf("a key that was given: %v, %q", err, revoked)
	}
	interrupted, interrupt := context.WithCancel(t.Context())
	interrupt()
	if err := made.abandon(interrupted, failure); err != failure || !strings.Contains(revoked, made.keyID) {
		t.Errorf("a key that was made: %v, %q", err, revoked)
	}
	status = http.StatusInternalServerError
	err := made.abandon(t.Context(), failure)
	for _, part := range []string{failure.Error(), "could not be revoked", "(500)", "writ keys revoke " + made.keyID} {
		if !errors.Is(err, failure) || !strings.Contains(err.Error(), part) {
			t.Errorf("a key that stays: %v, want %q", err, part)
		}
	}
}
