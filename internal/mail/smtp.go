package mail

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	netmail "net/mail"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"

	"writ/internal/fault"
	"writ/internal/secret"
)

// sendTimeout limits one Send over SMTP as a whole, from dialing to the server's acceptance.
const sendTimeout = 10 * time.Second

type SMTPConfig struct {
	// URL is the mail server: smtp://user:password@host:587 for mandatory STARTTLS, smtps://user:password@host:465 for
	// TLS from the start, or smtp+insecure://localhost:1025 for none. User and password may be left out.
	URL     secret.Text
	From    string           // our address, with or without a name
	Now     func() time.Time // nil: the system's clock
	Roots   *x509.CertPool   // to verify TLS; nil: the system's roots
	Timeout time.Duration    // of one Send; 0: ten seconds
}

// SMTP sends mail through a mail server, on a new connection each time.
type SMTP struct {
	server  server
	from    *netmail.Address
	now     func() time.Time
	roots   *x509.CertPool
	timeout time.Duration
}

// NewSMTP checks the configuration; it does not connect.
func NewSMTP(c SMTPConfig) (*SMTP, error) {
	server, err := parseServer(c.URL)
	if err != nil {
		return nil, fmt.Errorf("SMTP URL: %w", err)
	}
	from, err := parseFrom(c.From)
	if err != nil {
		return nil, err
	}
	if c.Timeout == 0 {
		c.Timeout = sendTimeout
	}
	return &SMTP{
		server:  server,
		from:    from,
		now:     c.Now,
		roots:   c.Roots,
		timeout: c.Timeout,
	}, nil
}

// String names the server without its credentials, also for %+v.
func (s *SMTP) String() string { return "mail server " + s.server.address() }

// GoString hides the credentials from %#v.
func (s *SMTP) GoString() string { return s.String() }

// Send gives the mail to the server, and returns when the server has accepted it.
func (s *SMTP) Send(ctx context.Context, m Message) error {
	if err := m.validate(); err != nil {
		return err
	}
	if err := s.deliver(ctx, m); err != nil {
		cause := redact(err, append(s.server.secrets(), m.codes()...))
		if refused, ok := errors.AsType[*gomail.SendError](err); ok && refused.ErrorCode() >= 500 {
			cause = fmt.Errorf("%w: %w", ErrRefused, cause)
		}
		return fault.Wrap(cause, fault.Unavailable, notSent)
	}
	return nil
}

func (s *SMTP) deliver(ctx context.Context, m Message) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	letter, err := s.compose(m)
	if err != nil {
		return fmt.Errorf("compose mail: %w", err)
	}
	client, err := gomail.NewClient(s.server.host, s.options(ctx)...)
	if err != nil {
		return fmt.Errorf("prepare SMTP: %w", err)
	}
	err = client.DialAndSendWithContext(ctx, letter)
	if letter.IsDelivered() {
		return nil // a failed goodbye must not make us send it again
	}
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("send through %s: %w: %w", s.server.address(), ctx.Err(), err)
	}
	if err != nil {
		return fmt.Errorf("send through %s: %w", s.server.address(), err)
	}
	return nil
}

// ErrRefused is in the error of a mail that the server refuses for good, whenever it is sent.
var ErrRefused = errors.New("the mail server refuses it")

func (s *SMTP) compose(m Message) (*gomail.Msg, error) {
	letter := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	letter.FromMailAddress(s.from)
	if err := letter.To(m.To); err != nil {
		return nil, err
	}
	letter.Subject(m.Subject)
	if s.now != nil {
		letter.SetDateWithValue(s.now())
	}
	_, domain, _ := strings.Cut(s.from.Address, "@")
	letter.SetMessageIDWithValue(secret.Token("").Reveal() + "@" + domain)
	letter.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834: no out-of-office replies
	letter.SetBodyString(gomail.TypeTextPlain, m.Text)
	return letter, nil
}

// options configures one connection, which ends with ctx. The library's own timeout does not help: it restarts at each
// step, and leaves some failed connections open. It is so long that ctx ends first.
func (s *SMTP) options(ctx context.Context) []gomail.Option {
	options := []gomail.Option{
		gomail.WithPort(s.server.port),
		gomail.WithTimeout(s.timeout + time.Hour),
		gomail.WithTLSConfig(s.tlsConfig()),
		gomail.WithDialContextFunc(func(context.Context, string, string) (net.Conn, error) {
			return s.dial(ctx)
		}),
	}
	switch s.server.security {
	case implicitTLS:
		options = append(options, gomail.WithSSL())
	case plaintext:
		options = append(options, gomail.WithTLSPolicy(gomail.NoTLS))
	default:
		options = append(options, gomail.WithTLSPolicy(gomail.TLSMandatory))
	}
	if s.server.password.IsSet() {
		mechanisms := []gomail.SMTPAuthType{gomail.SMTPAuthPlain, gomail.SMTPAuthLogin}
		if s.server.security == plaintext {
			// The library knows fewer loopback addresses than dial accepts.
			mechanisms = []gomail.SMTPAuthType{gomail.SMTPAuthPlainNoEnc, gomail.SMTPAuthLoginNoEnc}
		}
		options = append(options,
			gomail.WithOpportunisticSMTPAuth(mechanisms...),
			gomail.WithUsername(s.server.user),
			gomail.WithPassword(s.server.password.Reveal()))
	}
	return options
}

func (s *SMTP) dial(ctx context.Context) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", s.server.address())
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { conn.Close() })
	switch s.server.security {
	case implicitTLS:
		secured := tls.Client(conn, s.tlsConfig())
		if err := secured.HandshakeContext(ctx); err != nil {
			return nil, err
		}
		return secured, nil
	case plaintext:
		if remote, ok := conn.RemoteAddr().(*net.TCPAddr); !ok || !remote.IP.IsLoopback() {
			return nil, errors.New("the server is not on loopback, and smtp+insecure is for loopback only")
		}
	}
	return conn, nil
}

func (s *SMTP) tlsConfig() *tls.Config {
	return &tls.Config{ServerName: s.server.host, RootCAs: s.roots, MinVersion: tls.VersionTLS12}
}
