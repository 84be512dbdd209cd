package writ

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"writ/client"
)

// noAnswer says in one sentence that no server answered a first call, and what to do:
// the libraries below name the address three times instead.
func noAnswer(address, doing string, err error) error {
	if untrusted, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return fmt.Errorf("the certificate of %s is not trusted here (%w): %s", address, untrusted.Err,
			certificateHint(untrusted.Err))
	}
	noWords := err != nil && strings.Contains(err.Error(), "the server answered 400") // ours says what is wrong
	if noWords && strings.HasPrefix(address, "http://") {
		return fmt.Errorf("%s: %w: does it speak TLS? then its address begins with https://", doing, err)
	}
	if other := somethingElse(address, err); other != nil {
		return other
	}
	var cause error
	if name, ok := errors.AsType[*net.DNSError](err); ok {
		cause = errors.New(name.Err)
	} else if op, ok := errors.AsType[*net.OpError](err); ok {
		cause = op.Err
	} else if errors.Is(err, context.DeadlineExceeded) {
		cause = context.DeadlineExceeded
	} else if errors.Is(err, http.ErrSchemeMismatch) {
		return fmt.Errorf("the server at %s speaks no TLS: give its address with http://", address)
	} else {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return fmt.Errorf("no Writ server answers at %s (%w): is it running? %s", address, cause, namesAnother)
}

// somethingElse says that what answered a first call is no Writ server; nil: it may be one. Ours says in words what it
// refuses; so does nobody, where a gateway before it answers that it is away.
func somethingElse(address string, err error) error {
	_, noJSON := errors.AsType[*json.SyntaxError](err)
	answer, refused := errors.AsType[*client.Error](err)
	isAway := refused && answer.StatusCode >= 500 && answer.StatusCode != http.StatusNotImplemented
	if !noJSON && (!refused || isAway || !strings.HasPrefix(answer.Message, "the server answered ")) {
		return nil
	}
	hint := namesAnother
	if at, err := url.Parse(address); err == nil && strings.Trim(at.Path, "/") != "" {
		hint = "give its address without a path"
	}
	return fmt.Errorf("no Writ server answers at %s, but something else: %s", address, hint)
}

// namesAnother is how most commands are told of another server.
const namesAnother = "--url or WRIT_URL names another"

// ofGuardFile says what names another server where the guard file names it: no flag and no variable does.
func ofGuardFile(err error) error {
	if err == nil {
		return nil
	}
	said := answered(err)
	words := strings.Replace(said.Error(), namesAnother, "writ init gemini --url ADDRESS names another", 1)
	return rewordedError{said, words}
}

// certificateHint is what to do about a certificate that is refused.
func certificateHint(err error) string {
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "give the address that it is for, or have the server get one for this address"
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		return "have the server renew it, and look at the clock of this machine"
	}
	return "SSL_CERT_FILE names a file with the authority that signed it"
}

// answered says with noAnswer that no server answered the call that ended a command. What the command was about stays
// in the text.
func answered(err error) error {
	unanswered, ok := errors.AsType[*client.NoAnswer](err)
	if !ok || errors.Is(err, context.Canceled) {
		return err
	}
	words := noAnswer(unanswered.BaseURL, unanswered.Doing, unanswered.Unwrap())
	return rewordedError{err, strings.Replace(err.Error(), unanswered.Error(), words.Error(), 1)}
}

// rewordedError is an error in other words.
type rewordedError struct {
	error
	words string
}

func (e rewordedError) Error() string { return e.words }
func (e rewordedError) Unwrap() error { return e.error }
