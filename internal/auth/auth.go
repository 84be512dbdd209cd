// Package auth owns accounts, passwords, mailed codes, sessions and access tokens.
// Roles in organizations belong to package organization.
//
// A new account is unverified until its owner enters the six-digit code mailed to
// the address. Until then it cannot sign in, and the answer is the same as for a
// wrong password. A sign-in opens a session with two tokens: an access token (a
// JWT of 15 minutes, checked against its session on every use, so that revoking
// works at once) and a refresh token, which is replaced on every use. A refresh
// token that is used twice was stolen or copied, so its session ends. Changing a
// password ends the other sessions, resetting it ends all of them.
//
// A person who has a second factor (package secondfactor) signs in with a password in
// two steps: the right password gives a challenge, which stands for no session, and the
// challenge with a code gives the tokens. A sign-in with an identity provider asks for
// no code. A session remembers when its person last proved the second factor.
//
// A terminal signs in by device code (RFC 8628): it shows a code and polls while a
// signed-in person compares the code and answers. The key and the session of an
// approved terminal are created when it collects them, once, in the change that
// uses up its code.
//
// Passwords are stored as argon2id hashes, of which at most two are computed at a
// time. Codes, links and refresh tokens are stored as hashes. Every change is in
// the audit log.
package auth

import (
	"context"
	"time"
	"unicode"
	"unicode/utf8"

	"writ/internal/audit"
	"writ/internal/auth/secondfactor"
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
	MaxPasswordLength = 200 // characters; the hash covers all of them
	MaxNameLength     = 100 // characters
)

// Lifetimes.
const (
	AccessTokenLife = 15 * time.Minute
	SessionLife     = 30 * 24 * time.Hour
	otpLife         = 10 * time.Minute
	resetLife       = time.Hour
	challengeLife   = 5 * time.Minute
	// repeatWindow is how long a refresh token in a cookie works again: the answer that replaced it may be lost, and a
	// page cannot know.
	repeatWindow = 10 * time.Second
	// reuseMemory is how long a used refresh token is kept, so that its reuse is noticed.
	reuseMemory = 7 * 24 * time.Hour
)

// Limits against guessing and flooding a mailbox.
const (
	otpDigits    = 6
	otpAttempts  = 5 // wrong guesses a code survives
	codesPerHour = 5 // sent to one account; more are silently not sent
	// challengeAttempts is how many wrong codes a challenge survives.
	challengeAttempts = 5
)

// User is an account.
type User struct {
	ID         string
	Email      string
	Name       string
	CreatedAt  time.Time
	VerifiedAt *time.Time
}

// Device is where a sign-in came from, as shown to its owner.
type Device struct {
	Address   string
	UserAgent string
	Cookie    bool // whether it keeps its refresh token in a cookie
}

// maxUserAgent is how many bytes of a user agent are stored.
const maxUserAgent = 300

// Tokens are the credentials of a session. Where a second factor is awaited they are a
// Challenge alone.
type Tokens struct {
	Challenge secret.Text
	Access    secret.Text
	Refresh   secret.Text
	ExpiresIn time.Duration // of the access token
	Life      time.Duration // of the session
}

// Service manages accounts and sessions.
type Service struct {
	db        *database.DB
	log       *audit.Log
	keys      *keyring.Ring
	mail      mail.Sender
	publicURL string
	passwords *Passwords
	factors   *secondfactor.Factors
	terminals Terminals
}

// Terminals ends the keys that terminals got beside their sessions.
type Terminals interface {
	// LogsOf are the logs that ending a session's keys appends to.
	LogsOf(ctx context.Context, tx *database.Tx, userID, sessionID string) ([]string, error)
	// End revokes them, within a change that declares those logs.
	End(ctx context.Context, tx *database.Tx, actor principal.Principal, userID, sessionID string) error
	// Forget drops cached keys, after the change.
	Forget()
}

// New makes a Service. Links in mails begin with publicURL.
func New(
	db *database.DB, log *audit.Log, keys *keyring.Ring, sealer *secret.Sealer, sender mail.Sender, publicURL string,
	terminals Terminals,
) *Service {
	return &Service{
		db:        db,
		log:       log,
		keys:      keys,
		mail:      sender,
		publicURL: publicURL,
		passwords: NewPasswords(),
		factors:   secondfactor.New(sealer),
		terminals: terminals,
	}
}

// userEntry is an audit entry about an account.
func userEntry(action string, actor principal.Principal, userID string, payload any) audit.Entry {
	return audit.Entry{
		Log:         audit.System,
		Action:      action,
		Actor:       actor,
		Subject:     audit.Subject{Type: "user", ID: userID},
		Payload:     payload,
		Observation: true,
	}
}

// as is a person as the actor of an audit entry.
func as(userID string) principal.Principal {
	return principal.Principal{Kind: principal.User, UserID: userID}
}

// CheckPassword refuses a bad new password with a fault about the field.
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

// CheckName refuses a bad name of a person with a fault about the field "name".
func CheckName(name string) error {
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
