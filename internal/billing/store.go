package billing

import (
	"context"
	"time"

	"writ/internal/billing/payment"
	"writ/internal/database"
	"writ/internal/page"
	"writ/internal/principal"
)

const selectAccount = `
	SELECT org_id, customer_id, subscription_id, price_id, status, period_end, cancel_at_end, revision
	FROM billing_account `

func scanAccount(s database.Scanner) (a Account, err error) {
	err = s.Scan(&a.OrgID, &a.CustomerID, &a.SubscriptionID, &a.PriceID, &a.Status,
		database.ToOptionalTime(&a.PeriodEnd), &a.CancelAtEnd, &a.revision)
	return a, err
}

// accountOf gives one that says only whose it is where an organization has never paid.
func accountOf(ctx context.Context, r database.Reader, orgID string) (Account, error) {
	a, err := scanAccount(r.QueryRow(ctx, selectAccount+`WHERE org_id = $1`, orgID))
	if a.OrgID == "" {
		a = Account{OrgID: orgID}
	}
	return a, database.OrMissing(err, nil, "load the billing account of %s", orgID)
}

// accountOfCustomer gives the zero Account for a customer that is not ours.
func accountOfCustomer(ctx context.Context, r database.Reader, customerID string) (Account, error) {
	if customerID == "" {
		return Account{}, nil
	}
	a, err := scanAccount(r.QueryRow(ctx, selectAccount+`WHERE customer_id = $1`, customerID))
	return a, database.OrMissing(err, nil, "find the billing account of a customer")
}

func insertAccount(ctx context.Context, tx *database.Tx, orgID, customerID string) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO billing_account (org_id, customer_id, subscription_id, price_id, status, cancel_at_end, revision, created_at, updated_at)
		VALUES ($1, $2, '', '', '', FALSE, 0, $3, $3)`, orgID, customerID, database.Micros(tx.Now()))
	return database.Wrap(err, "store the billing account of %s", orgID)
}

// bumpRevision reports whether the account was still as it was read.
func bumpRevision(ctx context.Context, tx *database.Tx, a Account) (bool, error) {
	changed, err := tx.Exec(ctx, `
		UPDATE billing_account
		SET revision = revision + 1, updated_at = $3
		WHERE org_id = $1 AND revision = $2`, a.OrgID, a.revision, database.Micros(tx.Now()))
	return changed == 1, database.Wrap(err, "change the billing account of %s", a.OrgID)
}

func updateAccount(ctx context.Context, tx *database.Tx, a Account) error {
	_, err := tx.Exec(ctx, `
		UPDATE billing_account
		SET subscription_id = $2, price_id = $3, status = $4, period_end = $5, cancel_at_end = $6
		WHERE org_id = $1`, a.OrgID, a.SubscriptionID, a.PriceID, a.Status, database.OptionalMicros(a.PeriodEnd),
		a.CancelAtEnd)
	return database.Wrap(err, "store the subscription of %s", a.OrgID)
}

func hasEvent(ctx context.Context, r database.Reader, id string) (known bool, err error) {
	err = r.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM billing_event WHERE id = $1)`, id).Scan(&known)
	return known, database.Wrap(err, "look for an event")
}

// insertEvent reports whether the event is new.
func insertEvent(ctx context.Context, tx *database.Tx, e payment.Event, orgID string) (bool, error) {
	var org any
	if orgID != "" {
		org = orgID
	}
	n, err := tx.Exec(ctx, `
		INSERT INTO billing_event (id, type, org_id, received_at) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`,
		e.ID, e.Type, org, database.Micros(tx.Now()))
	return n == 1, database.Wrap(err, "store an event")
}

func deleteEvents(ctx context.Context, tx *database.Tx, before time.Time) error {
	_, err := tx.Exec(ctx, `DELETE FROM billing_event WHERE received_at < $1`, database.Micros(before))
	return database.Wrap(err, "delete old events")
}

type credit struct {
	id    string
	cents int64
}

