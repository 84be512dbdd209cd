package mail

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"

	"writ/internal/secret"
)

// security is how the connection to a mail server is protected. The zero value is protected.
type security int

const (
	startTLS    security = iota // smtp: TLS before anything else
	implicitTLS                 // smtps: TLS from the first byte
	plaintext                   // smtp+insecure: loopback only
)

// server is the mail server that an SMTP URL names.
type server struct {
	security security
	host     string
	port     int
	user     string
	password secret.Text
}

// parseServer reads an SMTP URL. No error shows any part of it: a mistyped URL has its password in surprising places.
func parseServer(text secret.Text) (server, error) {
	u, err := url.Parse(text.Reveal())
	if err != nil {
		return server{}, errors.New("is not a URL")
	}
	if (u.Path != "" && u.Path != "/") || u.RawQuery != "" || u.Fragment != "" || u.Opaque != "" {
		return server{}, errors.New("must have nothing after host and port")
	}
	s := server{host: u.Hostname()}
	if s.host == "" {
		return server{}, errors.New("must name a host")
	}
	defaultPort := ""
	switch u.Scheme {
	case "smtp":
		s.security, defaultPort = startTLS, "587"
	case "smtps":
		s.security, defaultPort = implicitTLS, "465"
	case "smtp+insecure":
		s.security = plaintext
		if !isLoopback(s.host) {
			return server{}, errors.New("smtp+insecure is for a server on loopback only: use smtp or smtps")
		}
	default:
		return server{}, errors.New("must begin with smtp://, smtps:// or smtp+insecure://")
	}
	if s.port, err = parsePort(u.Port(), defaultPort); err != nil {
		return server{}, err
	}
	s.user = u.User.Username()
	password, _ := u.User.Password()
	s.password = secret.NewText(password)
	if (s.user != "") != s.password.IsSet() {
		return server{}, errors.New("must have both a user and a password, or neither")
	}
	return s, nil
}

func parsePort(text, fallback string) (int, error) {
	if text == "" {
		text = fallback
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil || port == 0 {
		return 0, errors.New("must have a port from 1 to 65535")
	}
	return int(port), nil
}

// isLoopback trusts the name "localhost"; dial checks where it leads.
func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.Unmap().IsLoopback()
}

func (s server) address() string { return net.JoinHostPort(s.host, strconv.Itoa(s.port)) }

// secrets are the forms in which the password is sent (PLAIN sends user and password together, LOGIN the password
// alone), longest first.
func (s server) secrets() []string {
	if !s.password.IsSet() {
		return nil
	}
	password := s.password.Reveal()
	encode := base64.StdEncoding.EncodeToString
	return []string{
		encode(fmt.Appendf(nil, "\x00%s\x00%s", s.user, password)),
		encode([]byte(password)),
		password,
	}
}
