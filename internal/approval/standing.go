package approval

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
)

// Allow is a yes that is wider than one call. It lifts holds and asks of who
// asked, where all it states is met, until its end or its last use, or until a
// person takes it back.
type StandingApproval struct {
	ID        string
	OrgID     string
	RequestID string // that was answered so
	OwnerID   string // of the key
	Scope     ScopeKind
	Words     string // what the approver was told that it permits
	GivenBy   string
	Uses      int
	Used      int
	CreatedAt time.Time
	ExpiresAt time.Time
	RevokedAt *time.Time
	RevokedBy string
	// Lapsed: who said it may not say it now, so that it lifts nothing until they
	// may again. Only Standing tells.
	Lapsed bool

	// Whom and what it is for. What is empty does not bind.
	KeyID, AgentID, UserID, Email, SessionID, PlanID, Server, Tool string

	pattern        Pattern
	kind           Kind
	policyID, rule string
	role           string
	needed         int
}

// newAllow is the wider yes to a request.
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

// Live reports whether it still lifts anything.
func (a *StandingApproval) Live(now time.Time) bool {
	return a.ID != "" && a.RevokedAt == nil && a.Used < a.Uses && now.Before(a.ExpiresAt)
}

// lifts reports whether it is a yes to this call, which these want approved. All
// that it states the call must state, too.
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
	switch a.Scope {
	case Session:
		return a.SessionID != "" && a.Tool != "" && a.ofRule(w)
	case Minutes:
		return a.Tool != "" && a.ofRule(w)
	case ByPattern:
		return a.Tool != "" && a.ofRule(w) && a.pattern.Matches(c.Canonical)
	case Plan:
		return a.PlanID != "" && !c.Widens // what is added to a plan is not what was agreed to
	}
	return false
}

func (a *StandingApproval) ofRule(w Requirement) bool {
	return a.policyID == w.PolicyID && a.rule == w.Rule
}

// allowsOfKey finds the wider yeses of a key, at a time, that lift something.
const usableByKey = `a.key_id = $1 AND a.expires_at > $2 AND a.org_id = $3 AND a.revoked_at IS NULL AND a.used < a.uses`

// FindAllow is a wider yes that lifts the hold or ask of a call, within the
// transaction of its decision, or nil where there is none.
func (s *Service) FindStanding(
	ctx context.Context, tx *database.Tx, call Call, want Requirement,
) (*StandingApproval, error) {
	if !tx.HoldsLog(audit.LogOf(call.OrgID)) {
		return nil, fmt.Errorf("look for a temporary allow: the change does not declare the log of organization %s",
			call.OrgID)
	}
	allows, err := selectStanding(ctx, tx, usableByKey, call.KeyID, database.Micros(tx.Now()), call.OrgID)
	if err != nil {
		return nil, err
	}
	for i := range allows {
		a := &allows[i]
		if !a.Live(tx.Now()) || !a.lifts(call, want) {
			continue
		}
		stands, err := a.isValid(ctx, tx, s.sources.Role)
		if err != nil {
			return nil, err
		}
		if stands {
			return a, nil
		}
	}
	return nil, nil
}

// stands reports whether as many as were needed said yes to it and may still do so.
func (a *StandingApproval) isValid(ctx context.Context, r database.Reader, roles RoleOf) (bool, error) {
	votes, err := validVotes(ctx, r, roles, &Request{
		ID: a.RequestID, Call: Call{OrgID: a.OrgID}, Kind: a.kind, Role: a.role,
	})
	return votes >= a.needed, err
}

