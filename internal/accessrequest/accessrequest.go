// Package accessrequest keeps the requests of people who want to use this installation and have no account yet.
//
// Anyone may ask, so that nothing in a request is proven, and whoever asks learns nothing: neither whether the address
// has an account, nor whether it asked before. A request of an address that already waits, or was answered within the
// last 30 days, is the same request: it changes nothing and mails nobody.
//
// Operators answer. An approval is an invitation to an organization, which the edge makes where the operator may
// invite, or else a mailed link with which that address may register, also where sign-up is closed.
package accessrequest

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"writ/internal/email"
	"writ/internal/fault"
	"writ/internal/principal"
)

const (
	maxName    = 100 // characters of a name, and of a company's
	maxMessage = 2000
	maxReason  = 500

	maxPending    = 10_000              // beyond them nobody can ask until some are answered
	sameFor       = 30 * 24 * time.Hour // after an answer, the same address is not asking anew
	linkLifetime  = 7 * 24 * time.Hour  // of a permission to register
	noticePause   = 10 * time.Minute    // operators are mailed about the first request after such a pause
	maxAddressees = 20                  // operators who are mailed
)

// Status is what became of a request.
type Status string

// The states. Answers are final; only a link to register may be mailed again.
const (
	Pending  Status = "pending"
	Approved Status = "approved"
	Rejected Status = "rejected"
)

// Valid reports whether this is one of the states.
func (s Status) Valid() bool { return s == Pending || s == Approved || s == Rejected }

// New is what somebody asks.
type New struct{ Email, Name, Company, Message string }

// Request is a request for access.
type Request struct {
	ID string
	New
	Status    Status
	CreatedAt time.Time

	// These are set once it is answered.
	DecidedAt *time.Time
	DecidedBy string
	Reason    string         // of a rejection
	OrgID     string         // of an invitation; empty: the person may register
	Role      principal.Role // of an invitation
}

// Invitation is what a request became, if it became one.
type Invitation struct {
	OrgID string
	Role  principal.Role
}

// clean gives a request as it is stored.
func (n New) clean() (New, error) {
	address, err := email.Normalise(n.Email)
	if err != nil {
		return New{}, err
	}
	n.Email = address
	if n.Name, err = cleanText("name", n.Name, maxName, false); err != nil {
		return New{}, err
	}
	if n.Company, err = cleanText("company", n.Company, maxName, false); err != nil {
		return New{}, err
	}
	n.Message, err = cleanText("message", n.Message, maxMessage, true)
	return n, err
}

// cleanText refuses what could break a line or turn the text around it: operators read it in lists.
func cleanText(field, text string, most int, lines bool) (string, error) {
	text = strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
	bad := func(r rune) bool {
		return unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control) && !(lines && r == '\n')
	}
	switch {
	case !utf8.ValidString(text) || strings.ContainsFunc(text, bad):
		return "", fault.Field(field, "must be text without control characters")
	case utf8.RuneCountInString(text) > most:
		return "", fault.Field(field, "must have at most %d characters", most)
	}
	return text, nil
}

// cleanReason gives the reason of a rejection as it is stored. It is mailed.
func cleanReason(text string) (string, error) {
	reason, err := cleanText("reason", text, maxReason, true)
	if err == nil && reason == "" {
		err = fault.Field("reason", "must not be empty: it is mailed to the person")
	}
	return reason, err
}
