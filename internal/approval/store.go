package approval

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/toolname"
)

// maxFound is how many requests of one call are read. There are several only where calls
// differ in what an approval is bound to.
const maxFound = 20

// selectForCall reads the latest pending or approved requests for a call: those that
// were opened for it, and those in which an approver changed another call into it. The
// rule and its approvers must be the same, and a request that names an agent or a user
// is only for calls that name them too. Plan, e-mail and rule must be equal where both
// sides state them; a client that asks by itself knows no rule.
func selectForCall(
	ctx context.Context, r database.Reader, c Call, w Requirement, since time.Time,
) (all []Request, err error) {
	for _, column := range [...]string{"r.digest", "r.edited_digest"} {
		requests, err := database.Collect(ctx, r, scanRequest, `SELECT `+columns+tables+`
			WHERE r.key_id = $1 AND r.tool = $2 AND `+column+
			` = $3 AND r.created_at > $4 AND r.status IN ('pending', 'approved')
				AND r.org_id = $5 AND r.server = $6 AND r.kind = $7 AND r.role = $8 AND r.needed = $9
				AND (r.plan_id = $10 OR r.plan_id = '' OR $10 = '')
				AND (r.email = $11 OR r.email = '' OR $11 = '')
				AND (r.agent_id = $12 OR r.agent_id = '')
				AND (LOWER(r.user_id) = LOWER($13) OR r.user_id = '')
				AND (r.policy_id = $14 AND r.rule = $15 OR r.policy_id = '')
			ORDER BY r.created_at DESC, r.id DESC
			LIMIT $16`,
			c.KeyID, c.Tool, c.Digest, database.Micros(since), c.OrgID, c.Server, string(w.Kind), w.role(), w.needed(),
			c.PlanID, c.Email,
			c.AgentID, c.UserID, w.PolicyID, w.Rule, maxFound)
		if err != nil {
			return nil, fmt.Errorf("find an approval: %w", err)
		}
		all = append(all, requests...)
	}
	return all, nil
}

// selectRejected reads the rejections of a call that still apply. A rejection is wide: it
// covers what the call would do, whichever plan, agent, session or rule comes with it,
// and however tool and server are spelled, but no call for another person. It is found
// by its status: only people reject, so there are few.
func selectRejected(ctx context.Context, r database.Reader, c Call, now time.Time) ([]Request, error) {
	requests, err := database.Collect(ctx, r, scanRequest, `SELECT `+columns+tables+`
		WHERE r.org_id = $1 AND r.status = 'rejected' AND r.created_at > $2 AND r.expires_at > $3
			AND r.key_id = $4 AND (r.digest = $5 OR r.edited_digest = $5)
			AND (r.email = $6 OR r.email = '' OR $6 = '')
			AND (LOWER(r.user_id) = LOWER($7) OR r.user_id = '' OR $7 = '')
		ORDER BY r.decided_at DESC, r.id DESC
		LIMIT $8`,
		c.OrgID, database.Micros(oldest(now)), database.Micros(now), c.KeyID, c.Digest, c.Email, c.UserID, maxRejected)
	requests = slices.DeleteFunc(requests, func(r Request) bool { return !c.sameTool(r.Call) })
	return requests, database.Wrap(err, "find a rejection")
}

// maxRejected is how many rejections of the same arguments are read, of all tools.
const maxRejected = 200

// sameTool reports whether two calls are of one tool, however they spell it.
func (c Call) sameTool(other Call) bool {
	return strings.EqualFold(c.Server, other.Server) && strings.EqualFold(c.bareTool(), other.bareTool())
}

// bareTool is the tool without the server that some clients write before it.
func (c Call) bareTool() string {
	if server, tool, ok := toolname.Split(c.Tool); ok && strings.EqualFold(server, c.Server) {
		return tool
	}
	if before := c.Server + toolname.Dot; len(c.Tool) > len(before) && strings.EqualFold(c.Tool[:len(before)], before) {
		return c.Tool[len(before):]
	}
	return c.Tool
}

