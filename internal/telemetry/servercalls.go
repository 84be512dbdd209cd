package telemetry

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"writ/internal/database"
)

// ToolCalls is what was decided about a tool of a server, and how its calls went as far as traces tell.
type ToolCalls struct {
	Tool string
	Verdicts
	Hours []HourOfCalls // those in which something was decided, in order
	// Spans are how many calls traces tell of, Errors how many of them failed.
	Spans, Errors int64
	P50, P95      *float64 // of their durations, in milliseconds; nil: none is known
}

// HourOfCalls is what was decided in an hour.
type HourOfCalls struct {
	At time.Time
	Verdicts
}

// maxServerTraces bounds how many traces are read for durations, the latest first.
const maxServerTraces = 1_000

// ServerCalls reads what was decided about the tools of a server. Names gives all names under which traces
// may tell of one of its tools.
func (s *Service) ServerCalls(
	ctx context.Context, orgID, server string, p Period, names func(tool string) []string,
) ([]ToolCalls, error) {
	found := map[string]*ToolCalls{}
	h := s.hoursOf(p)
	err := each(ctx, s.db, func(row database.Scanner) error {
		var tool string
		var hour int64
		var v Verdicts
		if err := row.Scan(&tool, &hour, &v.Allowed, &v.Asked, &v.Held, &v.Denied); err != nil {
			return err
		}
		t := found[tool]
		if t == nil {
			t = &ToolCalls{Tool: tool}
			found[tool] = t
		}
		t.Verdicts = t.Verdicts.add(v)
		t.Hours = append(t.Hours, HourOfCalls{database.Time(hour * hourMicros), v})
		return nil
	}, `
		SELECT item, bucket, `+sumVerdicts+`
		FROM rollup_decision
		WHERE org_id = $1 AND dimension = 'tool' AND part = $2 AND bucket >= $3 AND bucket < $4
		GROUP BY item, bucket
		ORDER BY item, bucket`, orgID, countable(server), h.first, h.end)
	if err != nil {
		return nil, fmt.Errorf("count the calls of a server: %w", err)
	}
	all := make([]ToolCalls, 0, len(found))
	for _, t := range found {
		all = append(all, *t)
	}
	slices.SortFunc(all, func(a, b ToolCalls) int { return strings.Compare(a.Tool, b.Tool) })
	return all, s.addDurations(ctx, orgID, p, all, names)
}

// addDurations adds how calls went, from spans of the latest traces.
func (s *Service) addDurations(
	ctx context.Context, orgID string, p Period, tools []ToolCalls, names func(tool string) []string,
) error {
	if len(tools) == 0 {
		return nil
	}
	index := map[string]int{}
	for i := range tools {
		for _, name := range names(tools[i].Tool) {
			index[name] = i
		}
	}
	durations := make([][]float64, len(tools))
	err := each(ctx, s.db, func(row database.Scanner) error {
		var tool, status string
		var ms int64
		if err := row.Scan(&tool, &status, &ms); err != nil {
			return err
		}
		i, ok := index[tool]
		if !ok {
			return nil
		}
		tools[i].Spans++
		if status == "error" {
			tools[i].Errors++
		}
		if ms >= 0 {
			durations[i] = append(durations[i], float64(ms))
		}
		return nil
	}, `
		SELECT s.tool_name, s.status, COALESCE(s.duration_ms, -1)
		FROM (
			SELECT received_day, pk FROM trace WHERE org_id = $1 AND start_time >= $2
			ORDER BY start_time DESC
			LIMIT $3
		) t
		JOIN span s ON s.received_day = t.received_day AND s.trace_pk = t.pk
		WHERE s.tool_name IS NOT NULL`, orgID, database.Micros(p.start(s.db.Now())), maxServerTraces)
	for i, all := range durations {
		if len(all) > 0 {
			slices.Sort(all)
			tools[i].P50, tools[i].P95 = new(quantile(all, 0.5)), new(quantile(all, 0.95))
		}
	}
	return database.Wrap(err, "read how the calls of a server went")
}

// quantile is the nearest rank of sorted values.
func quantile(sorted []float64, q float64) float64 {
	rank := int(q*float64(len(sorted)) + 0.999999)
	return sorted[min(max(rank, 1), len(sorted))-1]
}
