package projection_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/decision"
	"writ/internal/principal"
	"writ/internal/projection"
	"writ/internal/telemetry"
	"writ/internal/testenv"
	"writ/internal/verdict"
)

// env is both stores.
type env struct {
	*testenv.Env
	bulk         *database.DB
	telemetry    *telemetry.Service
	log          *audit.Log
	recent       *decision.Recent // of the projector
	projector    *projection.Projector
	acme, globex string
}

var noon = time.Date(2030, 5, 15, 12, 30, 0, 0, time.UTC)

func each(t *testing.T, body func(t *testing.T, e *env)) {
	t.Helper()
	testenv.Each(t, func(t *testing.T, base *testenv.Env) {
		base.Set(noon)
		e := &env{Env: base, bulk: base.OpenEmpty(database.Telemetry)}
		e.telemetry = e.service()
		e.log = e.auditLog()
		e.projector = projection.New(e.DB, e.telemetry, e.recent)
		e.acme, e.globex = e.Organization("Acme"), e.Organization("Globex")
		body(t, e)
	})
}

func (e *env) service() *telemetry.Service {
	e.T.Helper()
	s, err := telemetry.New(e.T.Context(), telemetry.Config{
		Database: e.bulk, Prices: telemetry.BuiltInPrices(), Logger: slog.New(slog.DiscardHandler),
		SessionIdle: time.Hour, Retention: 30 * 24 * time.Hour,
	})
	if err != nil {
		e.T.Fatal(err)
	}
	return s
}

// auditLog is the log of another process on the database, whose decisions are kept for
// the projector.
func (e *env) auditLog() *audit.Log {
	e.T.Helper()
	e.recent = decision.NewRecent()
	return e.SignedLog(e.recent)
}

