package api

import (
	"context"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/principal"
	"writ/internal/telemetry"
)

// column is a column of a table, and a member of the same name where the line is
// JSON.
type column[T any] struct {
	name  string
	value func(T) any // string, *string, int64, *int64, float64, time.Time, *time.Time, storedObject or storedTexts
}

// rows writes a line for each item that is given to it.
type rows[T any] struct {
	*lines
	columns []column[T]
}

// begin writes the header of a table.
func (r *rows[T]) begin() error {
	r.lines.begin()
	r.width = len(r.columns)
	if !r.csv {
		return nil
	}
	for _, c := range r.columns {
		r.row.Text(c.name)
	}
	_, err := r.out.Write(r.row.End())
	return err
}

func (r *rows[T]) add(item T) error {
	var line []byte
	if r.csv {
		for _, c := range r.columns {
			r.cell(c.value(item))
		}
		line = r.row.End()
	} else {
		r.object = r.appendObject(r.object[:0], item)
		line = r.object
	}
	_, err := r.out.Write(line)
	r.count++
	return err
}

func (l *lines) cell(value any) {
	switch v := value.(type) {
	case string:
		l.row.Text(v)
	case storedObject:
		l.row.JSON(string(v))
	case storedTexts:
		l.row.JSON(string(v))
	case int64:
		l.row.Number(v)
	case float64:
		l.row.Decimal(v)
	case time.Time:
		l.row.Time(v)
	case *string:
		optionalCell(l, v)
	case *int64:
		optionalCell(l, v)
	case *time.Time:
		optionalCell(l, v)
	default:
		l.row.Empty()
	}
}

func optionalCell[T any](l *lines, value *T) {
	if value == nil {
		l.row.Empty()
		return
	}
	l.cell(*value)
}

// appendObject is the line of an item as JSON.
func (r *rows[T]) appendObject(line []byte, item T) []byte {
	separator := byte('{')
	for _, c := range r.columns {
		line = append(append(line, separator, '"'), c.name...)
		line = appendMember(append(line, `":`...), c.value(item))
		separator = ','
	}
	return append(line, '}', '\n')
}

func appendMember(line []byte, value any) []byte {
	switch v := value.(type) {
	case string:
		return appendMember(line, &v)
	case *string:
		if v == nil {
			return append(line, "null"...)
		}
		text, err := jsontext.AppendQuote(line, *v)
		if err != nil { // no UTF-8, which no database keeps
			text, _ = jsontext.AppendQuote(line, "")
		}
		return text
	case storedObject:
		return append(line, v...)
	case storedTexts:
		return append(line, v...)
	case int64:
		return strconv.AppendInt(line, v, 10)
	case *int64:
		return appendNumber(line, v)
	case float64:
		return strconv.AppendFloat(line, v, 'f', -1, 64)
	case time.Time:
		return appendTime(line, &v)
	case *time.Time:
		return appendTime(line, v)
	}
	return append(line, "null"...)
}

var traceColumns = []column[*telemetry.TraceItem]{
	{"id", func(t *telemetry.TraceItem) any { return t.ID }},
	{"sessionId", func(t *telemetry.TraceItem) any { return orNull(t.SessionID) }},
	{"name", func(t *telemetry.TraceItem) any { return t.Name }},
	{"startTime", func(t *telemetry.TraceItem) any { return t.Start }},
	{"endTime", func(t *telemetry.TraceItem) any { return t.End }},
	{"durationMs", func(t *telemetry.TraceItem) any { return t.DurationMs }},
	{"status", func(t *telemetry.TraceItem) any { return t.Status }},
	{"userId", func(t *telemetry.TraceItem) any { return orNull(t.UserID) }},
	{"agentId", func(t *telemetry.TraceItem) any { return t.AgentID }},
	{"product", func(t *telemetry.TraceItem) any { return t.Product }},
	{"source", func(t *telemetry.TraceItem) any { return t.Source }},
	{"totalInputTokens", func(t *telemetry.TraceItem) any { return t.Usage.Input }},
	{"totalOutputTokens", func(t *telemetry.TraceItem) any { return t.Usage.Output }},
	{"totalCacheReadTokens", func(t *telemetry.TraceItem) any { return t.Usage.CacheRead }},
	{"totalCacheWriteTokens", func(t *telemetry.TraceItem) any { return t.Usage.CacheWrite }},
	{"totalCostUsd", func(t *telemetry.TraceItem) any { return t.Usage.Dollars() }},
	{"spanCount", func(t *telemetry.TraceItem) any { return t.SpanCount }},
	{"errorCount", func(t *telemetry.TraceItem) any { return t.ErrorCount }},
	{"inputPreview", func(t *telemetry.TraceItem) any { return t.InputPreview }},
	{"outputPreview", func(t *telemetry.TraceItem) any { return t.OutputPreview }},
	{"tags", func(t *telemetry.TraceItem) any { return storedTexts(t.Tags) }},
	{"attributes", func(t *telemetry.TraceItem) any { return storedObject(t.Attributes) }},
}

