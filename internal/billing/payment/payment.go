// Package payment asks the payment provider, Stripe: it makes customers, checkouts and pages to manage them, reads
// subscriptions and invoices, and verifies what the provider posts.
//
// What is posted only says where to look: it may be late, out of order or repeated, so that the present state is
// always fetched. A provider that does not answer is an Unavailable fault, which no decision ever waits for.
package payment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/stripe/stripe-go/v82"
	"github.com/stripe/stripe-go/v82/webhook"

	"writ/internal/fault"
	"writ/internal/secret"
)

const (
	// timeout is how long one call may take.
	timeout = 20 * time.Second
	// tolerance is how old a signature may be, so that nobody can keep a message and send it later.
	tolerance = 5 * time.Minute
)

// Client calls the provider.
type Client struct {
	backend stripe.Backend
	key     secret.Text
	signing secret.Text // with which it signs what it posts
}

// Options are how the provider is reached.
type Options struct {
	Key, Signing secret.Text
	Address      string // of its API
}

// New makes a Client.
func New(o Options) *Client {
	return &Client{
		backend: stripe.GetBackendWithConfig(stripe.APIBackend, &stripe.BackendConfig{
			URL:               &o.Address,
			HTTPClient:        &http.Client{Timeout: timeout, CheckRedirect: refuseRedirects},
			MaxNetworkRetries: stripe.Int64(1),
			EnableTelemetry:   stripe.Bool(false),
			LeveledLogger:     &stripe.LeveledLogger{Level: stripe.LevelNull}, // it would log what people are called
		}),
		key:     o.Key,
		signing: o.Signing,
	}
}

