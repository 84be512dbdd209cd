package traces_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"writ/client"
	"writ/internal/testserver"
)

// exporter builds the agent that sends with OpenTelemetry's SDK, when it is absent.
func exporter(t *testing.T) string {
	t.Helper()
	build := exec.CommandContext(t.Context(), "../../../scripts/otlp-exporter")
	var complaint bytes.Buffer
	build.Stderr = &complaint
	path, err := build.Output()
	if err != nil {
		t.Fatalf("build the exporter: %v\n%s", err, complaint.String())
	}
	return strings.TrimSpace(string(path))
}

// export runs a process of the agent, configured as an agent is.
func (o *observed) export(t *testing.T, program, part string, seed uint64, start time.Time, settings ...string) {
	t.Helper()
	runExporter(t, program, part, seed, start, append([]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=" + o.Public.BaseURL, "OTEL_EXPORTER_OTLP_HEADERS=x-api-key=" + o.agent.APIKey,
	}, settings...))
}

// runExporter wants the exporter to succeed without a word.
func runExporter(t *testing.T, program, part string, seed uint64, start time.Time, settings []string) {
	t.Helper()
	run := exec.CommandContext(t.Context(), program, "-part", part, "-seed", fmt.Sprint(seed), "-start",
		fmt.Sprint(start.Unix()))
	run.Env = append(os.Environ(), settings...)
	if said, err := run.CombinedOutput(); err != nil || len(said) > 0 {
		t.Errorf("%s: %v: %s", part, err, said)
	}
}

// exportedTrace is the id of the trace that follows from a seed.
func exportedTrace(seed uint64) string {
	sum := sha256.Sum256(binary.BigEndian.AppendUint64([]byte("trace"), seed))
	return uuid.UUID(sum[:16]).String()
}

// TestOpenTelemetryExporter has the SDK's own exporter send a trace in several
// requests, from two processes, and all of it twice.
func TestOpenTelemetryExporter(t *testing.T) {
	t.Parallel()
	program := exporter(t)
	rules(t, func(s *testserver.Server, rule func(string, func(*testing.T, *observed))) {
		for name, order := range map[string][]string{
			"The process with the root begins":     {"agent", "tool", "agent", "tool"},
			"The process without the root begins":  {"tool", "agent", "tool", "tool"},
			"The root is not the first to be sent": {"agent", "agent", "tool", "agent"},
		} {
			rule(name, func(t *testing.T, o *observed) {
				start := o.Now().Add(-time.Minute).Truncate(time.Second)
				for i, part := range order {
					o.export(t, program, part, 7, start,
						"OTEL_EXPORTER_OTLP_COMPRESSION="+[]string{"none", "gzip"}[i%2])
				}
				o.wantExported(t, 7, start)
			})
		}
		rule("Two processes send at once", func(t *testing.T, o *observed) {
			start := o.Now().Add(-time.Minute).Truncate(time.Second)
			done := make(chan struct{})
			go func() {
				defer close(done)
				o.export(t, program, "tool", 8, start)
				o.export(t, program, "tool", 8, start)
			}()
			o.export(t, program, "agent", 8, start)
			o.export(t, program, "agent", 8, start)
			<-done
			o.wantExported(t, 8, start)
		})
	})
}