// decide records decisions as enforcement does.
func (e *env) decide(decisions ...decision.Record) {
	e.T.Helper()
	for len(decisions) > 0 {
		some := decisions[:min(len(decisions), 100)]
		decisions = decisions[len(some):]
		e.Write(some[0].OrgID, func(ctx context.Context, tx *database.Tx) error {
			for _, d := range some {
				d.ID = database.NewID()
				if _, err := decision.Append(ctx, tx, e.log, principal.Operator(), &d); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// decision is one of a policy about a call under a plan.
func (e *env) decision(plan string, v verdict.Verdict) decision.Record {
	return decision.Record{
		OrgID:   e.acme,
		PlanID:  plan,
		AgentID: "agent",
		Server:  "bank",
		Tool:    "pay",
		Ruling: verdict.Ruling{
			Verdict:       v,
			PolicyID:      "payments",
			PolicyVersion: 2,
			Rule:          "large",
			PolicyName:    "Payments",
			Reason:        "because",
		},
		Details: decision.Details{Duration: 1500 * time.Microsecond},
	}
}

func (e *env) project() {
	e.T.Helper()
	if err := e.projector.Run(e.T.Context()); err != nil {
		e.T.Fatalf("project: %v", err)
	}
}

func (e *env) figures(orgID string) telemetry.PolicyStats {
	e.T.Helper()
	f, err := e.telemetry.Policy(e.T.Context(), orgID, "payments", 0, telemetry.Days(30))
	if err != nil {
		e.T.Fatal(err)
	}
	return f
}

func (e *env) traces(orgID string) []telemetry.TraceItem {
	e.T.Helper()
	found, err := e.telemetry.ListTraces(e.T.Context(), orgID, telemetry.TraceFilter{Days: 60, Limit: 100})
	if err != nil {
		e.T.Fatal(err)
	}
	return found.Items
}

// wantExact wants rollups that say what the rows say.
func (e *env) wantExact() {
	e.T.Helper()
	differences, err := e.telemetry.Verify(e.T.Context())
	if err != nil || len(differences) > 0 {
		e.T.Errorf("figures differ from the rows: %+v, %v", differences, err)
	}
}

func TestDecisionsShowInTelemetry(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.decide(e.decision("plan-1", verdict.Allow), e.decision("plan-1", verdict.Hold))
		e.project()
		found := e.traces(e.acme)
		if len(found) != 1 || found[0].Name != "writ.plan" || found[0].Source != "writ" || found[0].Status != "ok" ||
			found[0].SpanCount != 2 || found[0].AgentID != "agent" {
			t.Fatalf("traces after two decisions: %+v", found)
		}
		id := found[0].ID
		if parsed, err := uuid.Parse(id); err != nil || parsed.Version() != 5 {
			t.Errorf("the trace's id is %s", id)
		}
		e.Pass(3 * time.Hour)
		e.decide(e.decision("plan-1", verdict.Deny), e.decision("plan-2", verdict.Allow))
		e.project()
		e.project()
		if found = e.traces(e.acme); len(found) != 2 {
			t.Fatalf("%d traces of two plans", len(found))
		}
		detail, err := e.telemetry.Trace(t.Context(), e.acme, id)
		if err != nil || detail == nil || detail.Status != "denied" || detail.SpanCount != 3 ||
			detail.ErrorCount != 1 || len(detail.Spans) != 3 {
			t.Fatalf("the trace that grew: %+v, %v", detail, err)
		}
		last := detail.Spans[2]
		if last.Kind != "policy_call" || last.Name != "writ.deny" || last.Status != "denied" ||
			!last.End.Equal(noon.Add(3*time.Hour)) || last.End.Sub(last.Start) != 1500*time.Microsecond {
			t.Errorf("the span of a denial: %+v", last)
		}
		for _, want := range []string{
			`"policyId":"payments"`, `"decision":"deny"`, `"matchedRuleId":"large"`, `"durationUs":1500`,
			`"toolName":"pay"`,
		} {
			if !strings.Contains(last.Attributes, want) {
				t.Errorf("attributes lack %s: %s", want, last.Attributes)
			}
		}
		got := e.figures(e.acme)
		if got.Name != "Payments" || got.Calls != 4 || got.Allowed != 2 || got.Denied != 1 || got.Average != 1.5 ||
			len(got.TopRules) != 1 || got.TopRules[0].Count != 4 {
			t.Errorf("figures of the policy: %+v", got)
		}
		if got.P95 < 1.48 || got.P95 > 1.52 {
			t.Errorf("p95 is %v ms, want 1.5 within one per cent", got.P95)
		}
		if other := e.figures(e.globex); other.Calls != 0 {
			t.Errorf("another organization has %+v", other)
		}
		e.wantExact()
		// Each counts in the hour it was made, not in that of its trace.
		e.Pass(-time.Hour)
		summary, err := e.telemetry.Summary(t.Context(), e.acme, telemetry.Days(1))
		if err != nil || summary.Traces != 2 || summary.Errors != 1 {
			t.Errorf("summary: %+v, %v", summary, err)
		}
	})
}

func TestEachDecisionIsProjectedOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		var decisions []decision.Record
		for i := range 1203 { // more than two slices
			decisions = append(decisions, e.decision(fmt.Sprint("plan-", i%3), verdict.Verdict(i%4)))
		}
		e.decide(decisions...)
		var all sync.WaitGroup
		for range 4 { // as many replicas
			all.Go(func() {
				if err := projection.New(e.DB, e.telemetry,
					decision.NewRecent()).Run(context.Background()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		e.project()
		if got := e.figures(e.acme); got.Calls != 1203 {
			t.Errorf("%d calls in telemetry, want 1203", got.Calls)
		}
		if found := e.traces(e.acme); len(found) != 3 {
			t.Errorf("%d traces of three plans", len(found))
		}
		e.wantExact()
		if err := e.telemetry.Rebuild(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := e.figures(e.acme); got.Calls != 1203 || got.Average != 1.5 {
			t.Errorf("after a recount of the rows: %+v", got)
		}
		e.wantExact()
	})
}

func TestOneTraceAnAgentAndHourWithoutPlan(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		for range 2 {
			e.decide(e.decision("", verdict.Deny), e.decision("", verdict.Deny))
			other := e.decision("", verdict.Allow)
			other.AgentID = "" // not stated
			e.decide(other)
			e.Pass(time.Hour)
		}
		e.project()
		if found := e.traces(e.acme); len(found) != 4 {
			t.Errorf("%d traces of two agents in two hours", len(found))
		}
		e.wantExact()
	})
}

// TestRetentionOfGrowingTraces uses a plan over midnight: what retention leaves of
// it must be what the figures say.
func TestRetentionOfGrowingTraces(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		for range 12 {
			e.decide(e.decision("plan", verdict.Allow))
			e.project()
			e.Pass(2 * time.Hour)
		}
		if found := e.traces(e.acme); len(found) != 2 {
			t.Errorf("%d traces of a plan over midnight, want one a day", len(found))
		}
		e.wantExact()
		e.Set(noon.Add(31*24*time.Hour - 6*time.Hour))
		if _, err := e.telemetry.Retain(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		if found := e.traces(e.acme); len(found) != 1 {
			t.Errorf("%d traces are left, want that of the second day", len(found))
		}
		e.wantExact()
	})
}

// TestIDsThatClientsTake has a client send traces with the ids that ours would have.
func TestIDsThatClientsTake(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.decide(e.decision("plan", verdict.Deny))
		e.project()
		id := e.traces(e.acme)[0].ID
		// The same plan in an env where the client was first.
		e.bulkExec(`DELETE FROM trace`, `DELETE FROM span`, `DELETE FROM trace_key`, `DELETE FROM projected`,
			`DELETE FROM rollup_trace`, `DELETE FROM rollup_minute`, `DELETE FROM rollup_policy`,
			`DELETE FROM rollup_rule`)
		request, err := telemetry.ParseRequest(fmt.Appendf(nil,
			`{"product":"writ","batches":[{"trace":{"id":%q,"name":"writ.plan","startTime":"2030-05-15T12:00:00Z","status":"ok","attributes":{"source":"writ"}},"spans":[]}]}`, id))
		if err != nil {
			t.Fatal(err)
		}
		if result, err := e.telemetry.Ingest(t.Context(), e.acme, "writ", request); err != nil || result.Accepted != 1 {
			t.Fatalf("%+v, %v", result, err)
		}
		for range 2 {
			if err := projection.New(e.DB, e.telemetry, decision.NewRecent()).Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			e.decide(e.decision("plan", verdict.Deny))
		}
		if got := e.figures(e.acme); got.Denied != 2 {
			t.Errorf("%d denials are in telemetry, want 2", got.Denied)
		}
		if found := e.traces(e.acme); len(found) != 2 {
			t.Errorf("%d traces, want the client's and ours", len(found))
		}
		e.wantExact()
	})
}

