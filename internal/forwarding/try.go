package forwarding

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"mime"
	"net/http"
	"strconv"
	"time"

	"writ/internal/forwarding/message"
	"writ/internal/outbound"
	"writ/internal/principal"
)

// tryTime limits one attempt, in case the poster does not.
const tryTime = 30 * time.Second

// outcome is the result of an attempt. The zero value is success.
type outcome struct {
	status   int    // 0: no answer
	problem  string // empty: the request was accepted
	rejected int64  // spans that were rejected although the request was accepted
	// refused says that the receiver will never accept this request.
	refused bool
	// wait is how long the receiver asked us to wait; 0: it did not.
	wait time.Duration
}

// try sends a request once. An error is one of ours, such as the end of ctx, and says nothing about the receiver.
func (s *Service) try(ctx context.Context, f *Forwarding, r *message.Request) (outcome, error) {
	headers, err := s.openHeaders(f)
	if err != nil { // no attempt could open them; a person can set them again
		return outcome{problem: "its headers cannot be read any more: set them again"}, nil
	}
	var about message.Attributes
	about.String("writ.organization.id", f.OrgID)
	encoded, err := r.Encode(s.version, about)
	if err != nil {
		return outcome{}, err
	}
	body, err := compressed(encoded)
	if err != nil {
		return outcome{}, err
	}
	header := http.Header{"Content-Type": {"application/x-protobuf"}, "Content-Encoding": {"gzip"}}
	for name, value := range headers {
		header.Set(name, value)
	}
	within, cancel := context.WithTimeout(ctx, tryTime)
	defer cancel()
	answer, err := s.poster.Post(within, outbound.Request{URL: f.Endpoint, Header: header, Body: body})
	if err != nil && ctx.Err() != nil {
		return outcome{}, ctx.Err() // we stop; the receiver may have it or not
	}
	if err != nil {
		return outcome{problem: publicReason(err)}, nil
	}
	return interpret(answer, s.db.Now()), nil
}

func compressed(body []byte) ([]byte, error) {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(body)
	if err = errors.Join(err, w.Close()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// interpret says what an answer means. The protocol drops what a receiver refuses. We drop only a span that is refused
// by itself. If the receiver wants another key or is not at this address, everything waits for a person.
func interpret(a outbound.Answer, now time.Time) outcome {
	o := outcome{status: a.Status}
	switch {
	case a.Status >= 200 && a.Status <= 299:
		return accepted(a)
	case a.Status >= 300 && a.Status <= 399:
		o.problem = "the receiver redirects, and redirects are not followed"
	case a.Status == http.StatusUnauthorized || a.Status == http.StatusForbidden:
		o.problem = "the receiver does not accept the headers"
	case a.Status == http.StatusNotFound || a.Status == http.StatusMethodNotAllowed:
		o.problem = "the endpoint does not accept traces"
	case a.Status == http.StatusTooManyRequests:
		o.problem = "the receiver asks for less data"
	case a.Status == http.StatusRequestTimeout || a.Status == http.StatusTooEarly:
		o.problem = "the receiver was not ready"
	case a.Status >= 400 && a.Status <= 499:
		o.problem, o.refused = "the receiver refused what was sent", true
	default:
		o.problem = "the receiver failed"
	}
	o.wait = retryAfter(a.Header.Get("Retry-After"), now)
	return o
}

// accepted reads how many spans of a request were rejected. A web page is not a receiver's answer: what was sent there
// is lost.
func accepted(a outbound.Answer) outcome {
	o := outcome{status: a.Status}
	kind, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type"))
	switch kind {
	case "text/html", "application/xhtml+xml":
		o.problem = "the endpoint answers with a web page: it is not a receiver of traces"
	case "application/json":
		o.rejected, _ = message.RejectedInJSON(a.Body)
	case "application/x-protobuf":
		o.rejected, _ = message.Rejected(a.Body) // else it was accepted, and we know no more
	}
	return o
}

// maxWait limits what a receiver may ask for: a person who has fixed it would have to wait too.
const maxWait = time.Hour

// retryAfter reads seconds or a date.
func retryAfter(value string, now time.Time) time.Duration {
	var wait time.Duration
	if seconds, err := strconv.ParseInt(value, 10, 32); err == nil {
		wait = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(value); err == nil {
		wait = at.Sub(now)
	}
	return min(max(0, wait), maxWait)
}

// publicReason is what people may know of a failure: its class, without addresses.
func publicReason(err error) string {
	if refusal, ok := errors.AsType[*outbound.Refusal](err); ok {
		return refusal.Reason
	}
	if failure, ok := errors.AsType[*outbound.Failure](err); ok {
		return failure.Reason
	}
	return "the receiver could not be called"
}

// Tested is the result of a test.
type Tested struct {
	Taken      bool
	HTTPStatus int    // 0: no answer
	Problem    string // empty: none
}

// Test sends one made-up span to the endpoint, whether or not forwarding is enabled.
func (s *Service) Test(ctx context.Context, p principal.Principal) (Tested, error) {
	f, err := s.Get(ctx, p)
	if err != nil {
		return Tested{}, err
	}
	now := s.db.Now()
	span := &message.Span{
		TraceID: traceBytes(f.OrgID),
		ID:      spanBytes(now.String()),
		Name:    "writ.test",
		Start:   now,
		End:     now,
	}
	span.Attributes.Bool("writ.test", true)
	var r message.Request
	r.Add(message.Resource{Service: decisionService}, span)
	result, err := s.try(ctx, &f, &r)
	if err != nil {
		return Tested{}, err
	}
	if result.rejected > 0 {
		result.problem = "the receiver accepted the request but rejected the span in it"
	}
	return Tested{Taken: result.problem == "", HTTPStatus: result.status, Problem: result.problem}, nil
}
