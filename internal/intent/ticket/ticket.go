// Package ticket is the form of a ticket: the proof that a plan is for the present turn of a
// guarded session. Hooks ask the server for one and hand it to the plan server, because
// nothing else tells a plan server which session it works for: what a model says about that
// is not believed. The package is pure.
//
// A ticket is a JWT of its own type and audience. It is signed with the key of plans' JWTs,
// and never passes for one of them.
package ticket

import (
	"crypto/ed25519"
	"errors"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"writ/internal/jwtform"
)

// Ours have about 600 bytes.
var form = jwtform.Form{Name: "a ticket", Type: "ticket+jwt", Audience: "writ:ticket", MaxBytes: 4096}

// Life is how long a ticket counts. Within it a person may have to confirm the tool that it was made for.
const Life = 5 * time.Minute

// clockSkew is how far ahead the clock of the replica that made a ticket may be.
const clockSkew = time.Minute

// Ticket is what a ticket says.
type Ticket struct {
	ID      string
	OrgID   string
	KeyID   string // the API key of the session
	Session string
	Turn    int64
	Issued  time.Time
	Expires time.Time
}

type claims struct {
	jwt.RegisteredClaims
	OrgID   string `json:"org"`
	Session string `json:"session"`
	Turn    int64  `json:"turn"`
}

// Sign makes the text of a ticket.
func (t *Ticket) Sign(keyID string, key ed25519.PrivateKey) (string, error) {
	return form.Sign(claims{
		RegisteredClaims: form.Registered(jwt.RegisteredClaims{
			Subject: t.KeyID, ID: t.ID,
			IssuedAt: jwt.NewNumericDate(t.Issued), ExpiresAt: jwt.NewNumericDate(t.Expires),
		}),
		OrgID: t.OrgID, Session: t.Session, Turn: t.Turn,
	}, keyID, key)
}

// Verify reads a ticket that one of the keys signed, by their ids. It does not compare its
// times with a clock: Current does.
func Verify(text string, keyOf func(id string) (ed25519.PublicKey, error)) (Ticket, error) {
	var c claims
	if err := form.Verify(text, &c, keyOf); err != nil {
		return Ticket{}, err
	}
	if c.ID == "" || c.Subject == "" || c.OrgID == "" || c.Session == "" || c.Turn < 1 ||
		c.IssuedAt == nil || c.ExpiresAt == nil {
		return Ticket{}, errors.New("not a ticket: it does not say what it is for")
	}
	return Ticket{
		ID:      c.ID,
		OrgID:   c.OrgID,
		KeyID:   c.Subject,
		Session: c.Session,
		Turn:    c.Turn,
		Issued:  c.IssuedAt.Time,
		Expires: c.ExpiresAt.Time,
	}, nil
}

// Current reports whether the ticket counts at a time.
func (t *Ticket) Current(now time.Time) bool {
	return now.Before(t.Expires) && !t.Issued.After(now.Add(clockSkew))
}
