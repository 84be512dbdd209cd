package route

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/fault"
)

// ErrorBody is the one shape of every error answer.
type ErrorBody struct {
	StatusCode int            `json:"statusCode" doc:"The HTTP status." example:"400"`
	Message    string         `json:"message" doc:"What went wrong, for a person to read." example:"name: must be 1-100 characters"`
	ErrorText  string         `json:"error" doc:"The status in words." example:"Bad Request"`
	Details    []fault.Detail `json:"details,omitempty" doc:"Which fields are wrong and what was expected; only for validation."`
	Code       string         `json:"code,omitempty" doc:"Names the refusal for programs, where the status does not say enough." example:"second_factor_required"`
	RequestID  string         `json:"requestId" doc:"Names this request in the server's log."`
}

// Failure is an error as it is answered.
type Failure struct {
	ErrorBody
	retryAfter time.Duration
	shaped     any // what is sent in place of ErrorBody; nil: nothing is
}

// Error makes it an error for huma.
func (f *Failure) Error() string { return f.Message }

// GetStatus is the status of the answer.
func (f *Failure) GetStatus() int { return f.StatusCode }

// GetHeaders are the headers that belong to the status.
func (f *Failure) GetHeaders() http.Header {
	headers := http.Header{}
	if f.StatusCode == http.StatusUnauthorized {
		headers.Set("WWW-Authenticate", `Bearer realm="writ", error="invalid_token", error_description="`+
			strings.ReplaceAll(f.Message, `"`, `'`)+`"`)
	}
	if f.retryAfter > 0 {
		headers.Set("Retry-After", strconv.Itoa(int(math.Ceil(f.retryAfter.Seconds()))))
	}
	return headers
}

// MarshalJSONTo writes the body in the shape of its path.
func (f *Failure) MarshalJSONTo(to *jsontext.Encoder) error {
	if f.shaped != nil {
		return json.MarshalEncode(to, f.shaped)
	}
	return json.MarshalEncode(to, f.ErrorBody)
}

// Write answers with the failure.
func (f *Failure) Write(w http.ResponseWriter) {
	f.WriteHead(w, "application/json")
	_ = json.MarshalWrite(w, f) // a client that is gone cannot be told
}

// WriteHead writes status and headers, for an answer whose body is another.
func (f *Failure) WriteHead(w http.ResponseWriter, contentType string) {
	for name, values := range f.GetHeaders() {
		if _, said := w.Header()[name]; !said { // by a handler that knows more
			w.Header()[name] = values
		}
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(f.StatusCode)
}

// Shape gives the errors of some paths another form, for published clients that want it. It holds wherever an error
// is noticed, also where the path leads to no route.
type Shape struct {
	// Matches reports whether errors of the path have the shape.
	Matches func(path string) bool
	// Of is what is sent for an error: nil for the usual body. err is nil where a request could not be read.
	Of func(err error, body ErrorBody) any
	// Documented is a value of the type that the document shows.
	Documented any
}

// ShapeErrors registers a shape. Do so before the routes that have it are mounted.
func (r *Router) ShapeErrors(s Shape) { r.shapes = append(r.shapes, s) }

func (s *server) shapeOf(path string) *Shape {
	for i := range s.shapes {
		if s.shapes[i].Matches(path) {
			return &s.shapes[i]
		}
	}
	return nil
}

// statuses maps the kinds of faults to HTTP. What is not here is a 500.
var statuses = map[fault.Kind]int{
	fault.Invalid:         http.StatusBadRequest,
	fault.Unauthenticated: http.StatusUnauthorized,
	fault.Forbidden:       http.StatusForbidden,
	fault.NotFound:        http.StatusNotFound,
	fault.Conflict:        http.StatusConflict,
	fault.TooLarge:        http.StatusRequestEntityTooLarge,
	fault.TooMany:         http.StatusTooManyRequests,
	fault.Unavailable:     http.StatusServiceUnavailable,
	fault.UpstreamFailed:  http.StatusBadGateway,
	fault.UpstreamLate:    http.StatusGatewayTimeout,
	fault.QuotaReached:    http.StatusPaymentRequired,
}

// Render turns an error into its answer. What is not a fault goes to the log and not to the caller.
func (s *server) Render(ctx context.Context, err error) *Failure {
	f, ok := errors.AsType[*fault.Error](err)
	status := statuses[fault.KindOf(err)]
	if !ok || status == 0 {
		s.Logger.ErrorContext(ctx, "request failed", "requestId", RequestOf(ctx).ID, "error", err)
		return newFailure(ctx, err, http.StatusInternalServerError,
			"something went wrong; the server's log has the details under this request id", nil)
	}
	if f.Kind == fault.Unavailable && s.refusals.MayLog(time.Now()) {
		s.Logger.WarnContext(ctx, "request refused for now", "requestId", RequestOf(ctx).ID, "error", err)
	}
	failure := newFailure(ctx, err, status, f.Message, f.Details)
	failure.retryAfter = f.RetryAfter
	failure.Code = f.Code
	if f.Kind == fault.Unavailable && f.RetryAfter == 0 {
		failure.retryAfter = time.Second
	}
	return failure
}

func newFailure(ctx context.Context, err error, status int, message string, details []fault.Detail) *Failure {
	request := RequestOf(ctx)
	f := &Failure{ErrorBody: ErrorBody{
		StatusCode: status,
		Message:    message,
		ErrorText:  http.StatusText(status),
		Details:    details,
		RequestID:  request.ID,
	}}
	if request.server == nil {
		return f
	}
	if shape := request.server.shapeOf(cleanPath(request.path)); shape != nil {
		f.shaped = shape.Of(err, f.ErrorBody)
	}
	return f
}

// payable keeps 402 to the routes that may ask for payment. Elsewhere it is a mistake of ours, and no reason for a
// client to go on without an answer.
func (r Route) payable(err error) error {
	if r.Paid || !fault.Is(err, fault.QuotaReached) {
		return err
	}
	return fault.Wrap(err, fault.Unavailable, "this cannot be answered now")
}

// WriteError answers a request that failed.
func (s *server) WriteError(w http.ResponseWriter, r *http.Request, err error) {
	s.Render(r.Context(), err).Write(w)
}
