// Package organization owns organizations, their members with their roles, and the
// invitations by which people join.
//
// An organization is open until an owner closes it. Closing is final: it ends every
// member's access and every invitation at once. The rows and the audit log stay,
// because what happened must remain provable.
//
// An invitation is open until it is accepted, withdrawn or seven days old. It is sent
// by mail; only the hash of its token is stored. A person has at most one open
// invitation to an organization: a new one withdraws the old one. It can be accepted
// once, and only by the person with the verified e-mail address it names.
//
// An organization always has an owner: the last one cannot leave, be removed or get
// another role. Only an owner makes, changes, invites or removes owners.
//
// The edge checks the caller's membership first, but a role may change during a
// request. So every change holds the lock of the organization's audit log, which puts
// the changes of one organization in order on every replica, and reads the caller's
// role again under that lock.
//
// People who are not members learn nothing: an organization that is closed, unknown
// or not theirs gives the same answer.
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
	mailsPerHour   = 5   // invitations to one address, from all organizations
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
	// RequireSecondFactor: members act in it only after they proved a second factor.
	RequireSecondFactor bool
}

// Member is a person in an organization.
type Member struct {
	UserID, Email, Name string
	Role                principal.Role
	JoinedAt            time.Time
}

// Invite is an invitation. Only the recipient of the mail knows its token.
type Invite struct {
	ID, OrgID, Email     string
	Role                 principal.Role
	InvitedBy            string // id of the person
	CreatedAt, ExpiresAt time.Time
}

// cleanName gives an organization's name as it is stored. Names appear in other
// people's lists and mails, so they must not break a line or reverse the text around
// them.
func cleanName(text string) (string, error) {
	name := strings.TrimSpace(text)
	characters := utf8.RuneCountInString(name)
	switch {
	case !utf8.ValidString(name) || strings.ContainsFunc(name, isDisruptive):
		return "", fault.Field("name", "must be one line of text without control characters")
	case characters == 0 || characters > maxName:
		return "", fault.Field("name", "must have 1 to %d characters", maxName)
	case isDemo(name):
		return "", fault.Field("name", "must not end in %q: that marks what is not real", strings.TrimSpace(demoEnding))
	}
	return name, nil
}

func isDisruptive(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
}

func checkRole(role principal.Role) error {
	if role.Valid() {
		return nil
	}
	return fault.Field("role", "must be one of %v", principal.Roles())
}

// notMember is the one answer to people who do not belong to an open organization,
// so that it does not reveal which organizations exist.
func notMember() error {
	return fault.New(fault.Forbidden, "you are not a member of this organization")
}

// invalidInvite is the one answer to a token that does not work.
func invalidInvite() error {
	return fault.New(fault.NotFound, "this invitation is not valid any more")
}
