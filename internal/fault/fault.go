// Package fault is the one error type that crosses Writ's layers.
//
// A fault has a kind, a message for the caller, and a cause for the log. Areas return
// faults for everything a caller can do something about; the edge answers any other
// error without detail. Only the edge maps a kind to an HTTP status.
package fault

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Kind says what went wrong in terms the caller understands.
type Kind string

// All kinds. Internal is also that of every error that is not a fault.
const (
	Internal        Kind = "internal"
	Invalid         Kind = "invalid"         // the input breaks a rule; see Details
	Unauthenticated Kind = "unauthenticated" // no credentials, or none we accept
	Forbidden       Kind = "forbidden"       // known caller, not allowed
	NotFound        Kind = "not_found"
	Conflict        Kind = "conflict"    // the present state forbids it
	TooLarge        Kind = "too_large"   // a size limit
	TooMany         Kind = "too_many"    // a rate limit; see RetryAfter
	Unavailable     Kind = "unavailable" // a dependency is away; see RetryAfter
	// What was called for the caller, such as an MCP server, has failed or is late.
	UpstreamFailed Kind = "upstream_failed"
	UpstreamLate   Kind = "upstream_late"
	// A plan that is paid for has no room: what to do is in the message. Nothing about a decision ever is.
	QuotaReached Kind = "quota_reached"
)

// Detail names one field of the input and what was expected of it, never its value,
// which may be a secret.
type Detail struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

// Error is a fault. Message is shown to the caller, Cause only to the operator.
type Error struct {
	Kind    Kind
	Message string
	Details []Detail
	// Code names the refusal for programs, where the kind does not say enough; empty: it does.
	Code       string
	RetryAfter time.Duration // with TooMany and Unavailable
	Cause      error
}

// Error is message and cause: for logs, not for answers.
func (e *Error) Error() string {
	if e.Cause == nil || e.Cause.Error() == e.Message { // nothing is said twice
		return e.Message
	}
	return e.Message + ": " + e.Cause.Error()
}

// Unwrap gives the cause to errors.Is and errors.As.
func (e *Error) Unwrap() error { return e.Cause }

// New makes a fault of a kind with a message for the caller.
func New(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// Wrap makes a fault that keeps its cause for the log.
func Wrap(cause error, kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...), Cause: cause}
}

// Coded gives the fault a code.
func (e *Error) Coded(code string) *Error { e.Code = code; return e }

// CodeOf is the code of an error; empty for one without.
func CodeOf(err error) string {
	if f, ok := errors.AsType[*Error](err); ok {
		return f.Code
	}
	return ""
}

// Field makes an Invalid fault about one field of the input.
func Field(field, format string, args ...any) *Error {
	return Fields(Detail{Field: field, Message: fmt.Sprintf(format, args...)})
}

// Fields makes an Invalid fault about several fields. Its message names the first, for
// clients that show only the message.
func Fields(details ...Detail) *Error {
	message := "the request is not valid"
	if len(details) > 0 {
		message = details[0].Field + ": " + details[0].Message
	}
	return &Error{Kind: Invalid, Message: message, Details: details}
}

// Within names the fields of an error by the member of the request that holds them, where whoever made the error calls
// that something else.
func Within(err error, called, member string) error {
	f, ok := errors.AsType[*Error](err)
	if !ok || len(f.Details) == 0 {
		return err
	}
	details := make([]Detail, len(f.Details))
	for i, d := range f.Details {
		if rest, ok := strings.CutPrefix(d.Field, called); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			d.Field = member + rest
		}
		details[i] = d
	}
	named := Fields(details...)
	named.Cause = f.Cause
	return named
}

// KindOf is the kind of err: Internal for an error that holds no fault, and
// empty for nil.
func KindOf(err error) Kind {
	if err == nil {
		return ""
	}
	if f, ok := errors.AsType[*Error](err); ok {
		return f.Kind
	}
	return Internal
}

// Is reports whether err holds a fault of this kind.
func Is(err error, kind Kind) bool { return err != nil && KindOf(err) == kind }
