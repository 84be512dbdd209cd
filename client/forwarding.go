package client

import (
	"context"
	"time"
)

// NewForwarding is where traces and decisions are to be sent. Without headers those
// before stay; everything else that is nil is on.
type NewForwarding struct {
	Endpoint    string            `json:"endpoint"`
	Headers     map[string]string `json:"headers,omitzero"`
	Traces      *bool             `json:"traces,omitempty"`
	Decisions   *bool             `json:"decisions,omitempty"`
	Content     string            `json:"content,omitempty"` // none, redacted, full
	MaxAgeHours int               `json:"maxAgeHours,omitempty"`
	Enabled     *bool             `json:"enabled,omitempty"`
}

// Forwarding is where traces and decisions are sent. Of headers it has the names.
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

// ForwardingTest is the result of a test.
type ForwardingTest struct {
	Taken      bool   `json:"taken"`
	HTTPStatus int    `json:"httpStatus"`
	Problem    string `json:"problem"`
}

func forwardingPath(orgID string) string { return organizationPath(orgID) + "/forwarding" }

// Forwarding reads where an organization's traces and decisions are sent.
func (c *Client) Forwarding(ctx context.Context, orgID string) (Forwarding, error) {
	return get[Forwarding](ctx, c, forwardingPath(orgID), nil)
}

// SetForwarding sets where they are sent.
func (c *Client) SetForwarding(ctx context.Context, orgID string, n NewForwarding) (Forwarding, error) {
	return put[Forwarding](ctx, c, forwardingPath(orgID), nil, n)
}

// DeleteForwarding ends forwarding.
func (c *Client) DeleteForwarding(ctx context.Context, orgID string) error {
	return c.delete(ctx, forwardingPath(orgID), nil)
}

// ForwardingStatus reads how far sending is.
func (c *Client) ForwardingStatus(ctx context.Context, orgID string) (ForwardingStatus, error) {
	return get[ForwardingStatus](ctx, c, forwardingPath(orgID)+"/status", nil)
}

// TestForwarding sends one made-up span at once.
func (c *Client) TestForwarding(ctx context.Context, orgID string) (ForwardingTest, error) {
	return post[ForwardingTest](ctx, c, forwardingPath(orgID)+"/test", nil, nil)
}
