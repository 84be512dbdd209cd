package forwarding_test

import (
	"compress/gzip"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	trace "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"writ/internal/database"
	"writ/internal/decision"
	"writ/internal/forwarding"
	"writ/internal/outbound"
	"writ/internal/principal"
	"writ/internal/secret"
	"writ/internal/telemetry"
	"writ/internal/testenv"
	"writ/internal/verdict"
)

// env is an organization with an administrator, telemetry, a log and a receiver.
type env struct {
	*testenv.Env
	telemetry *telemetry.Service
	out       *forwarding.Service
	receiver  *receiver
	org       string
	admin     principal.Principal
	made      *atomic.Int64 // traces and decisions, to name them
}

var noon = time.Date(2030, 5, 15, 12, 30, 0, 0, time.UTC)

func each(t *testing.T, body func(t *testing.T, e *env)) {
	t.Helper()
	testenv.Each(t, func(t *testing.T, base *testenv.Env) {
		base.Set(noon)
		e := &env{Env: base, made: new(atomic.Int64), receiver: newReceiver(t)}
		var err error
		e.telemetry, err = telemetry.New(t.Context(), telemetry.Config{
			Database:    e.OpenEmpty(database.Telemetry),
			Prices:      telemetry.BuiltInPrices(),
			Logger:      slog.New(slog.DiscardHandler),
			SessionIdle: time.Hour,
			Retention:   30 * 24 * time.Hour,
		})
		if err != nil {
			t.Fatal(err)
		}
		e.out = e.replica()
		body(t, e.elsewhere())
	})
}

// replica is another process on the same data. It may call the receiver, which is
// on this machine, as an operator would permit it.
func (e *env) replica() *forwarding.Service { return e.replicaFor("127.0.0.1") }

func (e *env) replicaFor(permits ...string) *forwarding.Service {
	e.T.Helper()
	var list []outbound.Permit
	for _, text := range permits {
		permit, err := outbound.ParsePermit(text)
		if err != nil {
			e.T.Fatal(err)
		}
		list = append(list, permit)
	}
	client := outbound.New(outbound.Options{Permits: list, Timeout: 5 * time.Second})
	e.T.Cleanup(client.Close)
	return e.replicaBy(client)
}

func (e *env) replicaBy(poster forwarding.Poster) *forwarding.Service {
	e.T.Helper()
	return forwarding.New(forwarding.Options{
		Database:  e.DB,
		Log:       e.Log,
		Telemetry: e.telemetry,
		Sealer:    testenv.Sealer(e.T, 7),
		Poster:    poster,
		Version:   "test",
	})
}

// elsewhere is the same env in an organization of its own.
func (e *env) elsewhere() *env {
	e.T.Helper()
	other := *e
	other.org = e.Organization("Acme")
	other.admin = testenv.Person(database.NewID(), other.org, principal.Admin)
	return &other
}

func (e *env) write(do func(ctx context.Context, tx *database.Tx) error) {
	e.T.Helper()
	e.Write(e.org, do)
}

// settings are those of a forwarding of everything to the receiver.
func (e *env) settings() forwarding.Settings {
	return forwarding.Settings{
		Endpoint:  e.receiver.URL + "/v1/traces",
		Headers:   map[string]secret.Text{"X-Api-Key": secret.NewText("k3y-of-the-collector")},
		Traces:    true,
		Decisions: true,
		Content:   forwarding.Redacted,
		MaxAge:    forwarding.DefaultAge,
		Enabled:   true,
	}
}

func (e *env) put(n forwarding.Settings) forwarding.Forwarding {
	e.T.Helper()
	f, err := e.out.Put(e.T.Context(), e.admin, n)
	if err != nil {
		e.T.Fatalf("set: %v", err)
	}
	return f
}

// ingest stores a trace with spans, and gives its name.
func (e *env) ingest(spans int) string {
	e.T.Helper()
	name := fmt.Sprintf("trace-%d", e.made.Add(1))
	var list []string
	for i := range spans {
		list = append(list, e.span(fmt.Sprintf("%s.%d", name, i), `{"toolName":"search","note":"n"}`))
	}
	e.send(e.trace(name, list...))
	return name
}

func (e *env) trace(name string, spans ...string) string {
	return fmt.Sprintf(`{"trace":{"id":%q,"name":%q,"startTime":%q,"endTime":%q,"status":"ok","agentId":"bot","attributes":{"source":"shop","password":"hunter2-of-the-trace"}},"spans":[%s]}`,
		database.NewID(), name, stamp(e.Now().Add(-time.Second)), stamp(e.Now()), strings.Join(spans, ","))
}

func (e *env) span(name, attributes string) string {
	return fmt.Sprintf(`{"id":%q,"kind":"tool","name":%q,"startTime":%q,"endTime":%q,"status":"ok","attributes":%s}`,
		database.NewID(), name, stamp(e.Now().Add(-time.Second)), stamp(e.Now()), attributes)
}

func stamp(t time.Time) string { return t.Format(time.RFC3339Nano) }

func (e *env) send(batch string) {
	e.T.Helper()
	request, err := telemetry.ParseRequest([]byte(`{"product":"shop-bot","batches":[` + batch + `]}`))
	if err != nil {
		e.T.Fatal(err)
	}
	result, err := e.telemetry.Ingest(e.T.Context(), e.org, request.Product, request)
	if err != nil || result.Accepted != 1 {
		e.T.Fatalf("ingest: %+v, %v", result, err)
	}
}

