package outbound

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/url"
	"os"
)

// Refusal says why a target is not called. Reason is meant for the user who named the target: it reveals nothing about
// what is behind the name.
type Refusal struct{ Reason string }

func (r *Refusal) Error() string { return "the target is not called: " + r.Reason }

// Refusals because of an address. They read the same for every address, so that a user cannot map the network with
// them.
var (
	notPublic = &Refusal{
		Reason: "its address is not a public one; the operator can allow it with WRIT_OUTBOUND_ALLOW, " +
			"by the name or address that the URL has",
	}
	unusualPort = &Refusal{Reason: "the port must be 80 or 443, or one the operator allows with WRIT_OUTBOUND_ALLOW"}
)

// Failure says that a target was called and did not answer. Reason is meant for the user, Cause only for the
// operator's log.
type Failure struct {
	Reason string
	Cause  error
}

// Error contains the cause, which names host and address at most, never path or query: these are often the secret of a
// webhook.
func (f *Failure) Error() string { return f.Reason + ": " + f.Cause.Error() }

func (f *Failure) Unwrap() error { return f.Cause }

// failed turns a transport's error into what a user may know.
func failed(err error) error {
	if refusal, ok := errors.AsType[*Refusal](err); ok {
		return refusal
	}
	// The transport names no URL, but its errors pass through packages that do.
	if withURL, ok := errors.AsType[*url.Error](err); ok {
		err = withURL.Err
	}
	return &Failure{Reason: reasonOf(err), Cause: err}
}

func reasonOf(err error) string {
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return "the host's name could not be resolved"
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "the target's certificate is not valid"
	}
	timeout, ok := errors.AsType[net.Error](err)
	if ok && timeout.Timeout() || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return "the target did not answer in time"
	}
	if operation, ok := errors.AsType[*net.OpError](err); ok && operation.Op == "dial" {
		return "the target could not be connected to"
	}
	return "the connection to the target broke"
}
