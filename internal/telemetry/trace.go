package telemetry

import (
	"context"
	"database/sql"
	"fmt"
	"math/bits"
	"strings"
	"time"
	"unicode/utf8"

	"writ/internal/database"
	"writ/internal/page"
	"writ/internal/telemetry/decode"
)

// TraceItem is a trace in a list.
type TraceItem struct {
	ID, SessionID, Name          string
	Start                        time.Time
	End                          *time.Time
	DurationMs                   *int64
	Status                       string
	UserID, AgentID              string
	Product, Source              string
	Attributes, Tags             string // JSON
	InputPreview, OutputPreview  *string
	Usage                        Usage
	SpanCount, ErrorCount        int64
	receivedDay, pk, startMicros int64
	growth                       int64
}

// detailSpans is how many spans the detail of a trace contains. Clients send 500 at most; a trace that grows may have
// more, and then shows the first ones.
const detailSpans = 5000

// TraceDetail is a trace with its spans, in the order they were sent.
type TraceDetail struct {
	TraceItem
	Spans []StoredSpan
}

// StoredSpan is a span of a trace.
type StoredSpan struct {
	ID, ParentID, SessionID string
	Kind, Name              string
	Start                   time.Time
	End                     *time.Time
	DurationMs              *int64
	Status                  string
	CostNanos               int64  // 10^-9 US dollars
	Attributes              string // JSON
}

// Cost is what a generation counts with, in US dollars; nil for other spans, which cost nothing.
func (s *StoredSpan) Cost() *float64 {
	if s.Kind != decode.KindGeneration {
		return nil
	}
	return new(Usage{CostNanos: s.CostNanos}.Dollars())
}

// TraceFilter chooses traces. Empty fields match everything.
type TraceFilter struct {
	Days          int       // a Period's
	From, Until   time.Time // a Period's
	SessionID     string
	Name          string
	Status        string
	UserID        string
	AgentID       string
	MinDurationMs *int64
	MinCostNanos  *int64
	Model, Tool   string // of a span
	HasError      *bool  // overrides Status
	Limit         int
	Cursor        string
}

func (f *TraceFilter) period() Period { return Period{f.Days, f.From, f.Until} }

const traceSelect = `received_day, pk, id, COALESCE(session_id, ''), name, start_time, end_time, duration_ms, status, COALESCE(user_id, ''),
	agent_id, product, source, attributes, tags, input_preview, output_preview,
	input_tokens, output_tokens, cache_read, cache_write, cost_nanos, span_count, error_count, growth`

func scanTrace(row database.Scanner) (t TraceItem, err error) {
	var start int64
	var end sql.NullInt64
	err = row.Scan(&t.receivedDay, &t.pk, &t.ID, &t.SessionID, &t.Name, &start, &end, &t.DurationMs, &t.Status,
		&t.UserID, &t.AgentID, &t.Product, &t.Source, &t.Attributes, &t.Tags, &t.InputPreview, &t.OutputPreview,
		&t.Usage.Input, &t.Usage.Output, &t.Usage.CacheRead, &t.Usage.CacheWrite, &t.Usage.CostNanos, &t.SpanCount,
		&t.ErrorCount, &t.growth)
	t.Start, t.End, t.startMicros = database.Time(start), database.OptionalTime(end), start
	return t, err
}

type where struct {
	conditions []string
	args       []any
}

// and adds a condition with ? for its values.
func (w *where) and(condition string, values ...any) {
	for _, v := range values {
		w.args = append(w.args, v)
		condition = strings.Replace(condition, "?", fmt.Sprintf("$%d", len(w.args)), 1)
	}
	w.conditions = append(w.conditions, condition)
}

func (w *where) String() string { return strings.Join(w.conditions, " AND ") }

// limit is a limit as a parameter. SQLite compiles a statement for the value of a bare parameter, and could not reuse
// it for another; hence the sum.
func (w *where) limit(rows int) string {
	w.args = append(w.args, rows)
	return fmt.Sprintf("$%d + 0", len(w.args))
}

