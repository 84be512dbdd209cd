package telemetry

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"strings"

	"writ/internal/database"
	"writ/internal/page"
	"writ/internal/telemetry/decode"
)

// How many rows one step of an export reads, or fewer if they are large: memory does not grow with the export, and no
// transaction is open for longer than a step.
const (
	exportTraces   = 200
	exportSpans    = 1000
	exportSessions = 500
	exportBytes    = 2 << 20

	// exportRootless is how many traces an export remembers that may come again.
	exportRootless = 50_000
)

// errEnough ends a step before its rows do.
var errEnough = errors.New("enough for a step")

// step reads rows up to exportBytes, and reports whether it stopped there.
func step[T any](
	ctx context.Context, db *database.DB, scan func(database.Scanner) (T, error), size func(*T) int,
	query string, args ...any,
) (items []T, cut bool, err error) {
	held := 0
	err = each(ctx, db, func(row database.Scanner) error {
		if held > exportBytes {
			return errEnough
		}
		item, err := scan(row)
		items, held = append(items, item), held+size(&item)
		return err
	}, query, args...)
	if errors.Is(err, errEnough) {
		return items, true, nil
	}
	return items, false, err
}

// TraceExport reads any number of traces, newest start first. Each trace that was there at the beginning and is still
// stored comes once, complete with the spans that its totals count. What is received in the meantime may come or not.
//
// A trace without its root starts earlier when an earlier span comes, and would come again: the export remembers up to
// exportRootless such traces. A trace is missed if its root moves its start to after the export's position, which
// needs clocks that differ.
type TraceExport struct {
	s         *Service
	orgID     string
	filter    TraceFilter
	since     int64
	after     page.Cursor
	withSpans bool
	rootless  map[string]bool // already returned
}

// ExportTraces starts an export of the traces that match a filter, after the filter's cursor. Without days it goes
// back to the oldest trace.
func (s *Service) ExportTraces(orgID string, f TraceFilter, withSpans bool) (*TraceExport, error) {
	after, err := page.Decode(f.Cursor, traceList, orgID)
	if err != nil {
		return nil, err
	}
	f.Limit = exportTraces - 1 // the query asks for one more
	return &TraceExport{
		s:         s,
		orgID:     orgID,
		filter:    f,
		since:     s.listedFrom(f.period()),
		after:     after,
		withSpans: withSpans,
		rootless:  map[string]bool{},
	}, nil
}

// All returns the traces. An error is the last item.
func (e *TraceExport) All(ctx context.Context) iter.Seq2[*ExportedTrace, error] {
	return func(yield func(*ExportedTrace, error) bool) {
		for {
			traces, err := e.next(ctx)
			if err != nil {
				yield(nil, fmt.Errorf("export traces: %w", err))
				return
			}
			if len(traces) == 0 {
				return
			}
			for i, t := range traces {
				if e.withSpans && !t.isRead {
					if err := t.s.readAhead(ctx, traces[i:]); err != nil {
						yield(nil, fmt.Errorf("export spans: %w", err))
						return
					}
				}
				e.after = page.Cursor{List: traceList, Scope: e.orgID, Micros: t.startMicros, ID: t.ID}
				if e.isNew(t) && !yield(t, nil) {
					return
				}
				traces[i] = nil // it may have many spans
			}
		}
	}
}

// Cursor continues the export after the last trace.
func (e *TraceExport) Cursor() string { return e.after.Encode() }

// isNew reports whether a trace was not returned before.
func (e *TraceExport) isNew(t *ExportedTrace) bool {
	if t.growth == notGrowing || e.rootless[t.ID] {
		return t.growth == notGrowing
	}
	if t.growth == rootless && len(e.rootless) < exportRootless {
		e.rootless[t.ID] = true
	}
	return true
}

func (e *TraceExport) next(ctx context.Context) ([]*ExportedTrace, error) {
	if !e.filter.storable() {
		return nil, nil
	}
	w := &where{}
	w.and("org_id = ?", e.orgID)
	if e.filter.period() != (Period{}) {
		e.s.andListed(w, e.since, e.filter.Until)
	}
	if !e.after.IsZero() {
		w.and("(start_time, id) < (?, ?)", e.after.Micros, e.after.ID)
	}
	e.filter.apply(w)
	rows, _, err := step(ctx, e.s.db, scanTrace, (*TraceItem).size, traceQuery(w, e.filter), w.args...)
	traces := make([]*ExportedTrace, len(rows))
	for i, t := range rows {
		traces[i] = &ExportedTrace{TraceItem: t, s: e.s}
	}
	return traces, err
}

// size is about the memory of a trace.
func (t *TraceItem) size() int { return 500 + len(t.Attributes) + len(t.Tags) }

// ExportedTrace is a trace that can read any number of spans.
type ExportedTrace struct {
	TraceItem
	s      *Service
	spans  []SpanRecord
	isRead bool // spans are complete
}

// SpanRecord is a stored span with what queries know about it.
type SpanRecord struct {
	StoredSpan
	decode.Facts
	Number  int64 // in its trace: numbers rise, with gaps
	tracePK int64
}

func (s *SpanRecord) size() int { return 500 + len(s.Attributes) }

// ExportTrace finds a trace; nil: the organization has no such trace.
func (s *Service) ExportTrace(ctx context.Context, orgID, id string) (*ExportedTrace, error) {
	item, err := s.findTrace(ctx, orgID, id)
	if err != nil || item == nil {
		return nil, err
	}
	return &ExportedTrace{TraceItem: *item, s: s}, nil
}

