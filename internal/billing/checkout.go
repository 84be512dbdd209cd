package billing

import (
	"context"
	"slices"

	"writ/internal/audit"
	"writ/internal/billing/payment"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
)

// Checkout makes a page on which the caller's organization pays for a plan. The organization's credit becomes the
// customer's, who pays less.
func (s *Service) Checkout(ctx context.Context, p principal.Principal, planID string) (id, address string, err error) {
	if err := s.checkOn(); err != nil {
		return "", "", err
	}
	if err := p.Require(principal.UpdateOrganization); err != nil {
		return "", "", err
	}
	i := slices.IndexFunc(s.Plans, func(plan Plan) bool { return plan.ID == planID && plan.PriceID != "" })
	if i < 0 {
		return "", "", fault.Field("plan", "must be the id of a plan that has a price; GET /billing/plan lists them")
	}
	customer, err := s.customer(ctx, p)
	if err != nil {
		return "", "", err
	}
	ours := database.NewID()
	err = s.change(ctx, p, func(ctx context.Context, tx *database.Tx) error {
		account, err := accountOf(ctx, tx, p.OrgID)
		if err != nil {
			return err
		}
		if account.CustomerID == "" {
			err = insertAccount(ctx, tx, p.OrgID, customer)
		} else {
			customer = account.CustomerID // somebody else was first
		}
		if err != nil {
			return err
		}
		if account.IsSubscribed() {
			return fault.New(fault.Conflict, "this organization pays for a plan already: change it with POST /billing/portal")
		}
		if err := s.takeCredit(ctx, tx, p.OrgID, ours); err != nil {
			return err
		}
		return s.record(ctx, tx, p, p.OrgID, "billing.checkout_started", map[string]any{"plan": planID})
	})
	if err != nil {
		return "", "", err
	}
	// A provider that refuses the credit must not keep anybody from paying; the credit waits.
	if err := s.sendCredit(ctx, p.OrgID, customer); err != nil && !fault.Is(err, fault.UpstreamFailed) {
		return "", "", err
	}
	return s.Provider.NewCheckout(ctx, payment.Checkout{
		ID:         ours,
		OrgID:      p.OrgID,
		CustomerID: customer,
		PriceID:    s.Plans[i].PriceID,
		Done:       s.Back + "?checkout=done",
		Left:       s.Back + "?checkout=left",
	})
}

// customer is the organization's customer at the provider, made there if there is none.
func (s *Service) customer(ctx context.Context, p principal.Principal) (string, error) {
	account, err := accountOf(ctx, s.db, p.OrgID)
	if err != nil || account.CustomerID != "" {
		return account.CustomerID, err
	}
	name, err := s.Name(ctx, s.db, p.OrgID)
	if err != nil {
		return "", err
	}
	address, err := s.Address(ctx, s.db, p.UserID)
	if err != nil {
		return "", err
	}
	return s.Provider.NewCustomer(ctx, p.OrgID, name, address)
}

// takeCredit moves an organization's credit to what is to be sent.
func (s *Service) takeCredit(ctx context.Context, tx *database.Tx, orgID, id string) error {
	cents, err := s.SpendCredit(ctx, tx, orgID, id)
	if err != nil || cents == 0 {
		return err
	}
	return insertCredit(ctx, tx, id, orgID, cents)
}

// sendCredit sends the provider what was taken and not sent yet: once, also after a crash in between.
func (s *Service) sendCredit(ctx context.Context, orgID, customerID string) error {
	waiting, err := unsentCredit(ctx, s.db, orgID)
	if err != nil {
		return err
	}
	for _, c := range waiting {
		if err := s.Provider.Credit(ctx, c.id, customerID, c.cents); err != nil {
			return err
		}
		err := s.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
			return updateSent(ctx, tx, c.id)
		}})
		if err != nil {
			return err
		}
	}
	return nil
}

// Portal makes a page on which the caller's organization changes or ends what it pays for.
func (s *Service) Portal(ctx context.Context, p principal.Principal) (address string, err error) {
	if err := s.checkOn(); err != nil {
		return "", err
	}
	if err := p.Require(principal.UpdateOrganization); err != nil {
		return "", err
	}
	account, err := accountOf(ctx, s.db, p.OrgID)
	if err != nil {
		return "", err
	}
	if account.CustomerID == "" {
		return "", fault.New(fault.Conflict, "this organization has never paid: begin with POST /checkout/session")
	}
	return s.Provider.NewPortal(ctx, account.CustomerID, s.Back)
}

// change is one of somebody who may change the organization, and may still when it is made.
func (s *Service) change(
	ctx context.Context, p principal.Principal, do func(ctx context.Context, tx *database.Tx) error,
) error {
	return s.db.Write(ctx, database.Change{Logs: []string{p.OrgID}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
		role, err := s.Role(ctx, tx, p.OrgID, p.UserID)
		if err != nil {
			return err
		}
		now := p
		now.Role = role
		if err := now.Require(principal.UpdateOrganization); err != nil {
			return err
		}
		return do(ctx, tx)
	}})
}

func (s *Service) record(
	ctx context.Context, tx *database.Tx, actor principal.Principal, orgID, action string, payload map[string]any,
) error {
	_, err := s.log.Append(ctx, tx, audit.Entry{
		Log:         orgID,
		Action:      action,
		Actor:       actor,
		Subject:     audit.Subject{Type: "organization", ID: orgID},
		Payload:     payload,
		Observation: true, // no decision depends on it
	})
	return err
}
