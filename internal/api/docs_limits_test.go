package api_test

import (
	"net/http"
	"testing"

	"writ/internal/api/route"
	"writ/internal/database/dbtest"
	"writ/internal/enforcement"
	"writ/internal/testserver"
)

// TestPlanLifeIsDocumented: the document states the limits that the domain enforces.
func TestPlanLifeIsDocumented(t *testing.T) {
	t.Parallel()
	s := testserver.Start(t, dbtest.SQLite(t))
	d := document(t, s)
	op, _ := d.operation(route.Route{Method: http.MethodPut, Path: "/organization/{orgId}/enforcement"})
	life := d.resolve(t, op.RequestBody.Content["application/json"].Schema).Properties["maxPlanTtlSeconds"]
	if life.Minimum != enforcement.MinPlanTTL.Seconds() || life.Maximum != enforcement.LongestPlanTTL.Seconds() {
		t.Errorf("a plan may live %.0f to %.0f seconds, says the document; want %v to %v", life.Minimum, life.Maximum,
			enforcement.MinPlanTTL, enforcement.LongestPlanTTL)
	}
}
