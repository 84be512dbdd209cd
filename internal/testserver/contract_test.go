package testserver_test

import (
	"net/http"
	"strings"
	"testing"

	"writ/internal/database"
	"writ/internal/testserver"
)

// TestAnswersAreHeldAgainstTheDocument: what every suite relies on finds answers that are not as documented.
func TestAnswersAreHeldAgainstTheDocument(t *testing.T) {
	t.Parallel()
	s := testserver.Start(t, database.Options{})
	denied := `{"statusCode":401,"message":"x","error":"Unauthorized","requestId":"r"}`
	for _, c := range []struct {
		name, method, path string
		status             int
		body               string
		documented         bool
	}{
		{"an error", "GET", "/iap/plans", 401, denied, true},
		{"no route of the API", "GET", "/ui/x", 200, `{}`, true},
		{"an error with a member of decisions", "GET", "/iap/plans", 401,
			strings.Replace(denied, "{", `{"allowed":false,`, 1), false},
		{"a member that is missing", "GET", "/iap/plans", 200, `{"items":[]}`, false},
		{"a member too many", "GET", "/health", 200, `{"status":"ok","version":"x","surprise":1}`, false},
		{"null", "GET", "/iap/plans", 200, `{"items":null,"nextCursor":null,"hasMore":false}`, false},
		{"a status that the route does not have", "GET", "/iap/plans", 202, `{}`, false},
		{"no JSON", "GET", "/iap/plans", 401, `{`, false},
	} {
		request, err := http.NewRequest(c.method, s.Public.BaseURL+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if problem := testserver.ProblemOf(s, request, c.status, c.body); (problem == nil) != c.documented {
			t.Errorf("%s: %v", c.name, problem)
		}
	}
	if !testserver.IsChecked(s.Public.HTTP.Transport) {
		t.Error("the answers that clients of the suites get are not checked")
	}
}
