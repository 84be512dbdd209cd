package telemetry

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/DataDog/sketches-go/ddsketch"

	"writ/internal/database"
)

// maxDifferences limits a report.
const maxDifferences = 100

// Difference is a rollup that differs from its rows.
type Difference struct {
	OrgID  string `json:"organizationId"`
	Figure string `json:"figure"` // which total, with its bucket and item
	Stored string `json:"stored"`
	Rows   string `json:"rows"` // what the rows say
}

// Verify compares every rollup with a recount of the rows, in one snapshot beside a running server.
func (s *Service) Verify(ctx context.Context) ([]Difference, error) {
	var differences []Difference
	err := s.db.Snapshot(ctx, func(ctx context.Context, r database.Reader) error {
		counted, err := s.recount(ctx, r)
		if err != nil {
			return err
		}
		orgs, err := countedOrganizations(ctx, r)
		if err != nil {
			return fmt.Errorf("list organizations: %w", err)
		}
		for _, orgID := range orgs {
			if counted[orgID] == nil {
				counted[orgID] = newTally()
			}
		}
		for _, orgID := range slices.Sorted(maps.Keys(counted)) {
			stored, err := readRollups(ctx, r, orgID)
			if err != nil {
				return fmt.Errorf("read the rollups of %s: %w", orgID, err)
			}
			for _, t := range []*tally{stored, counted[orgID]} {
				t.dropBefore(s.firstKeptDay() * 24)
				t.dropMinutesBefore(s.firstKeptMinute())
			}
			differences = append(differences, compare(orgID, stored.stats(), counted[orgID].stats())...)
		}
		return nil
	})
	return differences[:min(len(differences), maxDifferences)], err
}

// countedOrganizations are those with a row in any rollup.
func countedOrganizations(ctx context.Context, r database.Reader) ([]string, error) {
	var tables []string
	for _, rollup := range rollups {
		tables = append(tables, `SELECT org_id FROM `+rollup.table)
	}
	return database.Collect(ctx, r, scanText, strings.Join(tables, ` UNION `))
}

// compare lists the differences between two sets of totals.
func compare(orgID string, stored, rows map[string]string) []Difference {
	all := maps.Clone(stored)
	maps.Copy(all, rows)
	var differences []Difference
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if stored[name] != rows[name] {
			differences = append(differences, Difference{
				OrgID: orgID, Figure: name, Stored: stored[name], Rows: rows[name],
			})
		}
	}
	return differences
}

// stats describes a tally, one line per cell that is not empty.
func (t *tally) stats() map[string]string {
	lines := map[string]string{}
	for bucket, c := range t.traces {
		if c.traces == 0 && c.errors == 0 && sketchText(c.durations) == "none" {
			continue
		}
		lines[fmt.Sprintf("traces/%d",
			bucket)] = fmt.Sprintf("%d traces, %d errors, durations %s", c.traces, c.errors, sketchText(c.durations))
	}
	for bucket, traces := range t.minutes {
		if traces != 0 {
			lines[fmt.Sprintf("minute/%d", bucket)] = fmt.Sprintf("%d traces", traces)
		}
	}
	for bucket, sessions := range t.active {
		if sessions != 0 {
			lines[fmt.Sprintf("sessions/%d", bucket)] = fmt.Sprintf("%d sessions", sessions)
		}
	}
	for k, c := range t.usage {
		if c.spans != 0 || c.usage != (Usage{}) {
			lines[fmt.Sprintf("usage/%s/%d/%s", k.dimension, k.bucket,
				k.item)] = fmt.Sprintf("%d spans, %+v", c.spans, c.usage)
		}
	}
	for k, c := range t.policies {
		lines[fmt.Sprintf("policy/%s/%d", k.policyID,
			k.bucket)] = fmt.Sprintf("%q: %d calls, %d allowed, %d denied, %d timed, %d us, durations %s",
			c.name, c.calls, c.allowed, c.denied, c.timed, c.durationMicros, sketchText(c.durations))
	}
	for k, calls := range t.rules {
		lines[fmt.Sprintf("rule/%s/%d/%s", k.policyID, k.bucket, k.ruleID)] = fmt.Sprintf("%d calls", calls)
	}
	return lines
}

// sketchText describes the bins of a sketch, which do not depend on the order in which they were filled.
func sketchText(sketch *ddsketch.DDSketch) string {
	if sketch == nil || sketch.IsEmpty() {
		return "none"
	}
	var bins strings.Builder
	sketch.ForEach(func(value, count float64) bool {
		fmt.Fprintf(&bins, "%.6g:%g ", value, count)
		return false
	})
	return strings.TrimSpace(bins.String())
}
