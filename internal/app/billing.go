package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"writ/internal/billing"
	"writ/internal/billing/payment"
	"writ/internal/config"
	"writ/internal/organization"
	"writ/internal/projection"
	"writ/internal/referral"
	"writ/internal/telemetry"
)

// newBilling builds billing, which is off without a key of the payment provider.
func (a *Areas) newBilling(c config.Config, publicURL string) (*billing.Service, error) {
	o := billing.Options{
		Database: a.Database,
		Log:      a.log,
		Back:     strings.TrimRight(publicURL, "/") + "/ui/settings/billing",
		Sources: billing.Sources{
			Role:        organization.RoleIn,
			Name:        organization.NameIn,
			Address:     organization.Address,
			SpendCredit: referral.Spend,
		},
	}
	if !c.Billing.Key.IsSet() {
		return billing.New(o), nil
	}
	var err error
	if o.Plans, err = plansIn(c.Billing.PlansFile); err != nil {
		return nil, err
	}
	o.Provider = payment.New(payment.Options{
		Key: c.Billing.Key, Signing: c.Billing.WebhookSecret, Address: c.Billing.Provider,
	})
	return billing.New(o), nil
}

func plansIn(path string) ([]billing.Plan, error) {
	text, err := os.ReadFile(path)
	var plans []billing.Plan
	if err == nil {
		plans, err = billing.ParsePlans(text)
	}
	if err != nil {
		return nil, fmt.Errorf("WRIT_BILLING_PLANS_FILE: %w", err)
	}
	return plans, nil
}

// CheckFiles refuses settings that name a file with which a server would not start.
func CheckFiles(c config.Config) error {
	var problems []error
	if c.Billing.PlansFile != "" {
		_, err := plansIn(c.Billing.PlansFile)
		problems = append(problems, err)
	}
	if _, err := Prices(c.PricesFile); err != nil {
		problems = append(problems, fmt.Errorf("WRIT_PRICES_FILE: %w", err))
	}
	return errors.Join(problems...)
}

// spanLimit is what telemetry asks before it stores spans; nil: nothing is limited.
func (a *Areas) spanLimit(c config.Config) func(ctx context.Context, orgID string) (*int64, error) {
	if !c.Billing.Key.IsSet() {
		return nil
	}
	return func(ctx context.Context, orgID string) (*int64, error) { return a.Billing.SpanLimit(ctx, orgID) }
}

// allCounted is what telemetry asks before it closes a month.
func (a *Areas) allCounted(ctx context.Context, orgID string, at telemetry.Position) (bool, error) {
	return projection.AllCounted(ctx, a.Database, orgID, at)
}