// TestProjectionAfterARestore goes back to an earlier log, which then has other
// decisions at the same positions.
func TestProjectionAfterARestore(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		for range 5 {
			e.decide(e.decision("lost", verdict.Deny))
		}
		e.project()
		e.DB = e.OpenEmpty(database.Main)
		e.log = e.auditLog()
		e.Exec(`INSERT INTO organization (id, name, created_at, updated_at) VALUES ($1, 'Acme', 1, 1)`, e.acme)
		e.decide(e.decision("kept", verdict.Deny))
		e.Write(e.acme, func(ctx context.Context, tx *database.Tx) error {
			return e.log.BeginEpoch(ctx, tx, e.acme, audit.Lost{Known: true, Entries: 4})
		})
		e.decide(e.decision("new", verdict.Allow))
		e.projector = projection.New(e.DB, e.telemetry, e.recent)
		e.project()
		if got := e.figures(e.acme); got.Allowed != 1 || got.Denied != 5 {
			t.Errorf("figures after a restore: %+v", got)
		}
		e.wantExact()
	})
}

// TestBehind tells how old the figures may be, also while telemetry is away.
func TestBehind(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		want := func(d time.Duration) {
			t.Helper()
			if got := e.projector.Behind(); got != d {
				t.Errorf("behind by %s, want %s", got, d)
			}
		}
		want(0)
		e.Pass(3 * time.Second)
		want(3 * time.Second)
		e.decide(e.decision("", verdict.Allow))
		e.project()
		want(0)
		e.Pass(time.Second)
		e.project() // there is nothing new
		want(0)
		e.decide(e.decision("", verdict.Deny))
		if err := e.bulk.Close(); err != nil {
			t.Fatal(err)
		}
		e.Pass(time.Minute)
		if err := e.projector.Run(t.Context()); err == nil {
			t.Error("a decision was written into a store that is closed")
		}
		want(time.Minute)
		e.Pass(-time.Hour) // the clock is set back
		want(0)
	})
}

func (e *env) bulkExec(statements ...string) {
	e.T.Helper()
	err := e.bulk.Write(e.T.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		for _, statement := range statements {
			if _, err := tx.Exec(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	}})
	if err != nil {
		e.T.Fatal(err)
	}
}
