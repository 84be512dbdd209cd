package tlshttp_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"writ/internal/hook/tlshttp"
)

func TestCall(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("NO_PROXY", "")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/base/a", http.StatusTemporaryRedirect)
		case "/long":
			_, _ = io.WriteString(w, strings.Repeat("x", 5<<20))
		default:
			_, _ = io.WriteString(w, r.Header.Get("X-API-Key")+" "+r.URL.Path+" "+string(body))
		}
	}))
	defer server.Close()
	status, answer, err := tlshttp.New(server.URL+"/base/", "ak_test_x").Call(t.Context(), "POST", "/a", []byte("{}"))
	if err != nil || status != 200 || string(answer) != "ak_test_x /base/a {}" {
		t.Errorf("%d %s, %v", status, answer, err)
	}
	caller := tlshttp.New(server.URL, "ak_test_x")
	if status, _, err := caller.Call(t.Context(), "POST", "/moved", []byte("{}")); err != nil || status != 307 {
		t.Errorf("a redirect: %d, %v", status, err)
	}
	if _, _, err := caller.Call(t.Context(), "GET", "/long", nil); err == nil {
		t.Error("an answer without end is read")
	}
}

// TestCertificate: nobody but the system says whom to trust.
func TestCertificate(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"allowed":true}`)
	}))
	server.Config.ErrorLog = nil
	defer server.Close()
	_, answer, err := tlshttp.New(server.URL, "k").Call(t.Context(), "GET", "/", nil)
	if err == nil || !strings.Contains(err.Error(), "hooks do not trust the server's certificate (x509: ") {
		t.Errorf("%s, %v", answer, err)
	}
}
