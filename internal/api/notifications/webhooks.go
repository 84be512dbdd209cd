package notifications

import (
	"context"
	"net/http"
	"time"

	"writ/internal/api/route"
	"writ/internal/notification/notice"
	"writ/internal/notification/webhook"
	"writ/internal/page"
	"writ/internal/principal"
	"writ/internal/throttle"
)

func (h *Handlers) mountWebhooks(r *route.Router) {
	manage := func(rt route.Route) route.Route { return rt.For(route.Person).Needs(principal.ManageWebhooks) }
	route.Handle(r, manage(route.Get("/organization/{orgId}/webhooks", "List webhooks")), h.listWebhooks)
	route.Handle(r, manage(route.Post("/organization/{orgId}/webhooks",
		"Send events to a target; its secret is shown once")).
		Records("webhook.created").Configures().Answers(http.StatusCreated), h.createWebhook)
	route.Handle(r, manage(route.Get("/organization/{orgId}/webhooks/{id}", "One webhook")), h.getWebhook)
	route.Handle(r, manage(route.Patch("/organization/{orgId}/webhooks/{id}",
		"Change, enable or disable a webhook")).Records("webhook.updated").Configures(), h.updateWebhook)
	route.Handle(r, manage(route.Delete("/organization/{orgId}/webhooks/{id}",
		"Delete a webhook with its deliveries")).
		Records("webhook.deleted").Answers(http.StatusNoContent), h.deleteWebhook)
	route.Handle(r, manage(route.Post("/organization/{orgId}/webhooks/{id}/secret",
		"Replace the secret; the new one is shown once")).
		Records("webhook.secret_renewed").Answers(http.StatusCreated), h.renewWebhookSecret)
	route.Handle(r, manage(route.Post("/organization/{orgId}/webhooks/{id}/test",
		"Send a test at once, and report the result")).
		Throttled(throttle.TestWebhook).Unrecorded(), h.testWebhook)
	route.Handle(r, manage(route.Get("/organization/{orgId}/webhooks/{id}/deliveries",
		"Deliveries, newest first; status=dead lists those that were given up")), h.listDeliveries)
	route.Handle(r, manage(route.Post("/organization/{orgId}/webhooks/{id}/deliveries/{deliveryId}/replay",
		"Send a delivery again, as the last")).
		Records("webhook.replayed").Answers(http.StatusAccepted), h.replayDelivery)
}

// WebhookBody is a webhook. Its URL and its secret are not shown.
type WebhookBody struct {
	ID             string        `json:"id" format:"uuid"`
	Name           string        `json:"name"`
	Kind           webhook.Kind  `json:"kind" enum:"generic,slack,teams"`
	Target         string        `json:"target" doc:"Scheme and host of the URL; the rest is kept secret." example:"https://hooks.example.org/…"`
	Events         []notice.Kind `json:"events" nullable:"false"`
	SendArguments  bool          `json:"sendArguments" doc:"Whether arguments of calls are sent, redacted and cut."`
	Enabled        bool          `json:"enabled"`
	DisabledAt     *time.Time    `json:"disabledAt"`
	DisabledReason string        `json:"disabledReason" doc:"Why it is disabled; empty: it is not."`
	FailingSince   *time.Time    `json:"failingSince" doc:"null: the last delivery succeeded."`
	DeliveredAt    *time.Time    `json:"deliveredAt" doc:"The last success."`
	Waiting        int           `json:"waiting" doc:"Deliveries that are not done yet."`
	Dead           int           `json:"dead" doc:"Deliveries that were given up."`
	CreatedAt      time.Time     `json:"createdAt"`
	CreatedBy      string        `json:"createdBy" format:"uuid"`
	UpdatedAt      time.Time     `json:"updatedAt"`
}

func webhookBody(w webhook.Webhook) WebhookBody {
	return WebhookBody{
		ID:             w.ID,
		Name:           w.Name,
		Kind:           w.Kind,
		Target:         w.Target,
		Events:         w.Events,
		SendArguments:  w.SendArguments,
		Enabled:        w.Enabled(),
		DisabledAt:     w.DisabledAt,
		DisabledReason: w.Disabled,
		FailingSince:   w.FailingSince,
		DeliveredAt:    w.DeliveredAt,
		Waiting:        w.Waiting,
		Dead:           w.Dead,
		CreatedAt:      w.CreatedAt,
		CreatedBy:      w.CreatedBy,
		UpdatedAt:      w.UpdatedAt,
	}
}

// IssuedWebhookBody is a new webhook with its secret, which is shown only once.
type IssuedWebhookBody struct {
	WebhookBody
	Secret string `json:"secret" doc:"Deliveries are signed with it. It is not shown again."`
}

func issuedWebhook(w webhook.Issued, err error) (IssuedWebhookBody, error) {
	return IssuedWebhookBody{webhookBody(w.Webhook), w.Secret.Reveal()}, err
}

func (h *Handlers) listWebhooks(
	ctx context.Context, caller principal.Principal, _ *route.OrgInput,
) (route.Items[WebhookBody], error) {
	list, err := h.Webhooks.List(ctx, caller)
	return route.ItemsOf(list, webhookBody), err
}

