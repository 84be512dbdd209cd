package telemetry_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/telemetry"
	"writ/internal/testenv"
)

// orgA and orgB are two organizations.
const (
	orgA = "0190a0a0-0000-7000-8000-00000000000a"
	orgB = "0190a0a0-0000-7000-8000-00000000000b"
)

// keptDays is how long the tests keep telemetry.
const keptDays = 30

const day = 24 * time.Hour

// env is a service on a database of telemetry.
type env struct {
	*testenv.Env
	*telemetry.Service
	log *journal
}

// noon is when tests begin.
var noon = time.Date(2030, 5, 15, 12, 30, 0, 0, time.UTC)

// each runs the body with a service on each database.
func each(t *testing.T, body func(t *testing.T, e *env)) {
	t.Helper()
	dbtest.EachOptions(t, func(t *testing.T, o database.Options) {
		body(t, open(t, o))
	})
}

func open(t *testing.T, o database.Options) *env {
	t.Helper()
	o.Store = database.Telemetry
	e := &env{Env: testenv.New(t, o), log: &journal{}}
	e.Set(noon)
	e.Service = e.another(e.DB)
	return e
}

// replica is a further server on the same data, with the same clock. An SQLite
// file belongs to one process; there it is a further writer of that.
func (e *env) replica() *env {
	e.T.Helper()
	other := *e
	if e.DB.Engine() == database.PostgreSQL {
		other.Env = e.Replica()
	}
	other.Service = other.another(other.DB)
	return &other
}

// another is a further writer on the same data.
func (e *env) another(db *database.DB) *telemetry.Service {
	e.T.Helper()
	service, err := telemetry.New(e.T.Context(), telemetry.Config{
		Database: db, Prices: telemetry.BuiltInPrices(), Logger: slog.New(slog.NewTextHandler(e.log, nil)),
		SessionIdle: 30 * time.Minute, Retention: keptDays * day,
	})
	if err != nil {
		e.T.Fatal(err)
	}
	return service
}

// send sends a body to a service.
func send(ctx context.Context, service *telemetry.Service, orgID, body string) (telemetry.Result, error) {
	request, err := telemetry.ParseRequest([]byte(body))
	if err != nil {
		return telemetry.Result{}, err
	}
	return service.Ingest(ctx, orgID, request.Product, request)
}

// ingest sends a body and wants it understood.
func (e *env) ingest(orgID, body string) telemetry.Result {
	e.T.Helper()
	result, err := send(e.T.Context(), e.Service, orgID, body)
	if err != nil {
		e.T.Fatalf("ingest: %v", err)
	}
	return result
}

// accept sends batches and wants all of them accepted.
func (e *env) accept(orgID string, batches ...string) {
	e.T.Helper()
	if r := e.ingest(orgID, body(batches...)); r.Accepted != len(batches) {
		e.T.Fatalf("accepted %d of %d: %+v", r.Accepted, len(batches), r.Rejections)
	}
}

// hold keeps the committer busy until release, so that what is sent meanwhile
// waits, and then shares commits.
func (e *env) hold() (release func()) {
	begun, done, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- e.DB.Write(context.Background(), database.Change{Do: func(context.Context, *database.Tx) error {
			close(begun)
			<-done
			return nil
		}})
	}()
	<-begun
	return func() {
		close(done)
		if err := <-ended; err != nil {
			e.T.Errorf("hold: %v", err)
		}
	}
}

// queued waits until n changes wait for the committer.
func (e *env) queued(n int) {
	e.T.Helper()
	testenv.Eventually(e.T, fmt.Sprintf("%d changes wait", n), func() bool { return e.DB.QueueLength() == n })
}

// wantClean checks that every rollup says what the rows say.
func (e *env) wantClean() {
	e.T.Helper()
	differences, err := e.Verify(e.T.Context())
	if err != nil {
		e.T.Errorf("verify: %v", err)
	}
	for _, d := range differences {
		e.T.Errorf("verify: %+v", d)
	}
	// Who follows what arrives hears of a span with its trace, or with a growth.
	if silent := e.Number(`
		SELECT count(*) FROM span s
		WHERE s.seq > s.trace_pk AND 1 <> (
			SELECT count(*) FROM trace_growth g WHERE g.trace_pk = s.trace_pk AND s.seq >= g.first_seq AND s.seq <= g.last_seq)`); silent > 0 {
		e.T.Errorf("%d spans came later than their trace, and not with one growth of it", silent)
	}
}

// wantTraces checks how many traces an organization has, by every way to ask.
func (e *env) wantTraces(orgID string, want int64) {
	e.T.Helper()
	sum, err := e.Summary(e.T.Context(), orgID, telemetry.Days(keptDays))
	if err != nil {
		e.T.Fatalf("summary: %v", err)
	}
	rows := e.Number(`SELECT count(*) FROM trace WHERE org_id = $1`, orgID)
	ids := e.Number(`SELECT count(*) FROM trace_key WHERE org_id = $1`, orgID)
	if sum.Traces != want || rows != want || ids != want {
		e.T.Errorf("%d traces in the summary, %d rows, %d ids, want %d of each", sum.Traces, rows, ids, want)
	}
}

func newID() string { return uuid.NewString() }

// body wraps batches into a request.
func body(batches ...string) string {
	return fmt.Sprintf(`{"product":"test","batches":[%s]}`, strings.Join(batches, ","))
}

// trace is a batch; members are further members of the trace ("" for none) and
// spans the JSON of its spans.
func trace(id string, start time.Time, members string, spans ...string) string {
	return named("iap.plan", id, start, members, spans...)
}

// named is a trace of another name.
func named(name, id string, start time.Time, members string, spans ...string) string {
	return fmt.Sprintf(`{"trace":{"id":%q,"name":%q,"startTime":%q,"status":"ok"%s},"spans":[%s]}`,
		id, name, start.Format(time.RFC3339Nano), further(members), strings.Join(spans, ","))
}

func span(kind, name string, start time.Time, members string) string {
	return fmt.Sprintf(`{"id":%q,"kind":%q,"name":%q,"startTime":%q%s}`, newID(), kind, name,
		start.Format(time.RFC3339Nano), further(members))
}

func further(members string) string {
	if members == "" {
		return ""
	}
	return "," + members
}

// generation is a span of a model with input tokens, at no cost.
func generation(start time.Time, model string, tokens int) string {
	return span("generation", "g", start, fmt.Sprintf(`"attributes":{"model":%q,"inputTokens":%d,"costUsd":0}`, model,
		tokens))
}

// inSession is the member that puts a trace into a session.
func inSession(id string) string { return fmt.Sprintf(`"sessionId":%q`, id) }

// journal is a log that a test can read while it is written.
type journal struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

// count is how often the log says something.
func (j *journal) count(text string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Count(j.text.String(), text)
}
