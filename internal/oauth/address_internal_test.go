package oauth

import "testing"

func TestResources(t *testing.T) {
	t.Parallel()
	s := New(nil, nil, "https://writ.example.org/", Sources{})
	for text, want := range map[string]string{
		"https://writ.example.org/proxy/mcp":             "https://writ.example.org/proxy/mcp",
		"https://writ.example.org/proxy/mcp/":            "https://writ.example.org/proxy/mcp",
		"HTTPS://WRIT.example.org:443/proxy/mcp":         "https://writ.example.org/proxy/mcp",
		"https://writ.example.org/proxy/mcp/files":       "https://writ.example.org/proxy/mcp/files",
		"https://writ.example.org/proxy/mcp/team%2Fa%20": "https://writ.example.org/proxy/mcp/team%2Fa%20",
	} {
		if got, ok := s.readResource(text); !ok || got != want {
			t.Errorf("%s: %s, %t, want %s", text, got, ok, want)
		}
	}
	const own = "https://writ.example.org"
	for _, text := range []string{
		"", "/proxy/mcp", own, own + "/proxy", own + "/proxy/mcpx", own + ":8443/proxy/mcp",
		"http://writ.example.org/proxy/mcp", "https://evil.example.org/proxy/mcp",
		own + ".evil.example.org/proxy/mcp", "https://a@writ.example.org/proxy/mcp",
		own + "/proxy/mcp?x", own + "/proxy/mcp#x", own + "/proxy/mcp/a/b",
		own + "/proxy/mcp/..", own + "/proxy/mcp/%2e%2e", own + "/proxy/mcp/%00",
	} {
		if got, ok := s.readResource(text); ok {
			t.Errorf("%s is taken for %s", text, got)
		}
	}
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	registered := []string{"https://c.example.org/cb", "http://localhost/cb", "http://[::1]:80/cb?a=1"}
	for text, want := range map[string]bool{
		"https://c.example.org/cb":         true,
		"http://localhost/cb":              true,
		"http://localhost:9/cb":            true,
		"http://[::1]:1234/cb?a=1":         true,
		"http://[::1]:1234/cb":             false,
		"http://127.0.0.1/cb":              false,
		"http://localhost:9/cb/":           false,
		"http://localhost:9/CB":            false,
		"https://localhost:9/cb":           false,
		"http://localhost.evil.org/cb":     false,
		"http://a@localhost/cb":            false,
		"http://localhost:9/cb#":           false,
		"https://c.example.org:443/cb":     false,
		"https://C.example.org/cb":         false,
		"https://c.example.org/cb?":        false,
		"https://c.example.org/x/../cb":    false,
		"http://localhost:9\\@evil.org/cb": false,
		"":                                 false,
	} {
		if got := redirectAllowed(registered, text); got != want {
			t.Errorf("%s: %t, want %t", text, got, want)
		}
	}
}

// TestVerifier has the example of RFC 7636, appendix B.
func TestVerifier(t *testing.T) {
	t.Parallel()
	const verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
	const challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
	if !isChallenge(challenge) || !verifies(verifier, challenge) {
		t.Error("the example is refused")
	}
	for _, wrong := range []string{"", challenge, verifier[:42], verifier + "=", verifier + string(make([]byte, 90))} {
		if verifies(wrong, challenge) {
			t.Errorf("%q is accepted", wrong)
		}
	}
	for _, wrong := range []string{"", challenge + "=", challenge[:42], challenge[:42] + "N", challenge[:42] + "+"} {
		if isChallenge(wrong) {
			t.Errorf("%q is taken for a challenge", wrong)
		}
	}
}
