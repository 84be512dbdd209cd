package mail_test

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"net"
	netmail "net/mail"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/internal/fault"
	"writ/internal/mail"
	"writ/internal/secret"
)

var sendTime = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

func fixedNow() time.Time { return sendTime }

var welcome = mail.Message{
	To: "ada@example.org", Subject: "Grüße: your code", Text: "Hello Ada,\n.\nyour code is 493817.\n",
}

func plainResponse(user, password string) string {
	return base64.StdEncoding.EncodeToString([]byte("\x00" + user + "\x00" + password))
}

func smtpURL(scheme, address string, withUser bool) secret.Text {
	u := url.URL{Scheme: scheme, Host: address}
	if withUser {
		u.User = url.UserPassword(testUser, testPassword)
	}
	return secret.NewText(u.String())
}

func newSMTP(t *testing.T, c mail.SMTPConfig) *mail.SMTP {
	t.Helper()
	if c.From == "" {
		c.From = "Writ <writ@example.org>"
	}
	c.Now = fixedNow
	sender, err := mail.NewSMTP(c)
	if err != nil {
		t.Fatalf("NewSMTP: %v", err)
	}
	return sender
}

func TestSMTPDelivers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, scheme        string
		listenTLS, startTLS bool
	}{
		{name: "STARTTLS", scheme: "smtp", startTLS: true},
		{name: "TLS from the start", scheme: "smtps", listenTLS: true},
		{name: "plain on loopback", scheme: "smtp+insecure"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := new(mailServer).serve(t, c.listenTLS, c.startTLS)
			sender := newSMTP(t, mail.SMTPConfig{URL: smtpURL(c.scheme, server.address, true), Roots: server.roots})
			if err := sender.Send(t.Context(), welcome); err != nil {
				t.Fatalf("Send: %v", err)
			}
			got := server.received()
			if len(got) != 1 {
				t.Fatalf("the server got %d mails, want 1", len(got))
			}
			if got[0].From != "writ@example.org" || got[0].To != welcome.To {
				t.Errorf("envelope = %q to %q", got[0].From, got[0].To)
			}
			if diff := cmp.Diff(welcome, parseContent(t, got[0].Content)); diff != "" {
				t.Errorf("content (-want +got):\n%s", diff)
			}
		})
	}
}

