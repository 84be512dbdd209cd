package telemetry

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"writ/internal/database"
)

// Metric is what a series counts.
type Metric string

// The metrics.
const (
	MetricDecisions Metric = "decisions"
	MetricTraces    Metric = "traces"
	MetricErrors    Metric = "errors" // traces whose status is not ok
	MetricTokens    Metric = "tokens"
	MetricCost      Metric = "cost" // in US dollars
	MetricP50       Metric = "p50"  // of the durations of traces, in milliseconds
	MetricP95       Metric = "p95"
)

// MaxBuckets is how many buckets a series has at most.
const MaxBuckets = 1000

// SeriesQuery asks for a series. Its buckets are whole hours or days, UTC, of which the first holds From and the last
// the time before Until.
type SeriesQuery struct {
	Metric Metric
	// By is what the values are of: verdict, agent or tool of decisions; kind, model, tool or agent of tokens; model,
	// tool or agent of cost. Empty: verdict, kind, or the metric itself.
	By          string
	Agent, Tool string // only of this agent or tool; with no grouping by others
	Daily       bool
	From, Until time.Time
	Behind      time.Duration // how far counted decisions may lag
}

// Series is a metric over time.
type Series struct {
	Buckets  []SeriesBucket
	Complete bool // every bucket is
}

// SeriesBucket is an hour or a day. A value without a name is zero or, of a quantile, unknown.
type SeriesBucket struct {
	At     time.Time
	Values map[string]Number
	// Complete: it is over, everything of it is counted, and retention keeps all of it.
	Complete bool
}

// Number is an exact decimal number.
type Number string

func count(n int64) Number { return Number(strconv.FormatInt(n, 10)) }

// Dollars are nanos, 10^-9 US dollars, as a decimal number.
func Dollars(nanos int64) Number { return dollars(nanos) }

func dollars(nanos int64) Number {
	sign := ""
	if nanos < 0 {
		sign, nanos = "-", -nanos
	}
	text := fmt.Sprintf("%s%d.%09d", sign, nanos/1e9, nanos%1e9)
	return Number(strings.TrimSuffix(strings.TrimRight(text, "0"), "."))
}

// buckets are the buckets of a query while it is answered.
type buckets struct {
	SeriesQuery
	orgID string
	hours // that are read
	width int64
	all   []SeriesBucket
}

// Series answers a query from rollups.
func (s *Service) Series(ctx context.Context, orgID string, q SeriesQuery) (Series, error) {
	b := newBuckets(orgID, q)
	if err := s.fill(ctx, b); err != nil {
		return Series{}, fmt.Errorf("read the series of %s: %w", q.Metric, err)
	}
	return s.complete(ctx, b)
}

func newBuckets(orgID string, q SeriesQuery) *buckets {
	b := &buckets{SeriesQuery: q, orgID: orgID, width: 1}
	if q.Daily {
		b.width = 24
	}
	b.first = floor(database.Micros(q.From), b.width*hourMicros) * b.width
	b.end = (floor(database.Micros(q.Until)-1, b.width*hourMicros) + 1) * b.width
	for at := b.first; at < b.end; at += b.width {
		b.all = append(b.all, SeriesBucket{At: database.Time(at * hourMicros), Values: map[string]Number{}})
	}
	return b
}

// of is the bucket that begins at an hour or, of a day, that the hour is in.
func (b *buckets) of(hour int64) *SeriesBucket { return &b.all[(hour-b.first)/b.width] }

// bucket is SQL for the first hour of a row's bucket.
func (b *buckets) bucket() string { return fmt.Sprintf("bucket / %[1]d * %[1]d", b.width) }

func (s *Service) fill(ctx context.Context, b *buckets) error {
	switch b.Metric {
	case MetricDecisions:
		if b.By == "agent" || b.By == "tool" {
			return s.fillTop(ctx, b, decisionsBy(b))
		}
		return s.fillVerdicts(ctx, b)
	case MetricTokens, MetricCost:
		if b.By == "model" || b.By == "agent" || b.By == "tool" {
			return s.fillTop(ctx, b, usageBy(b))
		}
		return s.fillUsage(ctx, b)
	default:
		return s.fillTraces(ctx, b)
	}
}

func (s *Service) fillVerdicts(ctx context.Context, b *buckets) error {
	of, item := allDecisions, ""
	switch {
	case b.Agent != "":
		of, item = ofAgent, countable(b.Agent)
	case b.Tool != "":
		of, item = ofTool, countable(b.Tool)
	}
	for i := range b.all {
		b.all[i].setVerdicts(Verdicts{})
	}
	return each(ctx, s.db, func(row database.Scanner) error {
		var hour int64
		var v Verdicts
		err := row.Scan(&hour, &v.Allowed, &v.Asked, &v.Held, &v.Denied)
		if err == nil {
			b.of(hour).setVerdicts(v)
		}
		return err
	}, `
		SELECT `+b.bucket()+`, `+sumVerdicts+`
		FROM rollup_decision
		WHERE org_id = $1 AND dimension = $2 AND item = $3 AND bucket >= $4 AND bucket < $5
		GROUP BY 1`, b.orgID, string(of), item, b.first, b.end)
}