// writeTraceRows writes a line of a table for each trace.
func writeTraceRows(
	ctx context.Context, l *lines, caller principal.Principal, traces *telemetry.TraceExport,
) error {
	r := &rows[*telemetry.TraceItem]{lines: l, columns: traceColumns}
	if err := r.begin(); err != nil {
		return err
	}
	for t, err := range traces.All(ctx) {
		if err != nil {
			return err
		}
		item := visible(caller, t.TraceItem)
		if err := r.add(&item); err != nil {
			return err
		}
		if err := l.out.check(); err != nil {
			return err
		}
	}
	return l.complete()
}

// spanRow is a span and the trace it belongs to.
type spanRow struct {
	trace *telemetry.ExportedTrace
	*telemetry.SpanRecord
}

var spanColumns = []column[spanRow]{
	{"id", func(s spanRow) any { return s.ID }},
	{"traceId", func(s spanRow) any { return s.trace.ID }},
	{"parentSpanId", func(s spanRow) any { return orNull(s.ParentID) }},
	{"sessionId", func(s spanRow) any { return orNull(s.trace.SessionID) }},
	{"agentId", func(s spanRow) any { return s.trace.AgentID }},
	{"userId", func(s spanRow) any { return orNull(s.trace.UserID) }},
	{"kind", func(s spanRow) any { return s.Kind }},
	{"name", func(s spanRow) any { return s.Name }},
	{"startTime", func(s spanRow) any { return s.Start }},
	{"endTime", func(s spanRow) any { return s.End }},
	{"durationMs", func(s spanRow) any { return s.DurationMs }},
	{"status", func(s spanRow) any { return s.Status }},
	{"toolName", func(s spanRow) any { return orNull(s.Tool) }},
	{"model", func(s spanRow) any { return orNull(s.Model) }},
	{"inputTokens", func(s spanRow) any { return s.Usage.Input }},
	{"outputTokens", func(s spanRow) any { return s.Usage.Output }},
	{"cacheReadTokens", func(s spanRow) any { return s.Usage.CacheRead }},
	{"cacheWriteTokens", func(s spanRow) any { return s.Usage.CacheWrite }},
	{"costUsd", func(s spanRow) any { return s.Usage.Dollars() }},
	{"policyId", func(s spanRow) any { return orNull(s.PolicyID) }},
	{"policyName", func(s spanRow) any { return orNull(s.PolicyName) }},
	{"decision", func(s spanRow) any { return orNull(s.Decision) }},
	{"matchedRuleId", func(s spanRow) any { return orNull(s.RuleID) }},
	{"attributes", func(s spanRow) any { return storedObject(s.Attributes) }},
}

// writeSpanRows writes a line for each span of each trace.
func writeSpanRows(ctx context.Context, l *lines, caller principal.Principal, traces *telemetry.TraceExport) error {
	r := &rows[spanRow]{lines: l, columns: spanColumns}
	if err := r.begin(); err != nil {
		return err
	}
	for t, err := range traces.All(ctx) {
		if err != nil {
			return err
		}
		l.midway, l.out.within = true, 0
		for s, err := range t.Spans(ctx) {
			if err != nil {
				return err
			}
			s.Attributes = attributesFor(caller, s.Attributes)
			if err := r.add(spanRow{t, s}); err != nil {
				return err
			}
			if err := l.out.checkWithin(); err != nil {
				return err
			}
		}
		l.midway = false
		if err := l.out.check(); err != nil {
			return err
		}
	}
	return l.complete()
}

var sessionColumns = []column[*telemetry.Session]{
	{"id", func(s *telemetry.Session) any { return s.ID }},
	{"userId", func(s *telemetry.Session) any { return orNull(s.UserID) }},
	{"agentId", func(s *telemetry.Session) any { return s.AgentID }},
	{"product", func(s *telemetry.Session) any { return s.Product }},
	{"startedAt", func(s *telemetry.Session) any { return s.StartedAt }},
	{"lastActivityAt", func(s *telemetry.Session) any { return s.LastActivityAt }},
	{"status", func(s *telemetry.Session) any { return s.Status }},
	{"traceCount", func(s *telemetry.Session) any { return s.TraceCount }},
	{"totalInputTokens", func(s *telemetry.Session) any { return s.Usage.Input }},
	{"totalOutputTokens", func(s *telemetry.Session) any { return s.Usage.Output }},
	{"totalCacheReadTokens", func(s *telemetry.Session) any { return s.Usage.CacheRead }},
	{"totalCacheWriteTokens", func(s *telemetry.Session) any { return s.Usage.CacheWrite }},
	{"totalCostUsd", func(s *telemetry.Session) any { return s.Usage.Dollars() }},
}

// writeSessionRows writes a line for each session.
func writeSessionRows(ctx context.Context, l *lines, sessions *telemetry.SessionExport) error {
	r := &rows[*telemetry.Session]{lines: l, columns: sessionColumns}
	if err := r.begin(); err != nil {
		return err
	}
	for s, err := range sessions.All(ctx) {
		if err != nil {
			return err
		}
		if err := r.add(s); err != nil {
			return err
		}
		if err := l.out.check(); err != nil {
			return err
		}
	}
	return l.complete()
}
