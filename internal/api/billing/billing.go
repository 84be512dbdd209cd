// Package billing serves plans, what they allow and how they are paid for, and takes what the payment provider posts.
package billing

import (
	"context"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"

	"writ/internal/api/route"
	"writ/internal/billing"
	"writ/internal/billing/payment"
	"writ/internal/organization"
	"writ/internal/page"
	"writ/internal/principal"
	"writ/internal/telemetry"
	"writ/internal/throttle"
)

// Handlers serve billing.
type Handlers struct {
	Billing       *billing.Service
	Telemetry     *telemetry.Service
	Organizations *organization.Service
	Bodies        *route.Bodies
	Now           func() time.Time
}

// maxEvent is how large an event may be; those of the provider are a tenth of it.
const maxEvent = 1 << 20

// Mount serves the routes.
func (h *Handlers) Mount(r *route.Router) {
	r = r.Tagged("billing")
	route.Handle(r, route.Post("/checkout/session", "Begin to pay for a plan, on a page of the payment provider").
		For(route.Person).Needs(principal.UpdateOrganization).Throttled(throttle.Checkout).
		Records("billing.checkout_started").Configures().Answers(http.StatusCreated), h.checkout)
	route.Handle(r, route.Get("/billing/plan", "The organization's plan, and those it can choose").
		For(route.Person).Needs(principal.ReadOrganization), h.plan)
	route.Handle(r, route.Get("/billing/usage", "How much of its plan the organization has used this month").
		For(route.Person).Needs(principal.ReadOrganization), h.usage)
	route.Handle(r, route.Get("/billing/invoices", "The organization's invoices, newest first").
		For(route.Person).Needs(principal.UpdateOrganization), h.invoices)
	route.Handle(r, route.Post("/billing/portal", "A page of the payment provider on which to change or end the plan").
		For(route.Person).Needs(principal.UpdateOrganization).Throttled(throttle.Checkout).Unrecorded().
		Answers(http.StatusCreated), h.portal)
	route.Raw[BillingEventBody, BillingEventTakenBody](r,
		route.Post("/billing/webhook", "Events of the payment provider, signed by it").
			For(route.Public).Throttled(throttle.BillingEvent).CountedBy(func(*http.Request) string { return "" }).
			UpTo(maxEvent).Records("billing.plan_changed"), h.event)
}

// PaidPlanBody is a plan.
type PaidPlanBody struct {
	ID        string `json:"id" example:"team"`
	Name      string `json:"name" example:"Team"`
	IsFree    bool   `json:"isFree" doc:"Whether it costs nothing."`
	Decisions *int64 `json:"decisions" doc:"A month; null: as many as you like. Decisions are counted and never refused." example:"100000"`
	Spans     *int64 `json:"spans" doc:"A month; null: as many as you like." example:"1000000"`
	Seats     *int64 `json:"seats" doc:"Members and open invitations; null: as many as you like." example:"10"`
}

func paidPlanBody(p billing.Plan) PaidPlanBody {
	return PaidPlanBody{p.ID, p.Name, p.PriceID == "" && p.ID != "custom", p.Decisions, p.Spans, p.Seats}
}

// BillingPlanBody is an organization's plan.
type BillingPlanBody struct {
	Plan        PaidPlanBody   `json:"plan" doc:"The plan that holds now."`
	Status      string         `json:"status" doc:"Of the subscription, in the payment provider's words; empty: there was none." example:"active"`
	PeriodEnd   *time.Time     `json:"periodEnd" doc:"When the paid time ends; null: nothing is paid for."`
	CancelAtEnd bool           `json:"cancelAtEnd" doc:"Whether it ends then."`
	HasPaid     bool           `json:"hasPaid" doc:"Whether there is anything to manage at the payment provider."`
	Plans       []PaidPlanBody `json:"plans" nullable:"false" doc:"Those to choose from."`
}

func (h *Handlers) plan(
	ctx context.Context, caller principal.Principal, _ *route.OrganizationQuery,
) (BillingPlanBody, error) {
	plan, account, err := h.Billing.Plan(ctx, caller)
	if err != nil {
		return BillingPlanBody{}, err
	}
	body := BillingPlanBody{
		Plan:        paidPlanBody(plan),
		Status:      account.Status,
		PeriodEnd:   account.PeriodEnd,
		CancelAtEnd: account.CancelAtEnd,
		HasPaid:     account.CustomerID != "",
	}
	for _, p := range h.Billing.Plans {
		body.Plans = append(body.Plans, paidPlanBody(p))
	}
	return body, nil
}

type checkoutInput struct {
	route.OrganizationQuery
	Body struct {
		Plan string `json:"plan" minLength:"1" maxLength:"50" doc:"The id of a plan that has a price." example:"team"`
	}
}

