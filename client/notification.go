package client

import (
	"context"
	"net/http"
	"time"
)

// Notification is what a person was told.
type Notification struct {
	ID        string     `json:"id"`
	Kind      string     `json:"kind"`
	SubjectID string     `json:"subjectId"` // the request, or the webhook
	Title     string     `json:"title"`
	Risk      string     `json:"risk"`
	CreatedAt time.Time  `json:"createdAt"`
	ReadAt    *time.Time `json:"readAt"`
}

// Notifications lists what the caller was told in an organization, newest first.
func (c *Client) Notifications(ctx context.Context, orgID string, unread bool, l List) (Page[Notification], error) {
	q := l.values()
	if orgID != "" {
		q.Set("organizationId", orgID)
	}
	if unread {
		q.Set("unread", "true")
	}
	return call[Page[Notification]](ctx, c, http.MethodGet, "/notifications", q, nil)
}

// UnreadNotifications counts those the caller has not read.
func (c *Client) UnreadNotifications(ctx context.Context, orgID string) (int, error) {
	var answer struct{ Unread int }
	err := c.Call(ctx, http.MethodGet, "/notifications/unread-count", inOrg(orgID), nil, &answer)
	return answer.Unread, err
}

// MarkRead says that the caller has read a notification.
func (c *Client) MarkRead(ctx context.Context, orgID, id string) error {
	return c.Call(ctx, http.MethodPost, "/notifications/"+segment(id)+"/read", inOrg(orgID), nil, nil)
}

// MarkAllRead says that the caller has read them all, and tells how many were not.
func (c *Client) MarkAllRead(ctx context.Context, orgID string) (int, error) {
	var answer struct{ Marked int }
	err := c.Call(ctx, http.MethodPost, "/notifications/read-all", inOrg(orgID), nil, &answer)
	return answer.Marked, err
}

// NotificationPreferences are how a person wants to be told.
type NotificationPreferences struct {
	Mail bool `json:"mail"`
}

// NotificationPreferences are the caller's, in an organization.
func (c *Client) NotificationPreferences(ctx context.Context, orgID string) (NotificationPreferences, error) {
	return call[NotificationPreferences](ctx, c, http.MethodGet, "/notifications/preferences", inOrg(orgID), nil)
}

// SetNotificationPreferences changes the caller's.
func (c *Client) SetNotificationPreferences(
	ctx context.Context, orgID string, wants NotificationPreferences,
) (NotificationPreferences, error) {
	return call[NotificationPreferences](ctx, c, http.MethodPut, "/notifications/preferences", inOrg(orgID), wants)
}

// NewWebhook is a webhook to be made.
type NewWebhook struct {
	Name          string   `json:"name"`
	Kind          string   `json:"kind"` // generic, slack, teams
	URL           string   `json:"url"`
	Events        []string `json:"events,omitempty"`
	SendArguments bool     `json:"sendArguments,omitempty"`
}

// Webhook is a target that is told of events.
type Webhook struct {
	ID             string     `json:"id"`
	Name           string     `json:"name"`
	Kind           string     `json:"kind"`
	Target         string     `json:"target"` // scheme and host
	Events         []string   `json:"events"`
	SendArguments  bool       `json:"sendArguments"`
	Enabled        bool       `json:"enabled"`
	DisabledReason string     `json:"disabledReason"`
	FailingSince   *time.Time `json:"failingSince"`
	DeliveredAt    *time.Time `json:"deliveredAt"`
	Waiting        int        `json:"waiting"`
	Dead           int        `json:"dead"`
	Secret         string     `json:"secret"` // only when it is made or renewed
}

// WebhookDelivery is an event on its way to a target.
type WebhookDelivery struct {
	ID         string     `json:"id"`
	Event      int64      `json:"event"`
	Kind       string     `json:"kind"`
	RequestID  string     `json:"requestId"`
	Status     string     `json:"status"` // waiting, delivered, dead
	Attempts   int        `json:"attempts"`
	HTTPStatus int        `json:"httpStatus"`
	Problem    string     `json:"problem"`
	CreatedAt  time.Time  `json:"createdAt"`
	DoneAt     *time.Time `json:"doneAt"`
}

func webhooksPath(orgID string) string { return organizationPath(orgID) + "/webhooks" }

// Webhooks lists those of an organization.
func (c *Client) Webhooks(ctx context.Context, orgID string) ([]Webhook, error) {
	var answer struct{ Items []Webhook }
	err := c.Call(ctx, http.MethodGet, webhooksPath(orgID), nil, nil, &answer)
	return answer.Items, err
}

// CreateWebhook makes one; its secret is in the answer alone.
func (c *Client) CreateWebhook(ctx context.Context, orgID string, n NewWebhook) (Webhook, error) {
	return call[Webhook](ctx, c, http.MethodPost, webhooksPath(orgID), nil, n)
}

// Webhook reads one.
func (c *Client) Webhook(ctx context.Context, orgID, id string) (Webhook, error) {
	return call[Webhook](ctx, c, http.MethodGet, webhooksPath(orgID)+"/"+segment(id), nil, nil)
}

// UpdateWebhook changes the members that are named: name, url, events,
// sendArguments, enabled.
func (c *Client) UpdateWebhook(ctx context.Context, orgID, id string, changes map[string]any) (Webhook, error) {
	return call[Webhook](ctx, c, http.MethodPatch, webhooksPath(orgID)+"/"+segment(id), nil, changes)
}

// DeleteWebhook deletes one with its deliveries.
func (c *Client) DeleteWebhook(ctx context.Context, orgID, id string) error {
	return c.Call(ctx, http.MethodDelete, webhooksPath(orgID)+"/"+segment(id), nil, nil, nil)
}

// RenewWebhookSecret replaces the secret; the new one is in the answer alone.
func (c *Client) RenewWebhookSecret(ctx context.Context, orgID, id string) (Webhook, error) {
	return call[Webhook](ctx, c, http.MethodPost, webhooksPath(orgID)+"/"+segment(id)+"/secret", nil, nil)
}

// TestWebhook sends a test at once.
func (c *Client) TestWebhook(ctx context.Context, orgID, id string) (WebhookDelivery, error) {
	return call[WebhookDelivery](ctx, c, http.MethodPost, webhooksPath(orgID)+"/"+segment(id)+"/test", nil, nil)
}

// WebhookDeliveries lists what was and is to be sent, newest first; an empty status
// means all.
func (c *Client) WebhookDeliveries(
	ctx context.Context, orgID, id, status string, l List,
) (Page[WebhookDelivery], error) {
	q := l.values()
	if status != "" {
		q.Set("status", status)
	}
	return call[Page[WebhookDelivery]](ctx, c, http.MethodGet, webhooksPath(orgID)+"/"+segment(id)+"/deliveries", q,
		nil)
}

// ReplayDelivery has one sent again.
func (c *Client) ReplayDelivery(ctx context.Context, orgID, webhookID, id string) (WebhookDelivery, error) {
	return call[WebhookDelivery](ctx, c, http.MethodPost,
		webhooksPath(orgID)+"/"+segment(webhookID)+"/deliveries/"+segment(id)+"/replay", nil, nil)
}

// EventStream opens the stream of what happens to an organization's requests, after
// the event with an id (empty: from now on). Close its body.
func (c *Client) EventStream(ctx context.Context, orgID, afterID string) (*http.Response, error) {
	return c.openStream(ctx, "/notifications/stream", inOrg(orgID), afterID)
}