// selectRecord reads spans of the day $1.
const selectRecord = `
	SELECT trace_pk, seq, id, COALESCE(parent_id, ''), COALESCE(session_id, ''), kind, name, start_time, end_time, duration_ms, status, attributes,
		COALESCE(tool_name, ''), COALESCE(model, ''), input_tokens, output_tokens, cache_read, cache_write, cost_nanos,
		COALESCE(policy_id, ''), COALESCE(policy_name, ''), COALESCE(decision, ''), COALESCE(rule_id, '')
	FROM span
	WHERE received_day = $1 AND `

func scanRecord(row database.Scanner) (s SpanRecord, err error) {
	var start int64
	var end sql.NullInt64
	err = row.Scan(&s.tracePK, &s.Number, &s.ID, &s.ParentID, &s.SessionID, &s.Kind, &s.Name, &start, &end,
		&s.DurationMs, &s.Status, &s.Attributes,
		&s.Tool, &s.Model, &s.Usage.Input, &s.Usage.Output, &s.Usage.CacheRead, &s.Usage.CacheWrite, &s.Usage.CostNanos,
		&s.PolicyID, &s.PolicyName, &s.Decision, &s.RuleID)
	s.Start, s.End = database.Time(start), database.OptionalTime(end)
	s.CostNanos = s.Usage.CostNanos
	return s, err
}

// readAhead reads the spans of the first trace together with those of the next ones, if they are few: one query per
// trace would take most of the time of an export.
func (s *Service) readAhead(ctx context.Context, traces []*ExportedTrace) error {
	day, chosen := traces[0].receivedDay, map[int64]*ExportedTrace{}
	args, total := []any{day}, int64(0)
	for _, t := range traces {
		if total += t.SpanCount; total > exportSpans {
			break
		}
		if t.receivedDay == day && !t.isRead {
			chosen[t.pk], args = t, append(args, t.pk)
		}
	}
	if len(chosen) == 0 {
		return nil // a large trace, which is read while it is written
	}
	spans, cut, err := step(ctx, s.db, scanRecord, (*SpanRecord).size,
		selectRecord+`trace_pk IN (`+marks(2, len(args)-1)+`) ORDER BY trace_pk, seq`, args...)
	if err != nil {
		return err
	}
	for _, span := range spans {
		t := chosen[span.tracePK]
		t.spans = append(t.spans, span)
	}
	for pk, t := range chosen {
		// A step that stopped early is complete for all traces before the last one.
		if t.isRead = !cut || pk < spans[len(spans)-1].tracePK; !t.isRead {
			t.spans = nil
		}
	}
	return nil
}

// Spans returns the spans in the order they came, as many as the trace's totals count. An error is the last item.
func (t *ExportedTrace) Spans(ctx context.Context) iter.Seq2[*SpanRecord, error] {
	return func(yield func(*SpanRecord, error) bool) {
		left, after := t.SpanCount, int64(-1)
		for spans, more := t.spans, !t.isRead; ; {
			for i := range spans {
				if left == 0 || !yield(&spans[i], nil) {
					return
				}
				left, after = left-1, spans[i].Number
			}
			if !more || left == 0 {
				return
			}
			var cut bool
			var err error
			spans, cut, err = step(ctx, t.s.db, scanRecord, (*SpanRecord).size,
				selectRecord+fmt.Sprintf(`trace_pk = $2 AND seq > $3 ORDER BY seq LIMIT %d`, exportSpans),
				t.receivedDay, t.pk, after)
			if err != nil {
				yield(nil, fmt.Errorf("export the spans of a trace: %w", err))
				return
			}
			more = cut || len(spans) == exportSpans
		}
	}
}

// SessionExport reads sessions in the order of their ids: the order of their activity changes during the export, which
// would lose some.
type SessionExport struct {
	s      *Service
	orgID  string
	filter SessionFilter
	since  int64
	after  page.Cursor
}

const sessionExport = "sessions/export"

// ExportSessions starts an export of the sessions that match a filter, after the filter's cursor.
func (s *Service) ExportSessions(orgID string, f SessionFilter) (*SessionExport, error) {
	after, err := page.Decode(f.Cursor, sessionExport, orgID)
	if err != nil {
		return nil, err
	}
	return &SessionExport{
		s:      s,
		orgID:  orgID,
		filter: f,
		since:  s.listedFrom(f.period()),
		after:  after,
	}, nil
}

// Cursor continues the export after the last session.
func (e *SessionExport) Cursor() string { return e.after.Encode() }

// All returns the sessions. An error is the last item.
func (e *SessionExport) All(ctx context.Context) iter.Seq2[*Session, error] {
	return func(yield func(*Session, error) bool) {
		for {
			// Filters are not in the query: a step must end soon even if few sessions match.
			sessions, cut, err := step(ctx, e.s.db, e.s.scanSession, func(*Session) int { return 1000 },
				fmt.Sprintf(`%s org_id = $1 AND id > $2 ORDER BY id LIMIT %d`, sessionSelect, exportSessions), e.orgID,
				e.after.ID)
			if err != nil {
				yield(nil, fmt.Errorf("export sessions: %w", err))
				return
			}
			for i := range sessions {
				e.after = page.Cursor{List: sessionExport, Scope: e.orgID, ID: sessions[i].ID}
				if e.matches(&sessions[i]) && !yield(&sessions[i], nil) {
					return
				}
			}
			if len(sessions) < exportSessions && !cut {
				return
			}
		}
	}
}

func (e *SessionExport) matches(x *Session) bool {
	f := e.filter
	return database.Micros(x.LastActivityAt) >= e.since && (f.Until.IsZero() || x.LastActivityAt.Before(f.Until)) &&
		(f.Status == "" || f.Status == x.Status) &&
		(f.UserID == "" || strings.EqualFold(f.UserID, x.UserID)) &&
		(f.AgentID == "" || f.AgentID == x.AgentID)
}