func parseContent(t *testing.T, content string) mail.Message {
	t.Helper()
	letter, err := netmail.ReadMessage(strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := letter.Header.Get("From"), `"Writ" <writ@example.org>`; got != want {
		t.Errorf("From = %q, want %q", got, want)
	}
	if date, err := letter.Header.Date(); err != nil || !date.Equal(sendTime) {
		t.Errorf("Date = %v, %v, want %v", date, err, sendTime)
	}
	if id := letter.Header.Get("Message-ID"); !strings.HasSuffix(id, "@example.org>") {
		t.Errorf("Message-ID = %q, want one of the sender's domain", id)
	}
	to, err := letter.Header.AddressList("To")
	if err != nil || len(to) != 1 {
		t.Fatalf("To = %v, %v, want one address", to, err)
	}
	subject, err := new(mime.WordDecoder).DecodeHeader(letter.Header.Get("Subject"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(quotedprintable.NewReader(letter.Body))
	if err != nil {
		t.Fatal(err)
	}
	return mail.Message{To: to[0].Address, Subject: subject, Text: strings.ReplaceAll(string(text), "\r\n", "\n")}
}

func TestSMTPFailures(t *testing.T) {
	t.Parallel()
	open := new(mailServer).serve(t, false, false)
	starttls := new(mailServer).serve(t, false, true)
	quoting := (&mailServer{refuseAuth: quoteCredentials}).serve(t, false, true)
	notOffered := map[string]string{"EHLO": "250 localhost"}
	refused := map[string]string{
		"EHLO": "250-localhost\r\n250 STARTTLS", "STARTTLS": "454 not now", "QUIT": "221 bye", "RSET": "250 ok",
	}
	for _, c := range []struct {
		name, want string
		config     mail.SMTPConfig
	}{
		{
			"server without STARTTLS", "STARTTLS",
			mail.SMTPConfig{URL: smtpURL("smtp", serveScript(t, notOffered), true)},
		},
		{"server refuses STARTTLS", "454", mail.SMTPConfig{URL: smtpURL("smtp", serveScript(t, refused), true)}},
		{
			"plain server for smtps", "tls",
			mail.SMTPConfig{URL: smtpURL("smtps", open.address, true), Roots: open.roots},
		},
		{
			"unknown certificate", "certificate",
			mail.SMTPConfig{URL: smtpURL("smtp", starttls.address, true), Roots: x509.NewCertPool()},
		},
		{
			"wrong password", "535",
			mail.SMTPConfig{
				URL:   secret.NewText("smtp://" + url.QueryEscape(testUser) + ":wrong@" + starttls.address),
				Roots: starttls.roots,
			},
		},
		{
			"sign-in left out", "authenticate first",
			mail.SMTPConfig{URL: smtpURL("smtp", starttls.address, false), Roots: starttls.roots},
		},
		{
			"server quotes the password", "[redacted] or [redacted]",
			mail.SMTPConfig{URL: smtpURL("smtp", quoting.address, true), Roots: quoting.roots},
		},
		{"nobody listens", "refused", mail.SMTPConfig{URL: smtpURL("smtp", closedAddress(t), true)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := newSMTP(t, c.config).Send(t.Context(), welcome)
			checkNotSent(t, err)
			if err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("error = %v, want the cause %q", err, c.want)
			}
		})
	}
	t.Cleanup(func() {
		for _, s := range []*mailServer{open, starttls, quoting} {
			if got := s.received(); len(got) != 0 {
				t.Errorf("a failed mail was delivered: %v", got)
			}
		}
	})
}

// checkNotSent wants the one fault of a failed Send, without any secret in its
// whole chain.
func checkNotSent(t *testing.T, err error) {
	t.Helper()
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || f.Kind != fault.Unavailable || f.Message != "mail could not be sent" || f.Cause == nil {
		t.Fatalf("error = %#v, want Unavailable with a cause", err)
	}
	for e := err; e != nil; e = errors.Unwrap(e) {
		shown := fmt.Sprintf("%v %+v", e, e)
		for _, hidden := range []string{
			testPassword, plainResponse(testUser, testPassword), "493817", url.QueryEscape(testPassword),
		} {
			if strings.Contains(shown, hidden) {
				t.Errorf("the error shows %q: %s", hidden, shown)
			}
		}
	}
}

func TestSMTPErrorHidesQuotedText(t *testing.T) {
	t.Parallel()
	server := new(mailServer).serve(t, false, true)
	sender := newSMTP(t, mail.SMTPConfig{URL: smtpURL("smtp", server.address, true), Roots: server.roots})
	m := welcome
	m.Text += "Please quote me.\n"
	err := sender.Send(t.Context(), m)
	checkNotSent(t, err)
	if !strings.Contains(err.Error(), "your code is [redacted]") {
		t.Errorf("error = %v, want the server's words without the code", err)
	}
}

// TestSMTPTellsWhatIsRefusedForGood: of such a mail no other try would help; of a server that is away one may.
func TestSMTPTellsWhatIsRefusedForGood(t *testing.T) {
	t.Parallel()
	server := new(mailServer).serve(t, false, true)
	m := welcome
	m.Text += "Please quote me.\n" // which it answers with 554
	refused := newSMTP(t, mail.SMTPConfig{URL: smtpURL("smtp", server.address, true), Roots: server.roots})
	if err := refused.Send(t.Context(), m); !errors.Is(err, mail.ErrRefused) {
		t.Errorf("error = %v, want that it is refused for good", err)
	}
	away := newSMTP(t, mail.SMTPConfig{URL: smtpURL("smtp", closedAddress(t), true)})
	if err := away.Send(t.Context(), m); err == nil || errors.Is(err, mail.ErrRefused) {
		t.Errorf("error = %v, want one that may pass", err)
	}
}

func TestSMTPKeepsItsCause(t *testing.T) {
	t.Parallel()
	sender := newSMTP(t, mail.SMTPConfig{URL: smtpURL("smtp", closedAddress(t), true)})
	err := sender.Send(t.Context(), welcome)
	if _, ok := errors.AsType[*net.OpError](err); !ok {
		t.Errorf("error = %v, want a network error in its chain", err)
	}
}

func TestSMTPTimesOut(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // connects, and never says a word
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for _, scheme := range []string{"smtp", "smtps", "smtp+insecure"} {
		sender := newSMTP(t, mail.SMTPConfig{
			URL: smtpURL(scheme, silent.Addr().String(), true), Timeout: 20 * time.Millisecond,
		})
		err := sender.Send(t.Context(), welcome)
		checkNotSent(t, err)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: error = %v, want a deadline", scheme, err)
		}
	}
}

func TestSMTPEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	hold := make(chan struct{})
	server := (&mailServer{onData: func() { cancel(); <-hold }}).serve(t, false, true)
	t.Cleanup(func() { close(hold) })
	err := newSMTP(t, mail.SMTPConfig{URL: smtpURL("smtp", server.address, true), Roots: server.roots}).Send(ctx,
		welcome)
	checkNotSent(t, err)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want canceled", err)
	}
}

