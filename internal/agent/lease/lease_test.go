package lease_test

import (
	"crypto/ed25519"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"writ/internal/agent/lease"
	"writ/internal/intent/plan"
)

var start = time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)

func some() lease.Lease {
	return lease.Lease{
		ID:      "l1",
		OrgID:   "acme",
		KeyID:   "k1",
		AgentID: "bot",
		UserID:  "u1",
		Tools:   []lease.Tool{{Server: "fs", Tool: "read"}, {Tool: "Read"}},
		Issued:  start,
		Expires: start.Add(time.Minute),
	}
}

func newKey(t *testing.T) (ed25519.PrivateKey, func(string) (ed25519.PublicKey, error)) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return private, func(id string) (ed25519.PublicKey, error) {
		if id != "kid" {
			return nil, errors.New("no such key")
		}
		return public, nil
	}
}

func TestALeaseIsVerifiedOffline(t *testing.T) {
	t.Parallel()
	private, keys := newKey(t)
	want := some()
	text, err := want.Sign("kid", private)
	if err != nil {
		t.Fatal(err)
	}
	got, err := lease.Verify(text, keys)
	got.Issued, got.Expires = got.Issued.UTC(), got.Expires.UTC()
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	for _, c := range []struct {
		tool lease.Tool
		at   time.Time
		want bool
	}{
		{lease.Tool{Server: "fs", Tool: "read"}, start, true},
		{lease.Tool{Tool: "Read"}, start.Add(time.Minute - 1), true},
		{lease.Tool{Tool: "Read"}, start.Add(time.Minute), false},
		{lease.Tool{Tool: "Read"}, start.Add(-1), false},
		{lease.Tool{Server: "fs", Tool: "write"}, start, false},
		{lease.Tool{Server: "other", Tool: "read"}, start, false},
		{lease.Tool{Tool: "read"}, start, false},
	} {
		if got.Permits(c.tool, c.at) != c.want {
			t.Errorf("%v at %s: %t", c.tool, c.at, !c.want)
		}
	}
}

// TestWhatIsNoLease: altered, of another key, of another type, and a lease is no plan.
func TestWhatIsNoLease(t *testing.T) {
	t.Parallel()
	private, keys := newKey(t)
	other, _ := newKey(t)
	l := some()
	good, err := l.Sign("kid", private)
	if err != nil {
		t.Fatal(err)
	}
	longer := some()
	longer.Expires = longer.Expires.Add(time.Hour)
	forged, err := longer.Sign("kid", other)
	if err != nil {
		t.Fatal(err)
	}
	unknown, err := l.Sign("another", private)
	if err != nil {
		t.Fatal(err)
	}
	minted, err := plan.JWT{PlanID: "p", Issued: start, Expires: start.Add(time.Hour)}.Sign("kid", private)
	if err != nil {
		t.Fatal(err)
	}
	unsigned, err := jwt.NewWithClaims(jwt.SigningMethodNone, jwt.MapClaims{"jti": "l1", "aud": "writ:lease"}).
		SignedString(jwt.UnsafeAllowNoneSignatureType)
	if err != nil {
		t.Fatal(err)
	}
	parts, claims := strings.Split(good, "."), strings.Split(forged, ".")[1]
	for name, text := range map[string]string{
		"prolonged": parts[0] + "." + claims + "." + parts[2], "of another key": forged, "of an unknown key": unknown,
		"a plan": minted, "unsigned": unsigned, "empty": "", "long": strings.Repeat("a", 1<<17),
	} {
		if got, err := lease.Verify(text, keys); err == nil {
			t.Errorf("%s: taken as %+v", name, got)
		}
	}
	public, _ := keys("kid")
	if got, err := plan.VerifyJWT(good, public, start); err == nil {
		t.Errorf("a lease is taken for the plan %+v", got)
	}
}
