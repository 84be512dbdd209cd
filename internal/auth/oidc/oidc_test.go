package oidc_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/oauth2-proxy/mockoidc"

	"writ/internal/auth/oidc"
	"writ/internal/fault"
	"writ/internal/secret"
)

// liar is an identity provider whose answers a test bends.
type liar struct {
	*mockoidc.MockOIDC
	bend    func(answer map[string]any) // what the token endpoint says; nil: the truth
	instead http.HandlerFunc            // of the token endpoint; nil: itself
}

func newLiar(t *testing.T) *liar {
	t.Helper()
	server, err := mockoidc.NewServer(nil)
	if err != nil {
		t.Fatal(err)
	}
	l := &liar{MockOIDC: server}
	if err := server.AddMiddleware(l.middleware); err != nil {
		t.Fatal(err)
	}
	listener := httptest.NewUnstartedServer(nil).Listener
	if err := server.Start(listener, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Shutdown(); err != nil {
			t.Errorf("stop the provider: %v", err)
		}
	})
	return l
}

// middleware replaces parts of what the token endpoint answers.
func (l *liar) middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == mockoidc.TokenEndpoint && l.instead != nil {
			l.instead(w, r)
			return
		}
		if r.URL.Path != mockoidc.TokenEndpoint || l.bend == nil {
			next.ServeHTTP(w, r)
			return
		}
		truth := httptest.NewRecorder()
		next.ServeHTTP(truth, r)
		var answer map[string]any
		if err := json.Unmarshal(truth.Body.Bytes(), &answer); err != nil || truth.Code != http.StatusOK {
			http.Error(w, "no truth to bend", truth.Code) // the secret is tried in both places where it may be
			return
		}
		l.bend(answer)
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer)
	})
}

// claims reads those of the token in an answer.
func claims(t *testing.T, answer map[string]any) jwt.MapClaims {
	t.Helper()
	token, _ := answer["id_token"].(string)
	read := jwt.MapClaims{}
	if _, _, err := jwt.NewParser().ParseUnverified(token, read); err != nil {
		t.Fatalf("the provider's token: %v", err)
	}
	return read
}

// resign has the provider sign changed claims.
func (l *liar) resign(t *testing.T, change func(jwt.MapClaims)) func(map[string]any) {
	t.Helper()
	return func(answer map[string]any) {
		c := claims(t, answer)
		change(c)
		signed, err := l.Keypair.SignJWT(c)
		if err != nil {
			t.Errorf("sign: %v", err)
		}
		answer["id_token"] = signed
	}
}

func (l *liar) provider() oidc.Provider {
	return oidc.Provider{
		Issuer:      l.Issuer(),
		ClientID:    l.ClientID,
		Secret:      secret.NewText(l.ClientSecret),
		RedirectURL: "http://writ.example.org/callback",
	}
}