// wantExported wants what the exporter's two processes tell, once.
func (o *observed) wantExported(t *testing.T, seed uint64, start time.Time) {
	t.Helper()
	// Input of gpt-4o includes 400 tokens from a cache; that of claude is kept without its 900.
	const (
		inputTokens, outputTokens = 1000 + 100 + 50, 200 + 100
		openAI                    = (600*2.5 + 400*1.25 + 200*10) / 1e6
		anthropic                 = (100*3 + 600*0.3 + 300*3.75 + 100*15) / 1e6
		embedding                 = 50 * 2.5 / 1e6
		session                   = "d677b1ec-527b-52e1-8624-c2cd76395a12" // of chat-17
	)
	isCost := func(dollars float64) bool { return math.Abs(dollars-(openAI+anthropic+embedding)) < 1e-12 }
	got := o.read(exportedTrace(seed))
	if got.Name != "invoke_agent planner" || got.Status != "ok" || got.AgentID != "planner-1" ||
		got.Product != "planner" || len(got.Spans) != 5 ||
		!got.StartTime.Equal(start) || got.DurationMs == nil || *got.DurationMs != 10_000 || got.SessionID == nil ||
		*got.SessionID != session {
		t.Errorf("the trace is %+v", got)
	}
	listed, err := o.owner.Traces(t.Context(), o.org, client.TraceFilter{})
	if err != nil || len(listed.Items) != 1 {
		t.Fatalf("listed: %+v, %v", listed.Items, err)
	}
	if item := listed.Items[0]; item.TotalInputTokens != inputTokens || item.TotalOutputTokens != outputTokens ||
		!isCost(item.TotalCostUSD) || item.SpanCount != 5 || item.ErrorCount != 1 {
		t.Errorf("listed as %+v", item)
	}
	if sum := o.summary(1); sum.TotalTraces != 1 || sum.TotalSessions != 1 || !isCost(sum.TotalCostUSD) {
		t.Errorf("summary %+v", sum)
	}
	if x := o.session(session); x.TraceCount != 1 || x.TotalInputTokens != inputTokens || !isCost(x.TotalCostUSD) {
		t.Errorf("session %+v", x)
	}
	if items := o.tokens("tool"); len(items) != 1 || items[0].Key != "search" {
		t.Errorf("tools %+v", items)
	}
	if items := o.tokens("session"); len(items) != 1 || items[0].Key != session || !isCost(items[0].CostUSD) {
		t.Errorf("tokens by session %+v", items)
	}
}

// otlpSpan is a span that began a minute ago. Members are further ones.
func (o *observed) otlpSpan(traceID, spanID, members string) string {
	return fmt.Sprintf(`{"traceId":%q,"spanId":%q,"name":"work","startTimeUnixNano":"%d"%s}`, traceID, spanID,
		o.Now().Add(-time.Minute).UnixNano(), members)
}

// exportJSON sends spans as an exporter would.
func (o *observed) exportJSON(t *testing.T, body string, headers ...string) testserver.Answer {
	t.Helper()
	return o.Request(t, "POST", "/v1/traces", body, append(headers, testserver.Credentials(o.agent)...)...)
}

const (
	hexTrace  = "5b8efff798038103d269b633813fc60c"
	uuidTrace = "5b8efff7-9803-8103-d269-b633813fc60c"
	hexSpan   = "eee19b7ec3c1b174"
)

