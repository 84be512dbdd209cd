package ticket_test

import (
	"crypto/ed25519"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/internal/agent/lease"
	"writ/internal/intent/plan"
	"writ/internal/intent/ticket"
)

var start = time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)

func some() ticket.Ticket {
	return ticket.Ticket{
		ID:      "t1",
		OrgID:   "acme",
		KeyID:   "k1",
		Session: "s1",
		Turn:    3,
		Issued:  start,
		Expires: start.Add(ticket.Life),
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

func TestATicketSaysWhatItIsFor(t *testing.T) {
	t.Parallel()
	private, keys := newKey(t)
	want := some()
	text, err := want.Sign("kid", private)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ticket.Verify(text, keys)
	got.Issued, got.Expires = got.Issued.UTC(), got.Expires.UTC()
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	for at, want := range map[time.Duration]bool{
		0: true, ticket.Life - time.Second: true, ticket.Life: false, -time.Second: true, -time.Hour: false,
	} {
		if got.Current(start.Add(at)) != want {
			t.Errorf("current after %v: %t", at, !want)
		}
	}
}

func TestOtherTextsAreNoTickets(t *testing.T) {
	t.Parallel()
	private, keys := newKey(t)
	other, _ := newKey(t)
	of := func(signed string, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return signed
	}
	given := some()
	good := of(given.Sign("kid", private))
	without := func(change func(*ticket.Ticket)) string {
		c := some()
		change(&c)
		return of(c.Sign("kid", private))
	}
	l := lease.Lease{
		ID:      "t1",
		OrgID:   "acme",
		KeyID:   "k1",
		Issued:  start,
		Expires: start.Add(time.Hour),
	}
	parts := strings.Split(good, ".")
	for name, text := range map[string]string{
		"nothing":               "",
		"not a JWT":             "a.b.c",
		"signed by another key": of(given.Sign("kid", other)),
		"of an unknown key":     of(given.Sign("other", private)),
		"a lease":               of(l.Sign("kid", private)),
		"a plan": of(plan.JWT{PlanID: "t1", Issued: start, Expires: start.Add(time.Hour)}.Sign("kid",
			private)),
		"without its signature":   parts[0] + "." + parts[1] + ".",
		"unsigned":                "eyJhbGciOiJub25lIiwidHlwIjoidGlja2V0K2p3dCJ9." + parts[1] + ".",
		"altered":                 parts[0] + "." + parts[1][:len(parts[1])-2] + "AA." + parts[2],
		"too long":                good + strings.Repeat("A", 8192),
		"without a session":       without(func(c *ticket.Ticket) { c.Session = "" }),
		"without a turn":          without(func(c *ticket.Ticket) { c.Turn = 0 }),
		"of a negative turn":      without(func(c *ticket.Ticket) { c.Turn = -1 }),
		"without a key":           without(func(c *ticket.Ticket) { c.KeyID = "" }),
		"without an id":           without(func(c *ticket.Ticket) { c.ID = "" }),
		"without an organization": without(func(c *ticket.Ticket) { c.OrgID = "" }),
	} {
		if got, err := ticket.Verify(text, keys); err == nil {
			t.Errorf("%s is a ticket: %+v", name, got)
		}
	}
	if _, err := lease.Verify(good, keys); err == nil {
		t.Error("a ticket passes for a lease")
	}
}