// selectAsked reads the latest requests for what a client asks itself, whichever approvers
// they require. Without arguments, amount and domain tell them apart. A rejection is
// found whichever plan is named, and first.
func selectAsked(ctx context.Context, r database.Reader, asked Request, now time.Time) ([]Request, error) {
	requests, err := database.Collect(ctx, r, scanRequest, `SELECT `+columns+tables+`
		WHERE r.key_id = $1 AND r.tool = $2 AND r.digest = $3 AND r.created_at > $4 AND r.org_id = $5
			AND (r.plan_id = $6 OR r.plan_id = '' OR $6 = '' OR r.status = 'rejected')
			AND (r.email = $7 OR r.email = '' OR $7 = '')
			AND ($8 = 1 OR r.amount = $9 AND r.domain = $10)
			AND (r.status IN ('pending', 'approved') OR r.status = 'rejected' AND r.expires_at > $12)
		ORDER BY CASE r.status WHEN 'rejected' THEN 0 ELSE 1 END, r.created_at DESC, r.id DESC
		LIMIT $11`,
		asked.KeyID, asked.Tool, asked.Digest, database.Micros(oldest(now)), asked.OrgID, asked.PlanID, asked.Email,
		database.Bit(len(asked.Digest) > 0), *asked.Amount, asked.Domain, maxFound, database.Micros(now))
	return requests, database.Wrap(err, "find a request")
}

// selectOpen reads requests of a key for a tool that are pending or can be used, for one
// person where that is stated. Two are enough to know that there are several.
func selectOpen(
	ctx context.Context, r database.Reader, p principal.Principal, tool, email string, now time.Time,
) ([]Request, error) {
	requests, err := database.Collect(ctx, r, scanRequest, `SELECT `+columns+tables+`
		WHERE r.key_id = $1 AND r.tool = $2 AND r.org_id = $3 AND r.created_at > $6 AND r.requested_via <> 'step'
			AND (r.status = 'pending' AND r.expires_at > $4 OR r.status = 'approved' AND g.used_at IS NULL AND g.expires_at > $4)
			AND (r.email = $5 OR r.email = '' OR $5 = '')
		LIMIT 2`, p.KeyID, tool, p.OrgID, database.Micros(now), email, database.Micros(oldest(now)))
	return requests, database.Wrap(err, "find what was approved")
}

func selectRequest(ctx context.Context, r database.Reader, orgID, id string) (Request, error) {
	if !database.IsID(id) || orgID == "" {
		return Request{}, noSuchRequest()
	}
	request, err := scanRequest(r.QueryRow(ctx, `SELECT `+columns+tables+`WHERE r.org_id = $1 AND r.id = $2`, orgID,
		id))
	if errors.Is(err, sql.ErrNoRows) {
		return Request{}, noSuchRequest()
	}
	return request, database.Wrap(err, "read request %s", id)
}

func selectOverdue(ctx context.Context, tx *database.Tx, orgID string, most int) ([]Request, error) {
	return database.Collect(ctx, tx, scanRequest, `SELECT `+columns+tables+`
		WHERE r.org_id = $1 AND r.status = 'pending' AND r.expires_at <= $2
		ORDER BY r.expires_at, r.id
		LIMIT $3`, orgID, database.Micros(tx.Now()), most)
}

// selectVotes reads the votes in their order.
func selectVotes(ctx context.Context, r database.Reader, requestID string) ([]Vote, error) {
	votes, err := database.Collect(ctx, r, func(s database.Scanner) (v Vote, err error) {
		var at int64
		err = s.Scan(&v.UserID, &at)
		v.At = database.Time(at)
		return v, err
	}, `SELECT user_id, created_at FROM approval_vote WHERE request_id = $1`, requestID)
	slices.SortFunc(votes, func(a, b Vote) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.UserID, b.UserID)) })
	return votes, err
}

func countPending(ctx context.Context, r database.Reader, keyID string, now time.Time) (n int, err error) {
	err = r.QueryRow(ctx, `
		SELECT COUNT(*)
		FROM approval_request
		WHERE key_id = $1 AND status = 'pending' AND expires_at > $2`, keyID, database.Micros(now)).Scan(&n)
	return n, database.Wrap(err, "count pending requests")
}