// TestOTLPRequests is what the server answers to exporters, in their encoding.
func TestOTLPRequests(t *testing.T) {
	t.Parallel()
	rules(t, func(s *testserver.Server, rule func(string, func(*testing.T, *observed))) {
		rule("All taken: an empty message", func(t *testing.T, o *observed) {
			for range 2 {
				if got := o.exportJSON(t,
					testserver.OTLPJSON(o.otlpSpan(hexTrace, hexSpan, ""))); got.Status != http.StatusOK ||
					string(got.Body) != "{}" {
					t.Errorf("%d %s", got.Status, got.Body)
				}
			}
			if got := o.exportJSON(t, "", "Content-Type", "application/x-protobuf"); got.Status != http.StatusOK ||
				len(got.Body) != 0 || got.Header.Get("Content-Type") != "application/x-protobuf" {
				t.Errorf("%d %q %v", got.Status, got.Body, got.Header)
			}
			if x := o.read(uuidTrace); len(x.Spans) != 1 || x.Product != "svc" || x.Source != "opentelemetry" {
				t.Errorf("stored is %+v", x)
			}
		})
		rule("Some refused: the others are stored, and the first reason is told", func(t *testing.T, o *observed) {
			got := o.exportJSON(t, testserver.OTLPJSON(o.otlpSpan(hexTrace, hexSpan, ""),
				o.otlpSpan(hexTrace, "0000000000000000", ""), o.otlpSpan("", hexSpan, "")))
			if want := `{"partialSuccess":{"rejectedSpans":"2","errorMessage":"spanId: must be 8 bytes, not all zero"}}`; got.Status != http.StatusOK || string(got.Body) != want {
				t.Errorf("%d %s, want %s", got.Status, got.Body, want)
			}
			if x := o.read(uuidTrace); len(x.Spans) != 1 {
				t.Errorf("stored is %+v", x)
			}
		})
		rule("A trace of POST /observability/spans stays closed", func(t *testing.T, o *observed) {
			o.store(batch(o.trace(m{"id": uuidTrace})))
			if got := o.exportJSON(t,
				testserver.OTLPJSON(o.otlpSpan(hexTrace, hexSpan, ""))); got.Status != http.StatusOK ||
				!strings.Contains(string(got.Body), `"rejectedSpans":"1"`) {
				t.Errorf("%d %s", got.Status, got.Body)
			}
			if x := o.read(uuidTrace); len(x.Spans) != 0 {
				t.Errorf("it grew: %+v", x)
			}
		})
		rule("A trace of OpenTelemetry is a duplicate at POST /observability/spans", func(t *testing.T, o *observed) {
			o.exportJSON(t, testserver.OTLPJSON(o.otlpSpan(hexTrace, hexSpan, "")))
			if got := o.send(batch(o.trace(m{"id": uuidTrace}), o.span("span", nil))); got.Duplicate != 1 {
				t.Errorf("%+v", got)
			}
			if x := o.read(uuidTrace); len(x.Spans) != 1 {
				t.Errorf("it took another's span: %+v", x)
			}
		})
		rule("The same trace id in two organizations is two traces", func(t *testing.T, o *observed) {
			other := observe(t, s, o.owner)
			o.exportJSON(t, testserver.OTLPJSON(o.otlpSpan(hexTrace, hexSpan, "")))
			other.exportJSON(t, testserver.OTLPJSON(o.otlpSpan(hexTrace, "eee19b7ec3c1b175", ""),
				o.otlpSpan(hexTrace, "eee19b7ec3c1b176", "")))
			if a, b := o.read(uuidTrace), other.read(uuidTrace); len(a.Spans) != 1 || len(b.Spans) != 2 {
				t.Errorf("%d and %d spans", len(a.Spans), len(b.Spans))
			}
		})
		rule("The product of the key wins over the service", func(t *testing.T, o *observed) {
			key, err := o.owner.CreateKey(t.Context(), client.NewKey{
				Name: "agent", OrganizationID: o.org, Product: "of-the-key",
			})
			if err != nil {
				t.Fatal(err)
			}
			o.agent = o.Public.WithKey(key.APIKey)
			o.exportJSON(t, testserver.OTLPJSON(o.otlpSpan(hexTrace, hexSpan, "")))
			if x := o.read(uuidTrace); x.Product != "of-the-key" {
				t.Errorf("product is %q", x.Product)
			}
		})
		rule("gzip", func(t *testing.T, o *observed) {
			body := gzipped(t, strings.NewReader(testserver.OTLPJSON(o.otlpSpan(hexTrace, hexSpan, ""))))
			if got := o.exportJSON(t, body, "Content-Encoding", "gzip"); got.Status != http.StatusOK {
				t.Errorf("%d %s", got.Status, got.Body)
			}
			o.read(uuidTrace)
		})
		rule("A clock far ahead does no harm", func(t *testing.T, o *observed) {
			body := testserver.OTLPJSON(fmt.Sprintf(`{"traceId":%q,"spanId":%q,"name":"later","startTimeUnixNano":"%d","endTimeUnixNano":"%d"}`, hexTrace, hexSpan, uint64(math.MaxInt64-1e9), uint64(math.MaxInt64)))
			if got := o.exportJSON(t, body); got.Status != http.StatusOK || string(got.Body) != "{}" {
				t.Errorf("%d %s", got.Status, got.Body)
			}
			if sum := o.summary(1); sum.TotalTraces != 1 {
				t.Errorf("summary %+v: it counts at its receipt", sum)
			}
		})
	})
}