var noRedirects = &http.Client{
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// visit opens the provider's page and gives what the browser brings back.
func visit(t *testing.T, address string) url.Values {
	t.Helper()
	response, err := noRedirects.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	back, err := url.Parse(response.Header.Get("Location"))
	if err != nil || response.StatusCode != http.StatusFound {
		text, _ := io.ReadAll(response.Body)
		t.Fatalf("the provider's page: %d %s", response.StatusCode, text)
	}
	return back.Query()
}

// signIn goes all the way.
func signIn(t *testing.T, party *oidc.RelyingParty, p oidc.Provider) (oidc.Claims, error) {
	t.Helper()
	attempt := oidc.NewAttempt()
	address, err := party.Address(t.Context(), p, attempt)
	if err != nil {
		t.Fatalf("begin: %v", err)
	}
	brought := visit(t, address)
	if brought.Get("state") != attempt.State {
		t.Errorf("the state comes back as %q", brought.Get("state"))
	}
	return party.Redeem(t.Context(), p, attempt, brought.Get("code"))
}

func newParty() *oidc.RelyingParty { return oidc.New(noRedirects, time.Now) }

func TestSignIn(t *testing.T) {
	t.Parallel()
	l := newLiar(t)
	got, err := signIn(t, newParty(), l.provider())
	if err != nil {
		t.Fatal(err)
	}
	user := mockoidc.DefaultUser()
	if got.Issuer != l.Issuer() || got.Subject != user.Subject || got.Email != user.Email ||
		got.EmailVerified == nil || !*got.EmailVerified {
		t.Errorf("got %+v", got)
	}
	if err := newParty().Check(t.Context(), l.provider()); err != nil {
		t.Errorf("check: %v", err)
	}
}

func TestLies(t *testing.T) {
	t.Parallel()
	stranger, err := mockoidc.RandomKeypair(2048)
	if err != nil {
		t.Fatal(err)
	}
	forged := func(sign func(l *liar, c jwt.MapClaims) (string, error)) func(*testing.T, *liar) func(map[string]any) {
		return func(t *testing.T, l *liar) func(map[string]any) {
			return func(answer map[string]any) {
				signed, err := sign(l, claims(t, answer))
				if err != nil {
					t.Errorf("sign: %v", err)
				}
				answer["id_token"] = signed
			}
		}
	}
	changed := func(change func(jwt.MapClaims)) func(*testing.T, *liar) func(map[string]any) {
		return func(t *testing.T, l *liar) func(map[string]any) { return l.resign(t, change) }
	}
	for name, lie := range map[string]func(*testing.T, *liar) func(map[string]any){
		"another nonce":        changed(func(c jwt.MapClaims) { c["nonce"] = "another" }),
		"no nonce":             changed(func(c jwt.MapClaims) { delete(c, "nonce") }),
		"another audience":     changed(func(c jwt.MapClaims) { c["aud"] = "another" }),
		"two audiences":        changed(func(c jwt.MapClaims) { c["aud"] = []any{c["aud"].([]any)[0], "another"} }),
		"another party":        changed(func(c jwt.MapClaims) { c["azp"] = "another" }),
		"another issuer":       changed(func(c jwt.MapClaims) { c["iss"] = "https://accounts.google.com" }),
		"expired":              changed(func(c jwt.MapClaims) { c["exp"] = time.Now().Add(-time.Hour).Unix() }),
		"no subject":           changed(func(c jwt.MapClaims) { delete(c, "sub") }),
		"a person with a zero": changed(func(c jwt.MapClaims) { c["sub"] = "a\x00b" }),
		"a broken person":      changed(func(c jwt.MapClaims) { c["sub"] = "a\uFFFDb" }),
		"an endless person":    changed(func(c jwt.MapClaims) { c["sub"] = strings.Repeat("x", 256) }),
		"another key":          forged(func(_ *liar, c jwt.MapClaims) (string, error) { return stranger.SignJWT(c) }),
		"unsigned": forged(func(_ *liar, c jwt.MapClaims) (string, error) {
			return jwt.NewWithClaims(jwt.SigningMethodNone, c).SignedString(jwt.UnsafeAllowNoneSignatureType)
		}),
		"signed with the client secret": forged(func(l *liar, c jwt.MapClaims) (string, error) {
			return jwt.NewWithClaims(jwt.SigningMethodHS256, c).SignedString([]byte(l.ClientSecret))
		}),
		"no token": func(*testing.T, *liar) func(map[string]any) {
			return func(a map[string]any) { delete(a, "id_token") }
		},
		"no JWT": func(*testing.T, *liar) func(map[string]any) {
			return func(a map[string]any) { a["id_token"] = "x" }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLiar(t)
			l.bend = lie(t, l)
			if got, err := signIn(t, newParty(), l.provider()); !fault.Is(err, fault.Unauthenticated) {
				t.Errorf("got %+v, %v; want it refused", got, err)
			}
		})
	}
}

// TestStolenCode redeems a code in another attempt than the one it was given to.
func TestStolenCode(t *testing.T) {
	t.Parallel()
	l, party := newLiar(t), newParty()
	attempt := oidc.NewAttempt()
	address, err := party.Address(t.Context(), l.provider(), attempt)
	if err != nil {
		t.Fatal(err)
	}
	code := visit(t, address).Get("code")
	thief := oidc.NewAttempt()
	thief.Nonce = attempt.Nonce
	if got, err := party.Redeem(t.Context(), l.provider(), thief, code); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("without the verifier: %+v, %v", got, err)
	}
}

// TestCodeIsBounded refuses what no provider gives.
func TestCodeIsBounded(t *testing.T) {
	t.Parallel()
	l := newLiar(t)
	for _, code := range []string{"", strings.Repeat("x", 5000)} {
		if _, err := newParty().Redeem(t.Context(), l.provider(), oidc.NewAttempt(),
			code); !fault.Is(err, fault.Invalid) {
			t.Errorf("a code of %d characters: %v", len(code), err)
		}
	}
}

