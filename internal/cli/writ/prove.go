package writ

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"writ/internal/cli"
)

const (
	// codeVariable has a code of the second factor, where nobody is asked for one.
	codeVariable = "WRIT_CODE"
	// proofRequired is how the server names that it wants a fresh proof of the second factor.
	proofRequired = "second_factor_required"
	proofPath     = "/user/second-factor/proof"

	codeTries   = 3       // at a terminal
	maxRefusal  = 1 << 20 // bytes that are read of a refusal
	maxCodeLine = 200
)

// proveHint says what to do where nobody can be asked for a code.
const proveHint = "run it in a terminal, which asks for a code of your app, or give one with --code or in " + codeVariable +
	"; a code works once, and for ten minutes of such commands"

// proving sends the requests of a person. Where the server wants a fresh proof of the second factor, it gets a code,
// proves it, and sends the refused request again: nothing else of the command is repeated.
type proving struct {
	streams cli.Streams
	url     string        // of the server
	limit   time.Duration // of one request; 0: none

	mu    sync.Mutex // one request asks at a time; guards given
	given string     // the code of the command line or the environment; it is used once
}

// RoundTrip is http.RoundTripper's. What could not be proved is answered as the server refused it.
func (p *proving) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := p.send(r)
	if err != nil || !wantsProof(response) || r.Body != nil && r.GetBody == nil {
		return response, err
	}
	refused, err := p.prove(r, response)
	if err != nil || refused != nil {
		return refused, err
	}
	again := r.Clone(r.Context())
	if r.Body != nil {
		if again.Body, err = r.GetBody(); err != nil {
			return nil, err
		}
	}
	return p.send(again)
}

// send sends one request within the limit, which a person who looks for a code does not use up.
func (p *proving) send(r *http.Request) (*http.Response, error) {
	if p.limit == 0 {
		return http.DefaultTransport.RoundTrip(r)
	}
	ctx, cancel := context.WithTimeout(r.Context(), p.limit)
	response, err := http.DefaultTransport.RoundTrip(r.WithContext(ctx))
	if err != nil {
		cancel()
		return nil, err
	}
	response.Body = ending{response.Body, cancel}
	return response, nil
}

// ending ends a request with its answer.
type ending struct {
	io.ReadCloser
	cancel context.CancelFunc
}

// Close is io.Closer's.
func (e ending) Close() error {
	defer e.cancel()
	return e.ReadCloser.Close()
}

// wantsProof reports whether an answer asks for a proof. It leaves the answer as it was.
func wantsProof(response *http.Response) bool {
	if response.StatusCode != http.StatusForbidden {
		return false
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxRefusal))
	_ = response.Body.Close()
	response.Body = io.NopCloser(bytes.NewReader(text))
	var refusal struct {
		Code string `json:"code"`
	}
	return err == nil && json.Unmarshal(text, &refusal) == nil && refusal.Code == proofRequired
}

// prove proves the second factor. What it returns is the answer in place of the request's: nil if the request may be
// sent again.
func (p *proving) prove(r *http.Request, response *http.Response) (*http.Response, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if given := p.given; given != "" {
		p.given = ""
		return p.tryCode(r, given)
	}
	if !cli.IsTerminal(p.streams.In) || !cli.IsTerminal(p.streams.Err) {
		return response, nil
	}
	lines := bufio.NewReader(io.LimitReader(p.streams.In, codeTries*maxCodeLine))
	for try := 1; ; try++ {
		fmt.Fprint(p.streams.Err, "code of your second factor, or a recovery code: ")
		code, err := readLine(r.Context(), lines)
		if err != nil {
			return nil, err
		}
		if code == "" {
			return response, nil
		}
		refused, err := p.tryCode(r, code)
		if err != nil || refused == nil || refused.StatusCode != http.StatusBadRequest || try == codeTries {
			return refused, err
		}
		_ = refused.Body.Close()
		fmt.Fprintln(p.streams.Err, "this code is wrong, or was used before")
	}
}

// readLine is what the person types; empty: nothing. An interrupt ends the wait, which a read alone would not notice.
func readLine(ctx context.Context, lines *bufio.Reader) (string, error) {
	typed := make(chan string, 1)
	go func() {
		line, err := lines.ReadString('\n')
		if err != nil {
			line = ""
		}
		typed <- strings.TrimSpace(line)
	}()
	select {
	case line := <-typed:
		return line, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// tryCode sends a code; nil: it is right.
func (p *proving) tryCode(r *http.Request, code string) (*http.Response, error) {
	body, err := json.Marshal(map[string]string{"code": code})
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(r.Context(), http.MethodPost, strings.TrimRight(p.url, "/")+proofPath,
		bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header = r.Header.Clone()
	request.Header.Set("Content-Type", "application/json")
	response, err := p.send(request)
	if err != nil || response.StatusCode >= 300 {
		return response, err
	}
	return nil, response.Body.Close()
}

// codeGiven is the code that the person gave beforehand.
func codeGiven(flag string) string {
	if flag != "" {
		return flag
	}
	return strings.TrimSpace(os.Getenv(codeVariable))
}
