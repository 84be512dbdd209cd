package api

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

func (a *API) mountWebhooks() {
	route := func(method, path, summary, records string, status int) Route {
		return Route{
			Method: method, Path: "/organization/{orgId}/webhooks" + path, Tag: "webhooks", Summary: summary,
			Mode: JWT, Action: principal.ManageWebhooks, Audit: records, Status: status,
		}
	}
	handle(a, route(http.MethodGet, "", "Where events are told", "", 0), a.listWebhooks)
	handle(a,
		route(http.MethodPost, "", "Tell events to a target; its secret is shown once", "webhook.created",
			http.StatusCreated), a.createWebhook)
	handle(a, route(http.MethodGet, "/{id}", "One webhook", "", 0), a.getWebhook)
	handle(a, route(http.MethodPatch, "/{id}", "Change, enable or disable a webhook", "webhook.updated", 0),
		a.updateWebhook)
	handle(a,
		route(http.MethodDelete, "/{id}", "Delete a webhook with its deliveries", "webhook.deleted",
			http.StatusNoContent), a.deleteWebhook)
	handle(a,
		route(http.MethodPost, "/{id}/secret", "Replace the secret; the new one is shown once",
			"webhook.secret_renewed", http.StatusCreated), a.renewWebhookSecret)
	test := route(http.MethodPost, "/{id}/test", "Send a test at once, and tell what came of it", notRecorded, 0)
	test.Throttle = throttle.TestWebhook
	handle(a, test, a.testWebhook)
	handle(a,
		route(http.MethodGet, "/{id}/deliveries",
			"What was and is to be sent, newest first; status=dead lists what was given up", "", 0), a.listDeliveries)
	handle(a,
		route(http.MethodPost, "/{id}/deliveries/{deliveryId}/replay", "Send a delivery again, as the last",
			"webhook.replayed", http.StatusAccepted), a.replayDelivery)
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
	Waiting        int           `json:"waiting" doc:"Deliveries that wait."`
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

// IssuedWebhookBody is a webhook with the one sight of its secret.
type IssuedWebhookBody struct {
	WebhookBody
	Secret string `json:"secret" doc:"Deliveries are signed with it. It is not shown again."`
}

type (
	webhookOutput       struct{ Body WebhookBody }
	issuedWebhookOutput struct{ Body IssuedWebhookBody }
	webhooksOutput      struct {
		Body struct {
			Items []WebhookBody `json:"items" nullable:"false"`
		}
	}
)

func issuedWebhook(w webhook.Issued, err error) (*issuedWebhookOutput, error) {
	if err != nil {
		return nil, err
	}
	return &issuedWebhookOutput{IssuedWebhookBody{webhookBody(w.Webhook), w.Secret.Reveal()}}, nil
}

func (a *API) listWebhooks(ctx context.Context, caller principal.Principal, _ *OrgInput) (*webhooksOutput, error) {
	list, err := a.Webhooks.List(ctx, caller)
	if err != nil {
		return nil, err
	}
	out := &webhooksOutput{}
	out.Body.Items = make([]WebhookBody, len(list))
	for i, w := range list {
		out.Body.Items[i] = webhookBody(w)
	}
	return out, nil
}

type createWebhookInput struct {
	OrgInput
	Body struct {
		Name          string        `json:"name" minLength:"1" maxLength:"100" example:"on-call channel"`
		Kind          webhook.Kind  `json:"kind" enum:"generic,slack,teams" doc:"generic takes our JSON; slack and teams what their incoming webhooks take."`
		URL           string        `json:"url" minLength:"1" maxLength:"2048" doc:"Stored sealed, and not shown again."`
		Events        []notice.Kind `json:"events,omitempty" maxItems:"20" doc:"approval.opened, .voted, .approved, .rejected, .cancelled, .expired, .used, .revoked, profile.proposed. Absent: opened, approved, rejected, expired."`
		SendArguments bool          `json:"sendArguments,omitempty" doc:"Whether arguments of calls are sent, redacted and cut."`
	}
}

func (a *API) createWebhook(
	ctx context.Context, caller principal.Principal, in *createWebhookInput,
) (*issuedWebhookOutput, error) {
	return issuedWebhook(a.Webhooks.Create(ctx, caller, webhook.New{
		Name:          in.Body.Name,
		Kind:          in.Body.Kind,
		URL:           in.Body.URL,
		Events:        in.Body.Events,
		SendArguments: in.Body.SendArguments,
	}))
}

// WebhookInput is the path of a route about one webhook.
type WebhookInput struct {
	OrgInput
	IDInput
}

func (a *API) getWebhook(ctx context.Context, caller principal.Principal, in *WebhookInput) (*webhookOutput, error) {
	w, err := a.Webhooks.Get(ctx, caller, in.ID)
	return &webhookOutput{webhookBody(w)}, err
}

type updateWebhookInput struct {
	WebhookInput
	Body struct {
		Name          *string       `json:"name,omitempty" minLength:"1" maxLength:"100"`
		URL           *string       `json:"url,omitempty" minLength:"1" maxLength:"2048"`
		Events        []notice.Kind `json:"events,omitempty" maxItems:"20"`
		SendArguments *bool         `json:"sendArguments,omitempty"`
		Enabled       *bool         `json:"enabled,omitempty" doc:"false gives up what waits; true begins anew."`
	}
}

func (a *API) updateWebhook(
	ctx context.Context, caller principal.Principal, in *updateWebhookInput,
) (*webhookOutput, error) {
	w, err := a.Webhooks.Update(ctx, caller, in.ID, webhook.Change{
		Name:          in.Body.Name,
		URL:           in.Body.URL,
		Events:        in.Body.Events,
		SendArguments: in.Body.SendArguments,
		Enabled:       in.Body.Enabled,
	})
	return &webhookOutput{webhookBody(w)}, err
}

func (a *API) deleteWebhook(ctx context.Context, caller principal.Principal, in *WebhookInput) (*none, error) {
	return nil, a.Webhooks.Delete(ctx, caller, in.ID)
}

func (a *API) renewWebhookSecret(
	ctx context.Context, caller principal.Principal, in *WebhookInput,
) (*issuedWebhookOutput, error) {
	return issuedWebhook(a.Webhooks.RenewSecret(ctx, caller, in.ID))
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

type (
	deliveryOutput   struct{ Body DeliveryBody }
	deliveriesOutput struct{ Body page.Page[DeliveryBody] }
)

func (a *API) testWebhook(ctx context.Context, caller principal.Principal, in *WebhookInput) (*deliveryOutput, error) {
	d, err := a.Webhooks.Test(ctx, caller, in.ID)
	return &deliveryOutput{deliveryBody(d)}, err
}

type listDeliveriesInput struct {
	WebhookInput
	PageInput
	Status string `query:"status" enum:"waiting,delivered,dead" doc:"Only those."`
}

func (a *API) listDeliveries(
	ctx context.Context, caller principal.Principal, in *listDeliveriesInput,
) (*deliveriesOutput, error) {
	found, err := a.Webhooks.Deliveries(ctx, caller, in.ID, webhook.Status(in.Status), in.Cursor, in.Limit)
	return &deliveriesOutput{route.MapPage(found, deliveryBody)}, err
}

type replayInput struct {
	WebhookInput
	DeliveryID string `path:"deliveryId" doc:"The delivery."`
}

func (a *API) replayDelivery(
	ctx context.Context, caller principal.Principal, in *replayInput,
) (*deliveryOutput, error) {
	d, err := a.Webhooks.Replay(ctx, caller, in.ID, in.DeliveryID)
	return &deliveryOutput{deliveryBody(d)}, err
}
