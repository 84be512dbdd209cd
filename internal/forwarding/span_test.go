package forwarding_test

import (
	"strings"
	"testing"
	"time"

	trace "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/prototext"

	"writ/internal/database"
	"writ/internal/decision"
	"writ/internal/forwarding"
	"writ/internal/projection"
	"writ/internal/telemetry"
	"writ/internal/verdict"
)

func wantAttributes(t *testing.T, s *trace.Span, want map[string]any) {
	t.Helper()
	for name, value := range want {
		if got := attribute(s, name); got != value {
			t.Errorf("%s: %s is %v, want %v", s.Name, name, got, value)
		}
	}
}

// someTrace is one with a model's answer and a tool's use, and secrets in both.
func (e *env) someTrace() (traceID string) {
	traceID = database.NewID()
	model := database.NewID()
	e.send(`{"trace":{"id":"` + traceID + `","name":"order","startTime":"` + stamp(e.Now()) +
		`","status":"error","agentId":"bot","sessionId":"` + database.NewID() +
		`","attributes":{"password":"hunter2-of-the-trace","city":"Bern"}},
		"spans":[
		{"id":"` + model + `","kind":"generation","name":"ask","startTime":"` + stamp(e.Now()) + `","endTime":"` +
		stamp(e.Now().Add(time.Second)) + `","status":"ok",
			"attributes":{"model":"gpt-4o","inputTokens":100,"outputTokens":20,"cacheReadTokens":40,"prompt":"who is ann@example.org?","api_key":"sk-secret-of-the-span"}},
		{"id":"` + database.NewID() + `","parentSpanId":"` + model + `","kind":"tool","name":"search","startTime":"` +
		stamp(e.Now()) + `","status":"denied","attributes":{"toolName":"web.search","rows":[1,2]}},
		{"id":"` + database.NewID() + `","kind":"generation","name":"foreign","startTime":"` + stamp(e.Now()) +
		`","status":"ok","attributes":{"gen_ai.request.model":"own-words","model":"gpt-4o","inputTokens":100}}
		]}`)
	return traceID
}

func TestATraceAsSpans(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.put(e.settings())
		id := e.someTrace()
		e.rest()
		root, service := e.receiver.taken("order")
		if service != "shop-bot" || len(root.ParentSpanId) != 0 ||
			hexOf(root.TraceId) != strings.ReplaceAll(id, "-", "") {
			t.Errorf("the trace is %v of %s", root, service)
		}
		wantAttributes(t, root, map[string]any{
			"gen_ai.agent.id": "bot",
			"city":            "Bern",
			"writ.status":     "error",
			"writ.unfinished": true,
			"password":        "[redacted]",
		})
		if root.Status.GetCode() != trace.Status_STATUS_CODE_ERROR {
			t.Errorf("status %v", root.Status)
		}
		ask, _ := e.receiver.taken("ask")
		wantAttributes(t, ask, map[string]any{
			"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o", "gen_ai.usage.input_tokens": int64(100),
			"gen_ai.usage.output_tokens":           int64(20),
			"gen_ai.usage.cache_read.input_tokens": int64(40), "api_key": "[redacted]", "gen_ai.agent.id": "bot",
			"writ.kind": "generation",
		})
		if cost, ok := attribute(ask, "writ.usage.cost_usd").(float64); !ok || cost <= 0 {
			t.Errorf("it cost %v", attribute(ask, "writ.usage.cost_usd"))
		}
		if hexOf(ask.ParentSpanId) != hexOf(root.SpanId) ||
			ask.EndTimeUnixNano-ask.StartTimeUnixNano != uint64(time.Second) {
			t.Errorf("below %x, took %d", ask.ParentSpanId, ask.EndTimeUnixNano-ask.StartTimeUnixNano)
		}
		search, _ := e.receiver.taken("search")
		wantAttributes(t, search, map[string]any{
			"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "web.search", "writ.status": "denied",
		})
		if hexOf(search.ParentSpanId) != hexOf(ask.SpanId) ||
			search.Status.GetCode() != trace.Status_STATUS_CODE_ERROR {
			t.Errorf("below %x with %v", search.ParentSpanId, search.Status)
		}
		foreign, _ := e.receiver.taken("foreign")
		wantAttributes(t, foreign, map[string]any{"gen_ai.request.model": "own-words", "writ.usage.cost_usd": 0.00025})
	})
}