type createWebhookInput struct {
	route.OrgInput
	Body struct {
		Name          string        `json:"name" minLength:"1" maxLength:"100" example:"on-call channel"`
		Kind          webhook.Kind  `json:"kind" enum:"generic,slack,teams" doc:"generic: Writ's own JSON; slack and teams: the format of their incoming webhooks."`
		URL           string        `json:"url" minLength:"1" maxLength:"2048" doc:"Stored sealed, and not shown again."`
		Events        []notice.Kind `json:"events,omitempty" maxItems:"20" doc:"approval.opened, .voted, .approved, .rejected, .cancelled, .expired, .used, .revoked, profile.proposed, agent.killed, .suspended, .tripped, mcp.tools_held. Absent: opened, approved, rejected, expired."`
		SendArguments bool          `json:"sendArguments,omitempty" doc:"Whether arguments of calls are sent, redacted and cut."`
	}
}

func (h *Handlers) createWebhook(
	ctx context.Context, caller principal.Principal, in *createWebhookInput,
) (IssuedWebhookBody, error) {
	return issuedWebhook(h.Webhooks.Create(ctx, caller, webhook.New{
		Name:          in.Body.Name,
		Kind:          in.Body.Kind,
		URL:           in.Body.URL,
		Events:        in.Body.Events,
		SendArguments: in.Body.SendArguments,
	}))
}

// WebhookInput is the path of a route about one webhook.
type WebhookInput struct {
	route.OrgInput
	route.IDInput
}

func (h *Handlers) getWebhook(ctx context.Context, caller principal.Principal, in *WebhookInput) (WebhookBody, error) {
	w, err := h.Webhooks.Get(ctx, caller, in.ID)
	return webhookBody(w), err
}

type updateWebhookInput struct {
	WebhookInput
	Body struct {
		Name          *string       `json:"name,omitempty" minLength:"1" maxLength:"100"`
		URL           *string       `json:"url,omitempty" minLength:"1" maxLength:"2048"`
		Events        []notice.Kind `json:"events,omitempty" maxItems:"20"`
		SendArguments *bool         `json:"sendArguments,omitempty"`
		Enabled       *bool         `json:"enabled,omitempty" doc:"false gives up waiting deliveries; true starts with the next event."`
	}
}

func (h *Handlers) updateWebhook(
	ctx context.Context, caller principal.Principal, in *updateWebhookInput,
) (WebhookBody, error) {
	w, err := h.Webhooks.Update(ctx, caller, in.ID, webhook.Change{
		Name:          in.Body.Name,
		URL:           in.Body.URL,
		Events:        in.Body.Events,
		SendArguments: in.Body.SendArguments,
		Enabled:       in.Body.Enabled,
	})
	return webhookBody(w), err
}

func (h *Handlers) deleteWebhook(
	ctx context.Context, caller principal.Principal, in *WebhookInput,
) (route.None, error) {
	return route.None{}, h.Webhooks.Delete(ctx, caller, in.ID)
}

func (h *Handlers) renewWebhookSecret(
	ctx context.Context, caller principal.Principal, in *WebhookInput,
) (IssuedWebhookBody, error) {
	return issuedWebhook(h.Webhooks.RenewSecret(ctx, caller, in.ID))
}

// DeliveryBody is an event on its way to a target, without its content.
type DeliveryBody struct {
	ID          string         `json:"id" format:"uuid" doc:"As in the header Writ-Delivery."`
	Event       int64          `json:"event" doc:"Number of the event; 0: a test, or a proposal of a profile."`
	Kind        notice.Kind    `json:"kind"`
	RequestID   string         `json:"requestId" doc:"The request it is about; empty for a test."`
	Status      webhook.Status `json:"status" enum:"waiting,delivered,dead"`
	Attempts    int            `json:"attempts"`
	HTTPStatus  int            `json:"httpStatus" doc:"Of the last try; 0: no answer."`
	Problem     string         `json:"problem" doc:"Of the last try; empty: none."`
	CreatedAt   time.Time      `json:"createdAt"`
	AttemptedAt *time.Time     `json:"attemptedAt"`
	DoneAt      *time.Time     `json:"doneAt" doc:"When it was delivered or given up."`
}

func deliveryBody(d webhook.Delivery) DeliveryBody {
	return DeliveryBody{
		ID:          d.ID,
		Event:       d.Event,
		Kind:        d.Kind,
		RequestID:   d.RequestID,
		Status:      d.Status,
		Attempts:    d.Attempts,
		HTTPStatus:  d.HTTPStatus,
		Problem:     d.Problem,
		CreatedAt:   d.CreatedAt,
		AttemptedAt: d.AttemptedAt,
		DoneAt:      d.DoneAt,
	}
}

func (h *Handlers) testWebhook(
	ctx context.Context, caller principal.Principal, in *WebhookInput,
) (DeliveryBody, error) {
	d, err := h.Webhooks.Test(ctx, caller, in.ID)
	return deliveryBody(d), err
}

type listDeliveriesInput struct {
	WebhookInput
	route.PageInput
	Status string `query:"status" enum:"waiting,delivered,dead" doc:"Only deliveries in this state."`
}

func (h *Handlers) listDeliveries(
	ctx context.Context, caller principal.Principal, in *listDeliveriesInput,
) (page.Page[DeliveryBody], error) {
	found, err := h.Webhooks.Deliveries(ctx, caller, in.ID, webhook.Status(in.Status), in.Cursor, in.Limit)
	return route.MapPage(found, deliveryBody), err
}

type replayInput struct {
	WebhookInput
	DeliveryID string `path:"deliveryId" doc:"The delivery."`
}

func (h *Handlers) replayDelivery(
	ctx context.Context, caller principal.Principal, in *replayInput,
) (DeliveryBody, error) {
	d, err := h.Webhooks.Replay(ctx, caller, in.ID, in.DeliveryID)
	return deliveryBody(d), err
}
