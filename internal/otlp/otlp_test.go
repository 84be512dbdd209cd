package otlp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"writ/internal/fault"
	"writ/internal/otlp"
	"writ/internal/telemetry/decode"
)

func drawValue(t *rapid.T, depth int) any {
	switch kind := rapid.IntRange(0, 7).Draw(t, "kind"); {
	case kind == 0:
		return rapid.String().Draw(t, "text")
	case kind == 1:
		return rapid.Bool().Draw(t, "bool")
	case kind == 2:
		return rapid.Int64().Draw(t, "whole")
	case kind == 3:
		return rapid.SampledFrom([]float64{0, -1.5, 1e300, 1e-7, math.NaN()}).Draw(t, "float")
	case kind == 4:
		return rapid.SliceOfN(rapid.Byte(), 0, 5).Draw(t, "bytes")
	case kind == 5 && depth > 0:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "elements") {
			list = append(list, drawValue(t, depth-1))
		}
		return list
	case kind == 6 && depth > 0:
		return drawPairs(t, depth-1)
	}
	return nil
}

func drawPairs(t *rapid.T, depth int) (list pairs) {
	keys := []string{
		"gen_ai.request.model", "gen_ai.usage.input_tokens", "session.id", "model", "x", "", "otel.scope.name",
		"gen_ai.tool.name", "gen_ai.operation.name",
	}
	for range rapid.IntRange(0, 4).Draw(t, "pairs") {
		list = append(list, pair{rapid.SampledFrom(keys).Draw(t, "key"), drawValue(t, depth)})
	}
	return list
}

// TestBothEncodingsSayTheSame writes random requests in both encodings.
func TestBothEncodingsSayTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var r request
		for range rapid.IntRange(0, 2).Draw(t, "processes") {
			p := process{attributes: drawPairs(t, 2), scope: drawPairs(t, 1)}
			for range rapid.IntRange(0, 4).Draw(t, "spans") {
				p.spans = append(p.spans, wireSpan{
					trace: rapid.SampledFrom([]string{traceA, traceB, "00", strings.Repeat("00", 16)}).Draw(t,
						"trace"),
					id:      rapid.SampledFrom([]string{spanA, spanB, strings.Repeat("00", 8), "aa"}).Draw(t, "id"),
					parent:  rapid.SampledFrom([]string{"", "", spanA, "ab"}).Draw(t, "parent"),
					name:    rapid.String().Draw(t, "name"),
					kind:    rapid.IntRange(0, 7).Draw(t, "kind"),
					start:   rapid.SampledFrom([]uint64{0, begin, begin + 5, math.MaxUint64}).Draw(t, "start"),
					end:     rapid.SampledFrom([]uint64{0, begin - 1, begin + 1e9, math.MaxUint64}).Draw(t, "end"),
					status:  rapid.IntRange(0, 3).Draw(t, "status"),
					message: rapid.SampledFrom([]string{"", "failed"}).Draw(t, "message"), attributes: drawPairs(t, 3),
					events: []wireEvent{{name: "e", at: begin, attributes: drawPairs(t, 1)}},
					links:  []wireSpan{{trace: traceB, id: spanB, attributes: drawPairs(t, 1)}},
				})
			}
			r = append(r, p)
		}
		binary, err := otlp.Read(t.Context(), r.protobuf(), otlp.Protobuf, options())
		if err != nil {
			t.Fatalf("protobuf: %v", err)
		}
		text, err := otlp.Read(t.Context(), r.json(), otlp.JSON, options())
		if err != nil {
			t.Fatalf("JSON: %v\n%s", err, r.json())
		}
		if diff := cmp.Diff(binary, text); diff != "" {
			t.Fatalf("(-protobuf +JSON):\n%s", diff)
		}
		check(t, binary)
	})
}