// decide records decisions as enforcement does, and gives the tools they are about.
func (e *env) decide(times int, change ...func(*decision.Record)) (tools []string) {
	e.T.Helper()
	log := e.Log
	e.write(func(ctx context.Context, tx *database.Tx) error {
		tools = nil
		for range times {
			d := decision.Record{
				ID:        database.NewID(),
				OrgID:     e.org,
				AgentID:   "bot",
				SessionID: "s-1",
				Server:    "bank",
				Tool:      fmt.Sprintf("pay-%d", e.made.Add(1)),
				Ruling: verdict.Ruling{
					Verdict:       verdict.Allow,
					PolicyID:      "payments",
					PolicyVersion: 2,
					Rule:          "small",
					PolicyName:    "Payments",
					Reason:        "small enough",
				},
				Details: decision.Details{
					Duration:  1500 * time.Microsecond,
					Arguments: []byte(`{"amount":5}`),
					Email:     "ann@example.org",
				},
			}
			for _, f := range change {
				f(&d)
			}
			tools = append(tools, d.Tool)
			if _, err := decision.Append(ctx, tx, log, principal.Operator(), &d); err != nil {
				return err
			}
		}
		return nil
	})
	return tools
}

// rest lets what was received settle, and sends.
func (e *env) rest() {
	e.T.Helper()
	e.Pass(10 * time.Second)
	if err := e.out.Send(e.T.Context()); err != nil {
		e.T.Fatalf("send: %v", err)
	}
}

func (e *env) status() forwarding.Status {
	e.T.Helper()
	status, err := e.out.Status(e.T.Context(), e.admin)
	if err != nil {
		e.T.Fatal(err)
	}
	return status
}

// receiver is a receiver of OTLP over HTTP that reads with the official types, and
// that a test can break. It takes everything unless told otherwise.
type receiver struct {
	*httptest.Server
	t *testing.T

	mu       sync.Mutex // guards the rest
	spans    []*trace.Span
	services []string // of the spans
	about    []string // all resources that came
	sizes    []int    // spans of each request that was tried
	header   http.Header
	answer   func(w http.ResponseWriter, spans []*trace.Span) bool // false: nothing was taken
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{t: t}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.header = request.Header.Clone()
	spans, services := r.read(request)
	r.sizes = append(r.sizes, len(spans))
	if r.answer != nil && !r.answer(w, spans) {
		return
	}
	r.spans, r.services = append(r.spans, spans...), append(r.services, services...)
}

// read decodes a request as the specification has it.
func (r *receiver) read(request *http.Request) (spans []*trace.Span, services []string) {
	if got := request.Header.Get("Content-Type"); request.Method != http.MethodPost ||
		got != "application/x-protobuf" || request.Header.Get("Content-Encoding") != "gzip" {
		r.t.Errorf("a %s of %q, encoded %q", request.Method, got, request.Header.Get("Content-Encoding"))
	}
	zipped, err := gzip.NewReader(request.Body)
	if err != nil {
		r.t.Errorf("a body that is not gzip: %v", err)
		return nil, nil
	}
	body, err := io.ReadAll(zipped)
	if err != nil {
		r.t.Errorf("read the body: %v", err)
	}
	var message collector.ExportTraceServiceRequest
	if err := proto.Unmarshal(body, &message); err != nil {
		r.t.Errorf("a body that the official types do not read: %v", err)
	}
	for _, resource := range message.ResourceSpans {
		r.about = append(r.about, prototext.Format(resource.Resource))
		service := ""
		for _, a := range resource.Resource.Attributes {
			if a.Key == "service.name" {
				service = a.Value.GetStringValue()
			}
		}
		for _, scope := range resource.ScopeSpans {
			for _, s := range scope.Spans {
				if len(s.TraceId) != 16 || len(s.SpanId) != 8 || s.EndTimeUnixNano < s.StartTimeUnixNano {
					r.t.Errorf("a span that receivers refuse: %v", s)
				}
				spans, services = append(spans, s), append(services, service)
			}
		}
	}
	return spans, services
}

// become has the receiver answer with a status from now on; 0: as it should.
func (r *receiver) become(status int, header ...string) {
	r.behave(func(w http.ResponseWriter, _ []*trace.Span) bool {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		return status < 300
	})
	if status == 0 {
		r.behave(nil)
	}
}

func (r *receiver) behave(answer func(w http.ResponseWriter, spans []*trace.Span) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

// names are those of the spans that were taken, in order.
func (r *receiver) names() (names []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.spans {
		names = append(names, s.Name)
	}
	return names
}

func (r *receiver) tries() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.sizes)
}

func (r *receiver) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.spans, r.services, r.about, r.sizes = nil, nil, nil, nil
}

// taken is the one span of a name that was taken, and its service.
func (r *receiver) taken(name string) (*trace.Span, string) {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	var found *trace.Span
	service := ""
	for i, s := range r.spans {
		if s.Name == name && found != nil {
			r.t.Errorf("%s came more than once", name)
		}
		if s.Name == name {
			found, service = s, r.services[i]
		}
	}
	if found == nil {
		r.t.Fatalf("%s did not come", name)
	}
	return found, service
}

// attribute is the value of one of a span, or nil.
func attribute(s *trace.Span, name string) any {
	for _, a := range s.Attributes {
		if a.Key != name {
			continue
		}
		switch v := a.Value.Value.(type) {
		case *common.AnyValue_StringValue:
			return v.StringValue
		case *common.AnyValue_IntValue:
			return v.IntValue
		case *common.AnyValue_BoolValue:
			return v.BoolValue
		case *common.AnyValue_DoubleValue:
			return v.DoubleValue
		}
	}
	return nil
}

func hexOf(id []byte) string { return hex.EncodeToString(id) }
