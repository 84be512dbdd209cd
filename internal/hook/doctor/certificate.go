package doctor

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"time"
)

// IgnoreVariables takes out of the environment what hooks take out of theirs, so that certificates are trusted here as
// they are by hooks. Call it before anything is sent.
func IgnoreVariables() {
	for _, name := range CertificateVariables {
		_ = os.Unsetenv(name) // a name that cannot be unset does not exist
	}
}

// CertificateVariables say which certificates a program trusts. A project can set them, so that hooks ignore them.
var CertificateVariables = []string{"SSL_CERT_FILE", "SSL_CERT_DIR", "GODEBUG"}

// Certificate is the name of the finding about a certificate that hooks do not trust.
const Certificate = "certificate"

// trustFix is what to do about it.
const trustFix = "add the authority that signed it to those of the system (update-ca-certificates, update-ca-trust, or the " +
	"keychain): hooks ignore SSL_CERT_FILE"

// certificateTime bounds the greeting of a server.
const certificateTime = 5 * time.Second

// certificate adds a finding where hooks would refuse the certificate of a server. One that does not answer is none.
func (e *examination) certificate(ctx context.Context, address string) {
	at, err := url.Parse(address)
	if err != nil || at.Scheme != "https" {
		return
	}
	host := at.Host
	if at.Port() == "" {
		host = net.JoinHostPort(at.Hostname(), "443")
	}
	ctx, cancel := context.WithTimeout(ctx, certificateTime)
	defer cancel()
	connection, err := (&tls.Dialer{}).DialContext(ctx, "tcp", host)
	if err == nil {
		_ = connection.Close()
		return
	}
	if refused := refusedCertificate(err); refused != nil {
		e.add(Certificate, Failed, untrusted(address, refused), trustFix)
	}
}

// refusedCertificate is why a certificate was refused; nil: the error is another.
func refusedCertificate(err error) error {
	if refused, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return refused.Err
	}
	return nil
}

func untrusted(address string, refused error) string {
	return fmt.Sprintf("hooks do not trust the certificate of %s, so that no tool runs: %v", address, refused)
}
