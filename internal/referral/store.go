package referral

import (
	"context"
	"time"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
)

const selectCode = `SELECT code, org_id, made_by, created_at FROM referral_code `

func scanCode(s database.Scanner) (c Code, err error) {
	err = s.Scan(&c.Code, &c.OrgID, &c.MadeBy, database.ToTime(&c.CreatedAt))
	return c, err
}

// codeOf gives the zero Code where an organization has none.
func codeOf(ctx context.Context, r database.Reader, orgID string) (Code, error) {
	code, err := scanCode(r.QueryRow(ctx, selectCode+`WHERE org_id = $1`, orgID))
	return code, database.OrMissing(err, nil, "load the code of %s", orgID)
}

func noSuchCode() error { return fault.New(fault.NotFound, "there is no such code") }

// findCode is not limited to an organization: codes are for others.
func findCode(ctx context.Context, r database.Reader, text string) (Code, error) {
	if len(text) != codeLength {
		return Code{}, noSuchCode()
	}
	code, err := scanCode(r.QueryRow(ctx, selectCode+`WHERE code = $1`, text))
	return code, database.OrMissing(err, noSuchCode(), "find a code")
}

func insertCode(ctx context.Context, tx *database.Tx, c Code) error {
	_, err := tx.Exec(ctx, `INSERT INTO referral_code (code, org_id, made_by, created_at) VALUES ($1, $2, $3, $4)`,
		c.Code, c.OrgID, c.MadeBy, database.Micros(c.CreatedAt))
	return database.Wrap(err, "store the code of %s", c.OrgID)
}

// referralOf is when an organization claimed a code, and whose; nil and empty: it has not.
func referralOf(ctx context.Context, r database.Reader, orgID string) (at *time.Time, referrerID string, err error) {
	err = r.QueryRow(ctx, `SELECT claimed_at, referrer_id FROM referral WHERE org_id = $1`, orgID).
		Scan(database.ToOptionalTime(&at), &referrerID)
	return at, referrerID, database.OrMissing(err, nil, "load the referral of %s", orgID)
}

// claimedBy reports whether one of some people has claimed the code of an organization.
func claimedBy(ctx context.Context, r database.Reader, referrerID string, userIDs []string) (bool, error) {
	for _, id := range userIDs {
		var n int
		err := r.QueryRow(ctx, `SELECT count(*) FROM referral WHERE referrer_id = $1 AND claimed_by = $2`, referrerID, id).
			Scan(&n)
		if err != nil || n > 0 {
			return true, database.Wrap(err, "look for claims of %s", id)
		}
	}
	return false, nil
}

func insertReferral(ctx context.Context, tx *database.Tx, p principal.Principal, referrerID string) error {
	_, err := tx.Exec(ctx, `INSERT INTO referral (org_id, referrer_id, claimed_by, claimed_at) VALUES ($1, $2, $3, $4)`,
		p.OrgID, referrerID, p.UserID, database.Micros(tx.Now()))
	return database.Wrap(err, "store the referral of %s", p.OrgID)
}

func insertCredit(ctx context.Context, tx *database.Tx, id, orgID string, cents int64, referred string) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO credit (id, org_id, cents, kind, subject, created_at) VALUES ($1, $2, $3, 'referral', $4, $5)`,
		id, orgID, cents, referred, database.Micros(tx.Now()))
	return database.Wrap(err, "credit %s", orgID)
}

// Spend takes the whole balance of an organization, under an id of what it is spent on: once.
func Spend(ctx context.Context, tx *database.Tx, orgID, id string) (cents int64, err error) {
	if _, cents, err = totals(ctx, tx, orgID); err != nil || cents <= 0 {
		return 0, err
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO credit (id, org_id, cents, kind, subject, created_at) VALUES ($1, $2, $3, 'spent', $1, $4)`,
		id, orgID, -cents, database.Micros(tx.Now()))
	return cents, database.Wrap(err, "spend the credit of %s", orgID)
}

func totals(ctx context.Context, r database.Reader, orgID string) (referred int, cents int64, err error) {
	err = r.QueryRow(ctx, `
		SELECT (SELECT count(*) FROM referral WHERE referrer_id = $1),
			(SELECT CAST(COALESCE(sum(cents), 0) AS BIGINT) FROM credit WHERE org_id = $1)`, orgID).Scan(&referred, &cents)
	return referred, cents, database.Wrap(err, "count the referrals of %s", orgID)
}
