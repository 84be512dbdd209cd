package writ

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"writ/client"
	"writ/internal/cli"
)

// terminal polls a server that gives these answers in turn, a status before each
// body; the last is repeated. It notes how long it would have waited.
type terminal struct {
	answers []string
	asked   int
	waited  []time.Duration
	stop    func() // called before the last answer
}

func (p *terminal) run(t *testing.T, ctx context.Context, code client.DeviceCode) (client.DeviceGrant, error) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		answer := p.answers[min(p.asked, len(p.answers)-1)]
		p.asked++
		if p.asked == len(p.answers) && p.stop != nil {
			p.stop()
		}
		status, body, _ := strings.Cut(answer, " ")
		code := map[string]int{"200": 200, "400": 400, "404": 404, "429": 429, "503": 503}[status]
		w.WriteHeader(code)
		_, _ = w.Write([]byte(body))
	}))
	defer server.Close()
	wait := func(ctx context.Context, d time.Duration) error {
		p.waited = append(p.waited, d)
		return ctx.Err()
	}
	return polling{client: &client.Client{BaseURL: server.URL}, wait: wait}.run(ctx, code)
}

const (
	pending  = `400 {"error":"authorization_pending"}`
	slowDown = `400 {"error":"slow_down"}`
	granted  = `200 {"api_key":"ak_test_1","email":"ada@example.org"}`
)

func TestPollingWaits(t *testing.T) {
	t.Parallel()
	const s = time.Second
	for _, c := range []struct {
		name    string
		code    client.DeviceCode
		answers []string
		want    []time.Duration
	}{
		{
			"as the server says", client.DeviceCode{Interval: 2, ExpiresIn: 600}, []string{pending, pending, granted},
			[]time.Duration{2 * s, 2 * s, 2 * s},
		},
		{"as is usual", client.DeviceCode{}, []string{granted}, []time.Duration{5 * s}},
		{"not for ever", client.DeviceCode{Interval: 1 << 40}, []string{granted}, []time.Duration{5 * s}},
		{
			"longer when it is too eager", client.DeviceCode{Interval: 5},
			[]string{slowDown, pending, slowDown, granted}, []time.Duration{5 * s, 10 * s, 10 * s, 15 * s},
		},
		{"on while the server is not well", client.DeviceCode{Interval: 5},
			[]string{"503 away", `429 {"message":"slowly"}`, "200 <html>", "200 {}", granted},
			[]time.Duration{5 * s, 5 * s, 5 * s, 5 * s, 5 * s}},
	} {
		p := &terminal{answers: c.answers}
		got, err := p.run(t, t.Context(), c.code)
		if err != nil || got.APIKey != "ak_test_1" {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
		if !slices.Equal(p.waited, c.want) {
			t.Errorf("%s: waited %v, want %v", c.name, p.waited, c.want)
		}
	}
}

func TestPollingEnds(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		`400 {"error":"access_denied","error_description":"no"}`: errRefused.Error(),
		`400 {"error":"expired_token"}`:                          "nobody approved this terminal in time: run writ login again",
		`400 {"error":"invalid_grant","message":"no such code"}`: "wait for the approval of this terminal: no such code (400)",
		`404 nothing here`: "wait for the approval of this terminal: the server answered 404 Not Found (404)",
	} {
		p := &terminal{answers: []string{pending, answer}}
		got, err := p.run(t, t.Context(), client.DeviceCode{})
		if err == nil || err.Error() != want || p.asked != 2 || got.APIKey != "" {
			t.Errorf("%s: %v after %d questions, want %q", answer, err, p.asked, want)
		}
	}
	ctx, interrupt := context.WithCancel(t.Context())
	p := &terminal{answers: []string{pending, pending}, stop: interrupt}
	if _, err := p.run(t, ctx, client.DeviceCode{}); !errors.Is(err, cli.Ended(cli.ExitFailure)) || p.asked != 2 {
		t.Errorf("interrupted: %v after %d questions", err, p.asked)
	}
}

func TestPage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		org, product, address, want string
	}{
		{
			"", "", "https://writ.example/auth/device?user_code=BCDF-GHJK",
			"https://writ.example/auth/device?user_code=BCDF-GHJK",
		},
		{
			"A & B", "gemini", "https://writ.example/auth/device?user_code=X",
			"https://writ.example/auth/device?org=A+%26+B&product=gemini&user_code=X",
		},
		{"", "", "file:///etc/passwd", ""},
		{"", "", "javascript:alert(1)", ""},
		{"", "", "-h", ""},
		{"", "", "", ""},
	} {
		l := signingIn{org: c.org, product: c.product}
		if got, err := l.page(c.address); got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%q: %q, %v, want %q", c.address, got, err, c.want)
		}
	}
}

func TestBrowser(t *testing.T) {
	t.Parallel()
	type environment map[string]string
	for _, c := range []struct {
		system      string
		environment environment
		want        string
	}{
		{"linux", nil, ""},
		{"linux", environment{"DISPLAY": ":0"}, "xdg-open"},
		{"freebsd", environment{"WAYLAND_DISPLAY": "wayland-0"}, "xdg-open"},
		{"darwin", nil, "open"},
		{"windows", nil, "rundll32 url.dll,FileProtocolHandler"},
		{"linux", environment{"BROWSER": "firefox --new-tab", "DISPLAY": ":0"}, "firefox --new-tab"},
	} {
		if got := strings.Join(browser(c.system, func(name string) string { return c.environment[name] }),
			" "); got != c.want {
			t.Errorf("%s %v: %q, want %q", c.system, c.environment, got, c.want)
		}
	}
}

// TestCertificateHint: another authority mends neither a wrong name nor one that has expired.
func TestCertificateHint(t *testing.T) {
	t.Parallel()
	for want, refused := range map[string]error{
		"the address that it is for": x509.HostnameError{Certificate: &x509.Certificate{}, Host: "writ.example.org"},
		"have the server renew it":   x509.CertificateInvalidError{Reason: x509.Expired},
		"SSL_CERT_FILE names a file": x509.UnknownAuthorityError{},
	} {
		err := noAnswer("https://writ.example.org", "ask", &tls.CertificateVerificationError{Err: refused})
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%T: %v, want %q", refused, err, want)
		}
	}
}
