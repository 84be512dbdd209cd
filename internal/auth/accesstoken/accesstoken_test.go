package accesstoken_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"writ/internal/auth/accesstoken"
)

var (
	now     = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	private = ed25519.NewKeyFromSeed([]byte("an example seed of 32 bytes only"))
	who     = accesstoken.Claims{UserID: "user", SessionID: "session"}
	errFind = errors.New("key unknown")
)

func find(keyID string) (ed25519.PublicKey, error) {
	if keyID != "key-1" {
		return nil, errFind
	}
	return private.Public().(ed25519.PublicKey), nil
}

func good(t testing.TB) string {
	t.Helper()
	token, err := accesstoken.Sign(who, "key-1", private, now, 15*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, at := range []time.Time{now, now.Add(15*time.Minute - time.Second), now.Add(-60 * time.Second)} {
		if got, err := accesstoken.Verify(good(t), find, at); err != nil || got != who {
			t.Errorf("at %v: %+v, %v", at, got, err)
		}
	}
}

// forge signs claims of the test's choice with the right key.
func forge(t *testing.T, header map[string]any, change func(jwt.MapClaims)) string {
	t.Helper()
	c := jwt.MapClaims{"iss": "writ", "aud": "writ:api", "sub": "user", "sid": "session",
		"iat": now.Unix(), "exp": now.Add(time.Minute).Unix()}
	change(c)
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, c)
	token.Header["kid"], token.Header["typ"] = "key-1", "at+jwt"
	for name, value := range header {
		token.Header[name] = value
	}
	signed, err := token.SignedString(private)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

func unsigned(header, payload string) string {
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(header)) + "." + encode([]byte(payload)) + "."
}

func TestRefused(t *testing.T) {
	t.Parallel()
	none := func(jwt.MapClaims) {}
	valid := strings.Split(good(t), ".")
	payload := `{"iss":"writ","aud":"writ:api","sub":"user","sid":"session","iat":1893456000,"exp":1893456060}`
	hmac := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{"iss": "writ", "aud": "writ:api", "sub": "user",
		"sid": "session", "iat": now.Unix(), "exp": now.Add(time.Minute).Unix()})
	hmac.Header["kid"], hmac.Header["typ"] = "key-1", "at+jwt"
	confused, err := hmac.SignedString([]byte(private.Public().(ed25519.PublicKey)))
	if err != nil {
		t.Fatal(err)
	}
	_, other, _ := ed25519.GenerateKey(nil)
	foreign, _ := accesstoken.Sign(who, "key-1", other, now, time.Minute)
	cases := map[string]string{
		"empty":                 "",
		"garbage":               "a.b.c",
		"alg none":              unsigned(`{"alg":"none","typ":"at+jwt","kid":"key-1"}`, payload),
		"alg None":              unsigned(`{"alg":"None","typ":"at+jwt","kid":"key-1"}`, payload),
		"HS256 with our public": confused,
		"another key":           foreign,
		"payload of another": valid[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(payload)) + "." +
			valid[2],
		"signature cut":          valid[0] + "." + valid[1] + ".",
		"expired":                forge(t, nil, func(c jwt.MapClaims) { c["exp"] = now.Unix() }),
		"no expiry":              forge(t, nil, func(c jwt.MapClaims) { delete(c, "exp") }),
		"another issuer":         forge(t, nil, func(c jwt.MapClaims) { c["iss"] = "else" }),
		"another audience":       forge(t, nil, func(c jwt.MapClaims) { c["aud"] = "writ:plan" }),
		"issued in the future":   forge(t, nil, func(c jwt.MapClaims) { c["iat"] = now.Add(2 * time.Minute).Unix() }),
		"no issue time":          forge(t, nil, func(c jwt.MapClaims) { delete(c, "iat") }),
		"no subject":             forge(t, nil, func(c jwt.MapClaims) { delete(c, "sub") }),
		"no session":             forge(t, nil, func(c jwt.MapClaims) { delete(c, "sid") }),
		"another type":           forge(t, map[string]any{"typ": "JWT"}, none),
		"type of another shape":  forge(t, map[string]any{"typ": 7}, none),
		"too long":               good(t) + strings.Repeat("x", 5000),
		"expiry of another type": forge(t, nil, func(c jwt.MapClaims) { c["exp"] = "soon" }),
	}
	for name, token := range cases {
		if got, err := accesstoken.Verify(token, find, now); !errors.Is(err, accesstoken.ErrRefused) ||
			got != (accesstoken.Claims{}) {
			t.Errorf("%s: %+v, %v; want refused", name, got, err)
		}
	}
	if _, err := accesstoken.Verify(forge(t, map[string]any{"kid": "key-2"}, none), find,
		now); !errors.Is(err, errFind) {
		t.Errorf("unknown key: %v, want find's own error", err)
	}
}

func FuzzVerify(f *testing.F) {
	f.Add(good(f))
	f.Add(unsigned(`{"alg":"none"}`, `{}`))
	f.Add("..")
	want := good(f)
	f.Fuzz(func(t *testing.T, token string) {
		if _, err := accesstoken.Verify(token, find, now); err == nil && token != want {
			// Base64 has spellings of one value only in its unused last bits.
			if strings.Count(token, ".") != 2 || strings.Split(token, ".")[1] != strings.Split(want, ".")[1] {
				t.Errorf("accepted %q", token)
			}
		}
	})
}
