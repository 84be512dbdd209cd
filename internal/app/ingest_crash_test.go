package app_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"writ/client"
	"writ/internal/app"
	"writ/internal/database"
	"writ/internal/database/dbtest"
)

// program is the server as it is shipped, to be killed.
type program struct {
	t       *testing.T
	path    string
	environ []string
	dataDir string
}

// buildProgram builds writd into a folder of the test.
func buildProgram(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "writd")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", path, "writ/cmd/writd")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build writd: %v\n%s", err, output)
	}
	return path
}

func newProgram(t *testing.T, path string, db database.Options) *program {
	p := &program{t: t, path: path, dataDir: filepath.Join(t.TempDir(), "data")}
	p.environ = []string{
		"PORT=0", "WRIT_DATA_DIR=" + p.dataDir, "DATABASE_URL=" + db.PostgresURL, "WRIT_MASTER_KEY=" + masterKey,
	}
	return p
}

// process is a run of a program.
type process struct {
	t       *testing.T
	command *exec.Cmd
	output  sync.WaitGroup
	agent   *client.Client // with the first key
	idle    func()         // gives connections up
}

// run starts the program and waits until it is ready.
func (p *program) run() *process {
	p.t.Helper()
	stdout, writer, err := os.Pipe()
	if err != nil {
		p.t.Fatal(err)
	}
	x := &process{t: p.t, command: exec.Command(p.path, "serve")}
	var complaints bytes.Buffer
	x.command.Env, x.command.Stdout, x.command.Stderr = p.environ, writer, &complaints
	err = x.command.Start()
	writer.Close()
	if err != nil {
		p.t.Fatalf("start: %v", err)
	}
	ready := make(chan string, 1)
	x.output.Go(func() {
		defer stdout.Close()
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			if _, url, found := strings.Cut(lines.Text(), "is ready at "); found {
				ready <- url
			}
		}
	})
	p.t.Cleanup(x.kill)
	select {
	case url := <-ready:
		transport := &http.Transport{MaxIdleConnsPerHost: 8}
		x.idle = transport.CloseIdleConnections
		x.agent = (&client.Client{
			BaseURL: url, HTTP: &http.Client{Transport: transport, Timeout: 2 * time.Minute},
		}).WithKey(p.firstRun().APIKey)
	case <-time.After(2 * time.Minute):
		x.kill()
		p.t.Fatalf("writd is not ready:\n%s", complaints.String())
	}
	return x
}

// kill ends the process at once, without a word to it.
func (x *process) kill() {
	if x.command.ProcessState != nil {
		return
	}
	_ = x.command.Process.Kill() // it may have ended by itself
	_ = x.command.Wait()         // says that it was killed
	x.output.Wait()
	if x.idle != nil {
		x.idle()
	}
}

func (p *program) firstRun() (first app.FirstRun) {
	p.t.Helper()
	if err := json.Unmarshal([]byte(read(p.t, filepath.Join(p.dataDir, "first-run.json"))), &first); err != nil {
		p.t.Fatal(err)
	}
	return first
}

// ledger is what clients know of the traces they sent.
type ledger struct {
	mu           sync.Mutex          // guards the rest
	sent         map[string]sentItem // by trace
	acknowledged map[string]bool
	requests     int // that were acknowledged
}

type sentItem struct {
	session string
	spans   int
}

// load sends requests from several sides until the server is gone. Once a number
// of them are acknowledged it is killed, in the middle of others.
func (l *ledger) load(t *testing.T, x *process, sessions []string, most int) {
	t.Helper()
	enough := make(chan struct{})
	reached := sync.OnceFunc(func() { close(enough) })
	limit := l.requests + most
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var senders sync.WaitGroup
	for range 4 {
		senders.Go(func() {
			for {
				request, items := makeRequest(sessions)
				l.mu.Lock()
				maps.Copy(l.sent, items)
				l.mu.Unlock()
				answer, err := x.agent.Ingest(ctx, request)
				if err != nil {
					return // the server is gone
				}
				l.mu.Lock()
				for _, id := range answer.TraceIDs {
					l.acknowledged[id] = true
				}
				if l.requests++; l.requests >= limit {
					reached()
				}
				l.mu.Unlock()
			}
		})
	}
	select {
	case <-enough:
	case <-ctx.Done():
		t.Error("the server acknowledges nothing")
	}
	x.kill()
	senders.Wait()
}

// makeRequest is a request of a few traces, some of many spans, so that it is cut
// into slices.
func makeRequest(sessions []string) (client.Spans, map[string]sentItem) {
	request := client.Spans{Product: "crash"}
	items := map[string]sentItem{}
	now := time.Now().UTC().Format(time.RFC3339Nano)
	for range 1 + rand.IntN(4) {
		id, item := uuid.NewString(), sentItem{session: sessions[rand.IntN(len(sessions))], spans: 1 + rand.IntN(200)}
		items[id] = item
		var spans []string
		for n := range item.spans {
			spans = append(spans,
				fmt.Sprintf(`{"id":%q,"kind":"generation","name":"g","startTime":%q,"attributes":{"model":"m%d","inputTokens":1,"costUsd":0.5}}`, uuid.NewString(), now, n%3))
		}
		request.Batches = append(request.Batches, json.RawMessage(fmt.Sprintf(
			`{"trace":{"id":%q,"sessionId":%q,"name":"t","startTime":%q,"status":"ok","durationMs":%d},"spans":[%s]}`,
			id, item.session, now, rand.IntN(1000), strings.Join(spans, ","))))
	}
	return request, items
}

