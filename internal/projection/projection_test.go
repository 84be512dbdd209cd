package projection_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/decision"
	"writ/internal/principal"
	"writ/internal/projection"
	"writ/internal/telemetry"
	"writ/internal/verdict"
)

// world is both stores, with a clock that stands still until it is moved.
type world struct {
	t            *testing.T
	db, bulk     *database.DB
	telemetry    *telemetry.Service
	log          *audit.Log
	recent       *decision.Recent // of the projector
	projector    *projection.Projector
	clock        *atomic.Int64 // microseconds
	acme, globex string
}

var noon = time.Date(2030, 5, 15, 12, 30, 0, 0, time.UTC)

func each(t *testing.T, body func(t *testing.T, w *world)) {
	t.Helper()
	for engine, options := range map[string]func(*testing.T) database.Options{
		"sqlite": dbtest.SQLite, "postgres": dbtest.Postgres,
	} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			w := &world{t: t, clock: new(atomic.Int64)}
			w.clock.Store(database.Micros(noon))
			w.db, w.bulk = w.open(options(t), database.Main), w.open(options(t), database.Telemetry)
			w.telemetry = w.service()
			w.log = w.auditLog()
			w.projector = projection.New(w.db, w.telemetry, w.recent)
			w.acme, w.globex = w.organization("Acme"), w.organization("Globex")
			body(t, w)
		})
	}
}

func (w *world) open(o database.Options, store database.Store) *database.DB {
	o.Store = store
	o.Now = func() time.Time { return database.Time(w.clock.Load()) }
	return dbtest.Open(w.t, o)
}

