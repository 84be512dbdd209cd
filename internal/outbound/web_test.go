package outbound_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"writ/internal/outbound"
)

func TestWebClient(t *testing.T) {
	t.Parallel()
	server := newTarget(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, "/", http.StatusFound)
		case "/long":
			_, _ = io.WriteString(w, strings.Repeat("x", outbound.MaxDocument+1))
		case "/full":
			_, _ = io.WriteString(w, strings.Repeat("x", outbound.MaxDocument))
		}
	})
	refused := newClient(t, outbound.Options{}).WebClient()
	if _, err := refused.Get(server.URL); !isRefusal(err) || server.reached.Load() != 0 {
		t.Errorf("an address that is not public: %v, reached %d times", err, server.reached.Load())
	}
	permitted := newClient(t, outbound.Options{Permits: permits(t, "127.0.0.1:"+server.port)}).WebClient()
	get := func(path string) (int, int, error) {
		response, err := permitted.Get(server.URL + path)
		if err != nil {
			return 0, 0, err
		}
		defer response.Body.Close()
		content, err := io.ReadAll(response.Body)
		return response.StatusCode, len(content), err
	}
	if status, _, err := get("/away"); err != nil || status != http.StatusFound {
		t.Errorf("a redirect: %d, %v; want it not followed", status, err)
	}
	if _, n, err := get("/full"); err != nil || n != outbound.MaxDocument {
		t.Errorf("the longest answer: %d bytes, %v", n, err)
	}
	if _, _, err := get("/long"); !isRefusal(err) {
		t.Errorf("an answer beyond the limit: %v", err)
	}
}

func isRefusal(err error) bool {
	_, ok := errors.AsType[*outbound.Refusal](err)
	return ok
}

func TestIsPermitted(t *testing.T) {
	t.Parallel()
	client := newClient(t, outbound.Options{Permits: permits(t, "login.corp.example:8080", "10.1.0.0/16")})
	for target, want := range map[string]bool{
		"http://login.corp.example:8080/x": true,
		"http://login.corp.example":        false,
		"http://10.1.2.3":                  true,
		"http://10.2.2.3":                  false,
		"http://example.com":               false,
		"x":                                false,
	} {
		if got := client.IsPermitted(target); got != want {
			t.Errorf("IsPermitted(%s) is %v", target, got)
		}
	}
}
