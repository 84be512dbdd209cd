package writ

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A server that wants credentials says so of those that were given, or not: nothing is registered here.
func TestScanOfAServerThatWantsCredentials(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer server.Close()
	for want, headers := range map[string][]string{
		"wants credentials: give them with --header": nil,
		"refuses the credentials in --header":        {"Authorization: Bearer wrong"},
	} {
		_, err := (&scanning{headers: headers}).ask(t.Context(), server.URL)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("with the headers %q: %v, want %q", headers, err, want)
		}
	}
}