// TestConventions is what attributes mean, in the words of each convention.
func TestConventions(t *testing.T) {
	t.Parallel()
	const sonnet = "claude-sonnet-4-5"
	for name, c := range map[string]struct {
		attributes pairs
		kind       string
		facts      decode.Facts
	}{
		"current names": {
			pairs{
				{"gen_ai.operation.name", "chat"}, {"gen_ai.provider.name", "openai"},
				{"gen_ai.request.model", "gpt-4o"}, {"gen_ai.usage.input_tokens", int64(100)},
				{"gen_ai.usage.output_tokens", int64(20)},
			},
			"generation",
			decode.Facts{Model: "gpt-4o", Usage: decode.Usage{Input: 100, Output: 20, CostNanos: 100*2500 + 20*10000}},
		},
		"older names": {
			pairs{
				{"gen_ai.system", "openai"}, {"gen_ai.request.model", "gpt-4o"},
				{"gen_ai.usage.prompt_tokens", int64(100)}, {"gen_ai.usage.completion_tokens", int64(20)},
			},
			"generation",
			decode.Facts{Model: "gpt-4o", Usage: decode.Usage{Input: 100, Output: 20, CostNanos: 100*2500 + 20*10000}},
		},
		"the current name wins, in any order": {
			pairs{
				{"gen_ai.usage.prompt_tokens", int64(7)}, {"gen_ai.usage.input_tokens", int64(100)},
				{"llm.usage.prompt_tokens", int64(8)}, {"gen_ai.request.model", "x"},
			},
			"generation", decode.Facts{Model: "x", Usage: decode.Usage{Input: 100}},
		},
		"the model that answered wins": {
			pairs{
				{"gen_ai.operation.name", "chat"}, {"gen_ai.request.model", "my-deployment"},
				{"gen_ai.response.model", "gpt-4o-2024-08-06"}, {"gen_ai.usage.output_tokens", int64(1)},
			},
			"generation", decode.Facts{Model: "gpt-4o-2024-08-06", Usage: decode.Usage{Output: 1, CostNanos: 10000}},
		},
		"OpenInference": {
			pairs{
				{"openinference.span.kind", "LLM"}, {"llm.model_name", "gpt-4o"},
				{"llm.token_count.prompt", int64(10)}, {"llm.token_count.completion", int64(2)},
				{"llm.token_count.prompt_details.cache_read", int64(4)},
			},
			"generation",
			decode.Facts{
				Model: "gpt-4o",
				Usage: decode.Usage{Input: 10, Output: 2, CacheRead: 4, CostNanos: 6*2500 + 4*1250 + 2*10000},
			},
		},
		"input of Anthropic is kept without what was cached": {
			pairs{
				{"gen_ai.operation.name", "chat"}, {"gen_ai.request.model", sonnet},
				{"gen_ai.usage.input_tokens", int64(1000)}, {"gen_ai.usage.cache_read.input_tokens", int64(600)},
				{"gen_ai.usage.cache_creation.input_tokens", int64(300)},
			},
			"generation",
			decode.Facts{
				Model: sonnet,
				Usage: decode.Usage{
					Input: 100, CacheRead: 600, CacheWrite: 300, CostNanos: 100*3000 + 600*300 + 300*3750,
				},
			},
		},
		"input that cannot include what was cached is left alone": {
			pairs{
				{"gen_ai.operation.name", "chat"}, {"gen_ai.request.model", sonnet},
				{"gen_ai.usage.input_tokens", int64(10)}, {"gen_ai.usage.cache_read_input_tokens", int64(600)},
			},
			"generation",
			decode.Facts{Model: sonnet, Usage: decode.Usage{Input: 10, CacheRead: 600, CostNanos: 10*3000 + 600*300}},
		},
		"a cost that is sent is kept": {
			pairs{
				{"gen_ai.operation.name", "chat"}, {"gen_ai.request.model", "gpt-4o"},
				{"gen_ai.usage.input_tokens", int64(100)}, {"gen_ai.usage.cost", 0.25},
			},
			"generation", decode.Facts{Model: "gpt-4o", Usage: decode.Usage{Input: 100, CostNanos: 250_000_000}},
		},
		"a cost of 0 beside tokens of a priced model is not known": {
			pairs{
				{"gen_ai.operation.name", "chat"}, {"gen_ai.request.model", "gpt-4o"},
				{"gen_ai.usage.input_tokens", int64(100)}, {"gen_ai.usage.cost", 0.0},
			},
			"generation", decode.Facts{Model: "gpt-4o", Usage: decode.Usage{Input: 100, CostNanos: 100 * 2500}},
		},
		"embeddings have tokens too": {
			pairs{
				{"gen_ai.operation.name", "embeddings"}, {"gen_ai.request.model", "e"},
				{"gen_ai.usage.input_tokens", int64(5)},
			},
			"generation", decode.Facts{Model: "e", Usage: decode.Usage{Input: 5}},
		},
		"an agent's sums are not counted again": {
			pairs{
				{"gen_ai.operation.name", "invoke_agent"}, {"gen_ai.request.model", "gpt-4o"},
				{"gen_ai.usage.input_tokens", int64(100)},
			}, "agent", decode.Facts{},
		},
		"a tool": {
			pairs{{"gen_ai.operation.name", "execute_tool"}, {"gen_ai.tool.name", "search"}}, "tool",
			decode.Facts{Tool: "search"},
		},
		"a tool of OpenLLMetry": {
			pairs{{"traceloop.span.kind", "tool"}, {"traceloop.entity.name", "search"}}, "tool",
			decode.Facts{Tool: "search"},
		},
		"anything else": {pairs{{"http.request.method", "GET"}}, "span", decode.Facts{}},
		"tokens that are none": {
			pairs{
				{"gen_ai.operation.name", "chat"}, {"gen_ai.usage.input_tokens", int64(-5)},
				{"gen_ai.usage.output_tokens", "many"}, {"gen_ai.usage.cache_read.input_tokens", 1e300},
				{"gen_ai.usage.cost", math.NaN()},
			},
			"generation", decode.Facts{},
		},
		"numbers in other types": {
			pairs{
				{"gen_ai.operation.name", "chat"}, {"gen_ai.usage.input_tokens", 12.0},
				{"gen_ai.usage.output_tokens", "34"},
			}, "generation", decode.Facts{Usage: decode.Usage{Input: 12, Output: 34}},
		},
		"a long model, with characters no database takes": {
			pairs{{"gen_ai.operation.name", "chat"}, {"gen_ai.request.model", "a\x00b" + strings.Repeat("m", 1000)}},
			"generation", decode.Facts{Model: "a\uFFFDb" + strings.Repeat("m", decode.MaxText-3)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := one(t, c.attributes)
			if got := f.Spans[0]; got.Kind != c.kind || got.Facts != c.facts {
				t.Errorf("kind %s, %+v; want %s, %+v", got.Kind, got.Facts, c.kind, c.facts)
			}
		})
	}
}