// PaymentPageBody is a page of the payment provider.
type PaymentPageBody struct {
	URL string `json:"url" doc:"Where to send the person's browser." example:"https://checkout.stripe.com/c/pay/cs_1"`
}

func (h *Handlers) checkout(
	ctx context.Context, caller principal.Principal, in *checkoutInput,
) (PaymentPageBody, error) {
	_, address, err := h.Billing.Checkout(ctx, caller, in.Body.Plan)
	return PaymentPageBody{address}, err
}

func (h *Handlers) portal(
	ctx context.Context, caller principal.Principal, _ *route.OrganizationQuery,
) (PaymentPageBody, error) {
	address, err := h.Billing.Portal(ctx, caller)
	return PaymentPageBody{address}, err
}

// QuotaBody is how much of a quota is used.
type QuotaBody struct {
	Used  int64  `json:"used" example:"5210"`
	Quota *int64 `json:"quota" doc:"Null: there is none." example:"1000000"`
	// What follows when it is used up.
	Refused bool `json:"refused" doc:"Whether more is refused (402) now. Of decisions never."`
}

// BillingUsageBody is how much of its plan an organization has used.
type BillingUsageBody struct {
	Month     string    `json:"month" format:"date" doc:"The first day of the month, UTC." example:"2026-11-01"`
	Decisions QuotaBody `json:"decisions" doc:"This month."`
	Spans     QuotaBody `json:"spans" doc:"This month."`
	Seats     QuotaBody `json:"seats" doc:"Members and open invitations, now."`
}

func (h *Handlers) usage(
	ctx context.Context, caller principal.Principal, _ *route.OrganizationQuery,
) (BillingUsageBody, error) {
	plan, _, err := h.Billing.Plan(ctx, caller)
	if err != nil {
		return BillingUsageBody{}, err
	}
	now := h.Now().UTC()
	month := telemetry.MeteredQuery{From: now, Until: now.Add(1), Monthly: true}
	used, err := h.Telemetry.MeteredOf(ctx, caller.OrgID, month)
	if err != nil {
		return BillingUsageBody{}, err
	}
	members, invited, err := h.Organizations.Seats(ctx, caller.OrgID)
	quota := func(used int64, quota *int64, refuses bool) QuotaBody {
		return QuotaBody{used, quota, refuses && quota != nil && used >= *quota}
	}
	return BillingUsageBody{
		Month:     used[0].At.Format(time.DateOnly),
		Decisions: quota(used[0].Decisions.Total(), plan.Decisions, false),
		Spans:     quota(used[0].Spans, plan.Spans, true),
		Seats:     quota(members+invited, plan.Seats, true),
	}, err
}

type invoicesInput struct {
	route.OrganizationQuery
	route.PageInput
}

// InvoiceBody is an invoice.
type InvoiceBody struct {
	ID        string    `json:"id" example:"in_1"`
	Number    string    `json:"number" example:"A-0001"`
	Status    string    `json:"status" doc:"draft, open, paid, void or uncollectible." example:"paid"`
	Currency  string    `json:"currency" example:"usd"`
	DueCents  int64     `json:"dueCents" example:"4900"`
	PaidCents int64     `json:"paidCents" example:"4900"`
	CreatedAt time.Time `json:"createdAt"`
	URL       string    `json:"url" doc:"Its page at the payment provider; empty: none." example:"https://invoice.stripe.com/i/1"`
}

func (h *Handlers) invoices(
	ctx context.Context, caller principal.Principal, in *invoicesInput,
) (page.Page[InvoiceBody], error) {
	found, err := h.Billing.Invoices(ctx, caller, in.Cursor, in.Limit)
	return route.MapPage(found, func(i payment.Invoice) InvoiceBody {
		return InvoiceBody{i.ID, i.Number, i.Status, i.Currency, i.DueCents, i.PaidCents, i.CreatedAt, i.Page}
	}), err
}

// BillingEventBody documents what the provider posts; see its own documents for the rest.
type BillingEventBody struct {
	ID   string         `json:"id" example:"evt_1"`
	Type string         `json:"type" example:"customer.subscription.updated"`
	Data map[string]any `json:"data,omitempty"`
}

// BillingEventTakenBody answers the provider.
type BillingEventTakenBody struct {
	Status string `json:"status" example:"received"`
}

func (h *Handlers) event(w http.ResponseWriter, r *http.Request, _ principal.Principal) error {
	body, err := h.Bodies.Open(r, maxEvent)
	defer body.Release()
	if err != nil {
		return err
	}
	if err := h.Billing.Receive(r.Context(), body.Bytes, r.Header.Get("Stripe-Signature")); err != nil {
		return err
	}
	w.Header().Set("Content-Type", route.JSONType)
	return json.MarshalWrite(w, BillingEventTakenBody{"received"})
}
