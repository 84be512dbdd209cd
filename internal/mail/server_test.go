package mail_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

const (
	testUser     = "writ@example.org"
	testPassword = "p@ss/w0rd 42"
)

// delivery is one mail as the test server received it.
type delivery struct{ From, To, Content string }

// mailServer is a real SMTP server on loopback.
type mailServer struct {
	address string
	roots   *x509.CertPool // trusts its certificate

	refuseAuth func(user, password string) error // nil accepts the test's user only
	onData     func()                            // called before a mail is accepted

	mu         sync.Mutex
	deliveries []delivery
}

// serve starts s. With listenTLS it speaks TLS from the start; with startTLS it
// offers STARTTLS.
func (s *mailServer) serve(t *testing.T, listenTLS, startTLS bool) *mailServer {
	t.Helper()
	certificate, roots := selfSigned(t)
	s.roots = roots
	config := &tls.Config{Certificates: []tls.Certificate{certificate}}

	server := smtp.NewServer(s)
	server.Domain = "localhost"
	server.AllowInsecureAuth = !listenTLS && !startTLS
	server.ErrorLog = log.New(io.Discard, "", 0)
	if startTLS {
		server.TLSConfig = config
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.address = listener.Addr().String()
	if listenTLS {
		listener = tls.NewListener(listener, config)
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Close()
		listener.Close() // Close does not know a listener that Serve has not yet reached
		<-done
	})
	return s
}

func (s *mailServer) received() []delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.deliveries
}

func (s *mailServer) NewSession(*smtp.Conn) (smtp.Session, error) { return &session{server: s}, nil }

type session struct {
	server        *mailServer
	authenticated bool
	mail          delivery
}

func (s *session) AuthMechanisms() []string { return []string{sasl.Plain} }

func (s *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if s.server.refuseAuth != nil {
			return s.server.refuseAuth(user, password)
		}
		if user != testUser || password != testPassword {
			return smtp.ErrAuthFailed
		}
		s.authenticated = true
		return nil
	}), nil
}

func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	if !s.authenticated {
		return smtp.ErrAuthRequired
	}
	s.mail = delivery{From: from}
	return nil
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.mail.To += to // a second recipient would show
	return nil
}

func (s *session) Data(r io.Reader) error {
	content, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if s.server.onData != nil {
		s.server.onData()
	}
	s.mail.Content = string(content)
	if strings.Contains(s.mail.Content, "quote me") {
		return &smtp.SMTPError{
			Code:         554,
			EnhancedCode: smtp.EnhancedCode{5, 7, 1},
			Message:      "refused: " + strings.Join(strings.Fields(s.mail.Content), " "),
		}
	}
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	s.server.deliveries = append(s.server.deliveries, s.mail)
	return nil
}

func (s *session) Reset()        {}
func (s *session) Logout() error { return nil }

// serveScript answers each SMTP verb with a fixed reply, and hangs up at a verb
// it does not know. It returns its address.
func serveScript(t *testing.T, replies map[string]string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() {
		listener.Close()
		<-done
	})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			playScript(conn, replies)
			conn.Close()
		}
	}()
	return listener.Addr().String()
}

func playScript(conn net.Conn, replies map[string]string) {
	fmt.Fprint(conn, "220 localhost ready\r\n")
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		verb, _, _ := strings.Cut(lines.Text(), " ")
		reply, known := replies[verb]
		if !known {
			return
		}
		fmt.Fprint(conn, reply+"\r\n")
		if verb == "DATA" {
			for lines.Scan() && lines.Text() != "." {
			}
			fmt.Fprint(conn, "250 accepted\r\n")
		}
	}
}

func selfSigned(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "test mail server"},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(time.Hour),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, roots
}

// quoteCredentials is a server that answers a refused sign-in with all it got.
func quoteCredentials(user, password string) error {
	return &smtp.SMTPError{
		Code: 535, EnhancedCode: smtp.EnhancedCode{5, 7, 8},
		Message: fmt.Sprintf("no %s with %s or %s", user, password, plainResponse(user, password)),
	}
}

var errNeverSent = errors.New("the server is away")
