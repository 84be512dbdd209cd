package witness

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"writ/internal/outbound"
	"writ/internal/secret"
)

// Endpoint is a witness that takes checkpoints by POST.
type Endpoint struct {
	url   secret.Text // may hold a secret, as webhooks' do
	token secret.Text // sent as a bearer token; not set: none
	post  *outbound.Client
}

// NewEndpoint makes a witness of an endpoint.
func NewEndpoint(url, token secret.Text, post *outbound.Client) *Endpoint {
	return &Endpoint{url, token, post}
}

// Name is the word for it in messages.
func (e *Endpoint) Name() string { return "endpoint" }

// Body is what an endpoint gets.
type Body struct {
	Checkpoints []Checkpoint `json:"checkpoints"`
}

// Send posts checkpoints.
func (e *Endpoint) Send(ctx context.Context, checkpoints []Checkpoint) error {
	body, err := json.Marshal(Body{checkpoints})
	if err != nil {
		return fmt.Errorf("encode checkpoints: %w", err)
	}
	header := http.Header{"Content-Type": {"application/json"}}
	if e.token.IsSet() {
		header.Set("Authorization", "Bearer "+e.token.Reveal())
	}
	answer, err := e.post.Post(ctx, outbound.Request{URL: e.url.Reveal(), Header: header, Body: body})
	switch {
	case err != nil:
		return fmt.Errorf("send checkpoints: %w", err)
	case answer.Status == http.StatusConflict:
		return fmt.Errorf("it has seen another history: %s", e.reason(answer.Body))
	case answer.Status == http.StatusUnauthorized:
		return fmt.Errorf("it answered 401: WRIT_WITNESS_TOKEN is not the token of the witness: %s", e.reason(answer.Body))
	case !answer.IsSuccess():
		return fmt.Errorf("it answered %d: %s", answer.Status, e.reason(answer.Body))
	}
	return nil
}

// maxReason is how many bytes of a refusal are told.
const maxReason = 300

// reason is what an endpoint says of a refusal, quoted, bounded, and without the token.
func (e *Endpoint) reason(body []byte) string {
	text := strings.TrimSpace(string(body))
	if e.token.IsSet() {
		text = strings.ReplaceAll(text, e.token.Reveal(), "(the token)")
	}
	return strconv.QuoteToASCII(text[:min(len(text), maxReason)])
}
