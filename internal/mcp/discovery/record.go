package discovery

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"writ/internal/outbound"
)

// recorder sends the requests of the SDK to one server, and keeps what was asked and answered.
type recorder struct {
	next   http.RoundTripper
	home   *url.URL
	header http.Header // the credentials of the server

	mu       sync.Mutex
	asked    map[string]string // methods by the id of the request
	answers  []*answer
	received int64
	refused  string // why the exchange cannot go on, in words for people
	status   int    // of the last answer without success
	cause    error  // why the last request got no answer
}

// answer is one answer as it arrived.
type answer struct {
	stream bool // of server-sent events
	text   bytes.Buffer
}

// errTooLong ends an exchange whose answers are too long.
var errTooLong = errors.New("the answers of the server are too long")

// RoundTrip sends a request. A server may name another address for messages, and gets neither those nor its own
// credentials there.
func (r *recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Scheme != r.home.Scheme || !strings.EqualFold(request.URL.Host, r.home.Host) {
		r.fail("the server sends its clients to another address, which is not followed")
		if request.Body != nil {
			_ = request.Body.Close() // required of a transport
		}
		return nil, errors.New("another address")
	}
	request = request.Clone(request.Context())
	for name, values := range r.header {
		request.Header[name] = values
	}
	if err := r.note(request); err != nil {
		return nil, err
	}
	response, err := r.next.RoundTrip(request)
	if err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.cause = err
		return nil, err
	}
	r.judge(response)
	a := &answer{stream: strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream")}
	r.mu.Lock()
	r.answers = append(r.answers, a)
	r.mu.Unlock()
	response.Body = &copying{ReadCloser: response.Body, to: a, of: r}
	return response, nil
}

// note remembers which method a request asks for.
func (r *recorder) note(request *http.Request) error {
	if request.Body == nil {
		return nil
	}
	body, err := io.ReadAll(request.Body)
	_ = request.Body.Close() // it is read
	if err != nil {
		return err
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asked == nil {
		r.asked = map[string]string{}
	}
	noteMethod(r.asked, body)
	return nil
}

func noteMethod(asked map[string]string, body []byte) {
	var m struct {
		ID     jsontext.Value `json:"id"`
		Method string         `json:"method"`
	}
	if json.Unmarshal(body, &m) == nil && m.ID != nil && m.Method != "" {
		asked[string(m.ID)] = m.Method
	}
}

// judge keeps the status of an answer without success.
func (r *recorder) judge(response *http.Response) {
	switch status := response.StatusCode; {
	case status >= 300 && status <= 399:
		r.fail("the server answers with a redirect, which is not followed: register the address where it is")
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		r.mu.Lock()
		defer r.mu.Unlock()
		r.status = status
	case status >= 400 && r.status == 0:
		r.mu.Lock()
		defer r.mu.Unlock()
		r.status = status
	}
}

func (r *recorder) fail(reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refused == "" {
		r.refused = reason
	}
}

// copying is a body that is recorded while it is read.
type copying struct {
	io.ReadCloser
	to *answer
	of *recorder
}

func (c *copying) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.of.received += int64(n)
	if c.of.received > MaxBytes {
		if c.of.refused == "" {
			c.of.refused = fmt.Sprintf("the server sends more than %d bytes", int64(MaxBytes))
		}
		return 0, errTooLong
	}
	c.to.text.Write(p[:n])
	return n, err
}

// messages are the answers by the method that was asked, in the order in which they came.
func (r *recorder) messages() map[string][][]byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	found := map[string][][]byte{}
	for _, a := range r.answers {
		texts := [][]byte{a.text.Bytes()}
		if a.stream {
			texts = events(a.text.Bytes())
		}
		for _, text := range texts {
			sortMessage(found, r.asked, text)
		}
	}
	return found
}

// sortMessage puts the result of a message under the method that was asked. A request is answered once: what
// comes later under its id is not read by clients either.
func sortMessage(found map[string][][]byte, asked map[string]string, text []byte) {
	var m struct {
		ID     jsontext.Value `json:"id"`
		Result jsontext.Value `json:"result"`
	}
	if err := json.Unmarshal(text, &m, jsontext.AllowDuplicateNames(true),
		jsontext.AllowInvalidUTF8(true)); err != nil {
		return
	}
	method, ok := asked[string(m.ID)]
	if !ok || m.Result == nil {
		return
	}
	delete(asked, string(m.ID))
	found[method] = append(found[method], rawResult(text, m.Result))
}

// rawResult is the result as it was sent: decoding may have mended it.
func rawResult(text []byte, decoded jsontext.Value) []byte {
	if i := bytes.Index(text, decoded); i >= 0 {
		return text[i : i+len(decoded)]
	}
	return decoded
}

// events are the data of server-sent events.
func events(text []byte) (all [][]byte) {
	var data []byte
	for line := range bytes.Lines(text) {
		line = bytes.TrimRight(line, "\r\n")
		switch rest, ok := bytes.CutPrefix(line, []byte("data:")); {
		case len(line) == 0 && data != nil:
			all, data = append(all, data), nil
		case ok && data == nil:
			data = bytes.Clone(bytes.TrimPrefix(rest, []byte(" ")))
		case ok:
			data = append(append(data, '\n'), bytes.TrimPrefix(rest, []byte(" "))...)
		}
	}
	if data != nil {
		all = append(all, data)
	}
	return all
}

// explain says in words for people why an exchange failed, and whether it was late: a connection has limits of its own,
// which are shorter. It shows nothing that the server sent.
func (r *recorder) explain(err error, late bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if unreadable, ok := errors.AsType[*Unreadable](err); ok {
		return unreadable
	}
	switch {
	case r.received > MaxBytes:
		return &Unreadable{Reason: r.refused}
	case r.refused != "":
		return &Unreachable{Reason: r.refused, Cause: err}
	case late:
		return &Unreachable{Reason: fmt.Sprintf("the server did not answer within %s", MaxTime), Cause: err}
	case (r.status == http.StatusUnauthorized || r.status == http.StatusForbidden) && len(r.header) == 0:
		return &Unreachable{"the server wants credentials, and was sent none", true, err}
	case r.status == http.StatusUnauthorized || r.status == http.StatusForbidden:
		return &Unreachable{"the server refuses the credentials that it is registered with", true, err}
	case isAnswered(err): // whatever status it gave to questions of another version of the protocol
		return &Unreachable{Reason: "the server answers with an error: what it logs says why", Cause: err}
	case r.status != 0:
		return &Unreachable{Reason: fmt.Sprintf("the server answers with status %d", r.status), Cause: err}
	}
	return &Unreachable{Reason: reasonOf(cmp.Or(r.cause, err)), Cause: err}
}

// isAnswered reports whether a server answered in words of the protocol that it fails. The SDK gives what fails on the
// way to a server other codes.
func isAnswered(err error) bool {
	said, ok := errors.AsType[*jsonrpc.Error](err)
	return ok && said.Code == jsonrpc.CodeInternalError
}

// reasonOf says why a server was not called, as far as the person who named it may know.
func reasonOf(err error) string {
	if refusal, ok := errors.AsType[*outbound.Refusal](err); ok {
		return refusal.Error()
	}
	if failure, ok := errors.AsType[*outbound.Failure](err); ok {
		return failure.Reason
	}
	if failed, ok := errors.AsType[*net.OpError](err); ok && failed.Op == "dial" {
		return "the server could not be connected to"
	}
	return "the server does not answer as an MCP server does"
}
