package billing

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"writ/internal/billing/payment"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
)

const (
	// keepEvents is how long the ids of events are kept. The provider sends one again for three days.
	keepEvents = 30 * 24 * time.Hour
	// tries is how often a state is fetched again because a later one was stored meanwhile.
	tries = 10
)

// errOvertaken: somebody stored a state after the fetch of ours began, which may be later than ours.
var errOvertaken = errors.New("a later state was stored meanwhile")

// Receive takes what the provider posted. An error has it sent again, but for what it did not sign.
func (s *Service) Receive(ctx context.Context, payload []byte, signature string) error {
	if err := s.checkOn(); err != nil {
		return err
	}
	event, err := s.Provider.Verify(payload, signature)
	if err != nil {
		return err
	}
	if known, err := hasEvent(ctx, s.db, event.ID); err != nil || known {
		return err
	}
	for range tries {
		if err = s.apply(ctx, event); !errors.Is(err, errOvertaken) {
			return err
		}
	}
	return fault.Wrap(err, fault.Unavailable, "too much happens at once; send it again")
}

// apply fetches what an event is about and stores it, with the event's id.
func (s *Service) apply(ctx context.Context, event payment.Event) error {
	account, err := accountOfCustomer(ctx, s.db, event.CustomerID)
	if err != nil {
		return err
	}
	// Of another use of the same account at the provider, or about what cannot be fetched: an invoice that is only
	// foreseen has no id. Nothing is kept of it but the event.
	if account.OrgID == "" || event.ObjectID == "" {
		return s.store(ctx, event, account, func(context.Context, *database.Tx) error { return nil })
	}
	switch event.Object {
	case "invoice":
		return s.applyInvoice(ctx, event, account)
	case "subscription", "checkout.session":
		all, err := s.Provider.Subscriptions(ctx, account.CustomerID)
		if err != nil {
			return err
		}
		err = s.store(ctx, event, account, func(ctx context.Context, tx *database.Tx) error {
			return s.storeSubscription(ctx, tx, account, s.best(all))
		})
		if err == nil {
			_ = s.sendCredit(ctx, account.OrgID, account.CustomerID) // what fails waits for the next time
		}
		return err
	}
	return s.store(ctx, event, account, func(context.Context, *database.Tx) error { return nil })
}

// applyInvoice stores an invoice as it is now. A draft that was deleted is gone, whichever message about it comes last:
// an error would have the provider send that one again for days.
func (s *Service) applyInvoice(ctx context.Context, event payment.Event, account Account) error {
	invoice, err := s.Provider.Invoice(ctx, event.ObjectID)
	if fault.Is(err, fault.NotFound) {
		return s.store(ctx, event, account, func(ctx context.Context, tx *database.Tx) error {
			return deleteInvoice(ctx, tx, account.OrgID, event.ObjectID)
		})
	}
	if err != nil {
		return err
	}
	if invoice.CustomerID != account.CustomerID {
		return fault.New(fault.UpstreamFailed, "the invoice is of another customer")
	}
	return s.store(ctx, event, account, func(ctx context.Context, tx *database.Tx) error {
		return upsertInvoice(ctx, tx, account.OrgID, invoice)
	})
}

// store makes the change of an event once, if nobody has changed the account since it was read.
func (s *Service) store(
	ctx context.Context, event payment.Event, account Account, do func(ctx context.Context, tx *database.Tx) error,
) error {
	change := database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		fresh, err := insertEvent(ctx, tx, event, account.OrgID)
		if err != nil || !fresh {
			return err
		}
		if err := deleteEvents(ctx, tx, tx.Now().Add(-keepEvents)); err != nil {
			return err
		}
		if account.OrgID == "" {
			return nil
		}
		if moved, err := bumpRevision(ctx, tx, account); err != nil || !moved {
			return cmp.Or(err, errOvertaken)
		}
		return do(ctx, tx)
	}}
	if account.OrgID != "" {
		change.Logs = []string{account.OrgID}
	}
	return s.db.Write(ctx, change)
}

// best is the subscription that counts: of those that are paid for, that of the largest plan, then the latest.
func (s *Service) best(all []payment.Subscription) payment.Subscription {
	if len(all) == 0 {
		return payment.Subscription{}
	}
	rank := func(sub payment.Subscription) int {
		if !sub.IsPaidFor() {
			return -1
		}
		i := slices.IndexFunc(s.Plans, func(p Plan) bool { return p.PriceID == sub.PriceID })
		if i < 0 {
			return len(s.Plans) // an agreement of its own
		}
		return i
	}
	return slices.MaxFunc(all, func(a, b payment.Subscription) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
}

func (s *Service) storeSubscription(
	ctx context.Context, tx *database.Tx, before Account, sub payment.Subscription,
) error {
	after := before
	after.SubscriptionID, after.PriceID, after.Status = sub.ID, sub.PriceID, sub.Status
	after.CancelAtEnd, after.PeriodEnd = sub.CancelAtEnd, nil
	if !sub.PeriodEnd.IsZero() {
		after.PeriodEnd = &sub.PeriodEnd
	}
	if err := updateAccount(ctx, tx, after); err != nil {
		return err
	}
	if s.planOf(before).ID == s.planOf(after).ID && before.Status == after.Status {
		return nil
	}
	return s.record(ctx, tx, principal.Operator(), before.OrgID, "billing.plan_changed",
		map[string]any{"plan": s.planOf(after).ID, "status": after.Status})
}
