package traces_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"writ/client"
	"writ/internal/testserver"
)

// TestTracesByCostModelAndTool is how a person gets from a spike of cost to the traces that made it.
func TestTracesByCostModelAndTool(t *testing.T) {
	t.Parallel()
	rules(t, func(s *testserver.Server, rule func(string, func(*testing.T, *observed))) {
		dollars := func(n float64) *float64 { return &n }
		for sentence, c := range map[string]struct {
			filter client.TraceFilter
			want   string // names, newest first
		}{
			"minCostUsd 0 selects all": {client.TraceFilter{MinCostUSD: dollars(0)}, "E D C B A"},
			"minCostUsd is inclusive":  {client.TraceFilter{MinCostUSD: dollars(0.25)}, "D C B"},
			"minCostUsd above some": {
				client.TraceFilter{MinCostUSD: dollars(0.250000001)}, "D C",
			},
			"minCostUsd above all":                        {client.TraceFilter{MinCostUSD: dollars(100)}, ""},
			"model matches exactly":                       {client.TraceFilter{Model: "large"}, "D C"},
			"model is no pattern":                         {client.TraceFilter{Model: "larg%"}, ""},
			"A model that no database takes matches none": {client.TraceFilter{Model: "\x00"}, ""},
			"tool matches exactly":                        {client.TraceFilter{Tool: "web.fetch"}, "E B"},
			"A tool that no database takes matches none":  {client.TraceFilter{Tool: "\xff"}, ""},
			"Cost and model": {
				client.TraceFilter{Model: "large", MinCostUSD: dollars(2)}, "D",
			},
			"Model, tool and another filter": {
				client.TraceFilter{Model: "small", Tool: "web.fetch", Status: "ok"}, "B",
			},
			"Cost and duration": {
				client.TraceFilter{MinCostUSD: dollars(1), MinDurationMs: new(int64)}, "D C",
			},
		} {
			rule(sentence, func(t *testing.T, o *observed) {
				o.storePriced()
				page, err := o.owner.Traces(t.Context(), o.org, c.filter)
				if err != nil {
					t.Fatal(err)
				}
				var names []string
				for _, trace := range page.Items {
					names = append(names, trace.Name)
				}
				if got := strings.Join(names, " "); got != c.want {
					t.Errorf("%q, want %q", got, c.want)
				}
			})
		}
		rule("An export takes them too", func(t *testing.T, o *observed) {
			o.storePriced()
			answer := o.get("/traces/export?minCostUsd=2&model=large")
			if body := string(answer.Body); answer.Status != http.StatusOK || !strings.Contains(body, `"name":"D"`) ||
				slices.ContainsFunc([]string{"A", "B", "C", "E"}, func(name string) bool {
					return strings.Contains(body, `"name":"`+name+`"`)
				}) {
				t.Errorf("%d %s", answer.Status, body)
			}
		})
	})
}

// storePriced stores traces A to E, the newest last.
func (o *observed) storePriced() {
	o.t.Helper()
	cost := func(usd float64) m { return m{"costUsd": usd} }
	at := func(name string, minutes int) m {
		return o.trace(m{"name": name, "durationMs": 5, "startTime": o.Ago(time.Duration(minutes) * time.Minute)})
	}
	fetch := m{"costUsd": 0.25, "toolName": "web.fetch"}
	o.store(
		batch(at("A", 9), o.generation("small", 1, 1, cost(0.1))),
		batch(at("B", 8), o.generation("small", 1, 1, fetch)),
		batch(at("C", 7), o.generation("large", 1, 1, cost(1))),
		batch(at("D", 6), o.generation("small", 1, 1, cost(0.5)), o.generation("large", 1, 1, cost(1.5))),
		batch(at("E", 5), o.span("tool", m{"attributes": m{"toolName": "web.fetch"}})),
	)
}
