package accessrequest

import (
	"fmt"

	"writ/internal/mail"
	"writ/internal/secret"
)

// receiptMail says nothing of what was asked: anyone can have it sent to anyone.
func receiptMail(to string) mail.Message {
	return mail.Message{To: to, Subject: "Your request for access to Writ", Text: `Somebody, probably you, asked for access to Writ with this e-mail address.

The people who run this server read the request and answer it by mail. There is nothing to do until then.

If it was not you, you can ignore this e-mail.
`}
}

// noticeMail names nobody: the list does.
func noticeMail(to, publicURL string) mail.Message {
	return mail.Message{To: to, Subject: "A request for access to Writ waits", Text: fmt.Sprintf(
		`Somebody asks for access to your Writ server. You get this e-mail because you are one of its operators.

Sign in to read and answer the requests that wait: %s/ui/installation/access

More requests within %d minutes are not mailed again.
`, publicURL, int(noticePause.Minutes()))}
}

// approvalMail has the link with which the person registers. The token is hex and needs no escaping.
func approvalMail(r Request, publicURL string, token secret.Text) mail.Message {
	return mail.Message{To: r.Email, Subject: "You have access to Writ", Text: fmt.Sprintf(
		`Your request for access to Writ was approved.

To register, open this link and make an account with this e-mail address:

%s/ui/register?token=%s

The link expires in 7 days, on %s. If you have an account already, sign in instead: %s/ui/
`, publicURL, token.Reveal(), r.DecidedAt.Add(linkLifetime).Format("2 January 2006 at 15:04 UTC"), publicURL)}
}

func rejectionMail(r Request) mail.Message {
	return mail.Message{To: r.Email, Subject: "Your request for access to Writ", Text: fmt.Sprintf(
		`Your request for access to Writ was not approved. The people who run this server say:

%s
`, r.Reason)}
}
