package client

import (
	"context"
	"net/http"
	"time"
)

// NewForwarding is where traces and decisions are to be sent. Nil members leave it to
// the server: headers as before, and everything else on.
type NewForwarding struct {
	Endpoint    string            `json:"endpoint"`
	Headers     map[string]string `json:"headers,omitzero"`
	Traces      *bool             `json:"traces,omitempty"`
	Decisions   *bool             `json:"decisions,omitempty"`
	Content     string            `json:"content,omitempty"` // none, redacted, full
	MaxAgeHours int               `json:"maxAgeHours,omitempty"`
	Enabled     *bool             `json:"enabled,omitempty"`
}

// Forwarding is where traces and decisions are sent. Headers are names alone.
type Forwarding struct {
	Endpoint       string    `json:"endpoint"`
	Headers        []string  `json:"headers"`
	Traces         bool      `json:"traces"`
	Decisions      bool      `json:"decisions"`
	Content        string    `json:"content"`
	MaxAgeHours    int       `json:"maxAgeHours"`
	Enabled        bool      `json:"enabled"`
	DisabledReason string    `json:"disabledReason"`
	CreatedAt      time.Time `json:"createdAt"`
	UpdatedAt      time.Time `json:"updatedAt"`
}

// ForwardingStatus is how far sending is.
type ForwardingStatus struct {
	Enabled  bool `json:"enabled"`
	Position struct {
		TracesUntil  *time.Time `json:"tracesUntil"`
		NextDecision *int64     `json:"nextDecision"`
	} `json:"position"`
	TracesWaitingSince    *time.Time `json:"tracesWaitingSince"`
	DecisionsWaitingSince *time.Time `json:"decisionsWaitingSince"`
	LagSeconds            int64      `json:"lagSeconds"`
	SentSpans             int64      `json:"sentSpans"`
	SentDecisions         int64      `json:"sentDecisions"`
	Refused               int64      `json:"refused"`
	Lost                  struct {
		Traces    int64      `json:"traces"`
		Decisions int64      `json:"decisions"`
		Until     *time.Time `json:"until"`
	} `json:"lost"`
	LastSentAt     *time.Time `json:"lastSentAt"`
	FailingSince   *time.Time `json:"failingSince"`
	FailedAttempts int64      `json:"failedAttempts"`
	LastStatus     int        `json:"lastStatus"`
	LastProblem    string     `json:"lastProblem"`
	RetryAt        *time.Time `json:"retryAt"`
}

// ForwardingTest is what came of a test.
type ForwardingTest struct {
	Taken      bool   `json:"taken"`
	HTTPStatus int    `json:"httpStatus"`
	Problem    string `json:"problem"`
}

func forwardingPath(orgID string) string { return "/organization/" + segment(orgID) + "/forwarding" }

// Forwarding reads where an organization's traces and decisions are sent.
func (c *Client) Forwarding(ctx context.Context, orgID string) (Forwarding, error) {
	return call[Forwarding](ctx, c, http.MethodGet, forwardingPath(orgID), nil, nil)
}

// SetForwarding says where they are sent.
func (c *Client) SetForwarding(ctx context.Context, orgID string, n NewForwarding) (Forwarding, error) {
	return call[Forwarding](ctx, c, http.MethodPut, forwardingPath(orgID), nil, n)
}

// DeleteForwarding sends no more, and forgets where to.
func (c *Client) DeleteForwarding(ctx context.Context, orgID string) error {
	return c.Call(ctx, http.MethodDelete, forwardingPath(orgID), nil, nil, nil)
}

// ForwardingStatus tells how far sending is.
func (c *Client) ForwardingStatus(ctx context.Context, orgID string) (ForwardingStatus, error) {
	return call[ForwardingStatus](ctx, c, http.MethodGet, forwardingPath(orgID)+"/status", nil, nil)
}

// TestForwarding has one made-up span sent at once.
func (c *Client) TestForwarding(ctx context.Context, orgID string) (ForwardingTest, error) {
	return call[ForwardingTest](ctx, c, http.MethodPost, forwardingPath(orgID)+"/test", nil, nil)
}
