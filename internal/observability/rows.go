package observability

import (
	"context"
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"writ/internal/database"
	"writ/internal/observability/intake"
)

// maxParameters bounds those of one statement; SQLite takes 32,766.
const maxParameters = 6000

// inChunks calls do for parts of rows that fit into a statement each.
func inChunks(rows [][]any, do func(chunk [][]any) error) error {
	for len(rows) > 0 {
		n := min(len(rows), max(1, maxParameters/len(rows[0])))
		if err := do(rows[:n]); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// values is a VALUES list for the rows, and its parameters. SQLite takes $1 for a
// name, and looking names up costs it the square of their number.
func values(engine database.Engine, rows [][]any) (string, []any) {
	var text strings.Builder
	text.WriteString("VALUES ")
	args := make([]any, 0, len(rows)*len(rows[0]))
	for i, row := range rows {
		separator := "("
		if i > 0 {
			separator = ",("
		}
		for _, value := range row {
			text.WriteString(separator)
			separator = ","
			args = append(args, value)
			if engine == database.SQLite {
				text.WriteByte('?')
			} else {
				text.WriteString("$" + strconv.Itoa(len(args)))
			}
		}
		text.WriteByte(')')
	}
	return text.String(), args
}

// insert runs "head VALUES ... tail" over all rows.
func insert(ctx context.Context, tx *database.Tx, head string, rows [][]any, tail string) error {
	return inChunks(rows, func(chunk [][]any) error {
		list, args := values(tx.Engine(), chunk)
		_, err := tx.Exec(ctx, head+" "+list+" "+tail, args...)
		return err
	})
}

// insertReturning is insert whose tail returns one number a row.
func insertReturning(ctx context.Context, tx *database.Tx, head string, rows [][]any, tail string) (returned []int64, err error) {
	err = inChunks(rows, func(chunk [][]any) error {
		list, args := values(tx.Engine(), chunk)
		numbers, err := database.Collect(ctx, tx, func(s database.Scanner) (n int64, err error) {
			err = s.Scan(&n)
			return n, err
		}, head+" "+list+" "+tail, args...)
		returned = append(returned, numbers...)
		return err
	})
	return returned, err
}

// plus is SQL that adds what an upsert brings to what is there, without leaving
// the range of a BIGINT: an overflow would fail everybody's commit.
func plus(table string, columns ...string) string {
	var sets []string
	for _, column := range columns {
		sets = append(sets, fmt.Sprintf(`%[2]s = CASE
			WHEN excluded.%[2]s > 0 AND %[1]s.%[2]s > %[3]d - excluded.%[2]s THEN %[3]d
			WHEN excluded.%[2]s < 0 AND %[1]s.%[2]s < -%[3]d - excluded.%[2]s THEN -%[3]d
			ELSE %[1]s.%[2]s + excluded.%[2]s END`,
			table, column, intake.Most))
	}
	return strings.Join(sets, ", ")
}

// forUpdate locks the rows that are read to be written back, where others could
// change them in between: SQLite has one writer anyway.
func forUpdate(tx *database.Tx) string {
	if tx.Engine() == database.PostgreSQL {
		return " FOR UPDATE"
	}
	return ""
}

// durationClass is the bit length of a duration: an index over it serves "at
// least so long" with few scans.
func durationClass(ms *int64) int64 {
	if ms == nil {
		return -1
	}
	return int64(bits.Len64(uint64(*ms)))
}

var traceColumns = []string{
	"received_day", "pk", "org_id", "id", "session_id", "name", "start_time", "end_time", "duration_ms", "duration_class",
	"status", "user_id", "agent_id", "product", "source", "attributes", "tags", "input_preview", "output_preview",
	"input_tokens", "output_tokens", "cache_read", "cache_write", "cost_nanos", "span_count", "error_count",
}

func insertTraces(ctx context.Context, tx *database.Tx, orgID, product string, fresh []freshBatch) error {
	rows := make([][]any, len(fresh))
	for i, f := range fresh {
		t := &f.batch.Trace
		rows[i] = []any{
			f.day, f.pk, orgID, t.ID, null(t.SessionID), t.Name, t.Start, known(t.End), known(t.DurationMs), durationClass(t.DurationMs),
			t.Status, null(t.UserID), t.AgentID, product, t.Source, t.Attributes, t.Tags, t.Input, t.Output,
			t.Usage.Input, t.Usage.Output, t.Usage.CacheRead, t.Usage.CacheWrite, t.Usage.CostNanos, int64(len(f.batch.Spans)), t.Errors,
		}
	}
	return tx.Copy(ctx, "trace", traceColumns, rows)
}

var spanColumns = []string{
	"received_day", "trace_pk", "seq", "id", "parent_id", "session_id", "kind", "name", "start_time", "end_time",
	"duration_ms", "status", "attributes", "tool_name", "model", "input_tokens", "output_tokens", "cache_read",
	"cache_write", "cost_nanos", "policy_id", "policy_name", "decision", "rule_id",
}

func insertSpans(ctx context.Context, tx *database.Tx, fresh []freshBatch) error {
	var rows [][]any
	for _, f := range fresh {
		for i := range f.batch.Spans {
			s := &f.batch.Spans[i]
			rows = append(rows, []any{
				f.day, f.pk, sequence(s, i), s.ID, null(s.ParentID), null(s.SessionID), s.Kind, s.Name, s.Start, known(s.End),
				known(s.DurationMs), s.Status, s.Attributes, null(s.Tool), null(s.Model), s.Usage.Input, s.Usage.Output, s.Usage.CacheRead,
				s.Usage.CacheWrite, s.Usage.CostNanos, null(s.PolicyID), null(s.PolicyName), null(s.Decision), null(s.RuleID),
			})
		}
	}
	return tx.Copy(ctx, "span", spanColumns, rows)
}

// sequence is where a span stands in its trace: in the order it was sent, which
// is below intake.MaxSpans, or behind all of those by a key of its own.
func sequence(s *intake.Span, index int) int64 {
	if s.Key != 0 {
		return s.Key
	}
	return int64(index)
}

// known stores what is not there as NULL. A pointer would do, but costs reflection.
func known(n *int64) any {
	if n == nil {
		return nil
	}
	return *n
}

// null stores the empty string as NULL.
func null(text string) any {
	if text == "" {
		return nil
	}
	return text
}
