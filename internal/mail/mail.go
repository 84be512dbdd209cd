// Package mail sends Writ's own mail: sign-up codes, password resets, invitations and notices. It sends plain text, to
// one person at a time.
//
// There are three senders, and the assembly chooses one at start:
//
//   - SMTP sends through a server over verified TLS. It never falls back to plain text: a server without STARTTLS is an
//     error. Only a server on this machine's loopback may be used without TLS.
//   - Outbox writes mail to a folder, for development and tests. Whoever reads the folder reads every code in it, so
//     production never uses it.
//   - None refuses every mail, for a production server without a mail server.
//
// A Queue sits in front of the sender. Its Send returns at once, so that no database transaction waits for a mail
// server, and so that the time of an answer does not reveal whether a mail was sent, and therefore whether an account
// exists. A Queue in front of None refuses as None does: queued, the refusal would reach only the log.
//
// The queue is in memory:
//
//   - On an orderly shutdown it delivers for at most five more seconds. What is left then is lost, and the log names
//     each recipient.
//   - When the process is killed, or the machine fails, every mail that is queued or being sent is lost without a
//     trace: at most 256.
//   - A mail that fails is tried again for 18 minutes, unless the server refuses it for good; then it is lost, and the
//     log says why.
//   - A mail may arrive twice, if the server accepted it and the connection broke before its answer came.
//
// So "queued" never means "arrived": every flow that needs a mail lets the person ask for another one.
//
// Text and subject may contain codes that let their reader in. Neither is ever logged or part of an error, even if a
// mail server quotes them back.
package mail

import (
	"context"
	"fmt"
	"log/slog"
	netmail "net/mail"
	"strings"
	"unicode"
	"unicode/utf8"

	"writ/internal/fault"
)

// notSent is all a caller learns of a failure; the cause is for the log.
const notSent = "mail could not be sent"

// Message is one mail. To is one bare address ("ada@example.org", without a name). The lines of Text end in "\n".
type Message struct{ To, Subject, Text string }

// String shows only the recipient, since the rest may contain codes.
func (m Message) String() string { return "mail to " + m.To }

// LogValue shows only the recipient, since the rest may contain codes.
func (m Message) LogValue() slog.Value { return slog.StringValue(m.String()) }

// Sender sends mail. Send returns an Invalid fault for a message that can never be sent, and an Unavailable fault if
// sending failed.
type Sender interface {
	Send(ctx context.Context, m Message) error
}

// NotConfigured is the code of the refusal of a server without mail. Programs tell by it that trying again is no use.
const NotConfigured = "mail_not_configured"

// None is the sender of a server without mail.
type None struct{}

// Send refuses.
func (None) Send(context.Context, Message) error {
	return fault.New(fault.Unavailable, "mail is not configured: set WRIT_SMTP_URL").Coded(NotConfigured)
}

// Require fails where a server has no mail at all, before anything is done that only a mail would complete.
func Require(ctx context.Context, s Sender) error {
	if none, ok := s.(None); ok {
		return none.Send(ctx, Message{})
	}
	return nil
}

// validate refuses what could forge a header or a second recipient, and what would not arrive as it was written.
// Addresses and names in the subject come from strangers.
func (m Message) validate() error {
	address, err := netmail.ParseAddress(m.To)
	switch {
	case err != nil || address.Address != m.To || hasControl(m.To):
		return fault.Field("to", "must be one mail address without a name")
	case m.Subject == "" || strings.TrimSpace(m.Subject) != m.Subject:
		return fault.Field("subject", "must not be empty, nor begin or end with a space")
	case hasControl(m.Subject):
		return fault.Field("subject", "must be one line of UTF-8 without control characters")
	case strings.Contains(m.Subject, "=?"):
		// Mail programs would decode it (RFC 2047) and show something else.
		return fault.Field("subject", "must not contain \"=?\"")
	case !utf8.ValidString(m.Text) || strings.Contains(m.Text, "\r"):
		return fault.Field("text", "must be UTF-8 with lines that end in a line feed alone")
	}
	return nil
}

func hasControl(s string) bool {
	return !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl)
}

// parseFrom reads the sender's address, which may include a name. The operator sets it, so the error may show it.
func parseFrom(from string) (*netmail.Address, error) {
	address, err := netmail.ParseAddress(from)
	if err != nil {
		return nil, fmt.Errorf("sender address %q: %w", from, err)
	}
	if hasControl(from) {
		return nil, fmt.Errorf("sender address %q: must not contain control characters", from)
	}
	return address, nil
}