// refuseRedirects keeps the key from being sent elsewhere.
func refuseRedirects(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// errMissing: the provider does not have what a call names.
var errMissing = errors.New("it is not there")

// call asks the provider; what fails is a fault.
func (c *Client) call(method, path string, params stripe.ParamsContainer, into stripe.LastResponseSetter) error {
	err := c.backend.Call(method, path, c.key.Reveal(), params, into)
	if err == nil {
		return nil
	}
	refusal, refused := errors.AsType[*stripe.Error](err)
	if refused && refusal.HTTPStatusCode < 500 && refusal.HTTPStatusCode != http.StatusTooManyRequests {
		// Its text may name people and prices; its code does not.
		cause := fmt.Errorf("%s %s: %d %s", method, path, refusal.HTTPStatusCode, refusal.Code)
		if refusal.Code == stripe.ErrorCodeResourceMissing {
			cause = errors.Join(cause, errMissing)
		}
		return fault.Wrap(cause, fault.UpstreamFailed, "the payment provider refused this (%s)", refusal.Type)
	}
	away := fault.Wrap(fmt.Errorf("%s %s failed", method, path), fault.Unavailable,
		"the payment provider does not answer; try again later")
	away.RetryAfter = time.Minute
	return away
}

func in(ctx context.Context) stripe.Params { return stripe.Params{Context: ctx} }

// once has the provider do something one time, however often it is asked with the same id.
func once(ctx context.Context, id string) stripe.Params {
	return stripe.Params{Context: ctx, IdempotencyKey: &id}
}

// orgMember names the organization in what the provider keeps, for people who look at it there.
const orgMember = "organizationId"

// NewCustomer makes the customer of an organization, one time. What may differ the next time, because an organization
// is renamed or another person asks, is told after: the provider refuses an id that comes with something else.
func (c *Client) NewCustomer(ctx context.Context, orgID, name, email string) (id string, err error) {
	params := &stripe.CustomerParams{Params: once(ctx, "writ-customer-"+orgID)}
	params.AddMetadata(orgMember, orgID)
	var made stripe.Customer
	if err := c.call(http.MethodPost, "/v1/customers", params, &made); err != nil {
		return "", err
	}
	about := &stripe.CustomerParams{Params: in(ctx), Name: &name, Email: &email}
	var told stripe.Customer
	return made.ID, c.call(http.MethodPost, stripe.FormatURLPath("/v1/customers/%s", made.ID), about, &told)
}

// Checkout is a page on which somebody pays for a plan.
type Checkout struct {
	ID         string // ours, so that it is made one time
	OrgID      string
	CustomerID string
	PriceID    string
	Done, Left string // addresses to return to
}

// NewCheckout makes the page, and gives its id and address.
func (c *Client) NewCheckout(ctx context.Context, o Checkout) (id, address string, err error) {
	params := &stripe.CheckoutSessionParams{
		Params:            once(ctx, "writ-checkout-"+o.ID),
		Mode:              stripe.String(string(stripe.CheckoutSessionModeSubscription)),
		Customer:          &o.CustomerID,
		ClientReferenceID: &o.OrgID,
		SuccessURL:        &o.Done,
		CancelURL:         &o.Left,
		LineItems:         []*stripe.CheckoutSessionLineItemParams{{Price: &o.PriceID, Quantity: stripe.Int64(1)}},
	}
	params.AddMetadata(orgMember, o.OrgID)
	var made stripe.CheckoutSession
	err = c.call(http.MethodPost, "/v1/checkout/sessions", params, &made)
	return made.ID, made.URL, err
}

// NewPortal makes a page on which a customer changes or ends a subscription.
func (c *Client) NewPortal(ctx context.Context, customerID, back string) (address string, err error) {
	var made stripe.BillingPortalSession
	err = c.call(http.MethodPost, "/v1/billing_portal/sessions",
		&stripe.BillingPortalSessionParams{Params: in(ctx), Customer: &customerID, ReturnURL: &back}, &made)
	return made.URL, err
}

// creditMember marks a credit as ours.
const creditMember = "creditId"

// Credit lowers what a customer pays next, one time for an id: also when the provider has forgotten that it was asked.
func (c *Client) Credit(ctx context.Context, id, customerID string, cents int64) error {
	path := stripe.FormatURLPath("/v1/customers/%s/balance_transactions", customerID)
	params := in(ctx)
	var given stripe.CustomerBalanceTransactionList
	if err := c.call(http.MethodGet, path+"?limit=100", &params, &given); err != nil {
		return err
	}
	for _, t := range given.Data {
		if t.Metadata[creditMember] == id {
			return nil
		}
	}
	credit := &stripe.CustomerBalanceTransactionParams{
		Params:      once(ctx, "writ-credit-"+id),
		Amount:      stripe.Int64(-cents), // below zero: the customer has it
		Currency:    stripe.String(string(stripe.CurrencyUSD)),
		Description: stripe.String("Credit for referrals"),
	}
	credit.AddMetadata(creditMember, id)
	var made stripe.CustomerBalanceTransaction
	return c.call(http.MethodPost, path, credit, &made)
}

// Subscription is one of a customer.
type Subscription struct {
	ID          string
	Status      string
	PriceID     string
	CreatedAt   time.Time
	PeriodEnd   time.Time
	CancelAtEnd bool
}

// IsPaidFor reports whether it gives its plan. A payment that is late does not end it: the provider does.
func (s Subscription) IsPaidFor() bool {
	switch stripe.SubscriptionStatus(s.Status) {
	case stripe.SubscriptionStatusActive, stripe.SubscriptionStatusTrialing, stripe.SubscriptionStatusPastDue:
		return true
	}
	return false
}

// Subscriptions are those of a customer, ended ones too.
func (c *Client) Subscriptions(ctx context.Context, customerID string) (all []Subscription, err error) {
	query := url.Values{"customer": {customerID}, "status": {"all"}, "limit": {"100"}}
	params := in(ctx)
	var found stripe.SubscriptionList
	if err := c.call(http.MethodGet, "/v1/subscriptions?"+query.Encode(), &params, &found); err != nil {
		return nil, err
	}
	for _, s := range found.Data {
		one := Subscription{
			ID:          s.ID,
			Status:      string(s.Status),
			CreatedAt:   time.Unix(s.Created, 0).UTC(),
			CancelAtEnd: s.CancelAtPeriodEnd,
		}
		if s.Items != nil && len(s.Items.Data) > 0 {
			item := s.Items.Data[0]
			one.PeriodEnd = time.Unix(item.CurrentPeriodEnd, 0).UTC()
			if item.Price != nil {
				one.PriceID = item.Price.ID
			}
		}
		all = append(all, one)
	}
	return all, nil
}

// Invoice is one of a customer.
type Invoice struct {
	ID, CustomerID      string
	Number, Status      string
	Currency            string
	DueCents, PaidCents int64
	CreatedAt           time.Time
	Page, PDF           string // addresses at the provider
}

// Invoice reads one. One that was deleted is a NotFound fault.
func (c *Client) Invoice(ctx context.Context, id string) (Invoice, error) {
	params := in(ctx)
	var found stripe.Invoice
	err := c.call(http.MethodGet, stripe.FormatURLPath("/v1/invoices/%s", id), &params, &found)
	if errors.Is(err, errMissing) {
		return Invoice{}, fault.Wrap(err, fault.NotFound, "the payment provider has no such invoice")
	}
	if err != nil {
		return Invoice{}, err
	}
	i := Invoice{
		ID:        found.ID,
		Number:    found.Number,
		Status:    string(found.Status),
		Currency:  string(found.Currency),
		DueCents:  found.AmountDue,
		PaidCents: found.AmountPaid,
		CreatedAt: time.Unix(found.Created, 0).UTC(),
		Page:      found.HostedInvoiceURL,
		PDF:       found.InvoicePDF,
	}
	if found.Customer != nil {
		i.CustomerID = found.Customer.ID
	}
	return i, nil
}

// Event says what changed at the provider.
type Event struct {
	ID         string
	Type       string
	Object     string // what it is about: subscription, invoice, checkout.session
	ObjectID   string
	CustomerID string
}

// Verify reads what was posted, if the provider has signed it within the last minutes.
func (c *Client) Verify(payload []byte, signature string) (Event, error) {
	event, err := webhook.ConstructEventWithOptions(payload, signature, c.signing.Reveal(),
		webhook.ConstructEventOptions{Tolerance: tolerance, IgnoreAPIVersionMismatch: true})
	if err != nil {
		return Event{}, fault.Wrap(err, fault.Invalid, "Stripe-Signature: must be a valid signature of the body, made within the last 5 minutes")
	}
	var about struct {
		ID       string          `json:"id"`
		Object   string          `json:"object"`
		Customer json.RawMessage `json:"customer"`
	}
	if event.ID == "" || event.Data == nil || json.Unmarshal(event.Data.Raw, &about) != nil {
		return Event{}, fault.New(fault.Invalid, "the body must be an event of the payment provider")
	}
	e := Event{ID: event.ID, Type: string(event.Type), Object: about.Object, ObjectID: about.ID}
	var customer struct {
		ID string `json:"id"`
	}
	if json.Unmarshal(about.Customer, &e.CustomerID) != nil && json.Unmarshal(about.Customer, &customer) == nil {
		e.CustomerID = customer.ID // where it is sent as a whole
	}
	return e, nil
}