const sumVerdicts = `CAST(SUM(allowed) AS BIGINT), CAST(SUM(asked) AS BIGINT), CAST(SUM(held) AS BIGINT), CAST(SUM(denied) AS BIGINT)`

func (b *SeriesBucket) setVerdicts(v Verdicts) {
	b.Values["allow"], b.Values["ask"], b.Values["hold"], b.Values["deny"] = count(v.Allowed), count(v.Asked),
		count(v.Held), count(v.Denied)
}

func (s *Service) fillUsage(ctx context.Context, b *buckets) error {
	of, item, one := byModel, "", ""
	switch {
	case b.Agent != "":
		of, item, one = byAgent, countable(b.Agent), ` AND item = $5`
	case b.Tool != "":
		of, item, one = byTool, countable(b.Tool), ` AND item = $5`
	}
	for i := range b.all {
		b.all[i].setUsage(b.Metric, Usage{})
	}
	args := []any{b.orgID, string(of), b.first, b.end}
	if one != "" {
		args = append(args, item)
	}
	return each(ctx, s.db, func(row database.Scanner) error {
		var hour int64
		u, err := scanSums(row, &hour)
		if err == nil {
			b.of(hour).setUsage(b.Metric, u)
		}
		return err
	}, `
		SELECT `+b.bucket()+`, `+sums+`
		FROM rollup_usage
		WHERE org_id = $1 AND dimension = $2 AND bucket >= $3 AND bucket < $4`+one+`
		GROUP BY 1`, args...)
}

func (b *SeriesBucket) setUsage(m Metric, u Usage) {
	if m == MetricCost {
		b.Values["cost"] = dollars(u.CostNanos)
		return
	}
	b.Values["input"], b.Values["output"] = count(u.Input), count(u.Output)
	b.Values["cacheRead"], b.Values["cacheWrite"] = count(u.CacheRead), count(u.CacheWrite)
}

func (s *Service) fillTraces(ctx context.Context, b *buckets) error {
	type sum struct {
		traces, errors int64
		took           durationSum
	}
	found := make([]sum, len(b.all))
	err := each(ctx, s.db, func(row database.Scanner) error {
		var hour, traces, errors int64
		var durations []byte
		if err := row.Scan(&hour, &traces, &errors, &durations); err != nil {
			return err
		}
		f := &found[(hour-b.first)/b.width]
		f.traces, f.errors = f.traces+traces, f.errors+errors
		return f.took.add(durations)
	}, `
		SELECT bucket, traces, errors, durations
		FROM rollup_trace
		WHERE org_id = $1 AND bucket >= $2 AND bucket < $3`, b.orgID, b.first, b.end)
	if err != nil {
		return err
	}
	for i := range found {
		f, values := &found[i], b.all[i].Values
		switch b.Metric {
		case MetricTraces:
			values["traces"] = count(f.traces)
		case MetricErrors:
			values["errors"] = count(f.errors)
		default:
			if err := f.took.set(b.Metric, values); err != nil {
				return err
			}
		}
	}
	return nil
}

// set stores a quantile, where there is a duration.
func (d *durationSum) set(m Metric, values map[string]Number) error {
	sketch, err := d.sketch()
	if err != nil || sketch.IsEmpty() {
		return err
	}
	p50, p95, err := d.quantiles()
	if m == MetricP95 {
		p50 = p95
	}
	values[string(m)] = Number(strconv.FormatFloat(p50, 'f', -1, 64))
	return err
}

// complete says which buckets have everything.
func (s *Service) complete(ctx context.Context, b *buckets) (Series, error) {
	from, until := s.firstKeptDay()*dayMicros, database.Micros(s.db.Now())
	if b.Metric == MetricDecisions {
		until -= b.Behind.Microseconds()
		since, err := s.countedSince(ctx, b.orgID)
		if err != nil {
			return Series{}, err
		}
		from = max(from, since)
	}
	result := Series{Buckets: b.all, Complete: true}
	for i := range b.all {
		bucket := &b.all[i]
		begin := database.Micros(bucket.At)
		bucket.Complete = begin >= from && begin+b.width*hourMicros <= until
		result.Complete = result.Complete && bucket.Complete
	}
	return result, nil
}

// countedSince is the time since which all decisions of an organization are counted.
func (s *Service) countedSince(ctx context.Context, orgID string) (since int64, err error) {
	err = scanOptional(s.db.QueryRow(ctx, `SELECT counted_since FROM projected WHERE org_id = $1`, orgID), &since)
	return since, database.Wrap(err, "read since when decisions are counted")
}
