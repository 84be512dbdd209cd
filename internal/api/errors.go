package api

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"
	"github.com/go-json-experiment/json"

	"writ/internal/fault"
)

// ErrorBody is the one shape of every error answer.
type ErrorBody struct {
	StatusCode int            `json:"statusCode" doc:"The HTTP status." example:"400"`
	Message    errorMessage   `json:"message"`
	ErrorText  string         `json:"error" doc:"The status in words." example:"Bad Request"`
	Details    []fault.Detail `json:"details,omitempty" doc:"Which fields are wrong and what was expected; only for validation."`
	RequestID  string         `json:"requestId" doc:"Names this request in the server's log."`
	*RefusalBody
	Description string `json:"error_description,omitempty" doc:"Where error is a code of OAuth: the message under OAuth's name."`

	retryAfter time.Duration
}

// Error makes the body an error for huma.
func (e *ErrorBody) Error() string { return e.Message.text }

// GetStatus is the status of the answer.
func (e *ErrorBody) GetStatus() int { return e.StatusCode }

// GetHeaders are the headers that belong to the status.
func (e *ErrorBody) GetHeaders() http.Header {
	headers := http.Header{}
	if e.StatusCode == http.StatusUnauthorized {
		headers.Set("WWW-Authenticate", challenge(e.Message.text))
	}
	if e.retryAfter > 0 {
		headers.Set("Retry-After", strconv.Itoa(int(math.Ceil(e.retryAfter.Seconds()))))
	}
	return headers
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
}

// render turns an error into its answer. What is not a fault is told to the
// log and not to the caller.
func (a *API) render(ctx context.Context, err error) *ErrorBody {
	if refusal, ok := errors.AsType[*oauthRefusal](err); ok {
		return refusal.body(ctx)
	}
	f, ok := errors.AsType[*fault.Error](err)
	status := statuses[fault.KindOf(err)]
	if !ok || status == 0 {
		a.Logger.ErrorContext(ctx, "request failed", "requestId", requestOf(ctx).id, "error", err)
		return newErrorBody(ctx, http.StatusInternalServerError,
			"something went wrong; the server's log has the details under this request id", nil)
	}
	if f.Kind == fault.Unavailable && a.refusals.mayLog(time.Now()) {
		a.Logger.WarnContext(ctx, "request refused for now", "requestId", requestOf(ctx).id, "error", err)
	}
	body := newErrorBody(ctx, status, f.Message, f.Details)
	body.retryAfter = f.RetryAfter
	if f.Kind == fault.Unavailable && body.retryAfter == 0 {
		body.retryAfter = time.Second
	}
	return body
}

func newErrorBody(ctx context.Context, status int, message string, details []fault.Detail) *ErrorBody {
	body := &ErrorBody{
		StatusCode: status,
		Message:    errorMessage{text: message},
		ErrorText:  http.StatusText(status),
		Details:    details,
		RequestID:  requestOf(ctx).id,
	}
	if requestOf(ctx).stagesProfile {
		body.Message.list = listed(details)
	}
	if requestOf(ctx).decides {
		body.RefusalBody = newRefusal(message)
	}
	if requestOf(ctx).speaksOAuth {
		body.speakOAuth()
	}
	return body
}

// writeError answers outside of huma.
func (a *API) writeError(w http.ResponseWriter, r *http.Request, err error) {
	writeBody(w, a.render(r.Context(), err))
}

func writeBody(w http.ResponseWriter, body *ErrorBody) {
	for name, values := range body.GetHeaders() {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(body.StatusCode)
	// A client that is gone cannot be told; there is nothing else to fail.
	_ = json.MarshalWrite(w, body)
}

// setUpHuma makes huma answer its own errors (bad JSON, validation, media type)
// in our shape, and validate the members our decoder reads: by default it takes
// NAME for name, which the decoder does not. Huma keeps this in package
// variables; they are set once, to what holds no state.
var setUpHuma = sync.OnceFunc(func() {
	huma.ValidateStrictCasing = true
	huma.NewErrorWithContext = func(ctx huma.Context, status int, message string, errs ...error) huma.StatusError {
		request := context.Background()
		if ctx != nil {
			request = ctx.Context()
		}
		return fromHuma(request, status, message, errs)
	}
	huma.NewError = func(status int, message string, errs ...error) huma.StatusError {
		return fromHuma(context.Background(), status, message, errs)
	}
})

// fromHuma keeps field and message of each problem and drops the value, which
// may be a secret. 422 is never used: it is a 400 here.
func fromHuma(ctx context.Context, status int, message string, errs []error) *ErrorBody {
	var details []fault.Detail
	for _, err := range errs {
		if d, ok := err.(huma.ErrorDetailer); ok {
			details = append(details, detailOf(d.ErrorDetail()))
		}
	}
	switch status {
	case http.StatusUnprocessableEntity:
		status = http.StatusBadRequest
	case http.StatusInternalServerError: // the body could not be read to its end
		status, message = http.StatusBadRequest, "the request body could not be read"
	case http.StatusRequestEntityTooLarge:
		message = "the request body is too large"
	case http.StatusUnsupportedMediaType:
		message, details = "send Content-Type: application/json", nil
	}
	if len(details) > 0 {
		message = details[0].Field + ": " + details[0].Message
	}
	return newErrorBody(ctx, status, message, details)
}

// detailOf names the field that is missing, where huma names what it is missing
// from.
func detailOf(d *huma.ErrorDetail) fault.Detail {
	before, after, _ := strings.Cut(validation.MsgExpectedRequiredProperty, "%s")
	name, isMissing := strings.CutPrefix(d.Message, before)
	if !isMissing {
		return fault.Detail{Field: fieldOf(d.Location), Message: d.Message}
	}
	return fault.Detail{Field: fieldOf(d.Location + "." + strings.TrimSuffix(name, after)), Message: "is required"}
}

// fieldOf is "email" for huma's "body.email".
func fieldOf(location string) string {
	for _, part := range []string{"body.", "query.", "path.", "header."} {
		if rest, ok := strings.CutPrefix(location, part); ok {
			return rest
		}
	}
	return location
}

// errorsOf are the statuses a route documents.
func errorsOf(r Route) []int {
	codes := []int{http.StatusBadRequest}
	if r.Mode != Public {
		codes = append(codes, http.StatusUnauthorized, http.StatusForbidden)
	}
	if !r.Throttle.IsZero() || !r.OpenThrottle.IsZero() {
		codes = append(codes, http.StatusTooManyRequests)
	}
	return append(codes, http.StatusServiceUnavailable)
}

// undocument422 removes a status huma documents by itself and we never send.
func undocument422(item *huma.PathItem, method string) {
	for m, op := range map[string]*huma.Operation{
		http.MethodGet: item.Get, http.MethodPost: item.Post, http.MethodPut: item.Put,
		http.MethodPatch: item.Patch, http.MethodDelete: item.Delete,
	} {
		if m == method && op != nil {
			delete(op.Responses, "422")
		}
	}
}
