package audit_test

import (
	"strings"
	"testing"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/database/dbtest"
)

// TestEveryFilterHasAnIndex asks SQLite how it would find the entries: a filter
// without an index reads the whole log for a page.
func TestEveryFilterHasAnIndex(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, dbtest.SQLite(t))
	for name, c := range map[string]struct {
		filter audit.Filter
		index  string
	}{
		"time":    {audit.Filter{}, "audit_entry_by_time"},
		"action":  {audit.Filter{Action: "x"}, "audit_entry_by_action"},
		"actor":   {audit.Filter{Actor: "x"}, "audit_entry_by_actor"},
		"subject": {audit.Filter{Subject: audit.Subject{Type: "x"}}, "audit_entry_by_subject"},
		"agent":   {audit.Filter{Agent: "x"}, "audit_entry_by_agent"},
		"tool":    {audit.Filter{Tool: "x"}, "audit_entry_by_tool"},
		"plan":    {audit.Filter{Plan: "x"}, "audit_entry_by_plan"},
		"verdict": {audit.Filter{Verdict: "deny"}, "audit_entry_by_refusal"},
		"allowed": {audit.Filter{Verdict: "allow"}, "audit_entry_by_time"},
		"server":  {audit.Filter{Server: "x"}, "audit_entry_by_server"},
		"session": {audit.Filter{Session: "x"}, "audit_entry_by_session"},
		"policy":  {audit.Filter{Policy: "x", Rule: "y"}, "audit_entry_by_decider"},
		"refused": {audit.Filter{Policy: "x", Verdicts: []string{"deny", "hold"}}, "audit_entry_by_decider"},
		"either":  {audit.Filter{Verdicts: []string{"deny", "allow"}}, "audit_entry_by_time"},
		"decided": {audit.Filter{Action: audit.Decided}, "audit_entry_by_time"},
	} {
		query, args := audit.EntriesQuery("org", c.filter)
		steps, err := database.Collect(t.Context(), db, func(s database.Scanner) (step string, err error) {
			var id, parent, unused int
			err = s.Scan(&id, &parent, &unused, &step)
			return step, err
		}, `EXPLAIN QUERY PLAN `+query, args...)
		if err != nil {
			t.Fatal(err)
		}
		plan := strings.Join(steps, "; ")
		if !strings.Contains(plan, "USING INDEX "+c.index+" ") || strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("%s: %s, want %s", name, plan, c.index)
		}
	}
}