// TestKillDuringIngest kills a real server in the middle of ingest, again and
// again. What was acknowledged is there with all its spans, the rest is whole or
// absent, and every total agrees with the rows.
func TestKillDuringIngest(t *testing.T) {
	t.Parallel()
	path := buildProgram(t)
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		killDuringIngest(t, newProgram(t, path, database.Options{}), 8)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		killDuringIngest(t, newProgram(t, path, dbtest.Postgres(t)), 2)
	})
}

func killDuringIngest(t *testing.T, p *program, rounds int) {
	l := &ledger{sent: map[string]sentItem{}, acknowledged: map[string]bool{}}
	sessions := []string{uuid.NewString(), uuid.NewString(), uuid.NewString()}
	for range rounds {
		l.load(t, p.run(), sessions, 1+rand.IntN(40))
	}
	t.Logf("%d requests acknowledged, %d of %d traces", l.requests, len(l.acknowledged), len(l.sent))
	server := start(t, p.options())
	settle(t, server.TelemetryDB)
	first := p.firstRun()
	there := l.check(t, server, first.OrganizationID)
	for _, id := range sessions {
		checkSession(t, server, first.OrganizationID, id, there[id])
	}
	differences, err := server.Telemetry.Verify(t.Context())
	if err != nil || len(differences) != 0 {
		t.Errorf("verify: %+v, %v", differences, err)
	}
	// What was cut off is completed by sending it again, to a server as any other.
	request, items := makeRequest(sessions)
	answer, err := server.public.WithKey(first.APIKey).Ingest(t.Context(), request)
	if err != nil || answer.Accepted != len(items) {
		t.Errorf("ingest afterwards: %+v, %v", answer, err)
	}
}

// settle waits until PostgreSQL has ended what it still did for a client that is
// gone.
func settle(t *testing.T, db *database.DB) {
	t.Helper()
	if db.Engine() != database.PostgreSQL {
		return
	}
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		var busy int
		err := db.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND backend_type = 'client backend' AND state <> 'idle' AND pid <> pg_backend_pid()`).Scan(&busy)
		if err != nil {
			t.Fatal(err)
		}
		if busy == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the database is still busy for a client that is gone")
		}
	}
}

// options open what the program left, in this process.
func (p *program) options() app.Options {
	settings := []string{}
	for _, variable := range p.environ {
		name, value, _ := strings.Cut(variable, "=")
		settings = append(settings, name, value)
	}
	return options(p.t, database.Options{}, settings...)
}

// check looks for every trace that was ever sent, and gives those that are there
// by session.
func (l *ledger) check(t *testing.T, server *running, orgID string) map[string][]string {
	t.Helper()
	there := map[string][]string{}
	for _, id := range slices.Sorted(maps.Keys(l.sent)) {
		item := l.sent[id]
		detail, err := server.Telemetry.Trace(t.Context(), orgID, id)
		switch {
		case err != nil:
			t.Fatalf("trace %s: %v", id, err)
		case detail == nil && l.acknowledged[id]:
			t.Errorf("trace %s was acknowledged and is not there", id)
		case detail == nil:
			continue
		case len(detail.Spans) != item.spans || detail.SpanCount != int64(item.spans) ||
			detail.Usage.Input != int64(item.spans):
			t.Errorf("trace %s has %d spans, counts %d, want %d", id, len(detail.Spans), detail.SpanCount, item.spans)
		}
		there[item.session] = append(there[item.session], id)
	}
	return there
}

// checkSession compares the totals of a session with its traces.
func checkSession(t *testing.T, server *running, orgID, id string, traces []string) {
	t.Helper()
	session, err := server.Telemetry.Session(t.Context(), orgID, id)
	if err != nil {
		t.Fatalf("session: %v", err)
	}
	if session == nil {
		if len(traces) > 0 {
			t.Errorf("session %s with %d traces is not there", id, len(traces))
		}
		return
	}
	var tokens, cost int64
	for _, trace := range session.Traces {
		tokens, cost = tokens+trace.Usage.Input, cost+trace.Usage.CostNanos
	}
	if len(session.Traces) != len(traces) || session.TraceCount != int64(len(traces)) ||
		session.Usage.Input != tokens || session.Usage.CostNanos != cost {
		t.Errorf("session %s: counts %d traces, %+v; has %d, %d tokens, %d nanos; want %d traces",
			id, session.TraceCount, session.Usage, len(session.Traces), tokens, cost, len(traces))
	}
}