// TestContent: how much of what agents read and wrote leaves the server.
func TestContent(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		for content, sent := range map[forwarding.Content]struct{ secrets, words bool }{
			forwarding.None: {false, false}, forwarding.Redacted: {false, true}, forwarding.Full: {true, true},
		} {
			e := e.elsewhere()
			e.receiver.forget()
			settings := e.settings()
			settings.Content = content
			e.put(settings)
			e.someTrace()
			e.decide(1, func(d *decision.Record) {
				d.Verdict, d.Reason, d.Arguments = verdict.Deny, "because of amount-of-500",
					[]byte(`{"to":"argument-value"}`)
			})
			e.rest()
			all := ""
			for _, s := range e.receiver.spans {
				all += prototext.Format(s)
			}
			if got := strings.Contains(all, "hunter2-of-the-trace") ||
				strings.Contains(all, "sk-secret-of-the-span"); got != sent.secrets {
				t.Errorf("%s: secrets are sent: %v", content, got)
			}
			for _, word := range []string{"Bern", "argument-value", "amount-of-500", "who is"} {
				if strings.Contains(all, word) != sent.words {
					t.Errorf("%s: that %q is sent: %v", content, word, !sent.words)
				}
			}
			for _, always := range []string{"gpt-4o", "web.search", "gen_ai.usage.input_tokens", "payments", "deny"} {
				if !strings.Contains(all, always) {
					t.Errorf("%s: %q is not sent", content, always)
				}
			}
		}
	})
}

func TestADecisionAsASpan(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.put(e.settings())
		denied := func(d *decision.Record) {
			d.Verdict, d.Reason, d.Tool, d.PlanID = verdict.Deny, "too much", "transfer", "plan-1"
		}
		e.decide(1, denied)
		// what Writ shows of it itself is not sent too
		if err := projection.New(e.DB, e.telemetry, decision.NewRecent()).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		e.rest()
		e.wantNames("one decision", []string{"writ.decision transfer"})
		s, service := e.receiver.taken("writ.decision transfer")
		if service != "writ" || s.Status.GetCode() != trace.Status_STATUS_CODE_ERROR ||
			s.Status.Message != "too much" || s.EndTimeUnixNano-s.StartTimeUnixNano != 1_500_000 {
			t.Errorf("%v of %s", s, service)
		}
		wantAttributes(t, s, map[string]any{
			"gen_ai.tool.name": "transfer", "gen_ai.agent.id": "bot", "gen_ai.conversation.id": "s-1",
			"gen_ai.tool.call.arguments": `{"amount":5}`,
			"writ.decision":              "deny", "writ.policy.id": "payments", "writ.policy.version": int64(2),
			"writ.policy.rule": "small", "writ.reason": "too much",
			"writ.tool.server": "bank", "writ.plan.id": "plan-1", "writ.user.email": "ann@example.org",
		})
		shown, err := e.telemetry.ListTraces(t.Context(), e.org, telemetry.TraceFilter{Days: 1, Limit: 10})
		if err != nil || len(shown.Items) != 1 || strings.ReplaceAll(shown.Items[0].ID, "-", "") != hexOf(s.TraceId) {
			t.Errorf("it is in trace %x, and Writ shows it in %+v, %v", s.TraceId, shown.Items, err)
		}
	})
}

// TestATraceThatGrows is sent as it comes, below no span of ours.
func TestATraceThatGrows(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.put(e.settings())
		id := database.NewID()
		grow := func(at int64, names ...string) {
			t.Helper()
			var spans []telemetry.GrownSpan
			for _, name := range names {
				spans = append(spans, telemetry.GrownSpan{
					ID:         database.NewID(),
					Kind:       "tool",
					Name:       name,
					Start:      e.Now(),
					End:        e.Now(),
					Attributes: `{}`,
				})
			}
			moved, err := e.telemetry.Grow(t.Context(), e.org, telemetry.Position{Next: at},
				telemetry.Position{Next: at + 1},
				[]telemetry.GrowingTrace{{ID: id, Name: "grows", Source: "elsewhere", Spans: spans}}, nil)
			if err != nil || !moved {
				t.Fatalf("grow: %v, %v", moved, err)
			}
		}
		grow(0, "one", "two")
		e.Pass(4 * time.Second)
		grow(1, "three")
		e.ingest(0)
		e.rest()
		grow(2, "four")
		e.rest()
		e.rest()
		e.wantNames("each span once", []string{"one", "two", "three", "trace-1", "four"})
		for _, name := range []string{"one", "four"} {
			if s, _ := e.receiver.taken(name); len(s.ParentSpanId) != 0 ||
				hexOf(s.TraceId) != strings.ReplaceAll(id, "-", "") {
				t.Errorf("%s is %v", name, s)
			}
		}
	})
}
