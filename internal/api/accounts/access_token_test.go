package accounts_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"writ/client"
	"writ/internal/auth/accesstoken"
	"writ/internal/database"
	"writ/internal/keyring"
	"writ/internal/principal"
	"writ/internal/testserver"
)

// TestLoginRefusalsAreAlike compares whole answers, headers and all: nothing in
// them may tell an account that exists from one that does not.
func TestLoginRefusalsAreAlike(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ctx := t.Context()
		ada, pending := s.Person("ada"), unverified(s, "pending")
		c, w := testserver.Watch(s.Public)
		_, err := c.Login(ctx, ada.Email, "a wrong password")
		testserver.WantStatus(t, "a wrong password", err, http.StatusUnauthorized)
		want := w.Answer(t)
		for _, attempt := range []struct{ name, email, password string }{
			{"an unknown account", "unknown@example.org", testserver.Password},
			{"an unverified account", pending, testserver.Password},
			{"an unverified account and a wrong password", pending, "a wrong password"},
			{"no password", ada.Email, ""},
			{"a password in other case", ada.Email, strings.ToUpper(testserver.Password)},
		} {
			_, err := c.Login(ctx, attempt.email, attempt.password)
			testserver.WantStatus(t, attempt.name, err, http.StatusUnauthorized)
			if diff := cmp.Diff(want, w.Answer(t)); diff != "" {
				t.Errorf("%s can be told from a wrong password:\n%s", attempt.name, diff)
			}
		}
		if w.Header.Get("WWW-Authenticate") == "" {
			t.Error("no WWW-Authenticate")
		}
	})
}

func TestLogin(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ctx := t.Context()
		ada := s.Person("ada")
		in, err := s.Public.Login(ctx, ada.Email, testserver.Password)
		if err != nil {
			t.Fatal(err)
		}
		if in.AccessToken == "" || in.RefreshToken == "" || in.AccessToken == ada.Tokens.AccessToken ||
			in.RefreshToken == ada.Tokens.RefreshToken {
			t.Error("each sign-in must have tokens of its own")
		}
		if in.ExpiresIn != 900 {
			t.Errorf("expires in %d seconds, want 900", in.ExpiresIn)
		}
		if in.User.ID != ada.ID || in.User.Email != ada.Email || in.User.Name != "ada" || !in.User.Verified ||
			in.User.CreatedAt.IsZero() {
			t.Errorf("user %+v", in.User)
		}
		if in.Organizations == nil || len(in.Organizations) != 0 {
			t.Errorf("organizations %v, want an empty list", in.Organizations)
		}

		orgID := s.Organization(ada, "Blue")
		if in, err = s.Public.Login(ctx, ada.Email, testserver.Password); err != nil {
			t.Fatal(err)
		}
		if len(in.Organizations) != 1 || in.Organizations[0].ID != orgID || in.Organizations[0].Name != "Blue" ||
			in.Organizations[0].Role != "owner" || in.Organizations[0].MemberCount != 1 {
			t.Errorf("organizations %+v, want Blue", in.Organizations)
		}
		wantFields(t, s.Public, "/auth/login", map[string]any{"email": "unknown@example.org", "password": "p"},
			[]badField{
				{"email", "absent", absent},
				{"email", "without a domain", "ada"},
				{"email", "too long", strings.Repeat("a", 250) + "@example.org"},
				{"password", "absent", absent},
				{"password", "too long", strings.Repeat("p", 1001)},
				{"password", "a number", 7},
			})
	})
}

func TestMe(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ada := s.Person("ada")
		orgID := s.Organization(ada, "Blue")
		s.Organization(s.Person("bob"), "Red")
		me, err := ada.Me(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if me.User.ID != ada.ID || me.User.Email != ada.Email || !me.User.Verified {
			t.Errorf("user %+v", me.User)
		}
		if len(me.Organizations) != 1 || me.Organizations[0].ID != orgID {
			t.Errorf("organizations %+v, want only %s", me.Organizations, orgID)
		}
		if sessions, err := ada.Sessions(t.Context()); err != nil || len(sessions) != 1 ||
			sessions[0].ID != me.SessionID {
			t.Errorf("session %s, want that of %+v (%v)", me.SessionID, sessions, err)
		}
	})
}

