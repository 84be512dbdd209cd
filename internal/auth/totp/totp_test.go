package totp_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"writ/internal/auth/totp"
)

// TestVectors are those of RFC 6238, appendix B, for SHA-1. The RFC shows eight digits; these are the last six.
func TestVectors(t *testing.T) {
	t.Parallel()
	key := []byte("12345678901234567890")
	for at, want := range map[int64]string{
		59: "287082", 1111111109: "081804", 1111111111: "050471", 1234567890: "005924", 2000000000: "279037",
		20000000000: "353130",
	} {
		if got := totp.Code(key, totp.Step(time.Unix(at, 0))); got != want {
			t.Errorf("at %d: %s, want %s", at, got, want)
		}
	}
}

func TestMatch(t *testing.T) {
	t.Parallel()
	key, now := totp.NewKey(), time.Unix(1_900_000_015, 0)
	step := totp.Step(now)
	for away, want := range map[int64]bool{-2: false, -1: true, 0: true, 1: true, 2: false} {
		got := totp.Match(key, totp.Code(key, step+away), now, 0)
		if (got == step+away) != want {
			t.Errorf("a code of %d steps away: step %d, now is %d", away, got, step)
		}
	}
	if got := totp.Match(key, totp.Code(key, step), now, step); got != 0 {
		t.Errorf("a code that was used matches step %d", got)
	}
	if got := totp.Match(key, totp.Code(key, step-1), now, step); got != 0 {
		t.Errorf("a code from before the one that was used matches step %d", got)
	}
	if got := totp.Match(key, totp.Code(key, step+1), now, step); got != step+1 {
		t.Errorf("the next code: step %d", got)
	}
	for _, wrong := range []string{"", "0", "1234567", totp.Code(totp.NewKey(), step) + "0"} {
		if got := totp.Match(key, wrong, now, 0); got != 0 {
			t.Errorf("%q matches step %d", wrong, got)
		}
	}
}

func TestURI(t *testing.T) {
	t.Parallel()
	uri := totp.URI([]byte("12345678901234567890"), "Writ at writ.example.org", "ada@example.org")
	u, err := url.Parse(uri)
	const label = "/Writ at writ.example.org:ada@example.org"
	if err != nil || u.Scheme != "otpauth" || u.Host != "totp" || u.Path != label {
		t.Errorf("%s: %+v, %v", uri, u, err)
	}
	if got := u.Query().Get("secret"); got != "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ" || strings.Contains(got, "=") {
		t.Errorf("secret %s", got)
	}
	if u.Query().Get("issuer") != "Writ at writ.example.org" {
		t.Errorf("issuer %s", u.Query().Get("issuer"))
	}
}
