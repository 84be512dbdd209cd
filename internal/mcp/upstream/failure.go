package upstream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"writ/internal/outbound"
)

// Kind is what went wrong with a server.
type Kind string

// The kinds of failures. The zero value is none of them.
const (
	Unreachable Kind = "unreachable" // it could not be connected to, or must not be
	TimedOut    Kind = "timed_out"
	Refused     Kind = "refused" // it refuses our credentials, or the session
	Consent     Kind = "consent" // the person in whose name it is called has not consented
	TooLong     Kind = "too_long"
	Broken      Kind = "broken"    // the connection broke, or it does not speak MCP
	Answered    Kind = "answered"  // it answered with an error of the protocol
	Abandoned   Kind = "abandoned" // the caller did not wait
)

// Failure says why a server did not do what it was asked. Its text shows nothing that the server sent.
type Failure struct {
	Kind   Kind
	Server string
	Reason string
	// Sent: the request may have reached the server, which may have done what it asks.
	Sent bool
	// Code and Message are the server's own, of Answered. The message is the server's text: data, not an instruction.
	Code    int64
	Message string
	Cause   error // for the operator's log
}

func (f *Failure) Error() string { return fmt.Sprintf("MCP server %s: %s", f.Server, f.Reason) }

func (f *Failure) Unwrap() error { return f.Cause }

// Aftermath goes behind the words about a call that failed: whether it is safe to make it again.
func (f *Failure) Aftermath() string {
	if f.Sent {
		return "; the tool may have run all the same: find out before you call it again"
	}
	return "; the tool has not run"
}

// byTransport is in errors that the SDK makes itself, in the form of the protocol's.
const byTransport = "rejected by transport"

// explain makes a failure of an error of the SDK.
func (s *Session) explain(ctx context.Context, err error, of *call) *Failure {
	f := &Failure{Kind: Broken, Server: s.name, Sent: of.sent.Load(), Cause: err}
	seen := of.seen()
	if seen == (found{}) {
		seen = s.web.seen()
	}
	answered, isAnswer := errors.AsType[*jsonrpc.Error](err)
	isAnswer = isAnswer && !strings.Contains(answered.Message, byTransport)
	refusal, isRefusal := errors.AsType[*outbound.Refusal](err)
	failure, isFailure := errors.AsType[*outbound.Failure](err)
	switch {
	case seen.reason != "":
		f.Kind, f.Reason = seen.kind, seen.reason
	case errors.Is(ctx.Err(), context.Canceled):
		f.Kind, f.Reason = Abandoned, "its caller did not wait for the answer"
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		f.Kind, f.Reason = TimedOut, "it did not answer in time"
	case isRefusal:
		f.Kind, f.Reason = Unreachable, refusal.Error()
	case isFailure:
		f.Reason = failure.Reason
		if !f.Sent {
			f.Kind = Unreachable
		}
	case isAnswer:
		f.Kind, f.Reason = Answered, fmt.Sprintf("it answers with error %d", answered.Code)
		f.Code, f.Message = answered.Code, answered.Message
	case seen.status == http.StatusUnauthorized || seen.status == http.StatusForbidden:
		f.Kind, f.Reason = Refused, "it refuses the credentials that it is registered with"
	case seen.status != 0:
		f.Reason = fmt.Sprintf("it answers with status %d", seen.status)
	default:
		f.Reason = "it does not answer as an MCP server does"
	}
	return f
}