// TestIdentities is how ids of OpenTelemetry become ours, always in the same way.
func TestIdentities(t *testing.T) {
	t.Parallel()
	f := one(t, pairs{
		{"session.id", "chat-17"}, {"gen_ai.agent.name", "Tutor"}, {"gen_ai.agent.id", "asst_1"},
		{"user.id", "0190A0A0-0000-7000-8000-00000000000A"},
	})
	want := []string{
		"5b8efff7-9803-8103-d269-b633813fc60c", "2621f993-1ca9-537a-8f90-925068b3bc5a",
		"d677b1ec-527b-52e1-8624-c2cd76395a12", "asst_1", "0190a0a0-0000-7000-8000-00000000000a",
	}
	got := []string{f.Trace.ID, f.Spans[0].ID, f.Trace.SessionID, f.Trace.AgentID, f.Trace.UserID}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if number, text := one(t, pairs{{"session.id", int64(17)}}),
		one(t, pairs{
			{"session.id", "17"},
		}); number.Trace.SessionID == "" || number.Trace.SessionID != text.Trace.SessionID {
		t.Errorf("sessions %q and %q", number.Trace.SessionID, text.Trace.SessionID)
	}
	same := one(t, pairs{{"gen_ai.conversation.id", "0190A0A0-0000-7000-8000-00000000000B"}, {"user.id", "fred"}})
	if same.Trace.SessionID != "0190a0a0-0000-7000-8000-00000000000b" || same.Trace.UserID != "" {
		t.Errorf("session %q and user %q", same.Trace.SessionID, same.Trace.UserID)
	}
}