// listReader is where a list is read. Lists without filters have few statements, and are what people see first.
func (s *Service) listReader(filtered bool) database.Reader {
	if filtered {
		return s.db
	}
	return s.db.Prepared()
}

// storable reports whether a text can be in the database at all. A query for any other text finds nothing, and
// PostgreSQL would refuse it.
func storable(text string) bool { return utf8.ValidString(text) && strings.IndexByte(text, 0) < 0 }

// storable reports whether a trace can match the filter at all.
func (f *TraceFilter) storable() bool {
	return storable(f.Name) && storable(f.AgentID) && storable(f.Model) && storable(f.Tool)
}

// traceList names the list in its cursors.
const traceList = "traces"

// ListTraces lists traces, newest start first.
func (s *Service) ListTraces(ctx context.Context, orgID string, f TraceFilter) (page.Page[TraceItem], error) {
	after, err := page.Decode(f.Cursor, traceList, orgID)
	if err != nil {
		return page.Page[TraceItem]{}, err
	}
	if !f.storable() {
		return page.Of[TraceItem](nil, f.Limit, nil), nil
	}
	w := s.listed(orgID, f)
	if !after.IsZero() {
		w.and("(start_time, id) < (?, ?)", after.Micros, after.ID)
	}
	common := len(w.conditions)
	f.apply(w)
	reader := s.listReader(len(w.conditions) > common)
	query := traceQuery(w, f)
	rows, err := database.Collect(ctx, reader, scanTrace, query, w.args...)
	if err != nil {
		return page.Page[TraceItem]{}, fmt.Errorf("list traces: %w", err)
	}
	return page.Of(rows, f.Limit, func(t TraceItem) page.Cursor {
		return page.Cursor{List: traceList, Scope: orgID, Micros: t.startMicros, ID: t.ID}
	}), nil
}

// listed chooses the traces of an organization and a time.
func (s *Service) listed(orgID string, f TraceFilter) *where {
	w := &where{}
	w.and("org_id = ?", orgID)
	s.andListed(w, s.listedFrom(f.period()), f.Until)
	return w
}

// apply adds the filters. Each has an index of its own; with two or more, the most selective one is used.
// Model and tool have none: they are looked for among the traces that the others leave, the newest first.
func (f *TraceFilter) apply(w *where) {
	for _, equal := range []struct{ column, value string }{
		{"session_id", f.SessionID}, {"name", f.Name}, {"user_id", f.UserID}, {"agent_id", f.AgentID},
	} {
		if equal.value != "" {
			w.and(equal.column+" = ?", equal.value)
		}
	}
	switch {
	case f.HasError != nil && *f.HasError:
		w.and("status IN ('error', 'denied')")
	case f.HasError != nil:
		w.and("status = 'ok'")
	case f.Status != "":
		w.and("status = ?", f.Status)
	}
	if f.MinDurationMs != nil {
		w.and("duration_ms >= ?", *f.MinDurationMs)
	}
	if f.MinCostNanos != nil && *f.MinCostNanos > 0 {
		w.and("cost_nanos >= ?", *f.MinCostNanos)
	}
	for _, equal := range []struct{ column, value string }{{"model", f.Model}, {"tool_name", f.Tool}} {
		if equal.value != "" {
			w.and(`EXISTS (SELECT 1 FROM span WHERE span.received_day = trace.received_day AND span.trace_pk = trace.pk AND span.`+
				equal.column+` = ?)`, equal.value)
		}
	}
}

