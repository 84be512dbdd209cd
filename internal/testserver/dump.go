package testserver

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/internal/database"
)

// DeadDelivery stores a delivery of a webhook that was given up.
func (s *Server) DeadDelivery(orgID, webhookID string) string {
	s.T.Helper()
	id := database.NewID()
	s.Insert(`INSERT INTO webhook_delivery (id, webhook_id, org_id, number, event, kind, request_id, body, status, attempts, http_status, problem, created_at, queued_at, done_at)
		VALUES ($1, $2, $3, -1, 7, 'approval.opened', 'r', '{}', 'dead', 5, 500, 'the target failed', 1, 1, $4)`,
		id, webhookID, orgID, database.Micros(s.Database.Now()))
	return id
}

// Insert runs a statement that writes rows.
func (s *Server) Insert(query string, args ...any) {
	s.T.Helper()
	err := s.Database.Write(s.T.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.Exec(ctx, query, args...)
		return err
	}})
	if err != nil {
		s.T.Fatalf("%s: %v", query, err)
	}
}

// byItself are the tables that change by themselves: counters of the throttle, what
// is found by following the logs, and notifications.
var byItself = []string{
	"policy_replay", "notification", "notification_cursor", "notification_mail", "notification_reader",
	"throttle_counter", "reconciled", "awaited_outcome", "reporter", "report_sequence", "finding",
}

// Dump is every row of the database as text, but for what changes by itself, and
// when a key or an agent was last used. What follows the logs is brought up to date
// first: between two dumps it has nothing left to change.
func (s *Server) Dump() []string {
	s.T.Helper()
	if err := s.Executions.Reconcile(s.T.Context()); err != nil {
		s.T.Fatalf("match executions with decisions: %v", err)
	}
	for _, work := range []func(context.Context) error{s.Intent.IndexWords, s.Approvals.IndexWords} {
		if err := work(s.T.Context()); err != nil {
			s.T.Fatalf("index words: %v", err)
		}
	}
	query := `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'`
	if s.Database.Engine() == database.PostgreSQL {
		query = `SELECT tablename FROM pg_tables WHERE schemaname = current_schema()`
	}
	tables, err := database.Collect(s.T.Context(), s.Database, func(r database.Scanner) (name string, err error) {
		err = r.Scan(&name)
		return name, err
	}, query)
	if err != nil || len(tables) < 10 {
		s.T.Fatalf("list the tables: %v, %v", tables, err)
	}
	var dump []string
	for _, table := range tables {
		if !slices.Contains(byItself, table) {
			dump = append(dump, s.dumpTable(table)...)
		}
	}
	slices.Sort(dump)
	return dump
}

func (s *Server) dumpTable(table string) (dump []string) {
	s.T.Helper()
	rows, err := s.Database.Query(s.T.Context(), `SELECT * FROM `+table)
	if err != nil {
		s.T.Fatalf("read %s: %v", table, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		s.T.Fatalf("read %s: %v", table, err)
	}
	for rows.Next() {
		values, targets := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			targets[i] = &values[i]
		}
		if err := rows.Scan(targets...); err != nil {
			s.T.Fatalf("read %s: %v", table, err)
		}
		text := table
		for i, column := range columns {
			if table == "api_key" && column == "last_used_at" || table == "agent_seen" && column == "last_seen_at" ||
				table == "execution" && column == "decision_id" {
				continue
			}
			if bytes, ok := values[i].([]byte); ok {
				values[i] = string(bytes)
			}
			text += fmt.Sprintf(" %s=%v", column, values[i])
		}
		dump = append(dump, text)
	}
	if err := rows.Err(); err != nil {
		s.T.Fatalf("read %s: %v", table, err)
	}
	return dump
}

// WantSame checks that two dumps are the same.
func WantSame(t *testing.T, before, after []string) {
	t.Helper()
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("something changed (-before +after):\n%s", diff)
	}
}