// signed is an access token with these claims, whoever signs it.
func signed(t *testing.T, keyID string, key ed25519.PrivateKey, c accesstoken.Claims, at time.Time) string {
	t.Helper()
	token, err := accesstoken.Sign(c, keyID, key, at, 15*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// confused is a token that takes our public key for a shared secret.
func confused(t *testing.T, ours keyring.Key, c accesstoken.Claims, now time.Time) string {
	t.Helper()
	token := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
		"iss": "writ", "aud": "writ:api", "sub": c.UserID, "sid": c.SessionID, "iat": now.Unix(),
		"exp": now.Add(time.Minute).Unix(),
	})
	token.Header["kid"], token.Header["typ"] = ours.ID, "at+jwt"
	text, err := token.SignedString([]byte(ours.Public))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// forgeries are tokens for a live session that we did not sign, or not like this.
func forgeries(t *testing.T, s *testserver.Server, p *testserver.Person) map[string]string {
	t.Helper()
	me, err := p.Me(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ours, err := s.Keyring.Current(t.Context(), keyring.AccessToken)
	if err != nil {
		t.Fatal(err)
	}
	_, theirs, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	now, stranger := s.Database.Now(), database.NewID()
	claims := accesstoken.Claims{UserID: me.User.ID, SessionID: me.SessionID}
	if _, err := s.Public.As(signed(t, ours.ID, ours.Private, claims, now)).Me(t.Context()); err != nil {
		t.Fatalf("the same token signed with our key must work, else the forgeries prove nothing: %v", err)
	}
	parts := strings.Split(p.Tokens.AccessToken, ".")
	none := base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"alg":"none","typ":"at+jwt","kid":%q}`, ours.ID))
	return map[string]string{
		"garbage":                   "garbage",
		"three parts of garbage":    "a.b.c",
		"alg none":                  none + "." + parts[1] + ".",
		"alg none, signed":          none + "." + parts[1] + "." + parts[2],
		"HMAC with our public key":  confused(t, ours, claims, now),
		"no signature":              parts[0] + "." + parts[1] + ".",
		"another key under our id":  signed(t, ours.ID, theirs, claims, now),
		"another key under its own": signed(t, stranger, theirs, claims, now),
		"a key id that is none":     signed(t, "../../etc/passwd\x00", theirs, claims, now),
		"issued in the future":      signed(t, ours.ID, ours.Private, claims, now.Add(time.Hour)),
		"expired":                   signed(t, ours.ID, ours.Private, claims, now.Add(-time.Hour)),
		"a session of another person": signed(t, ours.ID, ours.Private,
			accesstoken.Claims{UserID: stranger, SessionID: me.SessionID}, now),
		"a session that never was": signed(t, ours.ID, ours.Private,
			accesstoken.Claims{UserID: me.User.ID, SessionID: stranger}, now),
		"a refresh token": p.Tokens.RefreshToken,
		"too long":        p.Tokens.AccessToken + strings.Repeat("x", 5000),
		"with a space":    p.Tokens.AccessToken + " x",
	}
}

// wantRefusedToken checks that an access token opens nothing, and that the
// answer says how to do better.
func wantRefusedToken(t *testing.T, s *testserver.Server, what, token string) {
	t.Helper()
	c, w := testserver.Watch(s.Public.As(token))
	_, err := c.Me(t.Context())
	testserver.WantStatus(t, what, err, http.StatusUnauthorized)
	if challenge := w.Header.Get("WWW-Authenticate"); !strings.HasPrefix(challenge, "Bearer ") {
		t.Errorf("%s: WWW-Authenticate %q, want a Bearer challenge", what, challenge)
	}
}

func TestForgedTokens(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ada := s.Person("ada")
		for name, token := range forgeries(t, s, ada) {
			wantRefusedToken(t, s, name, token)
		}
		wantRefusedToken(t, s, "none at all", "")
		if _, err := ada.Me(t.Context()); err != nil {
			t.Errorf("the true token: %v", err)
		}
	})
}

// TestEveryPersonRouteAsksForAToken calls each route for people without one,
// with an expired one and with an API key instead.
func TestEveryPersonRouteAsksForAToken(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ada := s.Person("ada")
		key := s.AgentKey(ada, s.Organization(ada, "Blue"))
		s.Advance(time.Hour)
		var seen int
		for _, route := range s.API.Routes() {
			if route.Mode != "jwt" || !strings.HasPrefix(route.Path, "/auth/") {
				continue
			}
			seen++
			for name, c := range map[string]*client.Client{
				"no token": s.Public, "an expired token": ada.Client, "an API key": s.Public.WithKey(key.APIKey),
			} {
				c, w := testserver.Watch(c)
				err := c.Call(t.Context(), route.Method, strings.ReplaceAll(route.Path, "{id}", ada.ID), nil, nil, nil)
				testserver.WantStatus(t, route.Method+" "+route.Path+" with "+name, err, http.StatusUnauthorized)
				if challenge := w.Header.Get("WWW-Authenticate"); !strings.HasPrefix(challenge, "Bearer ") {
					t.Errorf("%s %s with %s: WWW-Authenticate %q", route.Method, route.Path, name, challenge)
				}
			}
		}
		if seen < 8 {
			t.Errorf("%d routes for people under /auth/, want at least logout, me, change-password, two of sessions and three of terminals", seen)
		}
	})
}

func TestAccessTokenExpires(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ada := s.Person("ada")
		s.Advance(14 * time.Minute)
		if _, err := ada.Me(t.Context()); err != nil {
			t.Errorf("after 14 minutes: %v", err)
		}
		s.Advance(time.Minute)
		wantRefusedToken(t, s, "after 15 minutes", ada.Tokens.AccessToken)
		next, err := s.Public.Refresh(t.Context(), ada.Tokens.RefreshToken)
		if err != nil {
			t.Fatalf("refresh after the access token ended: %v", err)
		}
		if _, err := s.Public.As(next.AccessToken).Me(t.Context()); err != nil {
			t.Errorf("the new token: %v", err)
		}
	})
}

// verifyAsOthersDo verifies a token with nothing but the published keys.
func verifyAsOthersDo(s *testserver.Server, token string) error {
	keys, err := s.Public.JWKS(s.T.Context())
	if err != nil {
		return err
	}
	_, err = accesstoken.Verify(token, func(keyID string) (ed25519.PublicKey, error) {
		for _, key := range keys {
			if key.KeyID == keyID && key.KeyType == "OKP" && key.Curve == "Ed25519" && key.Algorithm == "EdDSA" {
				return base64.RawURLEncoding.DecodeString(key.X)
			}
		}
		return nil, fmt.Errorf("%s is not published among %+v", keyID, keys)
	}, s.Database.Now())
	return err
}

func TestJWKS(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ctx := t.Context()
		before, err := s.Public.JWKS(ctx)
		if err != nil || len(before) != 1 {
			t.Fatalf("keys %+v, %v; want one before anyone signed in", before, err)
		}
		ada := s.Person("ada")
		if err := verifyAsOthersDo(s, ada.Tokens.AccessToken); err != nil {
			t.Errorf("verify with the published keys: %v", err)
		}
		if _, err := s.Keyring.Rotate(ctx, principal.Operator(), keyring.AccessToken); err != nil {
			t.Fatal(err)
		}
		after, err := s.Public.JWKS(ctx)
		if err != nil || len(after) != 2 || !slices.Contains(after, before[0]) {
			t.Errorf("keys after a rotation %+v, %v; want a new one beside %+v", after, err, before)
		}
		again := s.SignIn(ada.Email)
		for name, token := range map[string]string{"old": ada.Tokens.AccessToken, "new": again.Tokens.AccessToken} {
			if err := verifyAsOthersDo(s, token); err != nil {
				t.Errorf("verify the %s token after a rotation: %v", name, err)
			}
			if _, err := s.Public.As(token).Me(ctx); err != nil {
				t.Errorf("use the %s token after a rotation: %v", name, err)
			}
		}
	})
}

// TestARetiredKeySignsNoMore: once every token is over that it can have signed
// before its end, whoever has the key signs nothing with it.
func TestARetiredKeySignsNoMore(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ctx, ada := t.Context(), s.Person("ada")
		old, err := s.Keyring.Current(ctx, keyring.AccessToken)
		if err != nil {
			t.Fatal(err)
		}
		me, err := ada.Me(ctx)
		if err != nil {
			t.Fatal(err)
		}
		forge := func() string {
			return signed(t, old.ID, old.Private, accesstoken.Claims{UserID: me.User.ID, SessionID: me.SessionID},
				s.Database.Now())
		}
		if _, err := s.Keyring.Rotate(ctx, principal.Operator(), keyring.AccessToken); err != nil {
			t.Fatal(err)
		}
		s.Advance(14 * time.Minute)
		if _, err := s.Public.As(forge()).Me(ctx); err != nil {
			t.Errorf("within the life of a token: %v", err)
		}
		s.Advance(3 * time.Minute)
		if _, err := s.Public.As(forge()).Me(ctx); err == nil {
			t.Error("a key that was retired long ago signs tokens")
		}
		if keys, err := s.Public.JWKS(ctx); err != nil || len(keys) != 1 {
			t.Errorf("published: %+v, %v; want the present key alone", keys, err)
		}
	})
}
