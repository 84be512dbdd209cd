package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// summaryReads is what the summary takes, and what PostgreSQL takes to compute
// the same from rows.
type summaryReads struct {
	tenth, full time.Duration // of an organization with a tenth of the spans, and of the large one

	compared time.Duration // at the spans that PostgreSQL computed from; 0 without one
	ofSpans  time.Duration // percentile_cont over the durations of all spans
	ofRows   time.Duration // the summary's own numbers: over traces, and sums over spans
}

// compareTimes is how often PostgreSQL computes.
const compareTimes = 7

// copies are the columns that the summary is made of, copied row by row into
// tables that have nothing else.
var copies = []struct {
	table, definition, from string
	columns                 []string
}{
	{
		"bench_trace", "duration_ms BIGINT, status TEXT", `SELECT duration_ms, status FROM trace WHERE org_id = $1`,
		[]string{"duration_ms", "status"},
	}, {
		"bench_span",
		"duration_ms BIGINT, input_tokens BIGINT, output_tokens BIGINT, cache_read BIGINT, cache_write BIGINT, cost_nanos BIGINT", `
		SELECT s.duration_ms, s.input_tokens, s.output_tokens, s.cache_read, s.cache_write, s.cost_nanos
		FROM trace t JOIN span s ON s.trace_pk = t.pk
		WHERE t.org_id = $1`,
		[]string{"duration_ms", "input_tokens", "output_tokens", "cache_read", "cache_write", "cost_nanos"},
	},
}

// compare computes the summary of an organization in PostgreSQL.
func (s *summaryReads) compare(ctx context.Context, i installation, orgID, databaseURL string) (err error) {
	from, err := openTelemetry(i)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		return errors.New("the database cannot be reached") // the cause may show a password
	}
	defer to.Close(ctx)
	for _, c := range copies {
		if _, err := to.Exec(ctx, fmt.Sprintf(`CREATE TEMPORARY TABLE %s (%s)`, c.table, c.definition)); err != nil {
			return err
		}
		if err := copyRows(ctx, from, to, c.table, c.columns, c.from, orgID); err != nil {
			return fmt.Errorf("copy into %s: %w", c.table, err)
		}
		if _, err := to.Exec(ctx, `ANALYZE `+c.table); err != nil {
			return err
		}
	}
	s.ofSpans, err = medianQuery(ctx, to,
		`SELECT percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY duration_ms) FROM bench_span`)
	if err != nil {
		return err
	}
	s.ofRows, err = medianQuery(ctx, to, `
		SELECT count(*), count(*) FILTER (WHERE status <> 'ok'), percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY duration_ms)
		FROM bench_trace`,
		`SELECT sum(input_tokens), sum(output_tokens), sum(cache_read), sum(cache_write), sum(cost_nanos) FROM bench_span`)
	return err
}

func copyRows(
	ctx context.Context, from *sql.DB, to *pgx.Conn, table string, columns []string, query, orgID string,
) error {
	rows, err := from.QueryContext(ctx, query, orgID)
	if err != nil {
		return err
	}
	defer rows.Close()
	values, targets := make([]any, len(columns)), make([]any, len(columns))
	for n := range values {
		targets[n] = &values[n]
	}
	_, err = to.CopyFrom(ctx, pgx.Identifier{table}, columns, pgx.CopyFromFunc(func() ([]any, error) {
		if !rows.Next() {
			return nil, rows.Err()
		}
		return values, rows.Scan(targets...)
	}))
	return err
}

// medianQuery is what the queries take together.
func medianQuery(ctx context.Context, db *pgx.Conn, queries ...string) (time.Duration, error) {
	var latencies []time.Duration
	for range compareTimes {
		sent := time.Now()
		for _, query := range queries {
			if _, err := db.Exec(ctx, query); err != nil {
				return 0, err
			}
		}
		latencies = append(latencies, time.Since(sent))
	}
	return median(latencies), nil
}
