package approval

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"writ/internal/approval/pattern"
	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
)

// StandingApproval permits more than one call. It lifts holds and asks of its caller
// that meet all it states, until its end or its last use, or until it is revoked.
type StandingApproval struct {
	ID        string
	OrgID     string
	RequestID string // the request it answered
	OwnerID   string // of the key
	Scope     ScopeKind
	Words     string // what it permits, as the approver read it
	GivenBy   string
	Uses      int
	Used      int
	CreatedAt time.Time
	ExpiresAt time.Time
	RevokedAt *time.Time
	RevokedBy string
	// Lapsed: too few of its approvers have the right to approve now, so it lifts
	// nothing until they have it again. Only ListStanding sets it.
	Lapsed bool

	// The caller and the calls it is for. What is empty does not bind.
	KeyID, AgentID, UserID, Email, SessionID, PlanID, Server, Tool string

	pattern        pattern.Pattern
	kind           Kind
	policyID, rule string
	role           string
	needed         int
}

// newStanding is the standing approval that a request's scope asks for.
func newStanding(r *Request, by string, now time.Time) StandingApproval {
	a := StandingApproval{
		ID:        database.NewID(),
		OrgID:     r.OrgID,
		RequestID: r.ID,
		OwnerID:   r.OwnerID,
		Scope:     r.Scope.Kind,
		Words:     r.Scope.Words(*r),
		GivenBy:   by,
		Uses:      r.Scope.uses(),
		CreatedAt: now,
		ExpiresAt: now.Add(r.Scope.life()),
		KeyID:     r.KeyID,
		AgentID:   r.AgentID,
		UserID:    r.UserID,
		Email:     r.Email,
		Server:    r.Server,
		Tool:      r.Tool,
		pattern:   r.Scope.Pattern,
		kind:      r.Kind,
		policyID:  r.PolicyID,
		rule:      r.Rule,
		role:      r.Role,
		needed:    r.Needed,
	}
	switch r.Scope.Kind {
	case Session:
		a.SessionID = r.SessionID
	case Plan:
		a.PlanID, a.Server, a.Tool, a.policyID, a.rule = r.PlanID, "", "", "", ""
	}
	return a
}

// Live reports whether it has neither ended nor been used up or revoked.
func (a *StandingApproval) Live(now time.Time) bool {
	return a.ID != "" && a.RevokedAt == nil && a.Used < a.Uses && now.Before(a.ExpiresAt)
}

// lifts reports whether it permits a call that needs this approval. The call must
// state all that it states.
func (a *StandingApproval) lifts(c Call, w Requirement) bool {
	if a.OrgID != c.OrgID || a.KeyID != c.KeyID || a.kind != w.Kind || a.role != w.role() || a.needed != w.needed() {
		return false
	}
	for _, bound := range [...][2]string{
		{a.AgentID, c.AgentID}, {a.UserID, c.UserID}, {a.Email, c.Email}, {a.SessionID, c.SessionID},
		{a.PlanID, c.PlanID},
		{a.Server, c.Server}, {a.Tool, c.Tool},
	} {
		if bound[0] != "" && bound[0] != bound[1] {
			return false
		}
	}
	if w.Doubted && !a.ofDoubt(w) {
		return false
	}
	switch a.Scope {
	case Session:
		return a.SessionID != "" && a.Tool != "" && a.ofRule(w)
	case Minutes:
		return a.Tool != "" && a.ofRule(w)
	case ByPattern:
		return a.Tool != "" && a.ofRule(w) && a.pattern.Matches(c.Canonical)
	case Plan:
		return a.PlanID != "" && !c.Widens // nobody agreed to a step that was added later
	}
	return false
}

// ofDoubt reports whether the approver was asked because of where values come from, as for this call. Somebody who
// agreed to what a policy holds has not agreed to values that only a text names.
func (a *StandingApproval) ofDoubt(w Requirement) bool { return w.PolicyID == byIntent && a.ofRule(w) }

// What decided about a call that no policy held.
const (
	byIntent   = "writ:intent" // its plan, or where its values come from
	byRegistry = "writ:mcp"    // the registry of MCP servers: nobody has accepted the tool
)

func (a *StandingApproval) ofRule(w Requirement) bool {
	return a.policyID == w.PolicyID && a.rule == w.Rule
}

// usableByKey finds the standing approvals of a key that can be used at a time.
const usableByKey = `a.key_id = $1 AND a.expires_at > $2 AND a.org_id = $3 AND a.revoked_at IS NULL AND a.used < a.uses`

