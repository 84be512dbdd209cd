package telemetry

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"writ/internal/database"
	"writ/internal/page"
	"writ/internal/telemetry/decode"
)

// The states in which a session is shown.
const (
	SessionActive    = "active"
	SessionCompleted = "completed"
	SessionExpired   = "expired"
	SessionError     = "error"
)

// MaxSessionTraces is how many traces the detail of a session contains: the most recent ones.
const MaxSessionTraces = 50_000

// Session is a session in its present state.
type Session struct {
	ID, OrgID, UserID, AgentID, Product string
	StartedAt, LastActivityAt           time.Time
	TraceCount                          int64
	Usage                               Usage // in total
	Status                              string
}

// SessionDetail is a session with its traces in chronological order.
type SessionDetail struct {
	Session
	Traces []TraceItem
}

// SessionFilter chooses sessions. Empty fields match everything.
type SessionFilter struct {
	Days    int // a Period's
	From    time.Time
	Until   time.Time
	Status  string
	UserID  string
	AgentID string
	Limit   int
	Cursor  string
}

func (f *SessionFilter) period() Period { return Period{f.Days, f.From, f.Until} }

const sessionSelect = `
	SELECT org_id, id, COALESCE(user_id, ''), agent_id, product, started_at, last_activity_at, state, trace_count,
		input_tokens, output_tokens, cache_read, cache_write, cost_nanos
	FROM session
	WHERE `

// scanSession reads a session. An open one is active or expired, depending on the clock.
func (s *Service) scanSession(row database.Scanner) (x Session, err error) {
	var started, active int64
	err = row.Scan(&x.OrgID, &x.ID, &x.UserID, &x.AgentID, &x.Product, &started, &active, &x.Status, &x.TraceCount,
		&x.Usage.Input, &x.Usage.Output, &x.Usage.CacheRead, &x.Usage.CacheWrite, &x.Usage.CostNanos)
	x.StartedAt, x.LastActivityAt = database.Time(started), database.Time(active)
	if x.Status == "open" {
		x.Status = SessionActive
		if x.LastActivityAt.Before(s.idleSince()) {
			x.Status = SessionExpired
		}
	}
	return x, err
}

// idleSince is the time before which an open session's last activity means that it has expired.
func (s *Service) idleSince() time.Time { return s.db.Now().Add(-s.idle) }

const sessionList = "sessions"

// ListSessions lists sessions, latest activity first.
func (s *Service) ListSessions(ctx context.Context, orgID string, f SessionFilter) (page.Page[Session], error) {
	after, err := page.Decode(f.Cursor, sessionList, orgID)
	if err != nil {
		return page.Page[Session]{}, err
	}
	if !storable(f.AgentID) {
		return page.Of[Session](nil, f.Limit, nil), nil
	}
	w := &where{}
	w.and("org_id = ?", orgID)
	w.and("last_activity_at >= ?", s.listedFrom(f.period()))
	if !f.Until.IsZero() {
		w.and("last_activity_at < ?", database.Micros(f.Until))
	}
	if !after.IsZero() {
		w.and("(last_activity_at, id) < (?, ?)", after.Micros, after.ID)
	}
	common := len(w.conditions)
	s.applyStatus(w, f.Status)
	if f.UserID != "" {
		w.and("user_id = ?", f.UserID)
	}
	if f.AgentID != "" {
		w.and("agent_id = ?", f.AgentID)
	}
	reader := s.listReader(len(w.conditions) > common)
	query := fmt.Sprintf(`%s %s ORDER BY last_activity_at DESC, id DESC LIMIT %s`, sessionSelect, w, w.limit(f.Limit+1))
	rows, err := database.Collect(ctx, reader, s.scanSession, query, w.args...)
	if err != nil {
		return page.Page[Session]{}, fmt.Errorf("list sessions: %w", err)
	}
	return page.Of(rows, f.Limit, func(x Session) page.Cursor {
		return page.Cursor{List: sessionList, Scope: orgID, Micros: database.Micros(x.LastActivityAt), ID: x.ID}
	}), nil
}

func (s *Service) applyStatus(w *where, status string) {
	switch status {
	case SessionActive:
		w.and("state = 'open' AND last_activity_at >= ?", database.Micros(s.idleSince()))
	case SessionExpired:
		w.and("state = 'open' AND last_activity_at < ?", database.Micros(s.idleSince()))
	case SessionCompleted, SessionError:
		w.and("state = ?", status)
	}
}

// Session reads a session with its traces; nil: the organization has no such session.
func (s *Service) Session(ctx context.Context, orgID, id string) (*SessionDetail, error) {
	session, err := s.FindSession(ctx, orgID, id)
	if err != nil || session == nil {
		return nil, err
	}
	traces, err := database.Collect(ctx, s.db, scanTrace, fmt.Sprintf(`
		SELECT %s FROM trace
		WHERE org_id = $1 AND session_id = $2
		ORDER BY start_time DESC, id DESC
		LIMIT %d`, traceSelect, MaxSessionTraces), orgID, session.ID)
	if err != nil {
		return nil, fmt.Errorf("read the traces of a session: %w", err)
	}
	slices.Reverse(traces)
	return &SessionDetail{Session: *session, Traces: traces}, nil
}

// FindSession reads a session without its traces; nil: there is none.
func (s *Service) FindSession(ctx context.Context, orgID, id string) (*Session, error) {
	if id = strings.ToLower(id); !decode.IsUUID(id) {
		return nil, nil
	}
	session, err := s.scanSession(s.db.Prepared().QueryRow(ctx, sessionSelect+`org_id = $1 AND id = $2`, orgID, id))
	if err != nil {
		return nil, unlessMissing("read a session", err)
	}
	return &session, nil
}

// SearchSessions finds sessions whose agent matches, last active at a time or before, the latest first. An organization
// has few agents, and an index by them.
func (s *Service) SearchSessions(
	ctx context.Context, orgID string, matches func(agentID string) bool, until time.Time, limit int,
) ([]Session, error) {
	agents, err := database.Collect(ctx, s.db, scanText, fmt.Sprintf(`
		WITH RECURSIVE known (agent) AS (
			SELECT MIN(agent_id) FROM session WHERE org_id = $1
			UNION ALL
			SELECT (SELECT MIN(agent_id) FROM session WHERE org_id = $1 AND agent_id > known.agent)
			FROM known WHERE known.agent IS NOT NULL
		)
		SELECT agent FROM known WHERE agent IS NOT NULL LIMIT %d`, agentsRead), orgID)
	if err != nil {
		return nil, fmt.Errorf("read the agents of sessions: %w", err)
	}
	agents = slices.DeleteFunc(agents, func(agent string) bool { return !matches(agent) })
	var found []Session
	for _, agent := range agents[:min(len(agents), agentsMatched)] {
		some, err := database.Collect(ctx, s.db, s.scanSession, sessionSelect+`
			org_id = $1 AND agent_id = $2 AND last_activity_at >= $3 AND last_activity_at <= $4
			ORDER BY last_activity_at DESC, id LIMIT $5`, orgID, agent, s.firstKeptDay()*dayMicros,
			database.Micros(until), limit)
		if err != nil {
			return nil, fmt.Errorf("search sessions: %w", err)
		}
		found = append(found, some...)
	}
	slices.SortFunc(found, func(a, b Session) int {
		return cmp.Or(b.LastActivityAt.Compare(a.LastActivityAt), cmp.Compare(a.ID, b.ID))
	})
	return found[:min(len(found), limit)], nil
}

const (
	agentsRead    = 1000 // different agents that are compared
	agentsMatched = 20   // of which so many are looked up
)
