// Package model is a client of language models with an API like OpenAI's chat
// completions, hosted or in the operator's own network.
//
// The operator chooses the endpoint, but it is called through package outbound like any
// other: at a public address, or one that WRIT_OUTBOUND_ALLOW names. Without TLS only a
// named one is called, because the key is sent too. Time, bytes in both directions,
// tokens of an answer and concurrent calls are bounded. The answer is not trusted:
// errors reveal its status at most.
package model

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"writ/internal/fault"
	"writ/internal/outbound"
	"writ/internal/policy/drafting"
	"writ/internal/secret"
)

const (
	maxAnswer     = 512 << 10 // bytes of the whole response
	maxConcurrent = 4         // questions
)

// Options are the operator's settings.
type Options struct {
	URL       string // of the API, such as https://api.openai.com/v1
	Name      string // of the model
	Key       secret.Text
	Timeout   time.Duration // of one answer
	MaxTokens int           // of one answer
	Permits   []outbound.Permit
}

// Client asks one model. It is safe for concurrent use.
type Client struct {
	Options
	guard *outbound.Client
	web   *http.Client
	slots chan struct{}
}

// New makes a client. It fails if the address can never be called.
func New(o Options) (*Client, error) {
	o.URL = strings.TrimSuffix(o.URL, "/") + "/chat/completions"
	guard := outbound.New(outbound.Options{Permits: o.Permits, Timeout: o.Timeout})
	if err := guard.Check(o.URL); err != nil {
		return nil, fmt.Errorf("WRIT_DRAFT_URL: %w", err)
	}
	if !strings.HasPrefix(o.URL, "https://") && !guard.IsPermitted(o.URL) {
		return nil, errors.New("WRIT_DRAFT_URL: must be https, or name a host of WRIT_OUTBOUND_ALLOW")
	}
	return &Client{Options: o, guard: guard, web: guard.WebClient(), slots: make(chan struct{}, maxConcurrent)}, nil
}

// Close ends idle connections.
func (c *Client) Close() { c.guard.Close() }

type question struct {
	Model     string    `json:"model"`
	Messages  []message `json:"messages"`
	MaxTokens int       `json:"max_tokens,omitzero"`
	// OpenAI's newer models refuse max_tokens, and most others do not know this name.
	MaxCompletionTokens int    `json:"max_completion_tokens,omitzero"`
	ResponseFormat      format `json:"response_format"`
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type format struct {
	Type string `json:"type"`
}

type answer struct {
	Choices []struct {
		Message      message `json:"message"`
		FinishReason string  `json:"finish_reason"`
	} `json:"choices"`
}

// Complete asks the model to continue a conversation.
func (c *Client) Complete(ctx context.Context, messages []drafting.Message) (string, error) {
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	default:
		return "", fault.New(fault.Unavailable, "the model is busy; try again in a minute")
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	q := question{Model: c.Name, MaxTokens: c.MaxTokens, ResponseFormat: format{"json_object"}}
	for _, m := range messages {
		q.Messages = append(q.Messages, message{m.Role, m.Text})
	}
	status, body, err := c.post(ctx, q)
	if err == nil && status == http.StatusBadRequest && bytes.Contains(body, []byte("max_completion_tokens")) {
		q.MaxTokens, q.MaxCompletionTokens = 0, c.MaxTokens
		status, body, err = c.post(ctx, q)
	}
	if err != nil {
		return "", err
	}
	if status == http.StatusUnauthorized || status == http.StatusForbidden {
		return "", fault.New(fault.Unavailable,
			"the model's server answered with status %d: the operator must correct WRIT_DRAFT_KEY", status)
	}
	if status != http.StatusOK {
		return "", fault.New(fault.Unavailable, "the model's server answered with status %d", status)
	}
	return read(body)
}

func (c *Client) post(ctx context.Context, q question) (status int, body []byte, err error) {
	text, err := json.Marshal(q)
	if err != nil {
		return 0, nil, fmt.Errorf("write a question to the model: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL, bytes.NewReader(text))
	if err != nil {
		return 0, nil, errors.New("write a question to the model: its address cannot be used")
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	if c.Key.IsSet() {
		request.Header.Set("Authorization", "Bearer "+c.Key.Reveal())
	}
	response, err := c.web.Do(request)
	if err != nil {
		return 0, nil, failed(err)
	}
	defer response.Body.Close()
	body, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return 0, nil, failed(err)
	}
	if len(body) > maxAnswer {
		return 0, nil, fault.New(fault.Unavailable, "the model's answer is too long")
	}
	return response.StatusCode, body, nil
}

// failed describes a failed request without revealing the address.
func failed(err error) error {
	reason := "the model's answer broke off"
	if failure, ok := errors.AsType[*outbound.Failure](err); ok {
		reason = "the model cannot be asked: " + failure.Reason
	}
	if refusal, ok := errors.AsType[*outbound.Refusal](err); ok {
		reason = refusal.Error()
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		reason = "the model did not answer within WRIT_DRAFT_SECONDS; ask for less, or begin with a template"
	}
	return fault.Wrap(err, fault.Unavailable, "%s", reason)
}

func read(body []byte) (string, error) {
	var a answer
	if err := json.Unmarshal(body, &a); err != nil || len(a.Choices) == 0 {
		return "", fault.New(fault.Unavailable,
			"the model's server did not answer in the format of chat completions")
	}
	switch a.Choices[0].FinishReason {
	case "length":
		return "", fault.New(fault.Unavailable, "the model's answer was cut off at WRIT_DRAFT_MAX_TOKENS; ask for less")
	case "content_filter":
		return "", fault.New(fault.Unavailable, "the model's server refused to answer")
	}
	return a.Choices[0].Message.Content, nil
}
