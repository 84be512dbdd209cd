package api_test

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/client"
	"writ/internal/billing/payment/paymenttest"
	"writ/internal/database"
	"writ/internal/testserver"
)

// closeLog makes the database refuse every new audit entry, until openLog.
func closeLog(s *testserver.Server) {
	s.T.Helper()
	if s.Database.Engine() == database.SQLite {
		define(s, `CREATE TRIGGER log_closed BEFORE INSERT ON audit_entry BEGIN SELECT RAISE(ABORT, 'the log is closed'); END`)
		return
	}
	define(s,
		`CREATE OR REPLACE FUNCTION log_closed() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''the log is closed''; END'`,
		`CREATE TRIGGER log_closed BEFORE INSERT ON audit_entry FOR EACH ROW EXECUTE FUNCTION log_closed()`)
}

func openLog(s *testserver.Server) {
	s.T.Helper()
	if s.Database.Engine() == database.SQLite {
		define(s, `DROP TRIGGER log_closed`)
		return
	}
	define(s, `DROP TRIGGER log_closed ON audit_entry`)
}

func define(s *testserver.Server, statements ...string) {
	s.T.Helper()
	err := s.Database.Write(s.T.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		for _, statement := range statements {
			if _, err := tx.Exec(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	}})
	if err != nil {
		s.T.Fatalf("%v: %v", statements, err)
	}
}

// entry is an audit entry as far as it matters here.
type entry struct{ log, action string }

// entries are all of every log, with how often each is there.
func entries(s *testserver.Server) map[entry]int {
	s.T.Helper()
	all, err := database.Collect(s.T.Context(), s.Database, func(r database.Scanner) (e entry, err error) {
		err = r.Scan(&e.log, &e.action)
		return e, err
	}, `SELECT log, action FROM audit_entry`)
	if err != nil {
		s.T.Fatalf("read the logs: %v", err)
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
	google, pays := testserver.NewProvider(t), paymenttest.New(t)
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		last := &tap{}
		s.Public.HTTP = &http.Client{Transport: last}
		w := &changes{Server: s, owner: s.Person("owner"), google: google, provider: pays}
		w.org = s.Organization(w.owner, "Recorded")
		scenarios := w.scenarios()
		maps.Copy(scenarios, w.signInScenarios())
		maps.Copy(scenarios, w.forwardingScenarios())
		maps.Copy(scenarios, w.agentScenarios())
		maps.Copy(scenarios, w.serverScenarios())
		maps.Copy(scenarios, w.certificateScenarios())
		maps.Copy(scenarios, w.oauthScenarios())
		maps.Copy(scenarios, w.connectionScenarios())
		maps.Copy(scenarios, w.proxyScenarios())
		maps.Copy(scenarios, w.installationScenarios())
		maps.Copy(scenarios, w.guardScenarios())
		maps.Copy(scenarios, w.userScenarios())
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
			w.staySignedIn()
			change := prepare()
			if r.Audit != "-" {
				wantNothingWithoutLog(s, declared, change)
			}
			before := entries(s)
			log, err := change(t.Context())
			if err != nil {
				t.Errorf("%s: %v", declared, err)
				continue
			}
			if last.method != r.Method || !isPathOf(r.Path, last.path) || last.status != r.Status {
				t.Errorf("%s: its scenario called %s %s and got %d, want %d", declared, last.method, last.path,
					last.status, r.Status)
			}
			added := grown(before, entries(s))
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
	}, slices.Concat(google.AsGoogle(), testserver.AsProxied,
		pays.Settings(paymenttest.Generous, "WRIT_REFERRAL_CREDIT_CENTS", "1000"))...)
}

// isPathOf reports whether a path is one of a declared pattern.
func isPathOf(pattern, path string) bool {
	want, got := strings.Split(pattern, "/"), strings.Split(path, "/")
	return slices.EqualFunc(want, got, func(want, got string) bool {
		return want == got || strings.HasPrefix(want, "{")
	})
}

// wantNothingWithoutLog makes the change while nothing can be recorded.
func wantNothingWithoutLog(s *testserver.Server, what string, change func(context.Context) (string, error)) {
	s.T.Helper()
	before := s.Dump()
	closeLog(s)
	_, err := change(s.T.Context())
	openLog(s)
	if status := client.StatusOf(err); status < 500 {
		s.T.Errorf("%s without a log: %v, want a failure of the server", what, err)
	}
	if diff := cmp.Diff(before, s.Dump()); diff != "" {
		s.T.Errorf("%s without a log changed something (-before +after):\n%s", what, diff)
	}
}
