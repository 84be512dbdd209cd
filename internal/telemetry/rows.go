package telemetry

import (
	"context"
	"fmt"
	"math/bits"
	"strings"

	"writ/internal/database"
	"writ/internal/telemetry/decode"
)

// plus is SQL that adds the columns of an upsert to the stored ones, within the range of a BIGINT: an overflow would
// fail everybody's commit.
func plus(table string, columns ...string) string {
	var sets []string
	for _, column := range columns {
		sets = append(sets, fmt.Sprintf(`%[2]s = CASE
			WHEN excluded.%[2]s > 0 AND %[1]s.%[2]s > %[3]d - excluded.%[2]s THEN %[3]d
			WHEN excluded.%[2]s < 0 AND %[1]s.%[2]s < -%[3]d - excluded.%[2]s THEN -%[3]d
			ELSE %[1]s.%[2]s + excluded.%[2]s END`,
			table, column, decode.MaxSum))
	}
	return strings.Join(sets, ", ")
}

// forUpdate locks rows that are read to be written back. SQLite has only one writer anyway.
func forUpdate(tx *database.Tx) string {
	if tx.Engine() == database.PostgreSQL {
		return " FOR UPDATE"
	}
	return ""
}

// durationClass is the bit length of a duration: an index on it answers "at least so long" with few scans.
func durationClass(ms *int64) int64 {
	if ms == nil {
		return -1
	}
	return int64(bits.Len64(uint64(*ms)))
}

var traceColumns = []string{
	"received_day", "pk", "org_id", "id", "session_id", "name", "start_time", "end_time", "duration_ms",
	"duration_class",
	"status", "user_id", "agent_id", "product", "source", "attributes", "tags", "input_preview", "output_preview",
	"input_tokens", "output_tokens", "cache_read", "cache_write", "cost_nanos", "span_count", "error_count", "growth",
}

func insertTraces(ctx context.Context, tx *database.Tx, orgID string, fresh []freshBatch) error {
	rows := make([][]any, len(fresh))
	for i, f := range fresh {
		t := &f.batch.Trace
		rows[i] = []any{
			f.day, f.pk, orgID, t.ID, textOrNull(t.SessionID), t.Name, t.Start, intOrNull(t.End),
			intOrNull(t.DurationMs),
			durationClass(t.DurationMs),
			t.Status, textOrNull(t.UserID), t.AgentID, f.product, t.Source, t.Attributes, t.Tags, t.Input, t.Output,
			t.Usage.Input, t.Usage.Output, t.Usage.CacheRead, t.Usage.CacheWrite, t.Usage.CostNanos,
			int64(len(f.batch.Spans)), t.Errors, f.growth,
		}
	}
	return tx.Copy(ctx, "trace", traceColumns, rows)
}

var spanColumns = []string{
	"received_day", "trace_pk", "seq", "id", "parent_id", "session_id", "kind", "name", "start_time", "end_time",
	"duration_ms", "status", "attributes", "tool_name", "model", "input_tokens", "output_tokens", "cache_read",
	"cache_write", "cost_nanos", "policy_id", "policy_name", "decision", "rule_id",
}

// Columns of a span's row that are set last.
const (
	spanDay      = 0
	spanTrace    = 1
	spanSequence = 2
)

// spanRows are the rows of a batch's spans without their trace. They are made before the change is queued, because
// everybody waits for the committer.
func spanRows(b *decode.Batch) [][]any {
	rows := make([][]any, len(b.Spans))
	values := make([]any, 0, len(b.Spans)*len(spanColumns)) // one allocation for all
	for i := range b.Spans {
		s, from := &b.Spans[i], len(values)
		values = append(values,
			nil, nil, sequence(s, i), s.ID, textOrNull(s.ParentID), textOrNull(s.SessionID), s.Kind, s.Name, s.Start,
			intOrNull(s.End),
			intOrNull(s.DurationMs), s.Status, s.Attributes, textOrNull(s.Tool), textOrNull(s.Model), s.Usage.Input,
			s.Usage.Output,
			s.Usage.CacheRead,
			s.Usage.CacheWrite, s.Usage.CostNanos, textOrNull(s.PolicyID), textOrNull(s.PolicyName),
			textOrNull(s.Decision),
			textOrNull(s.RuleID),
		)
		rows[i] = values[from:len(values):len(values)]
	}
	return rows
}

func insertSpans(ctx context.Context, tx *database.Tx, fresh []freshBatch) error {
	var rows [][]any
	for _, f := range fresh {
		var day, trace any = f.day, f.pk // boxed once
		for _, row := range f.spanRows {
			row[spanDay], row[spanTrace] = day, trace
		}
		rows = append(rows, f.spanRows...)
	}
	return tx.Copy(ctx, "span", spanColumns, rows)
}

// sequence is the number of a span in its trace: its index in the batch, which is below decode.MaxSpans, or its own
// key, which is above.
func sequence(s *decode.Span, index int) int64 {
	if s.Key != 0 {
		return s.Key
	}
	return int64(index)
}

// intOrNull stores nil as NULL. A pointer would work too, but costs reflection.
func intOrNull(n *int64) any {
	if n == nil {
		return nil
	}
	return *n
}

// textOrNull stores the empty string as NULL.
func textOrNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}
