package accessrequest

import (
	"context"
	"time"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/page"
)

const selectRequest = `
	SELECT id, email, name, company, message, status, created_at, decided_at, decided_by, reason, org_id, role
	FROM access_request
	`

func scan(s database.Scanner) (r Request, err error) {
	err = s.Scan(&r.ID, &r.Email, &r.Name, &r.Company, &r.Message, &r.Status, database.ToTime(&r.CreatedAt),
		database.ToOptionalTime(&r.DecidedAt), &r.DecidedBy, &r.Reason, &r.OrgID, &r.Role)
	return r, err
}

func insert(ctx context.Context, tx *database.Tx, r Request) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO access_request (id, email, name, company, message, status, created_at, decided_by, reason, org_id, role)
		VALUES ($1, $2, $3, $4, $5, $6, $7, '', '', '', '')`,
		r.ID, r.Email, r.Name, r.Company, r.Message, string(r.Status), database.Micros(r.CreatedAt))
	return database.Wrap(err, "store a request for access")
}

// countPending counts the requests that wait, and those of them that came since a time.
func countPending(ctx context.Context, r database.Reader, since time.Time) (all, lately int, err error) {
	err = r.QueryRow(ctx, `
		SELECT count(*), COALESCE(sum(CASE WHEN created_at > $1 THEN 1 ELSE 0 END), 0)
		FROM access_request
		WHERE status = 'pending'`, database.Micros(since)).Scan(&all, &lately)
	return all, lately, database.Wrap(err, "count the requests for access")
}

// isKnown reports whether an address has a request that waits, or was answered since a time.
func isKnown(ctx context.Context, r database.Reader, email string, since time.Time) (bool, error) {
	var n int
	err := r.QueryRow(ctx, `
		SELECT count(*) FROM access_request WHERE email = $1 AND (status = 'pending' OR decided_at > $2)`,
		email, database.Micros(since)).Scan(&n)
	return n > 0, database.Wrap(err, "look for a request for access")
}

func listAfter(
	ctx context.Context, r database.Reader, status Status, after page.Cursor, limit int,
) ([]Request, error) {
	var where database.Where
	if status != "" {
		where.And("status = ?", string(status))
	}
	where.And("(created_at > ? OR (created_at = ? AND id > ?))", after.Micros, after.Micros, after.ID)
	requests, err := database.Collect(ctx, r, scan,
		selectRequest+where.String()+`ORDER BY created_at, id LIMIT `+where.Bind(limit), where.Args...)
	return requests, database.Wrap(err, "list the requests for access")
}

func find(ctx context.Context, r database.Reader, id string) (Request, error) {
	missing := fault.New(fault.NotFound, "there is no such request for access")
	if !database.IsID(id) {
		return Request{}, missing
	}
	request, err := scan(r.QueryRow(ctx, selectRequest+`WHERE id = $1`, id))
	return request, database.OrMissing(err, missing, "load request for access %s", id)
}

// answer is what an operator says to a request.
type answer struct {
	status     Status
	reason     string
	invitation Invitation
	tokenHash  []byte // nil: none
}

// check refuses a second answer, unless it is another link for somebody who got one.
func (a answer) check(r Request) error {
	isLink := r.Status == Approved && r.OrgID == ""
	if r.Status == Pending || isLink && a.tokenHash != nil {
		return nil
	}
	return fault.New(fault.Conflict, "this request was answered already: it is %s", r.Status)
}

func update(ctx context.Context, tx *database.Tx, r Request, tokenHash []byte, tokenEnds time.Time) error {
	var hash, ends any // NULL, where there is no token
	if tokenHash != nil {
		hash, ends = tokenHash, database.Micros(tokenEnds)
	}
	_, err := tx.Exec(ctx, `
		UPDATE access_request
		SET status = $2, decided_at = $3, decided_by = $4, reason = $5, org_id = $6, role = $7, token_hash = $8,
			token_ends_at = $9
		WHERE id = $1`, r.ID, string(r.Status), database.OptionalMicros(r.DecidedAt), r.DecidedBy, r.Reason, r.OrgID,
		string(r.Role), hash, ends)
	return database.Wrap(err, "answer request for access %s", r.ID)
}

func findAddress(ctx context.Context, r database.Reader, tokenHash []byte, now time.Time) (address string, err error) {
	err = r.QueryRow(ctx, `SELECT email FROM access_request WHERE token_hash = $1 AND token_ends_at > $2`,
		tokenHash, database.Micros(now)).Scan(&address)
	return address, database.OrMissing(err, fault.New(fault.NotFound, "this link is not valid, or no longer"),
		"find a permission to register")
}

// EndLinks ends the permissions to register, within a restore: some had ended since the backup was made.
func EndLinks(ctx context.Context, tx *database.Tx) (int64, error) {
	n, err := tx.Exec(ctx, `UPDATE access_request SET token_ends_at = 0 WHERE token_ends_at > $1`,
		database.Micros(tx.Now()))
	return n, database.Wrap(err, "end permissions to register")
}
