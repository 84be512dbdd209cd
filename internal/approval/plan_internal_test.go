package approval

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"

	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/principal"
)

// explainer asks SQLite how it would find the rows of each query, before it does.
type explainer struct {
	t     *testing.T
	db    *database.DB
	plans []string
}

func (e *explainer) explain(query string, args []any) {
	e.t.Helper()
	steps, err := database.Collect(e.t.Context(), e.db, func(s database.Scanner) (step string, err error) {
		var id, parent, unused int
		err = s.Scan(&id, &parent, &unused, &step)
		return step, err
	}, `EXPLAIN QUERY PLAN `+query, args...)
	if err != nil {
		e.t.Fatal(err)
	}
	e.plans = append(e.plans, strings.Join(steps, "; "))
}

func (e *explainer) Query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	e.explain(query, args)
	return e.db.Query(ctx, query, args...)
}

func (e *explainer) QueryRow(ctx context.Context, query string, args ...any) database.Row {
	e.explain(query, args)
	return e.db.QueryRow(ctx, query, args...)
}

// TestEveryQuestionHasAnIndex: decisions wait for most of these, and their cost
// must not grow with what was ever asked.
func TestEveryQuestionHasAnIndex(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, dbtest.SQLite(t))
	ctx, now := t.Context(), db.Now()
	call := Call{
		OrgID:  "o",
		KeyID:  "k",
		Server: "s",
		Tool:   "t",
		Digest: []byte{1},
	}
	ask := func(run func(r database.Reader) error) []string {
		t.Helper()
		e := &explainer{t: t, db: db}
		if err := run(e); err != nil {
			t.Fatal(err)
		}
		return e.plans
	}
	for name, c := range map[string]struct {
		run     func(r database.Reader) error
		indexes []string
	}{
		"of a call": {func(r database.Reader) error {
			_, err := selectForCall(ctx, r, call, Requirement{Kind: Hold}, now)
			return err
		},
			[]string{
				"approval_request_by_call (key_id=? AND tool=? AND digest=?",
				"approval_request_edited (key_id=? AND tool=? AND edited_digest=?",
			}},
		"a no": {func(r database.Reader) error {
			_, err := selectRejected(ctx, r, call, now)
			return err
		}, []string{"approval_request_by_status (org_id=? AND status=? AND created_at>?"}},
		"taken back": {func(r database.Reader) error {
			_, err := countCancelled(ctx, r, "o", "k", now)
			return err
		}, []string{"approval_request_by_status (org_id=? AND status=? AND created_at>?"}},
		"asked": {func(r database.Reader) error {
			_, err := selectAsked(ctx, r, Request{Call: call, Amount: new(float64)}, now)
			return err
		}, []string{"approval_request_by_call (key_id=? AND tool=? AND digest=?"}},
		"alive": {func(r database.Reader) error {
			_, err := selectOpen(ctx, r, principal.Principal{KeyID: "k", OrgID: "o"}, "t", "", now)
			return err
		}, []string{"approval_request_by_tool (org_id=? AND tool=? AND created_at>?"}},
		"waiting": {func(r database.Reader) error {
			_, err := countPending(ctx, r, "k", now)
			return err
		}, []string{"approval_request_pending (key_id=? AND expires_at>?"}},
		"wider yeses": {func(r database.Reader) error {
			_, err := selectStanding(ctx, r, usableByKey, "k", database.Micros(now), "o")
			return err
		}, []string{"temporary_allow_by_key (key_id=? AND expires_at>?"}},
		"events": {func(r database.Reader) error {
			_, err := lastEvent(ctx, r, "o")
			return err
		}, []string{"(org_id=?)"}},
	} {
		plans := ask(c.run)
		if len(plans) != len(c.indexes) {
			t.Errorf("%s: %d questions, want %d", name, len(plans), len(c.indexes))
		}
		for i, plan := range plans {
			if !strings.Contains(plan, c.indexes[i]) || strings.Contains(plan, "SCAN") {
				t.Errorf("%s: %s, want %s", name, plan, c.indexes[i])
			}
		}
	}
}

// TestEveryFilterHasAnIndex of its own or that of time.
func TestEveryFilterHasAnIndex(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, dbtest.SQLite(t))
	for name, c := range map[string]struct {
		filter Filter
		index  string
	}{
		"none":   {Filter{}, "approval_request_by_time"},
		"status": {Filter{Status: Approved}, "approval_request_by_status"},
		"tool":   {Filter{Tool: "t"}, "approval_request_by_tool"},
		"from":   {Filter{From: time.Unix(1, 0)}, "approval_request_by_time"},
	} {
		q := &requestQuery{args: []any{"o"}}
		q.narrow(c.filter, db.Now())
		e := &explainer{t: t, db: db}
		e.explain(q.text(10), q.args)
		if plan := e.plans[0]; !strings.Contains(plan, "USING INDEX "+c.index+" (org_id=?") ||
			strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("%s: %s, want %s", name, plan, c.index)
		}
	}
}