// UseAllow counts one use for a call that runs, and reports whether it could. A
// request for that very call that waits is answered by it.
func (s *Service) UseStanding(
	ctx context.Context, tx *database.Tx, a *StandingApproval, waiting *Request,
) (bool, error) {
	if !tx.HoldsLog(audit.LogOf(a.OrgID)) {
		return false, fmt.Errorf("use a temporary allow: the change does not declare the log of organization %s",
			a.OrgID)
	}
	changed, err := tx.Exec(ctx, `
		UPDATE temporary_allow
		SET used = used + 1
		WHERE org_id = $1 AND id = $2 AND used < uses AND revoked_at IS NULL AND expires_at > $3`,
		a.OrgID, a.ID, database.Micros(tx.Now()))
	if err != nil || changed != 1 {
		return false, wrap("use temporary allow "+a.ID, err)
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

// wrapped keeps a cause, and is nil where there is none.
func wrap(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// mostStanding is how many wider yeses of one key or organization are looked at.
const maxStanding = 500

// Standing are the wider yeses that have not ended, newest first: to who may
// approve those of the organization, to others those of their own keys. Those that
// have lapsed are among them, for they can be taken back before they count again.
func (s *Service) ListStanding(ctx context.Context, p principal.Principal) ([]StandingApproval, error) {
	if p.Kind != principal.User || p.OrgID == "" {
		return nil, fault.New(fault.Forbidden, "only a person may see what was permitted")
	}
	now := s.db.Now()
	where := `a.org_id = $1 AND a.expires_at > $2 AND a.created_at > $3 AND a.revoked_at IS NULL AND a.used < a.uses`
	// an older one is over: the index need not be read on
	args := []any{p.OrgID, database.Micros(now), database.Micros(now.Add(-MaxStandingMinutes * time.Minute))}
	if !p.May(principal.DecideApprovals) {
		where, args = where+` AND r.owner_id = $4`, append(args, p.UserID)
	}
	allows, err := selectStanding(ctx, s.db, where, args...)
	if err != nil {
		return nil, err
	}
	roles := s.sources.Role.cached()
	for i := range allows {
		stands, err := allows[i].isValid(ctx, s.db, roles)
		if err != nil {
			return nil, err
		}
		allows[i].Lapsed = !stands
	}
	return allows, nil
}

// Revoke takes a wider yes back. One that has ended stays as it is.
func (s *Service) Revoke(ctx context.Context, p principal.Principal, id string) (a StandingApproval, err error) {
	missing := fault.New(fault.NotFound, "no such temporary allow")
	if p.Kind != principal.User || p.OrgID == "" {
		return StandingApproval{}, fault.New(fault.Forbidden, "only a person may take back what was permitted")
	}
	if !database.IsID(id) {
		return StandingApproval{}, missing
	}
	err = s.db.Write(ctx, database.Change{Logs: []string{audit.LogOf(p.OrgID)}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
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
	}})
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
		return fmt.Errorf("take back temporary allow %s: %w", a.ID, err)
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
	pattern, err := a.pattern.text()
	if err != nil {
		return fmt.Errorf("store temporary allow %s: %w", a.ID, err)
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO temporary_allow (
			id, org_id, request_id, scope, key_id, agent_id, user_id, email, session_id, plan_id, server, tool, pattern,
			kind, policy_id, rule, role, needed, words, given_by, uses, used, created_at, expires_at, revoked_by
		) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, 0, $22, $23, '')`,
		a.ID, a.OrgID, a.RequestID, string(a.Scope), a.KeyID, a.AgentID, a.UserID, a.Email, a.SessionID, a.PlanID,
		a.Server, a.Tool, pattern,
		string(a.kind), a.policyID, a.rule, a.role, a.needed, a.Words, a.GivenBy, a.Uses, database.Micros(a.CreatedAt),
		database.Micros(a.ExpiresAt))
	return wrap("store temporary allow "+a.ID, err)
}

// selectAllows reads wider yeses, newest first.
func selectStanding(ctx context.Context, r database.Reader, where string, args ...any) ([]StandingApproval, error) {
	allows, err := database.Collect(ctx, r, scanStanding, `
		SELECT
			a.id, a.org_id, a.request_id, r.owner_id, a.scope, a.key_id, a.agent_id, a.user_id, a.email, a.session_id, a.plan_id, a.server, a.tool, a.pattern,
			a.kind, a.policy_id, a.rule, a.role, a.needed, a.words, a.given_by, a.uses, a.used, a.created_at, a.expires_at, a.revoked_at, a.revoked_by
		FROM temporary_allow a JOIN approval_request r ON r.id = a.request_id
		WHERE `+where+fmt.Sprintf(`
		ORDER BY a.created_at DESC, a.id DESC
		LIMIT %d`, maxStanding), args...)
	return allows, database.Wrap(err, "read temporary allows")
}

func scanStanding(s database.Scanner) (a StandingApproval, err error) {
	var pattern string
	var created, expires int64
	var revoked sql.NullInt64
	err = s.Scan(
		&a.ID, &a.OrgID, &a.RequestID, &a.OwnerID, &a.Scope, &a.KeyID, &a.AgentID, &a.UserID, &a.Email, &a.SessionID,
		&a.PlanID, &a.Server, &a.Tool, &pattern,
		&a.kind, &a.policyID, &a.rule, &a.role, &a.needed, &a.Words, &a.GivenBy, &a.Uses, &a.Used, &created, &expires,
		&revoked, &a.RevokedBy)
	if err != nil {
		return StandingApproval{}, err
	}
	a.CreatedAt, a.ExpiresAt, a.RevokedAt = database.Time(created), database.Time(expires),
		database.OptionalTime(revoked)
	a.pattern, err = parsePatternText(pattern)
	return a, wrap("pattern of temporary allow "+a.ID, err)
}
