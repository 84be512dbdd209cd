package app_test

import (
	"compress/gzip"
	"context"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"writ/client"
	"writ/internal/database"
	"writ/internal/database/dbtest"
)

// counter is a receiver of OTLP that counts the spans of each trace. The first
// request gets no answer: its sender is gone before.
type counter struct {
	*httptest.Server
	t     *testing.T
	began chan struct{} // closed when the first request is here
	first sync.Once

	mu      sync.Mutex // guards the rest
	spans   map[string]map[string]bool
	changed chan struct{} // closed and made anew with each request
}

func newCounter(t *testing.T) *counter {
	c := &counter{t: t, began: make(chan struct{}), spans: map[string]map[string]bool{}, changed: make(chan struct{})}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

func (c *counter) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	unzipped, err := gzip.NewReader(r.Body)
	if err != nil {
		c.t.Errorf("a body that is not gzip: %v", err)
		return
	}
	body, err := io.ReadAll(unzipped)
	var message collector.ExportTraceServiceRequest
	if err != nil || proto.Unmarshal(body, &message) != nil {
		c.t.Errorf("a body that the official types do not read: %v", err)
		return
	}
	isFirst := false
	c.first.Do(func() { isFirst = true })
	if isFirst {
		close(c.began)
		<-r.Context().Done() // until whoever sent it is dead
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range message.ResourceSpans {
		for _, span := range resource.ScopeSpans[0].Spans {
			id := hex.EncodeToString(span.TraceId)
			if c.spans[id] == nil {
				c.spans[id] = map[string]bool{}
			}
			c.spans[id][hex.EncodeToString(span.SpanId)] = true
		}
	}
	close(c.changed)
	c.changed = make(chan struct{})
}

// has reports whether all spans of the traces are here, each trace with the span
// that stands for it; else what to wait for.
func (c *counter) has(sent map[string]sentItem) (bool, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, item := range sent {
		if len(c.spans[strings.ReplaceAll(id, "-", "")]) != item.spans+1 {
			return false, c.changed
		}
	}
	return true, nil
}

// TestKillDuringForwarding kills a real server while a collector has a request of it
// and has not answered. The next one sends all of what was acknowledged to clients.
func TestKillDuringForwarding(t *testing.T) {
	t.Parallel()
	path := buildProgram(t)
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		p := newProgram(t, path, database.Options{})
		killDuringForwarding(t, p, database.Options{SQLitePath: filepath.Join(p.dataDir, "writ.db")})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		db := dbtest.Postgres(t)
		killDuringForwarding(t, newProgram(t, path, db), db)
	})
}

func killDuringForwarding(t *testing.T, p *program, db database.Options) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	collector := newCounter(t)
	p.environ = append(p.environ, "WRIT_OUTBOUND_ALLOW=127.0.0.1")
	x := p.run()
	first := p.firstRun()
	owner, err := x.agent.As("").Login(ctx, first.Email, first.Password)
	if err != nil {
		t.Fatal(err)
	}
	_, err = x.agent.As(owner.AccessToken).SetForwarding(ctx, first.OrganizationID, client.NewForwarding{
		Endpoint: collector.URL,
	})
	if err != nil {
		t.Fatal(err)
	}
	sent := map[string]sentItem{}
	for range 5 {
		request, items := makeRequest([]string{uuid.NewString()})
		if answer, err := x.agent.Ingest(ctx, request); err != nil || answer.Accepted != len(items) {
			t.Fatalf("ingest: %+v, %v", answer, err)
		}
		for id, item := range items {
			sent[id] = item
		}
	}
	select {
	case <-collector.began:
	case <-ctx.Done():
		t.Fatal("nothing is forwarded")
	}
	x.kill()
	endLeases(t, db)
	p.run()
	for {
		all, more := collector.has(sent)
		if all {
			return
		}
		select {
		case <-more:
		case <-ctx.Done():
			t.Fatal("not all of what was stored was sent")
		}
	}
}

// endLeases does what a minute would: it ends the lease of the process that died.
func endLeases(t *testing.T, o database.Options) {
	t.Helper()
	db, err := database.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Write(t.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE forwarding SET lease_until = 0`)
		return err
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}