// TestARootSpeaksForItsTrace compares a request with its root and one without.
func TestARootSpeaksForItsTrace(t *testing.T) {
	t.Parallel()
	child := span(func(s *wireSpan) {
		s.id, s.parent, s.name, s.start, s.end, s.status = spanB, spanA, "child", begin+5e9, begin+9e9, 2
	})
	root := span(func(s *wireSpan) {
		s.name, s.end, s.attributes = "root", begin+7e9, pairs{{"session.id", "s"}, {"input.value", "hello"}}
	})
	service := pairs{{"service.name", "planner"}}
	both := read(t, request{{attributes: service, spans: []wireSpan{child, root}}}).Fragments[0]
	if x := both.Trace; !both.Rooted || x.Name != "root" || x.Status != "ok" || *x.DurationMs != 7000 ||
		*x.Input != "hello" || both.Product != "planner" {
		t.Errorf("with its root: %+v", both)
	}
	if both.Spans[0].ParentID != both.Spans[1].ID || both.Spans[1].ParentID != "" || both.Spans[0].SessionID != "" {
		t.Errorf("spans %+v", both.Spans)
	}
	alone := read(t, request{{attributes: service, spans: []wireSpan{child}}}).Fragments[0]
	if x := alone.Trace; alone.Rooted || x.Name != "child" || x.Status != "error" || x.DurationMs != nil ||
		x.Start != int64(begin+5e9)/1000 || x.SessionID != "" {
		t.Errorf("without its root: %+v", alone)
	}
	if !strings.Contains(alone.Trace.Attributes, `"service.name":"planner"`) {
		t.Errorf("attributes of the process are lost: %s", alone.Trace.Attributes)
	}
}

