package traces

import (
	"context"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/csvsafe"
	"writ/internal/principal"
	"writ/internal/telemetry"
)

// column is a column of a table, and a member of the same name where the line is JSON.
type column[T any] struct {
	name string
	add  func(row, T)
}

// row is a line that is being written, cell by cell: a csvsafe.Row, or an objectRow.
type row interface {
	Text(text string)
	JSON(text string)
	Number(n int64)
	Decimal(n float64)
	Time(t time.Time)
	Empty()
	End() []byte
}

// optional adds a value that may be missing.
func optional[T any](r row, add func(row, T), value *T) {
	if value == nil {
		r.Empty()
		return
	}
	add(r, *value)
}

// orEmpty adds a text; the empty text is a missing one.
func orEmpty(r row, text string) { optional(r, row.Text, sharedOrNull(&text)) }

// rows writes a line for each item.
type rows[T any] struct {
	*lines
	columns []column[T]
	row     row
}

// newRows writes the header of a table.
func newRows[T any](l *lines, columns []column[T]) *rows[T] {
	l.width = len(columns)
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.name
	}
	if !l.csv {
		return &rows[T]{l, columns, &objectRow{names: names}}
	}
	table := &csvsafe.Row{}
	for _, name := range names {
		table.Text(name)
	}
	_, _ = l.out.Write(table.End()) // the writer keeps an error
	return &rows[T]{l, columns, table}
}

func (r *rows[T]) add(item T) error {
	for _, c := range r.columns {
		c.add(r.row, item)
	}
	r.count++
	_, err := r.out.Write(r.row.End())
	return err
}

// objectRow is a line of NDJSON: an object with a member for each column.
type objectRow struct {
	names   []string
	text    []byte
	members int
}

// next begins a member.
func (r *objectRow) next() []byte {
	separator := byte(',')
	if r.members == 0 {
		separator = '{'
	}
	r.members++
	return append(append(append(r.text, separator, '"'), r.names[r.members-1]...), `":`...)
}

// Text replaces what is no UTF-8, which no database stores.
func (r *objectRow) Text(text string)  { r.text, _ = jsontext.AppendQuote(r.next(), text) }
func (r *objectRow) JSON(text string)  { r.text = append(r.next(), text...) }
func (r *objectRow) Number(n int64)    { r.text = strconv.AppendInt(r.next(), n, 10) }
func (r *objectRow) Decimal(n float64) { r.text = strconv.AppendFloat(r.next(), n, 'f', -1, 64) }
func (r *objectRow) Time(t time.Time)  { r.text = appendTime(r.next(), &t) }
func (r *objectRow) Empty()            { r.text = append(r.next(), "null"...) }

func (r *objectRow) End() []byte {
	line := append(r.text, '}', '\n')
	r.text, r.members = line[:0], 0
	return line
}

var traceColumns = []column[*telemetry.TraceItem]{
	{"id", func(r row, t *telemetry.TraceItem) { r.Text(t.ID) }},
	{"sessionId", func(r row, t *telemetry.TraceItem) { orEmpty(r, t.SessionID) }},
	{"name", func(r row, t *telemetry.TraceItem) { r.Text(t.Name) }},
	{"startTime", func(r row, t *telemetry.TraceItem) { r.Time(t.Start) }},
	{"endTime", func(r row, t *telemetry.TraceItem) { optional(r, row.Time, t.End) }},
	{"durationMs", func(r row, t *telemetry.TraceItem) { optional(r, row.Number, t.DurationMs) }},
	{"status", func(r row, t *telemetry.TraceItem) { r.Text(t.Status) }},
	{"userId", func(r row, t *telemetry.TraceItem) { orEmpty(r, t.UserID) }},
	{"agentId", func(r row, t *telemetry.TraceItem) { r.Text(t.AgentID) }},
	{"product", func(r row, t *telemetry.TraceItem) { r.Text(t.Product) }},
	{"source", func(r row, t *telemetry.TraceItem) { r.Text(t.Source) }},
	{"totalInputTokens", func(r row, t *telemetry.TraceItem) { r.Number(t.Usage.Input) }},
	{"totalOutputTokens", func(r row, t *telemetry.TraceItem) { r.Number(t.Usage.Output) }},
	{"totalCacheReadTokens", func(r row, t *telemetry.TraceItem) { r.Number(t.Usage.CacheRead) }},
	{"totalCacheWriteTokens", func(r row, t *telemetry.TraceItem) { r.Number(t.Usage.CacheWrite) }},
	{"totalCostUsd", func(r row, t *telemetry.TraceItem) { r.Decimal(t.Usage.Dollars()) }},
	{"spanCount", func(r row, t *telemetry.TraceItem) { r.Number(t.SpanCount) }},
	{"errorCount", func(r row, t *telemetry.TraceItem) { r.Number(t.ErrorCount) }},
	{"inputPreview", func(r row, t *telemetry.TraceItem) { optional(r, row.Text, t.InputPreview) }},
	{"outputPreview", func(r row, t *telemetry.TraceItem) { optional(r, row.Text, t.OutputPreview) }},
	{"tags", func(r row, t *telemetry.TraceItem) { r.JSON(t.Tags) }},
	{"attributes", func(r row, t *telemetry.TraceItem) { r.JSON(t.Attributes) }},
}