// FindStanding is a standing approval that lifts the hold or ask of a call, within the
// transaction of its decision; nil: there is none.
func (s *Service) FindStanding(
	ctx context.Context, tx *database.Tx, call Call, want Requirement,
) (*StandingApproval, error) {
	if err := requireLog(tx, "find a standing approval", call.OrgID); err != nil {
		return nil, err
	}
	found, err := selectStanding(ctx, tx, usableByKey, call.KeyID, database.Micros(tx.Now()), call.OrgID)
	if err != nil {
		return nil, err
	}
	for i := range found {
		a := &found[i]
		if !a.Live(tx.Now()) || !a.lifts(call, want) {
			continue
		}
		if ended, err := a.ended(ctx, tx, call); err != nil || ended {
			if err != nil {
				return nil, err
			}
			continue
		}
		if valid, err := a.isValid(ctx, tx, s.sources.Role); err != nil || valid {
			return a, err
		}
	}
	return nil, nil
}

// isValid reports whether enough of its approvers still have the right to approve.
func (a *StandingApproval) isValid(ctx context.Context, r database.Reader, roles RoleOf) (bool, error) {
	votes, err := validVotes(ctx, r, roles, &Request{
		ID: a.RequestID, Call: Call{OrgID: a.OrgID}, Kind: a.kind, Role: a.role,
	})
	return votes >= a.needed, err
}

// UseStanding counts one use for a call that runs, and reports whether it could. It
// answers a pending request for that very call.
func (s *Service) UseStanding(
	ctx context.Context, tx *database.Tx, a *StandingApproval, waiting *Request,
) (bool, error) {
	if err := requireLog(tx, "use a standing approval", a.OrgID); err != nil {
		return false, err
	}
	changed, err := tx.Exec(ctx, `
		UPDATE temporary_allow
		SET used = used + 1
		WHERE org_id = $1 AND id = $2 AND used < uses AND revoked_at IS NULL AND expires_at > $3`,
		a.OrgID, a.ID, database.Micros(tx.Now()))
	if err != nil || changed != 1 {
		return false, database.Wrap(err, "use standing approval %s", a.ID)
	}
	if waiting != nil && waiting.Status == Pending {
		if err := coverRequest(ctx, tx, waiting, a.ID); err != nil {
			return false, err
		}
		if err := s.announce(ctx, tx, a.OrgID, waiting.ID, EventApproved, a.GivenBy); err != nil {
			return false, err
		}
	}
	return true, s.announce(ctx, tx, a.OrgID, a.RequestID, EventUsed, a.KeyID)
}

// maxStanding is how many standing approvals of a key or organization are read.
const maxStanding = 500

// ListStanding lists the standing approvals that have not ended, newest first: all of
// the organization for those who may approve, else those of the caller's own keys.
// Lapsed ones are included, so that they can be revoked before they are valid again.
func (s *Service) ListStanding(ctx context.Context, p principal.Principal) ([]StandingApproval, error) {
	if p.Kind != principal.User || p.OrgID == "" {
		return nil, fault.New(fault.Forbidden, "only a person may see standing approvals")
	}
	now := s.db.Now()
	where := `a.org_id = $1 AND a.expires_at > $2 AND a.created_at > $3 AND a.revoked_at IS NULL AND a.used < a.uses`
	// An older one has ended: this bounds how far the index is read.
	args := []any{p.OrgID, database.Micros(now), database.Micros(now.Add(-MaxStandingMinutes * time.Minute))}
	if !p.May(principal.DecideApprovals) {
		where, args = where+` AND r.owner_id = $4`, append(args, p.UserID)
	}
	list, err := selectStanding(ctx, s.db, where, args...)
	if err != nil {
		return nil, err
	}
	roles := s.sources.Role.cached()
	left := list[:0]
	for i := range list {
		ended, err := s.hasEnded(ctx, s.db, &list[i])
		if err != nil {
			return nil, err
		}
		valid, err := list[i].isValid(ctx, s.db, roles)
		if err != nil {
			return nil, err
		}
		if list[i].Lapsed = !valid; !ended {
			left = append(left, list[i])
		}
	}
	return left, nil
}

// Revoke ends a standing approval. One that has ended already stays as it is.
func (s *Service) Revoke(ctx context.Context, p principal.Principal, id string) (a StandingApproval, err error) {
	missing := fault.New(fault.NotFound, "no such standing approval")
	if p.Kind != principal.User || p.OrgID == "" {
		return StandingApproval{}, fault.New(fault.Forbidden, "only a person may revoke a standing approval")
	}
	if !database.IsID(id) {
		return StandingApproval{}, missing
	}
	err = s.write(ctx, p.OrgID, func(ctx context.Context, tx *database.Tx) error {
		found, err := selectStanding(ctx, tx, `a.org_id = $1 AND a.id = $2`, p.OrgID, id)
		if err != nil {
			return err
		}
		if len(found) != 1 || !p.May(principal.DecideApprovals) && found[0].OwnerID != p.UserID {
			return missing
		}
		if a = found[0]; !a.Live(tx.Now()) {
			return nil
		}
		return s.revoke(ctx, tx, p, &a)
	})
	if err != nil {
		return StandingApproval{}, err
	}
	return a, nil
}

