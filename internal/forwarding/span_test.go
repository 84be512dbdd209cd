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
func (w *world) someTrace() (traceID string) {
	traceID = database.NewID()
	model := database.NewID()
	w.send(`{"trace":{"id":"` + traceID + `","name":"order","startTime":"` + stamp(w.now()) +
		`","status":"error","agentId":"bot","sessionId":"` + database.NewID() +
		`","attributes":{"password":"hunter2-of-the-trace","city":"Bern"}},
		"spans":[
		{"id":"` + model + `","kind":"generation","name":"ask","startTime":"` + stamp(w.now()) + `","endTime":"` +
		stamp(w.now().Add(time.Second)) + `","status":"ok",
			"attributes":{"model":"gpt-4o","inputTokens":100,"outputTokens":20,"cacheReadTokens":40,"prompt":"who is ann@example.org?","api_key":"sk-secret-of-the-span"}},
		{"id":"` + database.NewID() + `","parentSpanId":"` + model + `","kind":"tool","name":"search","startTime":"` +
		stamp(w.now()) + `","status":"denied","attributes":{"toolName":"web.search","rows":[1,2]}},
		{"id":"` + database.NewID() + `","kind":"generation","name":"foreign","startTime":"` + stamp(w.now()) +
		`","status":"ok","attributes":{"gen_ai.request.model":"own-words","model":"gpt-4o","inputTokens":100}}
		]}`)
	return traceID
}

func TestATraceAsSpans(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.put(w.settings())
		id := w.someTrace()
		w.rest()
		root, service := w.receiver.taken("order")
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
		ask, _ := w.receiver.taken("ask")
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
		search, _ := w.receiver.taken("search")
		wantAttributes(t, search, map[string]any{
			"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "web.search", "writ.status": "denied",
		})
		if hexOf(search.ParentSpanId) != hexOf(ask.SpanId) ||
			search.Status.GetCode() != trace.Status_STATUS_CODE_ERROR {
			t.Errorf("below %x with %v", search.ParentSpanId, search.Status)
		}
		foreign, _ := w.receiver.taken("foreign")
		wantAttributes(t, foreign, map[string]any{"gen_ai.request.model": "own-words", "writ.usage.cost_usd": 0.00025})
	})
}

// TestContent: how much of what agents read and wrote leaves the server.
func TestContent(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		for content, sent := range map[forwarding.Content]struct{ secrets, words bool }{
			forwarding.None: {false, false}, forwarding.Redacted: {false, true}, forwarding.Full: {true, true},
		} {
			w := w.elsewhere()
			w.receiver.forget()
			settings := w.settings()
			settings.Content = content
			w.put(settings)
			w.someTrace()
			w.decide(1, func(d *decision.Record) {
				d.Verdict, d.Reason, d.Arguments = verdict.Deny, "because of amount-of-500",
					[]byte(`{"to":"argument-value"}`)
			})
			w.rest()
			all := ""
			for _, s := range w.receiver.spans {
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
	each(t, func(t *testing.T, w *world) {
		w.put(w.settings())
		denied := func(d *decision.Record) {
			d.Verdict, d.Reason, d.Tool, d.PlanID = verdict.Deny, "too much", "transfer", "plan-1"
		}
		w.decide(1, denied)
		// what Writ shows of it itself is not sent too
		if err := projection.New(w.db, w.telemetry, decision.NewRecent()).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.rest()
		w.wantNames("one decision", []string{"writ.decision transfer"})
		s, service := w.receiver.taken("writ.decision transfer")
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
		shown, err := w.telemetry.ListTraces(t.Context(), w.org, telemetry.TraceFilter{Days: 1, Limit: 10})
		if err != nil || len(shown.Items) != 1 || strings.ReplaceAll(shown.Items[0].ID, "-", "") != hexOf(s.TraceId) {
			t.Errorf("it is in trace %x, and Writ shows it in %+v, %v", s.TraceId, shown.Items, err)
		}
	})
}

// TestATraceThatGrows is sent as it comes, below no span of ours.
func TestATraceThatGrows(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.put(w.settings())
		id := database.NewID()
		grow := func(at int64, names ...string) {
			t.Helper()
			var spans []telemetry.GrownSpan
			for _, name := range names {
				spans = append(spans, telemetry.GrownSpan{
					ID:         database.NewID(),
					Kind:       "tool",
					Name:       name,
					Start:      w.now(),
					End:        w.now(),
					Attributes: `{}`,
				})
			}
			moved, err := w.telemetry.Grow(t.Context(), w.org, telemetry.Position{Next: at},
				telemetry.Position{Next: at + 1},
				[]telemetry.GrowingTrace{{ID: id, Name: "grows", Source: "elsewhere", Spans: spans}})
			if err != nil || !moved {
				t.Fatalf("grow: %v, %v", moved, err)
			}
		}
		grow(0, "one", "two")
		w.advance(4 * time.Second)
		grow(1, "three")
		w.ingest(0)
		w.rest()
		grow(2, "four")
		w.rest()
		w.rest()
		w.wantNames("each span once", []string{"one", "two", "three", "trace-1", "four"})
		for _, name := range []string{"one", "four"} {
			if s, _ := w.receiver.taken(name); len(s.ParentSpanId) != 0 ||
				hexOf(s.TraceId) != strings.ReplaceAll(id, "-", "") {
				t.Errorf("%s is %v", name, s)
			}
		}
	})
}
