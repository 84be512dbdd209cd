// Package billing keeps which plan an organization pays for, its invoices, and what its plan allows.
//
// It is off unless the installation has an account at a payment provider; then there are no plans and no quotas. A plan
// has quotas of decisions, spans and seats. Decisions are counted and never refused: nothing here is asked on the way
// to one. Past the others, ingest and invitations are refused with what to do.
//
// The provider has the truth. What it posts is verified, counted once by its id, and only says where to look: the
// present state is fetched, and stored if nobody has stored a later one since the fetch began. So repeated and
// reordered messages change nothing. While the provider is away, the last known plan holds and its messages wait there.
//
//	none ──checkout──> customer ──event, fetch──> plan ──event, fetch──> another plan, or the free one
package billing

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"writ/internal/audit"
	"writ/internal/billing/payment"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
)

// Plan is what organizations can choose. A quota that is nil is none.
type Plan struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	PriceID   string `json:"priceId"`   // at the provider; empty: of the plan that costs nothing
	Decisions *int64 `json:"decisions"` // a month; counted, never refused
	Spans     *int64 `json:"spans"`     // a month
	Seats     *int64 `json:"seats"`
}

// ownAgreement is the plan of a price that no plan has: somebody agreed on it with the people who run the installation.
var ownAgreement = Plan{ID: "custom", Name: "Custom"}

// ParsePlans reads a file of plans: the first costs nothing, and everybody has it who pays for none.
func ParsePlans(text []byte) ([]Plan, error) {
	var plans []Plan
	if err := strict(text, &plans); err != nil {
		return nil, fmt.Errorf("must be a JSON list of plans: %w", err)
	}
	if len(plans) == 0 {
		return nil, fmt.Errorf("must have at least one plan")
	}
	ids, prices := map[string]bool{ownAgreement.ID: true}, map[string]bool{}
	for i, p := range plans {
		switch {
		case p.ID == "" || p.Name == "" || len(p.ID) > 50 || len(p.Name) > 100:
			return nil, fmt.Errorf("plan %d: id (1-50) and name (1-100 characters) must be set", i+1)
		case ids[p.ID]:
			return nil, fmt.Errorf("plan %d: the id %q is taken", i+1, p.ID)
		case (i == 0) != (p.PriceID == ""):
			return nil, fmt.Errorf("plan %d: the first plan costs nothing and has no priceId; each other has one", i+1)
		case p.PriceID != "" && prices[p.PriceID]:
			return nil, fmt.Errorf("plan %d: another plan has the same priceId", i+1)
		}
		for name, quota := range map[string]*int64{"decisions": p.Decisions, "spans": p.Spans, "seats": p.Seats} {
			if quota != nil && (*quota < 1 || *quota > 1e15) {
				return nil, fmt.Errorf("plan %d: %s must be from 1 to 10^15, or null", i+1, name)
			}
		}
		ids[p.ID], prices[p.PriceID] = true, true
	}
	return plans, nil
}

// Account is what is known of an organization's payments.
type Account struct {
	OrgID          string
	CustomerID     string
	SubscriptionID string
	PriceID        string
	Status         string // of the subscription, in the provider's words
	PeriodEnd      *time.Time
	CancelAtEnd    bool

	revision int64
}

// IsSubscribed reports whether the organization has a plan that it pays for.
func (a Account) IsSubscribed() bool { return payment.Subscription{Status: a.Status}.IsPaidFor() }

// Sources are what other areas know.
type Sources struct {
	// Role is that of a person in an open organization; without one a Forbidden fault.
	Role func(ctx context.Context, r database.Reader, orgID, userID string) (principal.Role, error)
	// Name is that of an organization.
	Name func(ctx context.Context, r database.Reader, orgID string) (string, error)
	// Address is that of a person.
	Address func(ctx context.Context, r database.Reader, userID string) (string, error)
	// SpendCredit takes an organization's credit, in cents, under an id.
	SpendCredit func(ctx context.Context, tx *database.Tx, orgID, id string) (int64, error)
}

// Options are what a Service needs.
type Options struct {
	Database *database.DB
	Log      *audit.Log
	Provider *payment.Client // nil: billing is off
	Plans    []Plan
	Back     string // where people return to from the provider's pages
	Sources
}

// Service keeps plans and payments.
type Service struct {
	Options
	db  *database.DB
	log *audit.Log
}

// New makes a Service.
func New(o Options) *Service { return &Service{Options: o, db: o.Database, log: o.Log} }

// IsOn reports whether organizations can pay.
func (s *Service) IsOn() bool { return s.Provider != nil }

func (s *Service) checkOn() error {
	if !s.IsOn() {
		return fault.New(fault.NotFound, "billing is off on this server (STRIPE_SECRET_KEY)")
	}
	return nil
}

// planOf is the plan that an account gives.
func (s *Service) planOf(a Account) Plan {
	if !a.IsSubscribed() {
		return s.Plans[0]
	}
	if i := slices.IndexFunc(s.Plans, func(p Plan) bool { return p.PriceID == a.PriceID }); i >= 0 {
		return s.Plans[i]
	}
	return ownAgreement
}

// Plan is the plan of the caller's organization, and what is known of its payments.
func (s *Service) Plan(ctx context.Context, p principal.Principal) (Plan, Account, error) {
	if err := s.checkOn(); err != nil {
		return Plan{}, Account{}, err
	}
	if err := p.Require(principal.ReadOrganization); err != nil {
		return Plan{}, Account{}, err
	}
	account, err := accountOf(ctx, s.db, p.OrgID)
	return s.planOf(account), account, err
}

// SpanLimit is how many spans an organization may send in a month; nil: as many as it likes.
func (s *Service) SpanLimit(ctx context.Context, orgID string) (*int64, error) {
	if !s.IsOn() {
		return nil, nil
	}
	account, err := accountOf(ctx, s.db, orgID)
	return s.planOf(account).Spans, err
}

// SeatLimit is how many members an organization may have; nil: as many as it likes.
func (s *Service) SeatLimit(ctx context.Context, r database.Reader, orgID string) (*int64, error) {
	if !s.IsOn() {
		return nil, nil
	}
	account, err := accountOf(ctx, r, orgID)
	return s.planOf(account).Seats, err
}

// strict reads JSON without unknown members: a quota whose name is misspelled must not seem to be set.
func strict(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if decoder.More() {
		return fmt.Errorf("more follows after the list")
	}
	return nil
}
