package organization

import (
	"fmt"

	"writ/internal/mail"
	"writ/internal/secret"
)

// inviteMail is the mail of an invitation. The organization's name, which a person
// chose, is in the text and not in a header. The token is hex and needs no escaping.
func inviteMail(invite Invite, organization, publicURL string, token secret.Text) mail.Message {
	link := publicURL + "/ui/invites/accept?token=" + token.Reveal()
	return mail.Message{
		To:      invite.Email,
		Subject: "You are invited to an organization on Writ",
		Text: fmt.Sprintf(`You are invited to join the organization "%s" on Writ.
Your role will be: %s.

To accept, open this link and sign in or sign up with this e-mail address:

%s

The link works once and expires in 7 days, on %s.

If you did not expect this invitation, you can ignore this e-mail.
`, organization, invite.Role, link, invite.ExpiresAt.Format("2 January 2006 at 15:04 UTC")),
	}
}
