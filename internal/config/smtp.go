package config

import (
	"errors"
	"net/mail"
	"net/url"
	"strings"
	"unicode"

	"writ/internal/secret"
)

// parseSMTPURL checks a mail server's URL. Package mail parses it again, because it takes the URL.
func parseSMTPURL(text string) (secret.Text, error) {
	wrong := errors.New("must be smtp://, smtps:// or smtp+insecure:// with a host and at most user:password and a port (special characters of the password percent-encoded)")
	u, err := url.Parse(text)
	if err != nil || strings.TrimSuffix(u.Path, "/") != "" || strings.ContainsAny(text, "?#") {
		return secret.Text{}, wrong
	}
	usual, ok := map[string]int{"smtp": 587, "smtps": 465, "smtp+insecure": 0}[u.Scheme]
	_, port, err := endpoint(u, usual)
	if !ok || err != nil {
		return secret.Text{}, wrong
	}
	if u.Scheme == "smtp+insecure" && !isLoopback(u.Hostname()) {
		return secret.Text{}, errors.New("must not be smtp+insecure:// for another machine: mail holds invitations and codes; use smtp:// or smtps://")
	}
	if port == 0 {
		return secret.Text{}, errors.New("must have a port with smtp+insecure://")
	}
	if password, _ := u.User.Password(); u.User != nil && (u.User.Username() == "" || password == "") {
		return secret.Text{}, errors.New("must have both a user and a password, or neither")
	}
	return secret.NewText(text), nil
}

// parseSender refuses control characters, plain or encoded, because the address becomes a header.
func parseSender(text string) (string, error) {
	address, err := mail.ParseAddress(text)
	if err != nil || strings.ContainsFunc(text+address.Name, unicode.IsControl) {
		return "", errors.New("must be one mail address, such as Writ <writ@example.com>")
	}
	return text, nil
}
