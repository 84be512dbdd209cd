package mail_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"writ/internal/fault"
	"writ/internal/mail"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSendersRefuseForgedMail(t *testing.T) {
	t.Parallel()
	server := new(mailServer).serve(t, false, true)
	outboxDir := filepath.Join(t.TempDir(), "outbox")
	senders := map[string]mail.Sender{
		"smtp":   newSMTP(t, mail.SMTPConfig{URL: smtpURL("smtp", server.address, true), Roots: server.roots}),
		"outbox": newOutbox(t, outboxDir, slog.New(slog.DiscardHandler)),
		"queue": mail.NewQueue(senderFunc(func(context.Context, mail.Message) error { return nil }),
			slog.New(slog.DiscardHandler)),
	}
	for _, c := range forgedMails() {
		for name, sender := range senders {
			f, ok := sender.Send(t.Context(), c.message).(*fault.Error)
			if !ok || f.Kind != fault.Invalid || len(f.Details) != 1 || f.Details[0].Field != c.field {
				t.Errorf("%s: %s answered %#v, want Invalid about %s", c.name, name, f, c.field)
			}
		}
	}
	if got := server.received(); len(got) != 0 {
		t.Errorf("forged mail was sent: %v", got)
	}
	if got, err := mail.ReadOutbox(outboxDir); err != nil || len(got) != 0 {
		t.Errorf("forged mail was written: %v, %v", got, err)
	}
}

// forgedMail breaks a rule about one field.
type forgedMail struct {
	name, field string
	message     mail.Message
}

func forgedMails() []forgedMail {
	const to, subject = "ada@example.org", "Hello"
	return []forgedMail{
		{"no recipient", "to", mail.Message{Subject: subject}},
		{"no address", "to", mail.Message{To: "ada", Subject: subject}},
		{"address with name", "to", mail.Message{To: "Ada <ada@example.org>", Subject: subject}},
		{"address in brackets", "to", mail.Message{To: "<ada@example.org>", Subject: subject}},
		{"address with comment", "to", mail.Message{To: "ada@example.org (Ada)", Subject: subject}},
		{"space around the address", "to", mail.Message{To: " ada@example.org", Subject: subject}},
		{"two addresses", "to", mail.Message{To: "ada@example.org, eve@example.org", Subject: subject}},
		{"group of addresses", "to", mail.Message{To: "all: ada@example.org;", Subject: subject}},
		{
			"header after the address", "to",
			mail.Message{To: "ada@example.org\r\nBcc: eve@example.org", Subject: subject},
		},
		{"line feed after the address", "to", mail.Message{To: "ada@example.org\n", Subject: subject}},
		{"line feed inside quotes", "to", mail.Message{To: "\"ada\n\"@example.org", Subject: subject}},
		{
			"command after the address", "to",
			mail.Message{To: "ada@example.org>\r\nRCPT TO:<eve@example.org", Subject: subject},
		},
		{"no subject", "subject", mail.Message{To: to}},
		{"subject of spaces", "subject", mail.Message{To: to, Subject: "  "}},
		{"header after the subject", "subject", mail.Message{To: to, Subject: "Hello\r\nBcc: eve@example.org"}},
		{"line feed in the subject", "subject", mail.Message{To: to, Subject: "Hello\nBcc: eve@example.org"}},
		{"carriage return in the subject", "subject", mail.Message{To: to, Subject: "Hello\rBcc: eve@example.org"}},
		{"body after the subject", "subject", mail.Message{To: to, Subject: "Hello\r\n\r\nForged"}},
		{"zero byte in the subject", "subject", mail.Message{To: to, Subject: "Hello\x00"}},
		{
			"encoded word in the subject", "subject",
			mail.Message{To: to, Subject: "=?utf-8?q?=0D=0ABcc:_eve@example.org?="},
		},
		{"subject is not UTF-8", "subject", mail.Message{To: to, Subject: "Hello\xff"}},
		{"carriage return in the text", "text", mail.Message{To: to, Subject: subject, Text: "a\r\n.\r\nQUIT"}},
		{"text is not UTF-8", "text", mail.Message{To: to, Subject: subject, Text: "\xff"}},
	}
}

func TestNoneSaysWhatToSet(t *testing.T) {
	t.Parallel()
	err := mail.None{}.Send(t.Context(), welcome)
	if !fault.Is(err, fault.Unavailable) || err.Error() != "mail is not configured: set WRIT_SMTP_URL" ||
		fault.CodeOf(err) != "mail_not_configured" {
		t.Errorf("Send = %v", err)
	}
}

func TestMessageHidesItsText(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "mail", welcome)
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "mail", welcome)
	shown := fmt.Sprintf("%v %+v %s", welcome, welcome, welcome) + log.String()
	if strings.Contains(shown, "493817") || strings.Contains(shown, "code") {
		t.Errorf("the mail's content shows: %s", shown)
	}
	if !strings.Contains(shown, welcome.To) {
		t.Errorf("the recipient does not show: %s", shown)
	}
}
