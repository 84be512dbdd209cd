package api_test

import (
	"net/http"
	"testing"

	"writ/internal/api/route"
	"writ/internal/database/dbtest"
	"writ/internal/testserver"
)

// TestPostgreSQLRefusesConnections: the server answers, but lets nobody in. Exporters try again after a 503, and not
// after a 500.
func TestPostgreSQLRefusesConnections(t *testing.T) {
	t.Parallel()
	options := dbtest.Postgres(t)
	s := testserver.Start(t, options)
	owner := s.Person("owner")
	orgID := s.Organization(owner, "Refused")
	key := s.AgentKey(owner, orgID)
	accept := dbtest.RefuseConnections(t, options)
	refusesEverything(t, s, owner, orgID, key.ID)
	for _, r := range s.API.Routes() {
		headers := testserver.Credentials(owner.Client)
		if r.Mode == route.Key || r.Mode == route.Agent {
			headers = []string{"X-Api-Key", key.APIKey}
		}
		answer := s.Request(t, r.Method, pathOf(r, map[string]string{"orgId": orgID}), plausibleBody, headers...)
		if answer.Status == http.StatusInternalServerError {
			t.Errorf("%s %s: %s", r.Method, r.Path, answer.Body)
		}
		if answer.Status == http.StatusServiceUnavailable && answer.RetryAfter(t) < 1 {
			t.Errorf("%s %s asks for no wait", r.Method, r.Path)
		}
	}
	accept()
	if err := testserver.Eventually(func() error { _, err := s.Public.Ready(t.Context()); return err }); err != nil {
		t.Fatalf("the server is not ready after connections are accepted again: %v", err)
	}
	if _, err := owner.Organization(t.Context(), orgID); err != nil {
		t.Errorf("after that: %v", err)
	}
}