// countCancelled counts the requests of a key that were opened since, and cancelled by it or its owner.
func countCancelled(ctx context.Context, r database.Reader, orgID, keyID string, since time.Time) (n int, err error) {
	err = r.QueryRow(ctx, `
		SELECT COUNT(*)
		FROM approval_request
		WHERE org_id = $1 AND status = 'cancelled' AND created_at > $2 AND key_id = $3 AND decided_by <> ''`, orgID, database.Micros(since),
		keyID).Scan(&n)
	return n, database.Wrap(err, "count cancelled requests")
}

// updateStatus writes the answer to a pending request.
func updateStatus(ctx context.Context, tx *database.Tx, p principal.Principal, r *Request) error {
	if r.Status != Pending {
		now := tx.Now()
		r.DecidedAt, r.DecidedBy, r.DecidedRole = &now, p.UserID, string(p.Role)
	}
	changed, err := tx.Exec(ctx, `
		UPDATE approval_request
		SET status = $3, note = $4, self_approved = $5, decided_at = $6, decided_by = $7, decided_role = $8,
			scope = $9, edited = $10, edited_digest = $11
		WHERE org_id = $1 AND id = $2 AND status = 'pending'`,
		r.OrgID, r.ID, string(r.Status), r.Note, database.Bit(r.SelfApproved), database.OptionalMicros(r.DecidedAt),
		r.DecidedBy,
		r.DecidedRole,
		r.scopeText, r.Edited, r.editedDigest)
	if err != nil {
		return fmt.Errorf("answer request %s: %w", r.ID, err)
	}
	if changed != 1 {
		return fault.New(fault.Conflict, "the request was answered by somebody else")
	}
	return nil
}

// coverRequest answers a pending request by a standing approval.
func coverRequest(ctx context.Context, tx *database.Tx, r *Request, standingID string) error {
	_, err := tx.Exec(ctx, `
		UPDATE approval_request
		SET status = 'approved', decided_at = $3, covered_by = $4
		WHERE org_id = $1 AND id = $2 AND status = 'pending'`, r.OrgID, r.ID, database.Micros(tx.Now()), standingID)
	return database.Wrap(err, "answer request %s", r.ID)
}

// updateExecuted notes that the client reports the call as run, and closes the grant.
func updateExecuted(ctx context.Context, tx *database.Tx, r *Request) error {
	now := tx.Now()
	r.ExecutedAt = &now
	_, err := tx.Exec(ctx, `
		UPDATE approval_request
		SET executed_at = $3
		WHERE org_id = $1 AND id = $2 AND executed_at IS NULL`, r.OrgID, r.ID, database.Micros(now))
	if err != nil {
		return fmt.Errorf("note that request %s was executed: %w", r.ID, err)
	}
	if r.grant.id == "" || r.grant.used {
		return nil
	}
	r.grant.used = true
	_, err = tx.Exec(ctx, `
		UPDATE approval_grant
		SET used_at = $3
		WHERE org_id = $1 AND id = $2 AND used_at IS NULL`, r.OrgID, r.grant.id, database.Micros(now))
	return database.Wrap(err, "close the grant of request %s", r.ID)
}

// addVote stores a person's vote, which counts once.
func addVote(ctx context.Context, tx *database.Tx, requestID, userID string) error {
	added, err := tx.Exec(ctx, `
		INSERT INTO approval_vote (request_id, user_id, created_at)
		VALUES ($1, $2, $3)
		ON CONFLICT (request_id, user_id) DO NOTHING`, requestID, userID, database.Micros(tx.Now()))
	if err != nil {
		return fmt.Errorf("approve request %s: %w", requestID, err)
	}
	if added == 0 {
		return fault.New(fault.Conflict, "you have approved this already: somebody else must approve it too")
	}
	return nil
}

func insertGrant(ctx context.Context, tx *database.Tx, r *Request) error {
	r.grant = grant{id: database.NewID(), expiresAt: tx.Now().Add(r.GrantLife())}
	_, err := tx.Exec(ctx, `
		INSERT INTO approval_grant (id, request_id, org_id, created_at, expires_at, decision_id)
		VALUES ($1, $2, $3, $4, $5, '')`,
		r.grant.id, r.ID, r.OrgID, database.Micros(tx.Now()), database.Micros(r.grant.expiresAt))
	return database.Wrap(err, "grant request %s", r.ID)
}
