package writ_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"writ/internal/cli"
	"writ/internal/cli/credentials"
	"writ/internal/cli/writ"
)

// asked is a server that notes its requests and their callers, and answers with
// these texts; 401 where there is none.
type asked struct {
	*httptest.Server
	answers map[string]string
	notes   []string
}

func newAsked(t *testing.T, answers map[string]string) *asked {
	a := &asked{answers: answers}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		credential := r.Header.Get("X-API-Key") + strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		a.notes = append(a.notes, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+credential))
		answer, known := a.answers[r.Method+" "+r.URL.Path]
		if !known {
			w.WriteHeader(http.StatusUnauthorized)
		}
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(a.Close)
	return a
}

// command runs writ with the sign-in of a home of its own.
func command(t *testing.T, args ...string) (said string, err error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	err = writ.Run(t.Context(), args, cli.Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr})
	return stdout.String() + stderr.String(), err
}

// signedInTo saves a sign-in in a new home.
func signedInTo(t *testing.T, url string, life time.Duration) credentials.Store {
	t.Helper()
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	store := credentials.Default()
	in := credentials.SignIn{
		URL: url, APIKey: "ak_test_mine", KeyID: "k1", OrgID: "0199d1c2-7a54-7c1e-9b7e-2f6a4c1d8e30",
	}
	if err := store.Save(in.Hold(credentials.Tokens{Access: "access", Refresh: "refresh", Life: life})); err != nil {
		t.Fatal(err)
	}
	return store
}

func TestLogoutEndsAllOnTheServer(t *testing.T) {
	server := newAsked(t, map[string]string{
		"POST /auth/refresh": `{"accessToken":"next","refreshToken":"next refresh","expiresIn":900}`,
		"POST /auth/logout":  ``, "POST /api-keys/k1/revoke": `{}`,
	})
	for life, want := range map[time.Duration][]string{
		time.Hour: {"POST /api-keys/k1/revoke access", "POST /auth/logout access"},
		0:         {"POST /auth/refresh", "POST /api-keys/k1/revoke next", "POST /auth/logout next"},
	} {
		store := signedInTo(t, server.URL, life)
		server.notes = nil
		if said, err := command(t, "logout"); err != nil || said != "writ: signed out of "+server.URL+"\n" {
			t.Errorf("a token of %s: %q, %v", life, said, err)
		}
		if !slices.Equal(server.notes, want) {
			t.Errorf("a token of %s: asked %q, want %q", life, server.notes, want)
		}
		if _, err := store.Read(); !errors.Is(err, credentials.ErrNone) {
			t.Errorf("a token of %s: still kept: %v", life, err)
		}
	}
}

// TestLogoutWithoutASession: the key ends all the same when the session is over.
func TestLogoutWithoutASession(t *testing.T) {
	server := newAsked(t, map[string]string{})
	for life, want := range map[time.Duration][]string{
		time.Hour: {"POST /api-keys/k1/revoke access", "POST /api-keys/k1/revoke ak_test_mine"},
		0:         {"POST /auth/refresh", "POST /api-keys/k1/revoke ak_test_mine"},
	} {
		signedInTo(t, server.URL, life)
		server.notes = nil
		if said, err := command(t, "logout"); err != nil || said != "writ: signed out of "+server.URL+"\n" {
			t.Errorf("a token of %s: %q, %v", life, said, err)
		}
		if !slices.Equal(server.notes, want) {
			t.Errorf("a token of %s: asked %q, want %q", life, server.notes, want)
		}
	}
}

func TestLogoutForgetsInAnyCase(t *testing.T) {
	store := signedInTo(t, "http://127.0.0.1:1", time.Hour)
	_, err := command(t, "logout")
	if err == nil ||
		!strings.HasPrefix(err.Error(),
			"the sign-in is removed here, but not ended on the server: revoke the key k1: ") {
		t.Errorf("err = %v", err)
	}
	if _, err := store.Read(); !errors.Is(err, credentials.ErrNone) {
		t.Errorf("still kept: %v", err)
	}
}

