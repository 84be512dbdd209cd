package usage_test

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"writ/client"
	"writ/internal/database"
	"writ/internal/principal"
	"writ/internal/testserver"
)

type m = map[string]any

type period struct {
	Start                            string
	Decisions, Denied, Spans         int64
	InputTokens, Seats, ActiveAgents int64
	CostUSD                          float64
	StoredBytes                      int64
	Complete                         bool
}

type answer struct {
	By      string
	Periods []period
}

func read(s *testserver.Server, p *testserver.Person, path string, query ...string) (got answer, err error) {
	values := url.Values{}
	for i := 0; i < len(query); i += 2 {
		values.Set(query[i], query[i+1])
	}
	err = p.Call(s.T.Context(), http.MethodGet, path, values, nil, &got)
	return got, err
}

func ingest(s *testserver.Server, key *client.Client, spans int) {
	s.T.Helper()
	start := s.Database.Now().Format(time.RFC3339)
	all := []m{}
	for range spans {
		all = append(all, m{
			"id": database.NewID(), "kind": "generation", "name": "g", "startTime": start,
			"attributes": m{"model": "m", "inputTokens": 10, "costUsd": 0.25},
		})
	}
	batch := m{"trace": m{"id": database.NewID(), "name": "t", "startTime": start, "status": "ok"}, "spans": all}
	if err := key.Call(s.T.Context(), http.MethodPost, "/observability/spans", nil,
		m{"product": "p", "batches": []m{batch}}, nil); err != nil {
		s.T.Fatal(err)
	}
}

func decide(s *testserver.Server, key *client.Client, agent string) {
	s.T.Helper()
	if err := key.Call(s.T.Context(), http.MethodPost, "/iap/enforce", nil,
		m{"agent_id": agent, "tool_name": "t", "tool_input": m{}}, nil); err != nil {
		s.T.Fatal(err)
	}
}

// today waits until telemetry has counted decisions.
func today(s *testserver.Server, p *testserver.Person, org string, decisions int64) (last period) {
	s.T.Helper()
	for range 600 {
		got, err := read(s, p, "/dashboard/usage", "organizationId", org)
		if err != nil || len(got.Periods) != 30 {
			s.T.Fatalf("%d periods, %v", len(got.Periods), err)
		}
		if last = got.Periods[29]; last.Decisions >= decisions {
			return last
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.T.Fatalf("decisions are not counted: %+v", last)
	return last
}

// TestUsage: what was sent and decided, to members of the organization alone.
func TestUsage(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ada, bob := s.Person("ada"), s.Person("bob")
		org, other := s.Organization(ada, "Acme"), s.Organization(bob, "Globex")
		viewer := s.Join(ada, org, "viewer")
		key := s.TerminalKey(ada, org)
		ingest(s, key, 3)
		for _, agent := range []string{"one", "two", "one"} {
			decide(s, key, agent)
		}
		got := today(s, viewer, org, 3)
		if got.Decisions != 3 || got.Spans != 3 || got.InputTokens != 30 || got.CostUSD != 0.75 || got.Seats != 2 ||
			got.ActiveAgents != 2 || got.StoredBytes == 0 || got.Complete {
			t.Errorf("today: %+v", got)
		}
		month, err := read(s, ada, "/dashboard/usage", "organizationId", org, "by", "month")
		if err != nil || month.By != "month" || len(month.Periods) != 12 || month.Periods[11].Spans != 3 ||
			month.Periods[11].Decisions != 3 || month.Periods[11].Seats != 2 {
			t.Errorf("this month: %+v, %v", month, err)
		}
		theirs, err := read(s, bob, "/dashboard/usage", "organizationId", other)
		if last := theirs.Periods[29]; err != nil || last.Decisions != 0 || last.Spans != 0 || last.StoredBytes != 0 {
			t.Errorf("another organization: %+v, %v", last, err)
		}
		_, err = read(s, bob, "/dashboard/usage", "organizationId", org)
		testserver.WantStatus(t, "a stranger", err, http.StatusForbidden)
	})
}