// traceQuery is one query, or a union of one for each value of an indexed column that the filter accepts: the index
// returns the newest of each value without reading the others.
func traceQuery(w *where, f TraceFilter) string {
	limit := w.limit(f.Limit + 1)
	one := func(more string) string {
		return fmt.Sprintf(`SELECT %s FROM trace WHERE %s%s ORDER BY start_time DESC, id DESC LIMIT %s`, traceSelect, w,
			more, limit)
	}
	choices := f.choices()
	if len(choices) == 0 {
		return one("")
	}
	var parts []string
	for i, choice := range choices {
		parts = append(parts, fmt.Sprintf("SELECT * FROM (%s) AS choice_%d", one(" AND "+choice), i))
	}
	return fmt.Sprintf(`SELECT * FROM (%s) AS choices ORDER BY start_time DESC, id DESC LIMIT %s`,
		strings.Join(parts, " UNION ALL "), limit)
}

// choices are conditions of which every matching trace meets exactly one.
func (f *TraceFilter) choices() (conditions []string) {
	switch {
	case f.MinCostNanos != nil && *f.MinCostNanos > 0:
		return costChoices(*f.MinCostNanos)
	case f.MinDurationMs != nil:
		longest := bits.Len64(uint64(decode.MaxDuration))
		for class := min(bits.Len64(uint64(*f.MinDurationMs)), longest); class <= longest; class++ {
			conditions = append(conditions, fmt.Sprintf("duration_class = %d", class))
		}
	case f.HasError != nil && *f.HasError:
		conditions = []string{"status = 'error'", "status = 'denied'"}
	}
	return conditions
}

// listedFrom is the exact time at which a list begins, but not before the first kept day: aggregates do not count what
// retention will remove next, so lists do not show it either.
func (s *Service) listedFrom(p Period) int64 {
	return max(database.Micros(p.start(s.db.Now())), s.firstKeptDay()*dayMicros)
}

// andListed chooses the traces that aggregates of the same period count, too. A trace with a start in the future
// counts at its receipt. The sum keeps SQLite from looking for an index on the day.
func (s *Service) andListed(w *where, from int64, until time.Time) {
	w.and("start_time >= ?", from)
	if !until.IsZero() {
		w.and("start_time < ?", database.Micros(until))
	}
	w.and("received_day + 0 >= ?", s.firstKeptDay())
}

// Trace reads a trace with its spans; nil: the organization has no such trace.
func (s *Service) Trace(ctx context.Context, orgID, id string) (*TraceDetail, error) {
	item, err := s.findTrace(ctx, orgID, id)
	if err != nil || item == nil {
		return nil, err
	}
	spans, err := s.spansOf(ctx, item.receivedDay, item.pk, item.SpanCount)
	if err != nil {
		return nil, fmt.Errorf("read the spans of a trace: %w", err)
	}
	return &TraceDetail{TraceItem: *item, Spans: spans}, nil
}

// findTrace reads a trace without its spans; nil: there is none.
func (s *Service) findTrace(ctx context.Context, orgID, id string) (*TraceItem, error) {
	id, ok := decode.TraceID(id)
	if !ok {
		return nil, nil
	}
	var pk, day int64
	err := s.db.Prepared().QueryRow(ctx, `SELECT pk, received_day FROM trace_key WHERE org_id = $1 AND id = $2`, orgID,
		uuidBytes(id)).Scan(&pk, &day)
	if err != nil {
		return nil, unlessMissing("find a trace", err)
	}
	item, err := scanTrace(s.db.Prepared().QueryRow(ctx,
		`SELECT `+traceSelect+` FROM trace WHERE received_day = $1 AND pk = $2 AND org_id = $3`, day, pk, orgID))
	if err != nil { // perhaps removed by retention, but not yet its id
		return nil, unlessMissing("read a trace", err)
	}
	return &item, nil
}

// spansOf reads the spans of a trace, of which there are about count.
func (s *Service) spansOf(ctx context.Context, day, pk, count int64) ([]StoredSpan, error) {
	var packed sql.NullString // NULL: none
	if err := s.db.Prepared().QueryRow(ctx, selectPacked, day, pk).Scan(&packed); err != nil {
		return nil, err
	}
	return unpack(packed.String, count)
}
