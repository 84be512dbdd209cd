// Package organization owns organizations, who belongs to them and in which
// role, and the invitations by which people join.
//
// An organization is open until an owner closes it. Closing takes every
// member's access and every invitation away at once and is final; the rows and
// the audit log stay, because what happened must remain provable.
//
// An invitation is open until it is accepted, withdrawn or seven days old. It
// is sent by mail; only the hash of its token is stored. There is one open
// invitation a person and organization: a new one withdraws the one before, so
// that the old link dies. It can be accepted once, and only by the person whose
// verified e-mail address it names.
//
// An organization always has an owner: the last one can neither leave, nor be
// removed, nor be given another role. Only an owner makes, changes, invites or
// removes owners.
//
// The edge has checked the caller's membership before it calls, but a role may
// change while a request is under way. Every change therefore holds the
// organization's audit log, which puts the changes of one organization in a
// row on every replica, and reads the caller's role again under that lock.
//
// Whoever is not a member learns nothing: an organization that is closed,
// unknown or not theirs gives one and the same answer.
package organization

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"writ/internal/fault"
	"writ/internal/principal"
)

const (
	maxName        = 100 // characters of an organization's name
	inviteLifetime = 7 * 24 * time.Hour

	// Limits on what one account can do to others, and to our lists.
	maxMemberships = 100 // organizations a person who creates one may belong to
	maxInvites     = 500 // open in an organization
	mailsPerHour   = 5   // invitations to one address, from whomever
)

// Organization is a tenant.
type Organization struct {
	ID, Name  string
	CreatedAt time.Time
}

// Membership is an organization as one person sees it.
type Membership struct {
	Organization
	Role        principal.Role
	MemberCount int
}

// Member is a person in an organization.
type Member struct {
	UserID, Email, Name string
	Role                principal.Role
	JoinedAt            time.Time
}

// Invite is an invitation. Its token is known only to who received the mail.
type Invite struct {
	ID, OrgID, Email     string
	Role                 principal.Role
	InvitedBy            string // id of the person
	CreatedAt, ExpiresAt time.Time
}

// cleanName gives an organization's name as it is stored. Names are shown in
// lists and mails of other people, so they cannot break a line or turn the
// direction of the text around them.
func cleanName(text string) (string, error) {
	name := strings.TrimSpace(text)
	characters := utf8.RuneCountInString(name)
	switch {
	case !utf8.ValidString(name) || strings.ContainsFunc(name, disturbing):
		return "", fault.Field("name", "must be one line of text without control characters")
	case characters == 0 || characters > maxName:
		return "", fault.Field("name", "must have 1 to %d characters", maxName)
	}
	return name, nil
}

func disturbing(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
}

func checkRole(role principal.Role) error {
	if role.Valid() {
		return nil
	}
	return fault.Field("role", "must be one of %v", principal.Roles())
}

// notMember is the one answer to whoever does not belong to an open
// organization, so that it does not tell which organizations exist.
func notMember() error {
	return fault.New(fault.Forbidden, "you are not a member of this organization")
}

// notValid is the one answer to a token that opens nothing, whatever the reason.
func notValid() error {
	return fault.New(fault.NotFound, "this invitation is not valid any more")
}