func insertCredit(ctx context.Context, tx *database.Tx, id, orgID string, cents int64) error {
	_, err := tx.Exec(ctx, `INSERT INTO billing_credit (id, org_id, cents, created_at) VALUES ($1, $2, $3, $4)`, id, orgID,
		cents, database.Micros(tx.Now()))
	return database.Wrap(err, "store the credit of %s", orgID)
}

func unsentCredit(ctx context.Context, r database.Reader, orgID string) ([]credit, error) {
	all, err := database.Collect(ctx, r, func(s database.Scanner) (c credit, err error) {
		err = s.Scan(&c.id, &c.cents)
		return c, err
	}, `SELECT id, cents FROM billing_credit WHERE org_id = $1 AND sent_at IS NULL ORDER BY created_at, id`, orgID)
	return all, database.Wrap(err, "read the credit of %s", orgID)
}

func updateSent(ctx context.Context, tx *database.Tx, id string) error {
	_, err := tx.Exec(ctx, `UPDATE billing_credit SET sent_at = $2 WHERE id = $1`, id, database.Micros(tx.Now()))
	return database.Wrap(err, "mark a credit as sent")
}

func upsertInvoice(ctx context.Context, tx *database.Tx, orgID string, i payment.Invoice) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO billing_invoice (id, org_id, number, status, currency, due_cents, paid_cents, page, pdf, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
		ON CONFLICT (id) DO UPDATE SET
			number = excluded.number, status = excluded.status, currency = excluded.currency,
			due_cents = excluded.due_cents, paid_cents = excluded.paid_cents, page = excluded.page, pdf = excluded.pdf`,
		i.ID, orgID, i.Number, i.Status, i.Currency, i.DueCents, i.PaidCents, i.Page, i.PDF,
		database.Micros(i.CreatedAt))
	return database.Wrap(err, "store invoice %s", i.ID)
}

func deleteInvoice(ctx context.Context, tx *database.Tx, orgID, id string) error {
	_, err := tx.Exec(ctx, `DELETE FROM billing_invoice WHERE org_id = $1 AND id = $2`, orgID, id)
	return database.Wrap(err, "delete invoice %s", id)
}

// Invoices are those of the caller's organization, newest first, as the provider last told.
func (s *Service) Invoices(
	ctx context.Context, p principal.Principal, cursor string, limit int,
) (page.Page[payment.Invoice], error) {
	if err := s.checkOn(); err != nil {
		return page.Page[payment.Invoice]{}, err
	}
	if err := p.Require(principal.UpdateOrganization); err != nil {
		return page.Page[payment.Invoice]{}, err
	}
	q := page.Query{List: "billing.invoices", Scope: p.OrgID, Cursor: cursor, Limit: limit}
	return page.Read(q, func(after page.Cursor, limit int) ([]payment.Invoice, error) {
		return invoicesBefore(ctx, s.db, p.OrgID, after, limit)
	}, func(i payment.Invoice) (time.Time, string) { return i.CreatedAt, i.ID })
}

func invoicesBefore(
	ctx context.Context, r database.Reader, orgID string, after page.Cursor, limit int,
) ([]payment.Invoice, error) {
	var where database.Where
	where.And("org_id = ?", orgID)
	if !after.IsZero() {
		where.And("(created_at < ? OR (created_at = ? AND id < ?))", after.Micros, after.Micros, after.ID)
	}
	invoices, err := database.Collect(ctx, r, func(s database.Scanner) (i payment.Invoice, err error) {
		err = s.Scan(&i.ID, &i.Number, &i.Status, &i.Currency, &i.DueCents, &i.PaidCents, &i.Page, &i.PDF,
			database.ToTime(&i.CreatedAt))
		return i, err
	}, `SELECT id, number, status, currency, due_cents, paid_cents, page, pdf, created_at FROM billing_invoice `+
		where.String()+`ORDER BY created_at DESC, id DESC LIMIT `+where.Bind(limit), where.Args...)
	return invoices, database.Wrap(err, "list the invoices of %s", orgID)
}
