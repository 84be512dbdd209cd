package projection_test

import (
	"strings"
	"testing"

	"writ/internal/audit"
	"writ/internal/principal"
	"writ/internal/verdict"
)

// What was erased from the log before it was shown is not shown.
func TestErasedDetailsAreNotProjected(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		d := e.decision("plan-1", verdict.Deny)
		d.Reason = "Jane Doe may not pay"
		e.decide(d)
		owner := principal.Principal{Kind: principal.User, UserID: e.globex, OrgID: e.acme, Role: principal.Owner}
		if err := audit.New(e.log, nil).ErasePayload(t.Context(), owner, e.acme, 0, "she asked for it"); err != nil {
			t.Fatal(err)
		}
		e.project()
		found := e.traces(e.acme)
		if len(found) != 1 {
			t.Fatalf("%d traces", len(found))
		}
		detail, err := e.telemetry.Trace(t.Context(), e.acme, found[0].ID)
		if err != nil || len(detail.Spans) != 1 {
			t.Fatalf("%+v, %v", detail, err)
		}
		if strings.Contains(detail.Spans[0].Attributes, "Jane Doe") {
			t.Errorf("erased, and shown: %s", detail.Spans[0].Attributes)
		}
	})
}