// TestEveryAttributeIsKept looks at the attributes as they will be stored.
func TestEveryAttributeIsKept(t *testing.T) {
	t.Parallel()
	s := span(func(s *wireSpan) {
		s.kind, s.message, s.status = 3, "no luck", 2
		s.attributes = pairs{
			{"gen_ai.operation.name", "chat"}, {"gen_ai.request.model", "m"}, {"model", "theirs"}, {"a", int64(1)},
			{"a", int64(2)}, {"nan", math.NaN()}, {"data", []byte{1, 2}},
			{"list", []any{"x", nil, true, []any{1.5}}}, {"map", pairs{{"k", "v"}, {"k", "w"}}}, {"quote\"", "\x01"},
		}
		s.events = []wireEvent{{name: "exception", at: begin, attributes: pairs{{"exception.type", "E"}}}}
		s.links = []wireSpan{{trace: traceB, id: spanB}}
	})
	got := read(t, request{{scope: pairs{{"v", "w"}}, spans: []wireSpan{s}}}).Fragments[0].Spans[0].Attributes
	const want = `{"gen_ai.operation.name":"chat","gen_ai.request.model":"m","model":"theirs","a":1,"nan":"NaN","data":"AQI=",` +
		`"list":["x",null,true,[1.5]],"map":{"k":"v"},"quote\"":"\u0001",` +
		`"inputTokens":0,"outputTokens":0,"cacheReadTokens":0,"cacheWriteTokens":0,"costUsd":0,"otel.span_id":"eee19b7ec3c1b174","otel.span_kind":"client",` +
		`"otel.status_description":"no luck","otel.events":[{"name":"exception","time":"2027-01-15T08:00:00Z","attributes":{"exception.type":"E"}}],` +
		`"otel.links":[{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"eee19b7ec3c1b173"}],` +
		`"otel.scope.name":"lib","otel.scope.version":"1.2","otel.scope.attributes":{"v":"w"}}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSpansThatAreRefused sends a bad span between two good ones, in both encodings.
func TestSpansThatAreRefused(t *testing.T) {
	t.Parallel()
	deep := any("x")
	for range 60 {
		deep = []any{deep}
	}
	deepMap := any("x")
	for range 60 {
		deepMap = pairs{{"k", deepMap}}
	}
	var many pairs
	for i := range 1001 {
		many = append(many, pair{fmt.Sprint(i), true})
	}
	for name, c := range map[string]struct {
		bad    func(*wireSpan)
		reason string
	}{
		"no trace id":         {func(s *wireSpan) { s.trace = "" }, "traceId"},
		"a zero trace id":     {func(s *wireSpan) { s.trace = strings.Repeat("0", 32) }, "traceId"},
		"a short trace id":    {func(s *wireSpan) { s.trace = "aabb" }, "traceId"},
		"a long trace id":     {func(s *wireSpan) { s.trace += "00" }, "traceId"},
		"a zero span id":      {func(s *wireSpan) { s.id = strings.Repeat("0", 16) }, "spanId"},
		"a span id of a UUID": {func(s *wireSpan) { s.id = traceA }, "spanId"},
		"an odd parent":       {func(s *wireSpan) { s.parent = "aa" }, "parentSpanId"},
		"no start":            {func(s *wireSpan) { s.start = 0 }, "startTimeUnixNano"},
		"a start in 2554":     {func(s *wireSpan) { s.start = math.MaxUint64 }, "startTimeUnixNano"},
		"deep arrays":         {func(s *wireSpan) { s.attributes = pairs{{"k", deep}} }, "too deep"},
		"deep maps":           {func(s *wireSpan) { s.attributes = pairs{{"k", deepMap}} }, "too deep"},
		"a deep event": {
			func(s *wireSpan) { s.events = []wireEvent{{attributes: pairs{{"k", deep}}}} }, "too deep",
		},
		"many attributes": {func(s *wireSpan) { s.attributes = many }, "too many"},
		"a large map":     {func(s *wireSpan) { s.attributes = pairs{{"k", many}} }, "too many"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := request{{spans: []wireSpan{span(), span(c.bad), span(func(s *wireSpan) { s.id = spanB })}}}
			for encoding, body := range map[otlp.Encoding][]byte{otlp.Protobuf: r.protobuf(), otlp.JSON: r.json()} {
				got, err := otlp.Read(t.Context(), body, encoding, options())
				if err != nil || got.Refused != 1 || !strings.Contains(got.Reason, c.reason) ||
					len(got.Fragments) != 1 || len(got.Fragments[0].Spans) != 2 {
					t.Errorf("%s: %+v, %v", encoding.ContentType(), got, err)
				}
			}
		})
	}
}

// TestAHostileProcessHarmsItsOwnSpans sends a resource and a scope that are too much.
func TestAHostileProcessHarmsItsOwnSpans(t *testing.T) {
	t.Parallel()
	large := pairs{{"k", strings.Repeat("x", 20<<10)}}
	other := span(func(s *wireSpan) { s.trace = traceB })
	for _, bad := range []process{
		{attributes: large, spans: []wireSpan{span()}}, {scope: large, spans: []wireSpan{span()}},
	} {
		r := request{bad, {spans: []wireSpan{other}}}
		for encoding, body := range map[otlp.Encoding][]byte{otlp.Protobuf: r.protobuf(), otlp.JSON: r.json()} {
			got, err := otlp.Read(t.Context(), body, encoding, options())
			if err != nil || got.Refused != 1 || len(got.Fragments) != 1 || !strings.Contains(got.Reason, "16384") {
				t.Errorf("%s: %+v, %v", encoding.ContentType(), got, err)
			}
		}
	}
}

// TestNobodyWaits stops at the next span.
func TestNobodyWaits(t *testing.T) {
	t.Parallel()
	gone, leave := context.WithCancel(t.Context())
	leave()
	r := request{{spans: []wireSpan{span()}}}
	for encoding, body := range map[otlp.Encoding][]byte{otlp.Protobuf: r.protobuf(), otlp.JSON: r.json()} {
		if got, err := otlp.Read(gone, body, encoding, options()); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %+v, %v; want the end of the request", encoding.ContentType(), got, err)
		}
	}
}

// TestBodiesThatAreRefused are not OTLP, or more than a request may hold.
func TestBodiesThatAreRefused(t *testing.T) {
	t.Parallel()
	var many []wireSpan
	for i := range 200 {
		many = append(many,
			span(func(s *wireSpan) { s.trace, s.id = fmt.Sprintf("%032x", i+1), fmt.Sprintf("%016x", i+1) }))
	}
	shared := request{{attributes: pairs{{"k", strings.Repeat("x", 10<<10)}}, spans: many}}
	controls := request{
		{spans: []wireSpan{span(func(s *wireSpan) { s.attributes = pairs{{"k", strings.Repeat("\x01", 200<<10)}} })}},
	}
	var tiny message
	for range otlp.MaxSpans + 1 {
		tiny = tiny.bytes(2, nil)
	}
	for name, c := range map[string]struct {
		encoding otlp.Encoding
		body     []byte
		kind     fault.Kind
	}{
		"text as protobuf": {otlp.Protobuf, []byte("resourceSpans"), fault.Invalid},
		"a cut message": {
			otlp.Protobuf, request{{spans: []wireSpan{span()}}}.protobuf()[:40], fault.Invalid,
		},
		"a length beyond the end": {
			otlp.Protobuf, []byte{0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f}, fault.Invalid,
		},
		"no JSON":       {otlp.JSON, []byte("{"), fault.Invalid},
		"nothing":       {otlp.JSON, nil, fault.Invalid},
		"an array":      {otlp.JSON, []byte("[]"), fault.Invalid},
		"two documents": {otlp.JSON, []byte("{}{}"), fault.Invalid},
		"spans of the wrong type": {
			otlp.JSON, []byte(`{"resourceSpans":[{"scopeSpans":[{"spans":{}}]}]}`), fault.Invalid,
		},
		"an id of the wrong type": {
			otlp.JSON, []byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":5}]}]}]}`), fault.Invalid,
		},
		"a time that is none": {
			otlp.JSON,
			[]byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"startTimeUnixNano":"253402300799000000000"}]}]}]}`),
			fault.Invalid,
		},
		"a number that is none": {
			otlp.JSON,
			[]byte(`{"resourceSpans":[{"resource":{"attributes":[{"key":"a","value":{"intValue":1.5}}]}}]}`),
			fault.Invalid,
		},
		"deeper than any reader":            {otlp.JSON, []byte(strings.Repeat(`{"a":`, 20_000)), fault.Invalid},
		"one process that speaks for many":  {otlp.Protobuf, shared.protobuf(), fault.TooLarge},
		"characters that grow when written": {otlp.Protobuf, controls.protobuf(), fault.TooLarge},
		"more spans than a request may have": {
			otlp.Protobuf, message(nil).bytes(1, message(nil).bytes(2, tiny)), fault.TooLarge,
		},
		"as many in JSON": {
			otlp.JSON,
			[]byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[` + strings.Repeat("{},", otlp.MaxSpans) + `{}]}]}]}`),
			fault.TooLarge,
		},
		"an array that grows when it is read": {
			otlp.Protobuf,
			request{
				{spans: []wireSpan{span(func(s *wireSpan) { s.attributes = pairs{{"k", make([]any, 300_000)}} })}},
			}.protobuf(),
			fault.TooLarge,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := otlp.Read(t.Context(), c.body, c.encoding, options())
			if fault.KindOf(err) != c.kind || len(got.Fragments) != 0 {
				t.Errorf("%+v, %v", got, err)
			}
			if f, ok := errors.AsType[*fault.Error](err); c.kind == fault.Invalid &&
				(!ok || len(f.Details) != 1 || f.Details[0].Field != "body") {
				t.Errorf("complains of %+v", f)
			}
		})
	}
}

