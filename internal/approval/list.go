package approval

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/names"
	"writ/internal/page"
	"writ/internal/principal"
)

// Filter selects requests. What is empty does not restrict.
type Filter struct {
	Status    Status // Expired includes those whose time is over
	Kind      Kind
	RiskLevel string
	Server    string
	Tool      string
	AgentID   string
	KeyID     string
	PlanID    string
	SessionID string
	Requester string    // e-mail of the person the call is for
	From      time.Time // opened then or later
	Until     time.Time // opened before

	Cursor string
	Limit  int // page.DefaultLimit unless set
}

// listName binds the cursors of the list.
const listName = "approval-requests"

// List is a page of requests, newest first: all of the organization for those who may
// answer them, else those of the caller's own keys.
func (s *Service) List(ctx context.Context, p principal.Principal, f Filter) (page.Page[Request], error) {
	if p.Kind != principal.User || p.OrgID == "" {
		return page.Page[Request]{}, fault.New(fault.Forbidden, "only a person may list requests for approval")
	}
	if f.Limit == 0 {
		f.Limit = page.DefaultLimit
	}
	if f.Limit < 0 || f.Limit > page.MaxLimit {
		return page.Page[Request]{}, fault.Field("limit", "must be from 1 to %d", page.MaxLimit)
	}
	if err := f.check(); err != nil {
		return page.Page[Request]{}, err
	}
	now := s.db.Now()
	q := &requestQuery{args: []any{p.OrgID}}
	if !p.May(principal.DecideApprovals) {
		q.and("r.owner_id = ?", p.UserID)
	}
	q.narrow(f, now)
	cursor, err := page.Decode(f.Cursor, listName, p.OrgID)
	if err != nil {
		return page.Page[Request]{}, err
	}
	if !cursor.IsZero() {
		q.before(cursor.Micros, cursor.ID)
	}
	requests, err := s.collect(ctx, q, f, now)
	if err != nil {
		return page.Page[Request]{}, fmt.Errorf("list requests for approval: %w", err)
	}
	return page.Of(requests, f.Limit, func(r Request) page.Cursor {
		return page.Cursor{List: listName, Scope: p.OrgID, Micros: database.Micros(r.CreatedAt), ID: r.ID}
	}), nil
}

// collect reads a page and one more. What the kill switch has withdrawn is not pending, and others take its place.
func (s *Service) collect(ctx context.Context, q *requestQuery, f Filter, now time.Time) (all []Request, err error) {
	for {
		want := f.Limit + 1 - len(all)
		found, err := database.Collect(ctx, s.db, scanRequest, q.text(want), q.args...)
		if err != nil {
			return nil, err
		}
		if err := s.withdraw(ctx, s.db, found); err != nil {
			return nil, err
		}
		for _, r := range found {
			if r.Status == Pending && !now.Before(r.ExpiresAt) {
				r.Status = Expired
			}
			if f.Status == "" || r.Status == f.Status {
				all = append(all, r)
			}
		}
		if len(found) < want || len(all) > f.Limit {
			return all, nil
		}
		last := found[len(found)-1]
		q.before(database.Micros(last.CreatedAt), last.ID)
	}
}

// texts are the members that must equal a column.
func (f Filter) texts() [9][2]string {
	return [...][2]string{
		{"kind", string(f.Kind)}, {"risk_level", f.RiskLevel}, {"server", f.Server}, {"tool", f.Tool},
		{"agent_id", f.AgentID},
		{"key_id", f.KeyID}, {"plan_id", f.PlanID}, {"session_id", f.SessionID},
		{"email", strings.ToLower(f.Requester)},
	}
}

// check refuses what no database takes.
func (f Filter) check() error {
	if f.Status != "" && !f.Status.Valid() {
		return fault.Field("status", "must be pending, approved, rejected, cancelled or expired")
	}
	for _, text := range f.texts() {
		if !names.Valid(text[1]) {
			return fault.Field(text[0], "must be at most %d bytes without control characters", names.MaxBytes)
		}
	}
	return nil
}

// requestQuery collects conditions and their arguments.
type requestQuery struct {
	where strings.Builder
	args  []any
}

func (q *requestQuery) text(rows int) string {
	return `SELECT ` + columns + tables + `WHERE r.org_id = $1` + q.where.String() + `
		ORDER BY r.created_at DESC, r.id DESC
		LIMIT ` + strconv.Itoa(rows)
}

// and adds a condition; every ? in it is the next argument.
func (q *requestQuery) and(condition string, args ...any) {
	q.where.WriteString(" AND ")
	for _, arg := range args {
		q.args = append(q.args, arg)
		condition = strings.Replace(condition, "?", "$"+strconv.Itoa(len(q.args)), 1)
	}
	q.where.WriteString(condition)
}

// before has the list go on behind a request.
func (q *requestQuery) before(micros int64, id string) {
	q.and("(r.created_at, r.id) < (?, ?)", micros, id)
}

func (q *requestQuery) narrow(f Filter, now time.Time) {
	micros := database.Micros(now)
	switch f.Status {
	case "":
	case Pending:
		q.and("r.status = 'pending' AND r.expires_at > ?", micros)
	case Expired:
		q.and("(r.status = 'expired' OR r.status = 'pending' AND r.expires_at <= ?)", micros)
	default:
		q.and("r.status = ?", string(f.Status))
	}
	for _, equal := range f.texts() {
		if equal[1] != "" {
			q.and("r."+equal[0]+" = ?", equal[1])
		}
	}
	if !f.From.IsZero() {
		q.and("r.created_at >= ?", database.Micros(f.From))
	}
	if !f.Until.IsZero() {
		q.and("r.created_at < ?", database.Micros(f.Until))
	}
}
