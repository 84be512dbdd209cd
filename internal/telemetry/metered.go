package telemetry

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"writ/internal/database"
	"writ/internal/telemetry/decode"
)

// metered is what an organization used on a day, for the figures that outlive their rows. Unlike rollups of hours it
// counts what came by when it was received: what a client dates back does not change a month that is over.
type metered struct {
	Verdicts
	spans int64 // that clients sent
	usage Usage
	bytes int64
}

type meteredAgent struct {
	day   int64
	agent string
}

// dayOf is the first hour of the UTC day of a time.
func dayOf(micros int64) int64 { return floor(micros, dayMicros) * 24 }

// monthOf is the first hour of its month.
func monthOf(micros int64) int64 {
	at := database.Time(micros)
	return dayOf(database.Micros(time.Date(at.Year(), at.Month(), 1, 0, 0, 0, 0, time.UTC)))
}

// meterSpans counts spans that a client sent.
func (t *tally) meterSpans(spans []decode.Span, withTrace int64) {
	for i := range spans {
		day := cell(t.metered, dayOf(spanReceived(&spans[i], withTrace)))
		day.spans++
		if spans[i].Kind == decode.KindGeneration {
			day.usage = day.usage.Add(spans[i].Usage)
		}
	}
}

// meterReport counts a reported total on the day of its hour, or subtracts it.
func (t *tally) meterReport(hour int64, u Usage) {
	day := cell(t.metered, floor(hour, 24)*24)
	day.usage = day.usage.Add(u)
}

// meterTexts counts the bytes of texts on the day with which retention removes them: that of their trace.
func (t *tally) meterTexts(day int64, bytes int) {
	c := cell(t.metered, day*24)
	c.bytes = decode.Saturate(c.bytes, int64(bytes))
}

// spanTexts are the bytes of the texts of spans.
func spanTexts(spans []decode.Span) (bytes int) {
	for i := range spans {
		bytes += len(spans[i].Name) + len(spans[i].Attributes)
	}
	return bytes
}

func batchTexts(b *decode.Batch) int {
	return len(b.Trace.Name) + len(b.Trace.Attributes) + len(b.Trace.Tags) + spanTexts(b.Spans)
}

// meterDecision counts a decision on its day, and its agent.
func (t *tally) meterDecision(d *Decided, v Verdicts) {
	at := database.Micros(d.At)
	day := cell(t.metered, dayOf(at))
	day.Verdicts = day.add(v)
	if agent := countable(d.Agent); agent != "" {
		t.agents[meteredAgent{dayOf(at), agent}]++
	}
}

func meteredRows(_ context.Context, w rollupWrite) (rows [][]any, err error) {
	for _, day := range slices.Sorted(maps.Keys(w.metered)) {
		c := w.metered[day]
		rows = append(rows, []any{w.orgID, day, w.writer, c.Allowed, c.Asked, c.Held, c.Denied, c.spans,
			c.usage.Input, c.usage.Output, c.usage.CacheRead, c.usage.CacheWrite, c.usage.CostNanos, c.bytes})
	}
	return rows, nil
}

func addMeteredRow(t *tally, row database.Scanner) error {
	var bucket int64
	var m metered
	if err := row.Scan(&bucket, &m.Allowed, &m.Asked, &m.Held, &m.Denied, &m.spans, &m.usage.Input, &m.usage.Output,
		&m.usage.CacheRead, &m.usage.CacheWrite, &m.usage.CostNanos, &m.bytes); err != nil {
		return err
	}
	c := cell(t.metered, bucket)
	c.Verdicts, c.spans, c.usage = c.add(m.Verdicts), c.spans+m.spans, c.usage.Add(m.usage)
	c.bytes = decode.Saturate(c.bytes, m.bytes)
	return nil
}

// meteredAgentRows leaves out those of closed months, which are counted.
func meteredAgentRows(ctx context.Context, w rollupWrite) (rows [][]any, err error) {
	keys := slices.SortedFunc(maps.Keys(w.agents), func(a, b meteredAgent) int {
		return cmp.Or(cmp.Compare(a.day, b.day), strings.Compare(a.agent, b.agent))
	})
	var closed map[int64]bool
	if len(keys) > 0 && keys[0].day < monthOf(database.Micros(w.tx.Now())) {
		if closed, err = closedMonths(ctx, w.tx, w.orgID, monthOf(keys[0].day*hourMicros)); err != nil {
			return nil, err
		}
	}
	for _, k := range keys {
		if closed[monthOf(k.day*hourMicros)] {
			continue
		}
		rows = append(rows, []any{w.orgID, k.day, k.agent, w.writer, w.agents[k]})
	}
	return rows, nil
}

func addMeteredAgentRow(t *tally, row database.Scanner) error {
	var k meteredAgent
	var decisions int64
	err := row.Scan(&k.day, &k.agent, &decisions)
	t.agents[k] += decisions
	return err
}
