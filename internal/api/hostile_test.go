package api_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"writ/client"
	"writ/internal/api/route"
	"writ/internal/database"
	"writ/internal/testserver"
)

// TestPathsNoDatabaseTakes sends texts that are valid in a URL, and trouble for a
// database, in every path and query parameter.
func TestPathsNoDatabaseTakes(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		owner := s.Person("owner")
		orgID := s.Organization(owner, "Paths")
		token, key := testserver.Credentials(owner.Client), testserver.Credentials(s.TerminalKey(owner, orgID))
		d := document(t, s)
		for _, r := range s.API.Routes() {
			headers := token
			if r.Mode == route.Key || r.Mode == route.Agent {
				headers = key
			}
			op, _ := d.operation(r)
			for _, text := range []string{"%00", "%FF", "a%2Fb", "%E2%80%AE", "'--", strings.Repeat("z", 5000)} {
				for _, p := range op.Parameters {
					if p.In != "path" && p.In != "query" {
						continue // signing out has others, and would end the session
					}
					path := hostilePath(r, p, text, orgID)
					answer := s.Request(t, r.Method, path, `{"role":"member"}`, headers...)
					if p.In == "path" && p.Name != "orgId" && strings.Contains(r.Path, "/observability/") &&
						!strings.HasSuffix(r.Path, "/export") {
						wantNothingThere(t, path, answer)
						continue
					}
					if answer.Status < 300 && strings.HasPrefix(r.Path, "/.well-known/oauth-protected-resource/") {
						continue // says the same of every name, whether or not it is stored
					}
					if answer.Status < 300 && p.In == "path" || answer.Status >= 300 && answer.Status < 400 ||
						answer.Status >= 500 {
						t.Errorf("%s %.100s: status %d: %s", r.Method, path, answer.Status, answer.Body)
					}
				}
			}
		}
	})
}

// wantNothingThere wants what the specification has telemetry answer for an id
// that is not stored, well-formed or not: 200 with null, a list of nothing, or a policy's zeros.
func wantNothingThere(t *testing.T, path string, answer testserver.Answer) {
	t.Helper()
	nothing := []string{"null", `{"items":[],"hasMore":false}`}
	if answer.Status == http.StatusOK && slices.Contains(nothing, strings.TrimSpace(string(answer.Body))) {
		return
	}
	var policy client.PolicyStats
	if err := json.Unmarshal(answer.Body, &policy); err != nil || answer.Status != http.StatusOK ||
		policy.PolicyID == "" || policy.Calls != 0 {
		t.Errorf("GET %.100s: status %d, want null, nothing or zeros: %.300s", path, answer.Status, answer.Body)
	}
}

// hostilePath is the route's path with the text in one of its parameters.
func hostilePath(r route.Route, p parameter, text, orgID string) string {
	path := r.Path
	if p.In == "path" {
		path = strings.ReplaceAll(path, "{"+p.Name+"}", text)
	}
	path = strings.ReplaceAll(path, "{orgId}", orgID)
	path = pathParameter.ReplaceAllString(path, database.NewID())
	if p.In == "query" {
		path += "?" + p.Name + "=" + text
	}
	return path
}