// TestUnusableProviders are down, silent, or describe themselves falsely.
func TestUnusableProviders(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	describe := func(document string) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, strings.ReplaceAll(document, "SELF", "http://"+r.Host))
		}))
		t.Cleanup(server.Close)
		return server.URL
	}
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
	}))
	t.Cleanup(silent.Close)
	for name, issuer := range map[string]string{
		"down":                   gone.URL,
		"silent":                 silent.URL,
		"no description":         describe(`<html>`),
		"another issuer":         describe(`{"issuer":"https://accounts.google.com","authorization_endpoint":"SELF/a","token_endpoint":"SELF/t","jwks_uri":"SELF/k"}`),
		"a script as its page":   describe(`{"issuer":"SELF","authorization_endpoint":"javascript:alert(1)","token_endpoint":"SELF/t","jwks_uri":"SELF/k"}`),
		"no place for exchanges": describe(`{"issuer":"SELF","authorization_endpoint":"SELF/a","jwks_uri":"SELF/k"}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			impatient := &http.Client{Timeout: 200 * time.Millisecond}
			if name != "silent" {
				impatient.Timeout = 0
			}
			party := oidc.New(impatient, time.Now)
			p := oidc.Provider{
				Issuer:      issuer,
				ClientID:    "c",
				Secret:      secret.NewText("hidden"),
				RedirectURL: "http://writ.example.org/callback",
			}
			_, err := party.Address(t.Context(), p, oidc.NewAttempt())
			if !fault.Is(err, fault.Unavailable) {
				t.Errorf("to begin: %v", err)
			}
			if err := party.Check(t.Context(), p); !fault.Is(err, fault.Unavailable) {
				t.Errorf("to check: %v", err)
			} else if strings.Contains(err.Error(), "hidden") {
				t.Errorf("the error holds the secret: %v", err)
			}
		})
	}
}

// TestKeysNeedTLSToo: whoever can change the keys on their way to us can sign in as
// anybody, however safely the rest was fetched.
func TestKeysNeedTLSToo(t *testing.T) {
	t.Parallel()
	for keys, safe := range map[string]bool{
		"https://HOST/k": true, "http://HOST/k": false, "file:///etc/keys": false, "": false,
	} {
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			document := `{"issuer":"https://HOST","authorization_endpoint":"https://HOST/a","token_endpoint":"https://HOST/t","jwks_uri":"` + keys + `"}`
			_, _ = io.WriteString(w, strings.ReplaceAll(document, "HOST", r.Host))
		}))
		t.Cleanup(server.Close)
		p := oidc.Provider{
			Issuer:      server.URL,
			ClientID:    "c",
			Secret:      secret.NewText("hidden"),
			RedirectURL: "http://writ.example.org/callback",
		}
		_, err := oidc.New(server.Client(), time.Now).Address(t.Context(), p, oidc.NewAttempt())
		if safe && err != nil || !safe && !fault.Is(err, fault.Unavailable) {
			t.Errorf("keys at %q: %v", keys, err)
		}
	}
}

// TestProvidersThatFailHalfway let the browser go, and then do not answer us, or
// not as they should.
func TestProvidersThatFailHalfway(t *testing.T) {
	t.Parallel()
	say := func(status int, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text)
		}
	}
	for name, c := range map[string]struct {
		instead http.HandlerFunc
		want    fault.Kind
	}{
		"down":   {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, fault.Unavailable},
		"broken": {say(http.StatusInternalServerError, `{"error":"hidden"}`), fault.Unauthenticated},
		"a no": {
			say(http.StatusBadRequest, `{"error":"invalid_grant","error_description":"hidden"}`), fault.Unauthenticated,
		},
		"a page": {say(http.StatusOK, `<html>hidden`), fault.Unavailable},
		"elsewhere": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/", http.StatusTemporaryRedirect)
		}, fault.Unauthenticated},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLiar(t)
			l.instead = c.instead
			got, err := signIn(t, newParty(), l.provider())
			if !fault.Is(err, c.want) || got.Subject != "" {
				t.Fatalf("got %+v, %v; want %s", got, err, c.want)
			}
			if strings.Contains(err.Error(), "hidden") || strings.Contains(err.Error(), l.ClientSecret) {
				t.Errorf("the error repeats what the provider said, or the secret: %v", err)
			}
		})
	}
}
