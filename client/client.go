// Package client calls a Writ server. It is what Writ's own command line, hooks
// and tests use, and needs nothing beyond the standard library.
//
// A Client adds its credentials to each call: the access token of a person, or an
// API key. An answer that is not a success is an *Error with all that the server
// said.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// maxAnswer bounds what is read of an answer.
const maxAnswer = 64 << 20

// Client calls one server. Its fields are set before the first call; a copy with
// other credentials is another caller.
type Client struct {
	BaseURL     string       // http://localhost:8080
	AccessToken string       // of a person
	APIKey      string       // of an agent, SDK or plugin
	HTTP        *http.Client // with its defaults unless set; redirects are never followed
	UserAgent   string       // what the program calls itself; Go's default unless set
}

// Error is an answer that is not a success.
type Error struct {
	StatusCode int           `json:"statusCode"`
	Message    string        `json:"message"`
	Code       string        `json:"error"` // the status in words; where the server speaks OAuth, its code
	Details    []Detail      `json:"details"`
	Reason     string        `json:"code"` // names the refusal, where the status does not say enough
	RequestID  string        `json:"requestId"`
	RetryAfter time.Duration `json:"-"` // when the server said to wait
}

// Detail says what is wrong with one field.
type Detail struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

// UnmarshalJSON reads an error. The message about a profile is a list of problems;
// here it becomes one text.
func (e *Error) UnmarshalJSON(text []byte) error {
	type plain Error
	read := struct {
		*plain
		Message json.RawMessage `json:"message"`
	}{plain: (*plain)(e)}
	if err := json.Unmarshal(text, &read); err != nil {
		return err
	}
	var all []string
	if len(read.Message) == 0 {
		return nil
	}
	if json.Unmarshal(read.Message, &all) == nil {
		e.Message = strings.Join(all, "; ")
		return nil
	}
	return json.Unmarshal(read.Message, &e.Message)
}

// Error is the server's message and status, on one line: another would pass for one of the program that shows it.
func (e *Error) Error() string {
	return fmt.Sprintf("%s (%d)", strings.ReplaceAll(e.Message, "\n", " "), e.StatusCode)
}

// StatusOf is the HTTP status an error carries, 0 when it is not an answer.
func StatusOf(err error) int {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.StatusCode
	}
	return 0
}

// Page is one page of a list.
type Page[T any] struct {
	Items      []T    `json:"items"`
	NextCursor string `json:"nextCursor"`
	HasMore    bool   `json:"hasMore"`
}

// List asks for a page: of Limit items (the server's default when 0), after Cursor.
type List struct {
	Limit  int
	Cursor string
}

// with is the parameters that ask for the page, and others; see query.
func (l List) with(pairs ...any) url.Values {
	return query(append([]any{"limit", l.Limit, "cursor", l.Cursor}, pairs...)...)
}

// query is parameters, given as names and values. Zero values are left out.
func query(pairs ...any) url.Values {
	q := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		if text := parameter(pairs[i+1]); text != "" {
			q.Set(pairs[i].(string), text)
		}
	}
	return q
}

func parameter(value any) string {
	if at, ok := value.(time.Time); ok && !at.IsZero() {
		return at.UTC().Format(time.RFC3339Nano)
	}
	switch v := reflect.ValueOf(value); {
	case v.IsZero():
		return ""
	case v.Kind() == reflect.Pointer:
		return fmt.Sprint(v.Elem())
	}
	return fmt.Sprint(value)
}

// inOrg names the organization of a call, none for the caller's own.
func inOrg(orgID string) url.Values { return query("organizationId", orgID) }

// Call sends a request with a JSON body (none when nil) and decodes the answer
// into out (dropped when nil).
func (c *Client) Call(ctx context.Context, method, path string, query url.Values, body, out any) error {
	request, err := c.request(ctx, method, path, query, body)
	if err != nil {
		return err
	}
	return c.decode(request, out)
}

// decode sends a request and decodes the answer into out (dropped when nil).
func (c *Client) decode(request *http.Request, out any) error {
	content, err := c.exchange(request)
	if err != nil || out == nil || len(content) == 0 {
		return err
	}
	if err := json.Unmarshal(content, out); err != nil {
		return &NoAnswer{c.BaseURL, "decode the answer of " + request.Method + " " + request.URL.Path, err}
	}
	return nil
}

// exchange sends a request and gives the body of its answer, if that is a success.
func (c *Client) exchange(request *http.Request) ([]byte, error) {
	what := request.Method + " " + request.URL.Path
	response, err := c.send(request)
	if err != nil {
		return nil, &NoAnswer{c.BaseURL, what, err}
	}
	defer response.Body.Close()
	content, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("read the answer of %s: %w", what, err)
	}
	if len(content) > maxAnswer {
		return nil, fmt.Errorf("the answer of %s has more than %d bytes", what, maxAnswer)
	}
	if response.StatusCode >= 300 {
		return nil, c.doubting(newError(response, content))
	}
	return content, nil
}

