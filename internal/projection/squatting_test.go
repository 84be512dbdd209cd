package projection_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"writ/internal/projection"
	"writ/internal/telemetry"
	"writ/internal/verdict"
)

// TestNobodyKeepsDecisionsOut: an agent can compute under which ids its decisions will
// be shown, and send traces with all of them. They are shown all the same, as are
// those of others.
func TestNobodyKeepsDecisionsOut(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		denied := e.decision("p1", verdict.Deny)
		denied.At = noon
		id, _ := projection.IDs(&denied)
		for range 20 {
			request, err := telemetry.ParseRequest([]byte(fmt.Sprintf(`{"product":"agent","batches":[{"trace":{"id":%q,"name":"squat","status":"ok","startTime":%q},"spans":[]}]}`, id, noon.Format(time.RFC3339))))
			if err != nil {
				t.Fatal(err)
			}
			if result, err := e.telemetry.Ingest(t.Context(), e.acme, "agent", request); err != nil ||
				result.Accepted != 1 {
				t.Fatalf("%+v, %v", result, err)
			}
			id = uuid.NewSHA1(uuid.MustParse(id), []byte("again")).String()
		}
		e.decide(denied, e.decision("p2", verdict.Allow))
		e.project()
		e.decide(denied)
		e.project()
		if f := e.figures(e.acme); f.Calls != 3 || f.Denied != 2 {
			t.Errorf("%+v, want 3 decisions of which 2 deny", f)
		}
		shown := 0
		for _, trace := range e.traces(e.acme) {
			if trace.Name == "writ.plan" {
				shown += int(trace.SpanCount)
			}
		}
		if shown != 3 {
			t.Errorf("%d decisions are shown, want 3", shown)
		}
		e.wantExact()
	})
}