// TestOTLPErrors are in the encoding of the request.
func TestOTLPErrors(t *testing.T) {
	t.Parallel()
	rules(t, func(s *testserver.Server, rule func(string, func(*testing.T, *observed))) {
		key := func(o *observed) []string { return testserver.Credentials(o.agent) }
		for name, c := range map[string]struct {
			body    string
			headers func(o *observed) []string
			status  int
			fields  []string
		}{
			"no key": {"{}", func(*observed) []string { return nil }, http.StatusUnauthorized, nil},
			"a person's token": {
				"{}", func(o *observed) []string { return testserver.Credentials(o.owner.Client) },
				http.StatusUnauthorized, nil,
			},
			"a body of nonsense": {"\xff\xff nonsense", key, http.StatusBadRequest, []string{"body"}},
			"a body too large":   {strings.Repeat(" ", 5000), key, http.StatusRequestEntityTooLarge, nil},
			"half a gzip": {
				"\x1f\x8b", func(o *observed) []string { return append(key(o), "Content-Encoding", "gzip") },
				http.StatusBadRequest, nil,
			},
		} {
			rule(name+", in JSON", func(t *testing.T, o *observed) {
				answer := o.Request(t, "POST", "/v1/traces", c.body,
					append([]string{"Content-Type", "application/json; charset=utf-8"}, c.headers(o)...)...)
				if fields := answer.ErrorFields(t, c.status); len(fields) != len(c.fields) ||
					len(fields) > 0 && fields[0] != c.fields[0] {
					t.Errorf("complains of %q", fields)
				}
			})
			rule(name+", in protobuf", func(t *testing.T, o *observed) {
				answer := o.Request(t, "POST", "/v1/traces", c.body,
					append([]string{"Content-Type", "application/x-protobuf"}, c.headers(o)...)...)
				message, isStatus := bytes.CutPrefix(answer.Body, []byte{2<<3 | 2}) // field 2 of google.rpc.Status
				if answer.Status != c.status || answer.Header.Get("Content-Type") != "application/x-protobuf" ||
					!isStatus || len(message) < 10 || int(message[0]) != len(message)-1 {
					t.Errorf("%d %v %q", answer.Status, answer.Header, answer.Body)
				}
			})
		}
		rule("Another Content-Type is refused, and says which are taken", func(t *testing.T, o *observed) {
			answer := o.exportJSON(t, "{}", "Content-Type", "text/plain")
			answer.ErrorFields(t, http.StatusBadRequest)
			var said struct{ Message string }
			if err := json.Unmarshal(answer.Body, &said); err != nil ||
				!strings.Contains(said.Message, "application/x-protobuf") {
				t.Errorf("says %q, %v", said.Message, err)
			}
		})
		rule("A key without the scope is refused", func(t *testing.T, o *observed) {
			issued, err := o.owner.CreateKey(t.Context(), client.NewKey{
				Name: "other", OrganizationID: o.org, Scopes: []string{"enforce"},
			})
			if err != nil {
				t.Fatal(err)
			}
			o.agent = o.Public.WithKey(issued.APIKey)
			o.exportJSON(t, testserver.OTLPJSON(o.otlpSpan(hexTrace, hexSpan, ""))).ErrorFields(t, http.StatusForbidden)
		})
	}, "WRIT_MAX_INGEST_BYTES", "4096")
}