func (w *world) service() *telemetry.Service {
	w.t.Helper()
	s, err := telemetry.New(w.t.Context(), telemetry.Config{
		Database: w.bulk, Prices: telemetry.BuiltInPrices(), Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		SessionIdle: time.Hour, Retention: 30 * 24 * time.Hour,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// auditLog is the log of another process on the database, whose decisions are kept for
// the projector.
func (w *world) auditLog() *audit.Log {
	w.t.Helper()
	w.recent = decision.NewRecent()
	signing := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize))
	log, err := audit.Open(w.t.Context(), w.db, func(context.Context, *audit.Log) (ed25519.PrivateKey, error) {
		return signing, nil
	}, w.recent)
	if err != nil {
		w.t.Fatal(err)
	}
	return log
}

func (w *world) pass(d time.Duration) { w.clock.Add(d.Microseconds()) }

func (w *world) organization(name string) string {
	w.t.Helper()
	id := database.NewID()
	w.write(nil, func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO organization (id, name, created_at, updated_at) VALUES ($1, $2, 1, 1)`, id,
			name)
		return err
	})
	return id
}

func (w *world) write(logs []string, do func(ctx context.Context, tx *database.Tx) error) {
	w.t.Helper()
	if err := w.db.Write(w.t.Context(), database.Change{Logs: logs, Do: do}); err != nil {
		w.t.Fatal(err)
	}
}

// decide records decisions as enforcement does.
func (w *world) decide(decisions ...decision.Record) {
	w.t.Helper()
	for len(decisions) > 0 {
		some := decisions[:min(len(decisions), 100)]
		decisions = decisions[len(some):]
		w.write([]string{some[0].OrgID}, func(ctx context.Context, tx *database.Tx) error {
			for _, d := range some {
				d.ID = database.NewID()
				if _, err := decision.Append(ctx, tx, w.log, principal.Operator(), &d); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// decision is one of a policy about a call under a plan.
func (w *world) decision(plan string, v verdict.Verdict) decision.Record {
	return decision.Record{
		OrgID:   w.acme,
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

func (w *world) project() {
	w.t.Helper()
	if err := w.projector.Run(w.t.Context()); err != nil {
		w.t.Fatalf("project: %v", err)
	}
}

func (w *world) figures(orgID string) telemetry.PolicyStats {
	w.t.Helper()
	f, err := w.telemetry.Policy(w.t.Context(), orgID, "payments", 30)
	if err != nil {
		w.t.Fatal(err)
	}
	return f
}

func (w *world) traces(orgID string) []telemetry.TraceItem {
	w.t.Helper()
	found, err := w.telemetry.ListTraces(w.t.Context(), orgID, telemetry.TraceFilter{Days: 60, Limit: 100})
	if err != nil {
		w.t.Fatal(err)
	}
	return found.Items
}

// wantExact wants rollups that say what the rows say.
func (w *world) wantExact() {
	w.t.Helper()
	differences, err := w.telemetry.Verify(w.t.Context())
	if err != nil || len(differences) > 0 {
		w.t.Errorf("figures differ from the rows: %+v, %v", differences, err)
	}
}

func TestDecisionsShowInTelemetry(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.decide(w.decision("plan-1", verdict.Allow), w.decision("plan-1", verdict.Hold))
		w.project()
		found := w.traces(w.acme)
		if len(found) != 1 || found[0].Name != "writ.plan" || found[0].Source != "writ" || found[0].Status != "ok" ||
			found[0].SpanCount != 2 || found[0].AgentID != "agent" {
			t.Fatalf("traces after two decisions: %+v", found)
		}
		id := found[0].ID
		if parsed, err := uuid.Parse(id); err != nil || parsed.Version() != 5 {
			t.Errorf("the trace's id is %s", id)
		}
		w.pass(3 * time.Hour)
		w.decide(w.decision("plan-1", verdict.Deny), w.decision("plan-2", verdict.Allow))
		w.project()
		w.project()
		if found = w.traces(w.acme); len(found) != 2 {
			t.Fatalf("%d traces of two plans", len(found))
		}
		detail, err := w.telemetry.Trace(t.Context(), w.acme, id)
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
		got := w.figures(w.acme)
		if got.Name != "Payments" || got.Calls != 4 || got.Allowed != 2 || got.Denied != 1 || got.Average != 1.5 ||
			len(got.TopRules) != 1 || got.TopRules[0].Count != 4 {
			t.Errorf("figures of the policy: %+v", got)
		}
		if got.P95 < 1.48 || got.P95 > 1.52 {
			t.Errorf("p95 is %v ms, want 1.5 within one per cent", got.P95)
		}
		if other := w.figures(w.globex); other.Calls != 0 {
			t.Errorf("another organization has %+v", other)
		}
		w.wantExact()
		// Each counts in the hour it was made, not in that of its trace.
		w.pass(-time.Hour)
		summary, err := w.telemetry.Summary(t.Context(), w.acme, 1)
		if err != nil || summary.Traces != 2 || summary.Errors != 1 {
			t.Errorf("summary: %+v, %v", summary, err)
		}
	})
}

func TestEachDecisionIsProjectedOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		var decisions []decision.Record
		for i := range 1203 { // more than two slices
			decisions = append(decisions, w.decision(fmt.Sprint("plan-", i%3), verdict.Verdict(i%4)))
		}
		w.decide(decisions...)
		var all sync.WaitGroup
		for range 4 { // as many replicas
			all.Go(func() {
				if err := projection.New(w.db, w.telemetry,
					decision.NewRecent()).Run(context.Background()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		w.project()
		if got := w.figures(w.acme); got.Calls != 1203 {
			t.Errorf("%d calls in telemetry, want 1203", got.Calls)
		}
		if found := w.traces(w.acme); len(found) != 3 {
			t.Errorf("%d traces of three plans", len(found))
		}
		w.wantExact()
		if err := w.telemetry.Rebuild(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := w.figures(w.acme); got.Calls != 1203 || got.Average != 1.5 {
			t.Errorf("after a recount of the rows: %+v", got)
		}
		w.wantExact()
	})
}

func TestOneTraceAnAgentAndHourWithoutPlan(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		for range 2 {
			w.decide(w.decision("", verdict.Deny), w.decision("", verdict.Deny))
			other := w.decision("", verdict.Allow)
			other.AgentID = "" // not stated
			w.decide(other)
			w.pass(time.Hour)
		}
		w.project()
		if found := w.traces(w.acme); len(found) != 4 {
			t.Errorf("%d traces of two agents in two hours", len(found))
		}
		w.wantExact()
	})
}

// TestRetentionOfGrowingTraces uses a plan over midnight: what retention leaves of
// it must be what the figures say.
func TestRetentionOfGrowingTraces(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		for range 12 {
			w.decide(w.decision("plan", verdict.Allow))
			w.project()
			w.pass(2 * time.Hour)
		}
		if found := w.traces(w.acme); len(found) != 2 {
			t.Errorf("%d traces of a plan over midnight, want one a day", len(found))
		}
		w.wantExact()
		w.clock.Store(database.Micros(noon.Add(31*24*time.Hour - 6*time.Hour)))
		if _, err := w.telemetry.Retain(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		if found := w.traces(w.acme); len(found) != 1 {
			t.Errorf("%d traces are left, want that of the second day", len(found))
		}
		w.wantExact()
	})
}

// TestIDsThatClientsTake has a client send traces with the ids that ours would have.
func TestIDsThatClientsTake(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.decide(w.decision("plan", verdict.Deny))
		w.project()
		id := w.traces(w.acme)[0].ID
		// The same plan in a world where the client was first.
		w.bulkExec(`DELETE FROM trace`, `DELETE FROM span`, `DELETE FROM trace_key`, `DELETE FROM projected`,
			`DELETE FROM rollup_trace`, `DELETE FROM rollup_minute`, `DELETE FROM rollup_policy`,
			`DELETE FROM rollup_rule`)
		request, err := telemetry.ParseRequest(fmt.Appendf(nil,
			`{"product":"writ","batches":[{"trace":{"id":%q,"name":"writ.plan","startTime":"2030-05-15T12:00:00Z","status":"ok","attributes":{"source":"writ"}},"spans":[]}]}`, id))
		if err != nil {
			t.Fatal(err)
		}
		if result, err := w.telemetry.Ingest(t.Context(), w.acme, "writ", request); err != nil || result.Accepted != 1 {
			t.Fatalf("%+v, %v", result, err)
		}
		for range 2 {
			if err := projection.New(w.db, w.telemetry, decision.NewRecent()).Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			w.decide(w.decision("plan", verdict.Deny))
		}
		if got := w.figures(w.acme); got.Denied != 2 {
			t.Errorf("%d denials are in telemetry, want 2", got.Denied)
		}
		if found := w.traces(w.acme); len(found) != 2 {
			t.Errorf("%d traces, want the client's and ours", len(found))
		}
		w.wantExact()
	})
}

// TestProjectionAfterARestore goes back to an earlier log, which then has other
// decisions at the same positions.
func TestProjectionAfterARestore(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		for range 5 {
			w.decide(w.decision("lost", verdict.Deny))
		}
		w.project()
		backup := w.db
		w.db = w.open(map[database.Engine]func(*testing.T) database.Options{
			database.SQLite: dbtest.SQLite, database.PostgreSQL: dbtest.Postgres,
		}[backup.Engine()](t), database.Main)
		w.log = w.auditLog()
		w.write(nil, func(ctx context.Context, tx *database.Tx) error {
			_, err := tx.Exec(ctx,
				`INSERT INTO organization (id, name, created_at, updated_at) VALUES ($1, 'Acme', 1, 1)`, w.acme)
			return err
		})
		w.decide(w.decision("kept", verdict.Deny))
		w.write([]string{w.acme}, func(ctx context.Context, tx *database.Tx) error {
			return w.log.BeginEpoch(ctx, tx, w.acme, audit.Lost{Known: true, Entries: 4})
		})
		w.decide(w.decision("new", verdict.Allow))
		w.projector = projection.New(w.db, w.telemetry, w.recent)
		w.project()
		if got := w.figures(w.acme); got.Allowed != 1 || got.Denied != 5 {
			t.Errorf("figures after a restore: %+v", got)
		}
		w.wantExact()
	})
}

// TestBehind tells how old the figures may be, also while telemetry is away.
func TestBehind(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		want := func(d time.Duration) {
			t.Helper()
			if got := w.projector.Behind(); got != d {
				t.Errorf("behind by %s, want %s", got, d)
			}
		}
		want(0)
		w.pass(3 * time.Second)
		want(3 * time.Second)
		w.decide(w.decision("", verdict.Allow))
		w.project()
		want(0)
		w.pass(time.Second)
		w.project() // there is nothing new
		want(0)
		w.decide(w.decision("", verdict.Deny))
		if err := w.bulk.Close(); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Minute)
		if err := w.projector.Run(t.Context()); err == nil {
			t.Error("a decision was written into a store that is closed")
		}
		want(time.Minute)
		w.pass(-time.Hour) // the clock is set back
		want(0)
	})
}

func (w *world) bulkExec(statements ...string) {
	w.t.Helper()
	err := w.bulk.Write(w.t.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		for _, statement := range statements {
			if _, err := tx.Exec(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	}})
	if err != nil {
		w.t.Fatal(err)
	}
}