// TestAnEmptyRequestIsGood: exporters send one now and then.
func TestAnEmptyRequestIsGood(t *testing.T) {
	t.Parallel()
	for encoding, body := range map[otlp.Encoding]string{otlp.Protobuf: "", otlp.JSON: `{"resourceSpans":null}`} {
		if got, err := otlp.Read(t.Context(), []byte(body), encoding, options()); err != nil ||
			len(got.Fragments) != 0 || got.Refused != 0 {
			t.Errorf("%s: %+v, %v", encoding.ContentType(), got, err)
		}
	}
}

// TestAnswers are those of OTLP, byte for byte.
func TestAnswers(t *testing.T) {
	t.Parallel()
	answer := func(e otlp.Encoding, refused int, reason string) string {
		text, err := otlp.Answer(e, refused, reason)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for got, want := range map[string]string{
		answer(otlp.Protobuf, 0, ""):   "",
		answer(otlp.JSON, 0, ""):       "{}",
		answer(otlp.Protobuf, 3, "no"): "\x0a\x06\x08\x03\x12\x02no",
		answer(otlp.JSON, 3, "no"):     `{"partialSuccess":{"rejectedSpans":"3","errorMessage":"no"}}`,
		string(otlp.Status("no")):      "\x12\x02no",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// check wants everything that a reading says to fit where it will be stored.
func check(t interface{ Fatalf(string, ...any) }, reading otlp.Reading) {
	seen := map[string]bool{}
	for _, f := range reading.Fragments {
		if seen[f.Trace.ID] || !decode.IsUUID(f.Trace.ID) || len(f.Spans) == 0 {
			t.Fatalf("trace %q: there twice, or no UUID, or without spans", f.Trace.ID)
		}
		seen[f.Trace.ID] = true
		texts := []string{
			f.Trace.Name, f.Product, f.Trace.AgentID, f.Trace.SessionID, f.Trace.UserID, f.Trace.Attributes,
		}
		ids := map[string]bool{}
		for _, s := range f.Spans {
			if ids[s.ID] || !decode.IsUUID(s.ID) || s.ParentID != "" && !decode.IsUUID(s.ParentID) ||
				s.SessionID != "" && !decode.IsUUID(s.SessionID) {
				t.Fatalf("span %+v: there twice, or ids are no UUIDs", s)
			}
			ids[s.ID] = true
			texts = append(texts, s.Name, s.Model, s.Tool, s.Attributes)
			if !isObject(s.Attributes) || s.Start < 0 || s.DurationMs != nil && *s.DurationMs < 0 ||
				s.Usage.Tokens() < 0 || s.Usage.CostNanos < 0 {
				t.Fatalf("span %+v is not fit to be stored", s)
			}
		}
		for _, text := range texts {
			if strings.ContainsRune(text, 0) || strings.ToValidUTF8(text, "") != text {
				t.Fatalf("%q is no text for a database", text)
			}
		}
		if !isObject(f.Trace.Attributes) || len([]rune(f.Trace.Name)) > decode.MaxName || f.Trace.Name == "" {
			t.Fatalf("trace %+v is not fit to be stored", f.Trace)
		}
	}
}

func isObject(text string) bool {
	var members map[string]json.RawMessage
	return strictly(text) && json.Unmarshal([]byte(text), &members) == nil && members != nil
}