// writeTraceRows writes a line for each trace, without its spans.
func writeTraceRows(
	ctx context.Context, l *lines, caller principal.Principal, traces *telemetry.TraceExport,
) error {
	r := newRows(l, traceColumns)
	return writeLines(l, traces.All(ctx), func(t *telemetry.ExportedTrace) error {
		item := visible(caller, t.TraceItem)
		return r.add(&item)
	})
}

// spanRow is a span and the trace it belongs to.
type spanRow struct {
	trace *telemetry.ExportedTrace
	*telemetry.SpanRecord
}

var spanColumns = []column[spanRow]{
	{"id", func(r row, s spanRow) { r.Text(s.ID) }},
	{"traceId", func(r row, s spanRow) { r.Text(s.trace.ID) }},
	{"parentSpanId", func(r row, s spanRow) { orEmpty(r, s.ParentID) }},
	{"sessionId", func(r row, s spanRow) { orEmpty(r, s.trace.SessionID) }},
	{"agentId", func(r row, s spanRow) { r.Text(s.trace.AgentID) }},
	{"userId", func(r row, s spanRow) { orEmpty(r, s.trace.UserID) }},
	{"kind", func(r row, s spanRow) { r.Text(s.Kind) }},
	{"name", func(r row, s spanRow) { r.Text(s.Name) }},
	{"startTime", func(r row, s spanRow) { r.Time(s.Start) }},
	{"endTime", func(r row, s spanRow) { optional(r, row.Time, s.End) }},
	{"durationMs", func(r row, s spanRow) { optional(r, row.Number, s.DurationMs) }},
	{"status", func(r row, s spanRow) { r.Text(s.Status) }},
	{"toolName", func(r row, s spanRow) { orEmpty(r, s.Tool) }},
	{"model", func(r row, s spanRow) { orEmpty(r, s.Model) }},
	{"inputTokens", func(r row, s spanRow) { r.Number(s.Usage.Input) }},
	{"outputTokens", func(r row, s spanRow) { r.Number(s.Usage.Output) }},
	{"cacheReadTokens", func(r row, s spanRow) { r.Number(s.Usage.CacheRead) }},
	{"cacheWriteTokens", func(r row, s spanRow) { r.Number(s.Usage.CacheWrite) }},
	{"costUsd", func(r row, s spanRow) { r.Decimal(s.Usage.Dollars()) }},
	{"policyId", func(r row, s spanRow) { orEmpty(r, s.PolicyID) }},
	{"policyName", func(r row, s spanRow) { orEmpty(r, s.PolicyName) }},
	{"decision", func(r row, s spanRow) { orEmpty(r, s.Decision) }},
	{"matchedRuleId", func(r row, s spanRow) { orEmpty(r, s.RuleID) }},
	{"attributes", func(r row, s spanRow) { r.JSON(s.Attributes) }},
}

// writeSpanRows writes a line for each span of each trace.
func writeSpanRows(ctx context.Context, l *lines, caller principal.Principal, traces *telemetry.TraceExport) error {
	r := newRows(l, spanColumns)
	return writeLines(l, traces.All(ctx), func(t *telemetry.ExportedTrace) error {
		l.midway, l.out.spans = true, 0
		err := each(t.Spans(ctx), func(s *telemetry.SpanRecord) error {
			s.Attributes = attributesFor(caller, s.Attributes)
			return r.add(spanRow{t, s})
		}, l.out.checkSpan)
		l.midway = err != nil
		return err
	})
}

var sessionColumns = []column[*telemetry.Session]{
	{"id", func(r row, s *telemetry.Session) { r.Text(s.ID) }},
	{"userId", func(r row, s *telemetry.Session) { orEmpty(r, s.UserID) }},
	{"agentId", func(r row, s *telemetry.Session) { r.Text(s.AgentID) }},
	{"product", func(r row, s *telemetry.Session) { r.Text(s.Product) }},
	{"startedAt", func(r row, s *telemetry.Session) { r.Time(s.StartedAt) }},
	{"lastActivityAt", func(r row, s *telemetry.Session) { r.Time(s.LastActivityAt) }},
	{"status", func(r row, s *telemetry.Session) { r.Text(s.Status) }},
	{"traceCount", func(r row, s *telemetry.Session) { r.Number(s.TraceCount) }},
	{"totalInputTokens", func(r row, s *telemetry.Session) { r.Number(s.Usage.Input) }},
	{"totalOutputTokens", func(r row, s *telemetry.Session) { r.Number(s.Usage.Output) }},
	{"totalCacheReadTokens", func(r row, s *telemetry.Session) { r.Number(s.Usage.CacheRead) }},
	{"totalCacheWriteTokens", func(r row, s *telemetry.Session) { r.Number(s.Usage.CacheWrite) }},
	{"totalCostUsd", func(r row, s *telemetry.Session) { r.Decimal(s.Usage.Dollars()) }},
}