// TestSignInThatEnded says so once the server does, and never sends a credential to
// a server that it is not of.
func TestSignInThatEnded(t *testing.T) {
	server, other := newAsked(t, nil), newAsked(t, nil)
	store := signedInTo(t, server.URL, 0)
	_, err := command(t, "approvals", "list")
	if !errors.Is(err, cli.ErrSignedOut) || err.Error() != "your sign-in has ended: run writ login" {
		t.Errorf("err = %v", err)
	}
	if want := []string{"POST /auth/refresh"}; !slices.Equal(server.notes, want) {
		t.Errorf("asked %q, want %q", server.notes, want)
	}
	if kept, err := store.Read(); err != nil || kept.APIKey != "ak_test_mine" {
		t.Errorf("kept %+v, %v", kept, err)
	}
	for _, args := range [][]string{
		{"approvals", "list"}, {"orgs"}, {"keys", "list"}, {"keys", "create", "--name", "x"}, {"switch", "x"},
		{"whoami"},
	} {
		if _, err := command(t, append(args, "--url", other.URL)...); !errors.Is(err, cli.ErrSignedOut) {
			t.Errorf("%v on another server: %v", args, err)
		}
	}
	if len(other.notes) != 0 {
		t.Errorf("the other server was asked %q", other.notes)
	}
}

// TestLoginEndsTheOneBefore: what nobody knows of any more must not stay valid.
func TestLoginEndsTheOneBefore(t *testing.T) {
	before := newAsked(t, map[string]string{"POST /auth/logout": ``, "POST /api-keys/k1/revoke": `{}`})
	next := newAsked(t, map[string]string{
		"GET /api-keys/current": `{"id":"k2","ownerId":"u2","organizationId":"o2"}`,
		"GET /iap/sdk/orgs":     `{"data":[{"name":"Two","orgId":"o2","active":true}]}`,
	})
	store := signedInTo(t, before.URL, time.Hour)
	if _, err := command(t, "login", "--api-key", "ak_test_given", "--url", next.URL); err != nil {
		t.Fatal(err)
	}
	if want := []string{
		"POST /api-keys/k1/revoke access", "POST /auth/logout access",
	}; !slices.Equal(before.notes, want) {
		t.Errorf("the server before was asked %q, want %q", before.notes, want)
	}
	if want := []string{
		"GET /api-keys/current ak_test_given", "GET /iap/sdk/orgs ak_test_given",
	}; !slices.Equal(next.notes, want) {
		t.Errorf("the next server was asked %q, want %q", next.notes, want)
	}
	kept, err := store.Read()
	if err != nil || kept.URL != next.URL || kept.APIKey != "ak_test_given" || kept.KeyID != "" ||
		kept.OrgName != "Two" || kept.RefreshToken != "" {
		t.Errorf("kept %+v, %v", kept, err)
	}
	// A key that was given is not ours to end.
	next.notes = nil
	if _, err := command(t, "logout"); err != nil || len(next.notes) != 0 {
		t.Errorf("logout: %v, asked %q", err, next.notes)
	}
}

func TestLoginWarnsOfClearText(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	for address, warned := range map[string]bool{
		"http://writ.invalid:1": true,
		"http://127.0.0.1:1":    false,
		"https://127.0.0.1:1":   false,
		"http://localhost:1":    false,
	} {
		said, err := command(t, "login", "--url", address, "--api-key", "ak_test_given")
		if err == nil || strings.Contains(said, "is no https address") != warned {
			t.Errorf("%s: said %q, %v", address, said, err)
		}
	}
}

// TestSignInElsewhere says of what is no Writ server that it is none, whichever way somebody signs in there; of one
// that refuses in its own words, or is away behind a gateway, it does not.
func TestSignInElsewhere(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	for answer, isOther := range map[string]bool{
		"200 <html>": true, "404 <html>not here": true, "501 no POST": true, "401 ": true,
		"502 the gateway": false, `401 {"message":"the API key is not valid"}`: false,
	} {
		status, text, _ := strings.Cut(answer, " ")
		code, err := strconv.Atoi(status)
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			_, _ = io.WriteString(w, text)
		}))
		want := "no Writ server answers at " + server.URL + ", but something else: --url or WRIT_URL names another"
		for _, args := range [][]string{{"login", "--api-key", "ak_test_0"}, {"login", "--no-browser"}, {"status"}} {
			_, err := command(t, append(args, "--url", server.URL)...)
			if err == nil || (err.Error() == want) != isOther {
				t.Errorf("%s, %s: %v, want %q: %t", answer, args, err, want, isOther)
			}
		}
		server.Close()
	}
}