// TestUsageOfTheInstallation adds all organizations up, for operators alone.
func TestUsageOfTheInstallation(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ada, bob, operator := s.Person("ada"), s.Person("bob"), s.Person("operator")
		if err := s.Operators.Add(t.Context(), principal.Operator(), operator.ID); err != nil {
			t.Fatal(err)
		}
		before, err := read(s, operator, "/admin/dashboard/usage")
		if err != nil {
			t.Fatal(err)
		}
		orgs := map[*testserver.Person]string{ada: s.Organization(ada, "=cmd()"), bob: s.Organization(bob, "Globex")}
		for p, org := range orgs {
			key := s.TerminalKey(p, org)
			ingest(s, key, 2)
			decide(s, key, "same")
			today(s, p, org, 1)
		}
		after, err := read(s, operator, "/admin/dashboard/usage")
		was, is := before.Periods[29], after.Periods[29]
		if err != nil || is.Decisions-was.Decisions != 2 || is.Spans-was.Spans != 4 || is.Seats-was.Seats != 2 ||
			is.ActiveAgents-was.ActiveAgents != 2 {
			t.Errorf("before %+v, after %+v, %v", was, is, err)
		}
		var each struct {
			Items []struct {
				Name             string
				Decisions, Spans int64
			}
		}
		if err := operator.Call(t.Context(), http.MethodGet, "/admin/dashboard/usage/organizations", nil, nil,
			&each); err != nil || !strings.Contains(fmt.Sprint(each.Items), "{=cmd() 1 2}") {
			t.Errorf("by organization: %+v, %v", each, err)
		}
		_, err = read(s, ada, "/admin/dashboard/usage")
		testserver.WantStatus(t, "an owner", err, http.StatusForbidden)
	})
}

// TestUsageAsATable is CSV that no spreadsheet runs.
func TestUsageAsATable(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ada := s.Person("ada")
		org := s.Organization(ada, "Acme")
		ingest(s, s.TerminalKey(ada, org), 2)
		got := s.Send(http.MethodGet, "/dashboard/usage?format=csv&organizationId="+org,
			testserver.WithBearer(ada.Tokens.AccessToken), "")
		rows, err := csv.NewReader(strings.NewReader(got.Body)).ReadAll()
		if err != nil || len(rows) != 31 || got.Status != http.StatusOK {
			t.Fatalf("status %d, %d rows, %v", got.Status, len(rows), err)
		}
		if len(rows[0]) != 16 || rows[0][6] != "spans" || rows[30][6] != "2" || rows[30][11] != "0.5" {
			t.Errorf("%v\n%v", rows[0], rows[30])
		}
		for _, cell := range rows[30] {
			if strings.ContainsAny(cell[:min(1, len(cell))], "=+-@") {
				t.Errorf("the cell %q begins a formula", cell)
			}
		}
	})
}

// TestUsageQueries that make no sense are refused by name.
func TestUsageQueries(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ada := s.Person("ada")
		org := s.Organization(ada, "Acme")
		for query, field := range map[string]string{
			"by=week": "by", "from=yesterday": "from", "until=2026-13-01": "until", "format=xlsx": "format",
			"from=2026-02-01&until=2026-02-01": "from", "from=2020-01-01&until=2026-01-01": "from",
			"from=0001-01-01&by=month": "from", "colour=red": "colour",
		} {
			got := s.Send(http.MethodGet, "/dashboard/usage?organizationId="+org+"&"+query,
				testserver.WithBearer(ada.Tokens.AccessToken), "")
			if got.Status != http.StatusBadRequest || !strings.Contains(got.Body, field) {
				t.Errorf("%s: status %d: %s", query, got.Status, got.Body)
			}
		}
		got, err := read(s, ada, "/dashboard/usage", "organizationId", org, "from", "2024-02-28", "until", "2024-03-02")
		if err != nil || len(got.Periods) != 3 || got.Periods[1].Start != "2024-02-29" {
			t.Errorf("over a leap day: %+v, %v", got, err)
		}
	})
}
