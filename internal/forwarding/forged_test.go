package forwarding_test

import (
	"testing"

	"writ/internal/decision"
	"writ/internal/projection"
	"writ/internal/telemetry"
	"writ/internal/verdict"
)

// TestNoClientSpeaksForWrit: whoever may send traces can call itself and its spans
// what it likes, and compute the ids of a decision; at a receiver none of it is one.
func TestNoClientSpeaksForWrit(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.put(e.settings())
		var denied decision.Record
		e.decide(1, func(d *decision.Record) {
			d.Tool, d.Verdict, d.At = "transfer", verdict.Deny, e.Now()
			denied = *d
		})
		traceID, spanID := projection.IDs(&denied)
		request, err := telemetry.ParseRequest([]byte(`{"product":"Writ ","batches":[{"trace":{"id":"` + traceID +
			`","name":"writ.plan","status":"ok","startTime":"` + stamp(e.Now()) + `",
			"attributes":{"source":"writ","writ.decision":"allow"}},"spans":[{"id":"` + spanID +
			`","kind":"policy_call","name":"forged","startTime":"` + stamp(e.Now()) + `","status":"ok",
			"attributes":{"writ.decision":"allow","WRIT.log.index":0,"writ":{"decision":"allow"},"written":"mine"}}]}]}`))
		if err != nil {
			t.Fatal(err)
		}
		if result, err := e.telemetry.Ingest(t.Context(), e.org, request.Product, request); err != nil ||
			result.Accepted != 1 {
			t.Fatalf("ingest: %+v, %v", result, err)
		}
		e.rest()
		genuine, service := e.receiver.taken("writ.decision transfer")
		if service != "writ" || attribute(genuine, "writ.decision") != "deny" {
			t.Errorf("the decision is %v of %s", genuine, service)
		}
		for _, name := range []string{"forged", "writ.plan"} {
			s, service := e.receiver.taken(name)
			if service != "client.writ" || hexOf(s.SpanId) == hexOf(genuine.SpanId) {
				t.Errorf("%s comes from %s as %x, and the decision is %x", name, service, s.SpanId, genuine.SpanId)
			}
			for _, a := range s.Attributes {
				switch a.Key {
				case "writ", "writ.decision", "WRIT.log.index":
					t.Errorf("%s says %s: %v", name, a.Key, a.Value)
				}
			}
		}
		forged, _ := e.receiver.taken("forged")
		wantAttributes(t, forged, map[string]any{"client.writ.decision": "allow", "written": "mine"})
	})
}
