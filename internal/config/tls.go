package config

import (
	"encoding/pem"
	"errors"
	"os"
	"strings"

	"writ/internal/secret"
)

// loadTLS checks that certificate and key belong together. The errors of
// crypto/tls are not passed on: they can quote parts of the key's text.
func (r *reader) loadTLS(c *Config) {
	if r.isSet("WRIT_TLS_KEY") {
		r.require("WRIT_TLS_CERT", "because "+r.written("WRIT_TLS_KEY")+" is set")
	}
	c.TLSCertificate = read(r, "WRIT_TLS_CERT", r.parseCertificate)
	if r.isSet("WRIT_TLS_CERT") {
		r.require("WRIT_TLS_KEY", "because "+r.written("WRIT_TLS_CERT")+" is set")
	}
	c.TLSKey = read(r, "WRIT_TLS_KEY", r.parsePrivateKey)
	if r.isSet("WRIT_AGENTS_LISTEN") {
		r.require("WRIT_TLS_CERT", "because WRIT_AGENTS_LISTEN is set")
	}
	c.AgentsListen = read(r, "WRIT_AGENTS_LISTEN", parseHostPort)
	if c.TLSCertificate == "" || !c.TLSKey.IsSet() {
		return
	}
	if _, err := c.TLSKeyPair(); err != nil {
		r.report("WRIT_TLS_KEY", "cannot be used with the certificate in "+r.written("WRIT_TLS_CERT")+
			": one of them is damaged, or the key belongs to another certificate")
	}
	c.TLSCertFile, c.TLSKeyFile = r.values["WRIT_TLS_CERT"+fileSuffix], r.values["WRIT_TLS_KEY"+fileSuffix]
}

// RereadTLS is the configuration with the certificate and the key that are in its files now. It fails if those are not
// fit to serve with; where they came as text, nothing changes.
func (c Config) RereadTLS() (Config, error) {
	if c.TLSCertFile == "" || c.TLSKeyFile == "" {
		return c, nil
	}
	r := newReader([]string{
		"WRIT_TLS_CERT" + fileSuffix + "=" + c.TLSCertFile, "WRIT_TLS_KEY" + fileSuffix + "=" + c.TLSKeyFile,
	}, os.ReadFile)
	var now Config
	if r.loadTLS(&now); len(r.problems) > 0 {
		return c, r.problems
	}
	c.TLSCertificate, c.TLSKey = now.TLSCertificate, now.TLSKey
	return c, nil
}

func (r *reader) parseCertificate(text string) (string, error) {
	if !holdsBlock(text, isCertificate) {
		return "", errors.New("must hold a certificate as PEM text" + r.insteadOfPEM("WRIT_TLS_CERT", text))
	}
	return text, nil
}

func (r *reader) parsePrivateKey(text string) (secret.Text, error) {
	if !holdsBlock(text, isPrivateKey) {
		return secret.Text{}, errors.New("must hold a private key as PEM text, not encrypted" +
			r.insteadOfPEM("WRIT_TLS_KEY", text))
	}
	return secret.NewText(text), nil
}

// insteadOfPEM says what the operator may have meant who gave another text.
func (r *reader) insteadOfPEM(name, text string) string {
	switch {
	case holdsBlock(text, isCertificate), holdsBlock(text, isPrivateKey):
		return "; it looks as if " + r.written("WRIT_TLS_CERT") + " and " + r.written("WRIT_TLS_KEY") +
			" were exchanged"
	case r.isFromFile(name):
		return ""
	}
	return "; a path belongs in " + name + fileSuffix
}

func isCertificate(kind string) bool { return kind == "CERTIFICATE" }

func isPrivateKey(kind string) bool {
	return kind == "PRIVATE KEY" || strings.HasSuffix(kind, " PRIVATE KEY") && kind != "ENCRYPTED PRIVATE KEY"
}

func holdsBlock(text string, want func(kind string) bool) bool {
	rest := []byte(text)
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return false
		}
		if want(block.Type) {
			return true
		}
	}
}