// doubting asks about an address with a path, where no route of Writ takes the request: the path is seldom meant.
func (c *Client) doubting(e *Error) *Error {
	base, err := url.Parse(strings.TrimRight(c.BaseURL, "/"))
	if e.StatusCode == http.StatusMethodNotAllowed && err == nil && base.Path != "" {
		e.Message += ": is BaseURL the address of the server, without a path?"
	}
	return e
}

// send follows no redirect: our server makes none, and a redirect would take the API
// key to another server.
func (c *Client) send(request *http.Request) (*http.Response, error) {
	caller := http.Client{}
	if c.HTTP != nil {
		caller = *c.HTTP
	}
	caller.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return caller.Do(request)
}

func (c *Client) request(ctx context.Context, method, path string, query url.Values, body any) (*http.Request, error) {
	if err := checkPath(path); err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	var content io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("encode the body of %s %s: %w", method, path, err)
		}
		content = bytes.NewReader(encoded)
	}
	if c.BaseURL == "" {
		return nil, errors.New("the client has no BaseURL, such as http://localhost:8080")
	}
	target := strings.TrimRight(c.BaseURL, "/") + path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, method, target, content)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	if s := request.URL.Scheme; s != "http" && s != "https" { // that of localhost:8080 is localhost
		return nil, errors.New("the address of the server must begin with http:// or https://")
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header.Set("Accept", "application/json")
	if c.UserAgent != "" {
		request.Header.Set("User-Agent", c.UserAgent)
	}
	if c.AccessToken != "" {
		request.Header.Set("Authorization", "Bearer "+c.AccessToken)
	}
	if c.APIKey != "" {
		request.Header.Set("X-API-Key", c.APIKey)
	}
	return request, nil
}

// newError reads an error answer. Of one that is not ours (a proxy's page, say) only
// the status is kept.
func newError(response *http.Response, content []byte) *Error {
	e := &Error{}
	if err := json.Unmarshal(content, e); err != nil || e.Message == "" {
		e.Message = "the server answered " + response.Status
	}
	e.StatusCode = response.StatusCode
	// 32 bits of seconds fit a Duration.
	if seconds, err := strconv.ParseUint(response.Header.Get("Retry-After"), 10, 32); err == nil {
		e.RetryAfter = time.Duration(seconds) * time.Second
	}
	return e
}

// segment escapes one part of a path. checkPath refuses what cannot be escaped.
func segment(text string) string { return url.PathEscape(text) }

// checkPath refuses an id that is empty or a dot: servers and proxies resolve it,
// escaped or not, and the call would reach another path.
func checkPath(path string) error {
	if path == "/" {
		return nil
	}
	for _, part := range strings.Split(strings.TrimPrefix(path, "/"), "/") {
		if part == "" || part == "." || part == ".." {
			return errors.New("an id in the path is missing, or is no id")
		}
	}
	return nil
}

// call is Call with a typed answer.
func call[T any](ctx context.Context, c *Client, method, path string, query url.Values, body any) (T, error) {
	var out T
	err := c.Call(ctx, method, path, query, body, &out)
	return out, err
}

func get[T any](ctx context.Context, c *Client, path string, query url.Values) (T, error) {
	return call[T](ctx, c, http.MethodGet, path, query, nil)
}

// list reads a list that comes whole.
func list[T any](ctx context.Context, c *Client, path string, query url.Values) ([]T, error) {
	out, err := get[Page[T]](ctx, c, path, query)
	return out.Items, err
}

func post[T any](ctx context.Context, c *Client, path string, query url.Values, body any) (T, error) {
	return call[T](ctx, c, http.MethodPost, path, query, body)
}

func put[T any](ctx context.Context, c *Client, path string, query url.Values, body any) (T, error) {
	return call[T](ctx, c, http.MethodPut, path, query, body)
}

// do is a call whose answer says nothing.
func (c *Client) do(ctx context.Context, path string, query url.Values, body any) error {
	return c.Call(ctx, http.MethodPost, path, query, body, nil)
}

func (c *Client) delete(ctx context.Context, path string, query url.Values) error {
	return c.Call(ctx, http.MethodDelete, path, query, nil, nil)
}

// text reads an answer that is no JSON.
func (c *Client) text(ctx context.Context, path string, query url.Values) (string, error) {
	request, err := c.request(ctx, http.MethodGet, path, query, nil)
	if err != nil {
		return "", err
	}
	content, err := c.exchange(request)
	return string(content), err
}

// open sends a request whose answer is read as it comes.
func (c *Client) open(request *http.Request) (*http.Response, error) {
	what := request.Method + " " + request.URL.Path
	response, err := c.send(request)
	if err != nil {
		return nil, &NoAnswer{c.BaseURL, what, err}
	}
	if response.StatusCode == http.StatusOK {
		return response, nil
	}
	defer response.Body.Close()
	content, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return nil, fmt.Errorf("read the answer of %s: %w", what, err)
	}
	return nil, newError(response, content)
}
