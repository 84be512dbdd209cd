package api_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/client"
	"writ/internal/database"
)

// byItself are the tables that change by themselves: counters of the throttle, what
// is found by following the logs, and what people are told.
var byItself = []string{
	"policy_replay", "notification", "notification_cursor", "notification_mail", "notification_reader",
	"throttle_counter", "reconciled", "awaited_outcome", "reporter", "report_sequence", "finding",
}

// dump is every row of the database as text, but for what changes by itself, and
// when a key was last used.
func (s *server) dump() []string {
	s.t.Helper()
	query := `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'`
	if s.Database.Engine() == database.PostgreSQL {
		query = `SELECT tablename FROM pg_tables WHERE schemaname = current_schema()`
	}
	tables, err := database.Collect(s.t.Context(), s.Database, func(r database.Scanner) (name string, err error) {
		err = r.Scan(&name)
		return name, err
	}, query)
	if err != nil || len(tables) < 10 {
		s.t.Fatalf("list the tables: %v, %v", tables, err)
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

func (s *server) dumpTable(table string) (dump []string) {
	s.t.Helper()
	rows, err := s.Database.Query(s.t.Context(), `SELECT * FROM `+table)
	if err != nil {
		s.t.Fatalf("read %s: %v", table, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		s.t.Fatalf("read %s: %v", table, err)
	}
	for rows.Next() {
		values, targets := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			targets[i] = &values[i]
		}
		if err := rows.Scan(targets...); err != nil {
			s.t.Fatalf("read %s: %v", table, err)
		}
		text := table
		for i, column := range columns {
			if table == "api_key" && column == "last_used_at" || table == "execution" && column == "decision_id" {
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
		s.t.Fatalf("read %s: %v", table, err)
	}
	return dump
}

// closeLog makes the database refuse every new audit entry, until openLog.
func (s *server) closeLog() {
	s.t.Helper()
	if s.Database.Engine() == database.SQLite {
		s.define(`CREATE TRIGGER log_closed BEFORE INSERT ON audit_entry BEGIN SELECT RAISE(ABORT, 'the log is closed'); END`)
		return
	}
	s.define(
		`CREATE OR REPLACE FUNCTION log_closed() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''the log is closed''; END'`,
		`CREATE TRIGGER log_closed BEFORE INSERT ON audit_entry FOR EACH ROW EXECUTE FUNCTION log_closed()`)
}

func (s *server) openLog() {
	s.t.Helper()
	if s.Database.Engine() == database.SQLite {
		s.define(`DROP TRIGGER log_closed`)
		return
	}
	s.define(`DROP TRIGGER log_closed ON audit_entry`)
}

func (s *server) define(statements ...string) {
	s.t.Helper()
	err := s.Database.Write(s.t.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		for _, statement := range statements {
			if _, err := tx.Exec(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	}})
	if err != nil {
		s.t.Fatalf("%v: %v", statements, err)
	}
}

// entry is an audit entry as far as it matters here.
type entry struct{ log, action string }

// entries are all of every log, with how often each is there.
func (s *server) entries() map[entry]int {
	s.t.Helper()
	all, err := database.Collect(s.t.Context(), s.Database, func(r database.Scanner) (e entry, err error) {
		err = r.Scan(&e.log, &e.action)
		return e, err
	}, `SELECT log, action FROM audit_entry`)
	if err != nil {
		s.t.Fatalf("read the logs: %v", err)
	}
	counts := map[entry]int{}
	for _, e := range all {
		counts[e]++
	}
	return counts
}

// grown lists what is in after and was not in before.
func grown(before, after map[entry]int) (entries []entry) {
	for e, n := range after {
		if n > before[e] {
			entries = append(entries, e)
		}
	}
	return entries
}

// tap remembers the last call that was sent.
type tap struct {
	mu           sync.Mutex // guards the rest
	method, path string
	status       int
}

func (p *tap) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := http.DefaultTransport.RoundTrip(r)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.method, p.path, p.status = r.Method, r.URL.Path, 0
	if response != nil {
		p.status = response.StatusCode
	}
	return response, err
}

// TestEveryChangeIsRecorded makes each change of the route table twice: with a
// log that takes nothing, when it must fail and leave no trace, and as usual,
// when it must be in the log.
func TestEveryChangeIsRecorded(t *testing.T) {
	t.Parallel()
	google := newIDP(t)
	each(t, func(t *testing.T, s *server) {
		last := &tap{}
		s.public.HTTP = &http.Client{Transport: last}
		w := &changes{server: s, owner: s.person("owner"), google: google}
		w.org = s.organization(w.owner, "Recorded")
		scenarios := w.scenarios()
		maps.Copy(scenarios, w.signInScenarios())
		maps.Copy(scenarios, w.forwardingScenarios())
		for _, r := range s.API.Routes() {
			if r.Method == http.MethodGet && !r.GetChanges {
				continue
			}
			declared := r.Method + " " + r.Path
			prepare, ok := scenarios[declared]
			if !ok {
				t.Errorf("%s: no scenario makes this change", declared)
				continue
			}
			delete(scenarios, declared)
			change := prepare()
			if r.Audit != "-" {
				s.wantNothingWithoutLog(declared, change)
			}
			before := s.entries()
			log, err := change(t.Context())
			if err != nil {
				t.Errorf("%s: %v", declared, err)
				continue
			}
			if last.method != r.Method || !isPathOf(r.Path, last.path) || last.status != r.Status {
				t.Errorf("%s: its scenario called %s %s and got %d, want %d", declared, last.method, last.path,
					last.status, r.Status)
			}
			added := grown(before, s.entries())
			switch {
			case r.Audit == "-" && len(added) > 0:
				t.Errorf("%s recorded %v, want nothing", declared, added)
			case r.Audit != "-" && !slices.Contains(added, entry{log, r.Audit}):
				t.Errorf("%s recorded %v, want %s in %s", declared, added, r.Audit, log)
			}
		}
		for declared := range scenarios {
			t.Errorf("%s: there is a scenario, but no such route", declared)
		}
	}, google.asGoogle()...)
}

// isPathOf reports whether a path is one of a declared pattern.
func isPathOf(pattern, path string) bool {
	want, got := strings.Split(pattern, "/"), strings.Split(path, "/")
	return slices.EqualFunc(want, got, func(want, got string) bool {
		return want == got || strings.HasPrefix(want, "{")
	})
}

// wantNothingWithoutLog makes the change while nothing can be recorded.
func (s *server) wantNothingWithoutLog(what string, change func(context.Context) (string, error)) {
	s.t.Helper()
	before := s.dump()
	s.closeLog()
	_, err := change(s.t.Context())
	s.openLog()
	if status := client.StatusOf(err); status < 500 {
		s.t.Errorf("%s without a log: %v, want a failure of the server", what, err)
	}
	if diff := cmp.Diff(before, s.dump()); diff != "" {
		s.t.Errorf("%s without a log changed something (-before +after):\n%s", what, diff)
	}
}