func TestSMTPAcceptedMailIsSentEvenIfTheServerHangsUp(t *testing.T) {
	t.Parallel()
	address := serveScript(t, map[string]string{
		"EHLO": "250 localhost", "NOOP": "250 ok", "MAIL": "250 ok", "RCPT": "250 ok", "DATA": "354 go on",
	})
	sender := newSMTP(t, mail.SMTPConfig{URL: smtpURL("smtp+insecure", address, false)})
	if err := sender.Send(t.Context(), welcome); err != nil {
		t.Errorf("Send = %v, want nil: the mail would be sent twice", err)
	}
}

func TestSMTPDatesMailWithoutAClock(t *testing.T) {
	t.Parallel()
	server := new(mailServer).serve(t, false, true)
	sender, err := mail.NewSMTP(mail.SMTPConfig{
		URL: smtpURL("smtp", server.address, true), From: "writ@example.org", Roots: server.roots,
	})
	if err != nil {
		t.Fatalf("NewSMTP: %v", err)
	}
	if err := sender.Send(t.Context(), welcome); err != nil {
		t.Fatalf("Send: %v", err)
	}
	letter, err := netmail.ReadMessage(strings.NewReader(server.received()[0].Content))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := letter.Header.Date(); err != nil {
		t.Errorf("Date = %q: %v", letter.Header.Get("Date"), err)
	}
}

func TestNewSMTPRefuses(t *testing.T) {
	t.Parallel()
	const password = "hunter2"
	for _, c := range []struct{ name, url, from string }{
		{"empty", "", ""},
		{"no URL", "smtp://user:" + password + "%zz@host", ""},
		{"space in password", "smtp://user:" + password + " @host:1", ""},
		{"password with a slash", "smtp://user:" + password + "/x@host", ""},
		{"other scheme", "http://user:" + password + "@host", ""},
		{"no host", "smtp://user:" + password + "@:587", ""},
		{"port zero", "smtp://user:" + password + "@host:0", ""},
		{"port too large", "smtp://user:" + password + "@host:65536", ""},
		{"path", "smtp://user:" + password + "@host/path", ""},
		{"option", "smtp://user:" + password + "@host?tls=off", ""},
		{"user alone", "smtp://user@host", ""},
		{"password alone", "smtp://:" + password + "@host", ""},
		{"insecure without port", "smtp+insecure://localhost", ""},
		{"insecure name", "smtp+insecure://user:" + password + "@mail.example.org:25", ""},
		{"insecure address", "smtp+insecure://user:" + password + "@10.0.0.1:25", ""},
		{"insecure any address", "smtp+insecure://0.0.0.0:25", ""},
		{"insecure look-alike", "smtp+insecure://localhost.example.org:25", ""},
		{"sender is no address", "smtp://host", "writ"},
		{"sender with line break", "smtp://host", "writ@example.org\r\nBcc: eve@example.org"},
	} {
		from := c.from
		if from == "" {
			from = "writ@example.org"
		}
		_, err := mail.NewSMTP(mail.SMTPConfig{URL: secret.NewText(c.url), From: from, Now: fixedNow})
		if err == nil {
			t.Errorf("%s: accepted", c.name)
		} else if strings.Contains(err.Error(), password) {
			t.Errorf("%s: the error shows the password: %v", c.name, err)
		}
	}
}

func TestNewSMTPAccepts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ url, want string }{
		{"smtp://user:hunter2@mail.example.org", "mail server mail.example.org:587"},
		{"smtps://mail.example.org/", "mail server mail.example.org:465"},
		{"smtp://[2001:db8::1]:2525", "mail server [2001:db8::1]:2525"},
		{"smtp+insecure://localhost:1025", "mail server localhost:1025"},
		{"smtp+insecure://user:hunter2@127.0.0.2:25", "mail server 127.0.0.2:25"},
		{"smtp+insecure://[::1]:25", "mail server [::1]:25"},
	} {
		sender := newSMTP(t, mail.SMTPConfig{URL: secret.NewText(c.url)})
		for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
			if got := fmt.Sprintf(format, sender); got != c.want {
				t.Errorf("%s of %s = %q, want %q", format, c.url, got, c.want)
			}
		}
	}
}

// closedAddress is an address where nobody listens any more.
func closedAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	return listener.Addr().String()
}