func (s *Service) revoke(ctx context.Context, tx *database.Tx, p principal.Principal, a *StandingApproval) error {
	now := tx.Now()
	a.RevokedAt, a.RevokedBy = &now, p.UserID
	_, err := tx.Exec(ctx, `
		UPDATE temporary_allow
		SET revoked_at = $3, revoked_by = $4
		WHERE org_id = $1 AND id = $2 AND revoked_at IS NULL`, a.OrgID, a.ID, database.Micros(now), p.UserID)
	if err != nil {
		return fmt.Errorf("revoke standing approval %s: %w", a.ID, err)
	}
	if err := s.announce(ctx, tx, a.OrgID, a.RequestID, EventRevoked, p.UserID); err != nil {
		return err
	}
	_, err = s.log.Append(ctx, tx, audit.Entry{
		Log:         audit.LogOf(a.OrgID),
		Action:      "approval.revoked",
		Actor:       p,
		Subject:     audit.Subject{Type: "temporary_allow", ID: a.ID},
		Observation: true,
		Payload:     map[string]any{"request": a.RequestID, "used": a.Used, "uses": a.Uses},
	})
	return err
}

func insertStanding(ctx context.Context, tx *database.Tx, a *StandingApproval) error {
	arguments, err := a.pattern.Text()
	if err != nil {
		return fmt.Errorf("store standing approval %s: %w", a.ID, err)
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO temporary_allow (
			id, org_id, request_id, scope, key_id, agent_id, user_id, email, session_id, plan_id, server, tool, pattern,
			kind, policy_id, rule, role, needed, words, given_by, uses, used, created_at, expires_at, revoked_by
		) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, 0, $22, $23, '')`,
		a.ID, a.OrgID, a.RequestID, string(a.Scope), a.KeyID, a.AgentID, a.UserID, a.Email, a.SessionID, a.PlanID,
		a.Server, a.Tool, arguments,
		string(a.kind), a.policyID, a.rule, a.role, a.needed, a.Words, a.GivenBy, a.Uses, database.Micros(a.CreatedAt),
		database.Micros(a.ExpiresAt))
	return database.Wrap(err, "store standing approval %s", a.ID)
}

// selectStanding reads standing approvals, newest first.
func selectStanding(ctx context.Context, r database.Reader, where string, args ...any) ([]StandingApproval, error) {
	found, err := database.Collect(ctx, r, scanStanding, `
		SELECT
			a.id, a.org_id, a.request_id, r.owner_id, a.scope, a.key_id, a.agent_id, a.user_id, a.email, a.session_id, a.plan_id, a.server, a.tool, a.pattern,
			a.kind, a.policy_id, a.rule, a.role, a.needed, a.words, a.given_by, a.uses, a.used, a.created_at, a.expires_at, a.revoked_at, a.revoked_by
		FROM temporary_allow a JOIN approval_request r ON r.id = a.request_id
		WHERE `+where+fmt.Sprintf(`
		ORDER BY a.created_at DESC, a.id DESC
		LIMIT %d`, maxStanding), args...)
	return found, database.Wrap(err, "read standing approvals")
}

func scanStanding(s database.Scanner) (a StandingApproval, err error) {
	var arguments string
	var created, expires int64
	var revoked sql.NullInt64
	err = s.Scan(
		&a.ID, &a.OrgID, &a.RequestID, &a.OwnerID, &a.Scope, &a.KeyID, &a.AgentID, &a.UserID, &a.Email, &a.SessionID,
		&a.PlanID, &a.Server, &a.Tool, &arguments,
		&a.kind, &a.policyID, &a.rule, &a.role, &a.needed, &a.Words, &a.GivenBy, &a.Uses, &a.Used, &created, &expires,
		&revoked, &a.RevokedBy)
	if err != nil {
		return StandingApproval{}, err
	}
	a.CreatedAt, a.ExpiresAt, a.RevokedAt = database.Time(created), database.Time(expires),
		database.OptionalTime(revoked)
	a.pattern, err = pattern.ParseText(arguments)
	return a, database.Wrap(err, "pattern of standing approval %s", a.ID)
}
