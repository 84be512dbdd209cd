package client

import (
	"context"
	"net/http"
	"time"
)

// Notification is a message to a person.
type Notification struct {
	ID        string     `json:"id"`
	Kind      string     `json:"kind"`
	SubjectID string     `json:"subjectId"` // the request, or the webhook
	Title     string     `json:"title"`
	Risk      string     `json:"risk"`
	CreatedAt time.Time  `json:"createdAt"`
	ReadAt    *time.Time `json:"readAt"`
}

// Notifications lists the notifications of the caller in an organization, newest first.
func (c *Client) Notifications(ctx context.Context, orgID string, unread bool, l List) (Page[Notification], error) {
	return get[Page[Notification]](ctx, c, "/notifications", l.with("organizationId", orgID, "unread", unread))
}

// UnreadNotifications counts the notifications that the caller has not read.
func (c *Client) UnreadNotifications(ctx context.Context, orgID string) (int, error) {
	out, err := get[struct{ Unread int }](ctx, c, "/notifications/unread-count", inOrg(orgID))
	return out.Unread, err
}

// MarkRead marks a notification as read.
func (c *Client) MarkRead(ctx context.Context, orgID, id string) error {
	return c.do(ctx, "/notifications/"+segment(id)+"/read", inOrg(orgID), nil)
}

// MarkAllRead marks all notifications as read, and counts those that were not.
func (c *Client) MarkAllRead(ctx context.Context, orgID string) (int, error) {
	out, err := post[struct{ Marked int }](ctx, c, "/notifications/read-all", inOrg(orgID), nil)
	return out.Marked, err
}

// NotificationPreferences say how a person is notified.
type NotificationPreferences struct {
	Mail bool `json:"mail"`
}

// NotificationPreferences reads the preferences of the caller in an organization.
func (c *Client) NotificationPreferences(ctx context.Context, orgID string) (NotificationPreferences, error) {
	return get[NotificationPreferences](ctx, c, "/notifications/preferences", inOrg(orgID))
}

// SetNotificationPreferences changes the preferences of the caller.
func (c *Client) SetNotificationPreferences(
	ctx context.Context, orgID string, wants NotificationPreferences,
) (NotificationPreferences, error) {
	return put[NotificationPreferences](ctx, c, "/notifications/preferences", inOrg(orgID), wants)
}

// NewWebhook describes a webhook to be made.
type NewWebhook struct {
	Name          string   `json:"name"`
	Kind          string   `json:"kind"` // generic, slack, teams
	URL           string   `json:"url"`
	Events        []string `json:"events,omitempty"`
	SendArguments bool     `json:"sendArguments,omitempty"`
}

// Webhook is an address that gets events.
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

// WebhookDelivery is an event on its way to a webhook.
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

func webhookPath(orgID, id string) string { return webhooksPath(orgID) + "/" + segment(id) }

// Webhooks lists the webhooks of an organization.
func (c *Client) Webhooks(ctx context.Context, orgID string) ([]Webhook, error) {
	return list[Webhook](ctx, c, webhooksPath(orgID), nil)
}

// CreateWebhook makes a webhook. Only this answer has its secret.
func (c *Client) CreateWebhook(ctx context.Context, orgID string, n NewWebhook) (Webhook, error) {
	return post[Webhook](ctx, c, webhooksPath(orgID), nil, n)
}

// Webhook reads a webhook.
func (c *Client) Webhook(ctx context.Context, orgID, id string) (Webhook, error) {
	return get[Webhook](ctx, c, webhookPath(orgID, id), nil)
}

// UpdateWebhook changes some of name, url, events, sendArguments and enabled.
func (c *Client) UpdateWebhook(ctx context.Context, orgID, id string, changes map[string]any) (Webhook, error) {
	return call[Webhook](ctx, c, http.MethodPatch, webhookPath(orgID, id), nil, changes)
}

// DeleteWebhook deletes a webhook with its deliveries.
func (c *Client) DeleteWebhook(ctx context.Context, orgID, id string) error {
	return c.delete(ctx, webhookPath(orgID, id), nil)
}

// RenewWebhookSecret replaces the secret. Only this answer has the new one.
func (c *Client) RenewWebhookSecret(ctx context.Context, orgID, id string) (Webhook, error) {
	return post[Webhook](ctx, c, webhookPath(orgID, id)+"/secret", nil, nil)
}

// TestWebhook sends a test event at once.
func (c *Client) TestWebhook(ctx context.Context, orgID, id string) (WebhookDelivery, error) {
	return post[WebhookDelivery](ctx, c, webhookPath(orgID, id)+"/test", nil, nil)
}

// WebhookDeliveries lists the deliveries of a webhook, newest first; with an empty
// status all of them.
func (c *Client) WebhookDeliveries(
	ctx context.Context, orgID, id, status string, l List,
) (Page[WebhookDelivery], error) {
	return get[Page[WebhookDelivery]](ctx, c, webhookPath(orgID, id)+"/deliveries", l.with("status", status))
}

// ReplayDelivery sends a delivery again.
func (c *Client) ReplayDelivery(ctx context.Context, orgID, webhookID, id string) (WebhookDelivery, error) {
	return post[WebhookDelivery](ctx, c, webhookPath(orgID, webhookID)+"/deliveries/"+segment(id)+"/replay", nil, nil)
}

// EventStream opens the stream of events about an organization's approval requests,
// after the event with an id (empty: from now on). The caller closes the body.
func (c *Client) EventStream(ctx context.Context, orgID, afterID string) (*http.Response, error) {
	return c.openStream(ctx, "/notifications/stream", inOrg(orgID), afterID)
}
