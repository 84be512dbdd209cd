// Package auth knows people: their accounts, passwords, mail codes, sign-ins and
// access tokens. (What a person may do in an organization is not here.)
//
// An account begins unverified and becomes verified by a six-digit code sent to
// its address; until then it cannot sign in, and whoever tries cannot tell it
// from a wrong password. A sign-in is a session with two tokens: an access token
// (a JWT, 15 minutes, checked against its session on every use, so that revoking
// works at once) and a refresh token, which is used once and replaced. A refresh
// token that comes a second time was stolen or copied: its session ends.
// Changing a password ends the other sessions, resetting it ends all.
//
// A terminal signs in by device code: it asks, shows a code, and waits while a
// signed-in person compares the code and answers. What a yes gives is made when the
// terminal comes for it, once, in the change that uses its code up.
//
// Passwords are argon2id hashes, at most two computed at a time. Codes, links
// and refresh tokens are stored as hashes. Every change is in the audit log.
package auth

import (
	"time"
	"unicode"
	"unicode/utf8"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/keyring"
	"writ/internal/mail"
	"writ/internal/principal"
	"writ/internal/secret"
)

// Limits of what people choose.
const (
	MinPasswordLength = 10  // characters
	MaxPasswordLength = 200 // characters; the hash reads them all
	MaxNameLength     = 100 // characters
)

// Lifetimes.
const (
	AccessTokenLife = 15 * time.Minute
	SessionLife     = 30 * 24 * time.Hour
	otpLife         = 10 * time.Minute
	resetLife       = time.Hour
	// how long the reuse of a refresh token is noticed; after that it is merely unknown
	reuseMemory = 7 * 24 * time.Hour
)

// Limits against guessing and flooding a mailbox.
const (
	otpDigits    = 6
	otpAttempts  = 5 // wrong guesses a code survives
	codesPerHour = 5 // sent to one account; beyond it nothing is sent and nobody is told
)

// User is an account.
type User struct {
	ID         string
	Email      string
	Name       string
	CreatedAt  time.Time
	VerifiedAt *time.Time
}

// Device is what a sign-in came from, shown to its owner.
type Device struct {
	Address   string
	UserAgent string
}

// maxUserAgent bounds what a client can make us store.
const maxUserAgent = 300

// Tokens are the credentials of a session.
type Tokens struct {
	Access    secret.Text
	Refresh   secret.Text
	ExpiresIn time.Duration // of the access token
}

// Service is the area's one entry.
type Service struct {
	db        *database.DB
	log       *audit.Log
	keys      *keyring.Ring
	mail      mail.Sender
	publicURL string
	passwords *Passwords
}

// New makes the service. Links in mails begin with publicURL.
func New(
	db *database.DB, log *audit.Log, keys *keyring.Ring, sender mail.Sender, publicURL string,
) *Service {
	return &Service{
		db:        db,
		log:       log,
		keys:      keys,
		mail:      sender,
		publicURL: publicURL,
		passwords: NewPasswords(),
	}
}

// userEntry is an audit entry about an account.
func userEntry(action string, actor principal.Principal, userID string, payload any) audit.Entry {
	return audit.Entry{
		Log: audit.System, Action: action, Actor: actor,
		Subject: audit.Subject{Type: "user", ID: userID}, Payload: payload, Observation: true,
	}
}

// as is the person as the actor of an audit entry.
func as(userID string) principal.Principal {
	return principal.Principal{Kind: principal.User, UserID: userID}
}

// CheckPassword says what is wrong with a new password, naming the field.
func CheckPassword(field, password, email string) error {
	length := utf8.RuneCountInString(password)
	switch {
	case !utf8.ValidString(password):
		return fault.Field(field, "must be valid UTF-8")
	case length < MinPasswordLength || length > MaxPasswordLength:
		return fault.Field(field, "must have %d-%d characters", MinPasswordLength, MaxPasswordLength)
	case password == email:
		return fault.Field(field, "must not be the e-mail address")
	}
	return nil
}

func checkName(name string) error {
	if utf8.RuneCountInString(name) > MaxNameLength {
		return fault.Field("name", "must have at most %d characters", MaxNameLength)
	}
	for _, r := range name {
		if unicode.IsControl(r) || r == utf8.RuneError {
			return fault.Field("name", "must not contain control characters")
		}
	}
	return nil
}
