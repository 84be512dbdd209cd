package telemetry

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"writ/internal/database"
	"writ/internal/telemetry/decode"
)

// OutlinedSpans is how many spans an outline has at most: the first ones.
const OutlinedSpans = 20_000

// policyCall is the kind of spans that show decisions.
const policyCall = "policy_call"

// Outline is a trace with its spans, all without their attributes, which can be as large as a request.
type Outline struct {
	TraceItem
	Spans []OutlinedSpan
}

// OutlinedSpan is a span with what is known about it. Its Attributes are read for one span alone.
type OutlinedSpan struct {
	StoredSpan
	decode.Facts
	// Index is that of the decision in the log, of spans that the server made; nil for others, whatever they say.
	Index *int64

	number int64 // in its trace
}

// Shadow reports whether the span shows what a shadow policy would have decided.
func (s *OutlinedSpan) Shadow() bool { return strings.HasPrefix(s.PolicyID, ShadowPrefix) }

// TraceHead reads a trace without its spans; nil: the organization has no such trace.
func (s *Service) TraceHead(ctx context.Context, orgID, id string) (*TraceItem, error) {
	return s.findTrace(ctx, orgID, id)
}

// Outline reads a trace as an outline; nil: the organization has no such trace.
func (s *Service) Outline(ctx context.Context, orgID, id string) (*Outline, error) {
	item, err := s.findTrace(ctx, orgID, id)
	if err != nil || item == nil {
		return nil, err
	}
	own, err := s.isOwn(ctx, item)
	if err != nil {
		return nil, err
	}
	spans, err := database.Collect(ctx, s.db, scanOutlined(own), selectOutlined(own)+
		fmt.Sprintf(` ORDER BY seq LIMIT %d`, OutlinedSpans), item.receivedDay, item.pk)
	if err != nil {
		return nil, fmt.Errorf("read the outline of a trace: %w", err)
	}
	if own {
		for i := range spans {
			spans[i].Attributes = "" // only the index was needed
		}
	}
	return &Outline{TraceItem: *item, Spans: spans}, nil
}

// Span reads one span of a trace, with its attributes; nil: the organization has no such span.
func (s *Service) Span(ctx context.Context, orgID, traceID, id string) (*OutlinedSpan, error) {
	id, ok := decode.TraceID(id)
	if !ok {
		return nil, nil
	}
	item, err := s.findTrace(ctx, orgID, traceID)
	if err != nil || item == nil {
		return nil, err
	}
	own, err := s.isOwn(ctx, item)
	if err != nil {
		return nil, err
	}
	span, err := scanOutlined(own)(s.db.QueryRow(ctx, selectOutlined(true)+` AND id = $3 ORDER BY seq LIMIT 1`,
		item.receivedDay, item.pk, id))
	if err != nil {
		return nil, unlessMissing("read a span", err)
	}
	return &span, nil
}

// isOwn reports whether the server itself made a trace, of decisions. Anyone can use its name.
func (s *Service) isOwn(ctx context.Context, t *TraceItem) (bool, error) {
	if t.Product != ownProduct || t.Source != ownProduct || t.growth != notGrowing {
		return false, nil
	}
	own, err := hasOwnSpans(ctx, s.db, t.receivedDay, t.pk)
	if err != nil {
		return false, fmt.Errorf("find out who made a trace: %w", err)
	}
	return own, nil
}

// selectOutlined reads spans of the trace $2, received on the day $1.
func selectOutlined(withAttributes bool) string {
	attributes := `''`
	if withAttributes {
		attributes = `attributes`
	}
	return `
	SELECT seq, id, COALESCE(parent_id, ''), COALESCE(session_id, ''), kind, name, start_time, end_time, duration_ms, status, ` +
		attributes + `,
		COALESCE(tool_name, ''), COALESCE(model, ''), input_tokens, output_tokens, cache_read, cache_write, cost_nanos,
		COALESCE(policy_id, ''), COALESCE(policy_name, ''), COALESCE(decision, ''), COALESCE(rule_id, '')
	FROM span
	WHERE received_day = $1 AND trace_pk = $2`
}

// scanOutlined reads a span, of a trace that the server made or another.
func scanOutlined(own bool) func(database.Scanner) (OutlinedSpan, error) {
	return func(row database.Scanner) (s OutlinedSpan, err error) {
		var start int64
		var end sql.NullInt64
		err = row.Scan(&s.number, &s.ID, &s.ParentID, &s.SessionID, &s.Kind, &s.Name, &start, &end, &s.DurationMs,
			&s.Status, &s.Attributes,
			&s.Tool, &s.Model, &s.Usage.Input, &s.Usage.Output, &s.Usage.CacheRead, &s.Usage.CacheWrite,
			&s.Usage.CostNanos, &s.PolicyID, &s.PolicyName, &s.Decision, &s.RuleID)
		s.Start, s.End, s.CostNanos = database.Time(start), database.OptionalTime(end), s.Usage.CostNanos
		if own && err == nil && s.Kind == policyCall {
			s.Index = indexOf(s.Attributes)
		}
		return s, err
	}
}

// indexOf is the index that the attributes of a decision's span name.
func indexOf(attributes string) *int64 {
	var known struct {
		Index *int64 `json:"auditIndex"`
	}
	if err := json.Unmarshal([]byte(attributes), &known); err != nil {
		return nil // some text of the decision was not UTF-8, and they were left out
	}
	return known.Index
}
