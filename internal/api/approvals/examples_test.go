package approvals_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"writ/internal/testserver"
)

// TestExamplesOfApprovalsWork sends every example of the document, about a request
// that is as the example wants it.
func TestExamplesOfApprovalsWork(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, b *testserver.Org) {
		approver := b.Join(b.Owner, b.ID, "approver")
		agent, person, admin := testserver.Credentials(b.Agent), testserver.Credentials(approver.Client),
			testserver.Credentials(b.Owner.Client)
		// what the approver approves
		asked := example(t, b.Server, "POST", "/delegation/request", "", agent, http.StatusCreated)
		for _, c := range []struct {
			method, path, id string
			headers          []string
		}{
			{"POST", "/delegation/preview", b.OpenedApproval(b.Agent), person},
			{"POST", "/delegation/approve", asked["delegationId"].(string), person},
			{"POST", "/delegation/reject", b.OpenedApproval(b.Agent), person},
			{"POST", "/delegation/cancel", b.OpenedApproval(b.Agent), agent},
			{"POST", "/delegation/mark-executed", b.Approved(b.Agent, approver, b.ID, nil), agent},
			{"PUT", "/delegation/settings", "", admin},
		} {
			example(t, b.Server, c.method, c.path, c.id, c.headers, http.StatusOK)
		}
	})
}

// example sends the example of a route, with an id in place of its own.
func example(t *testing.T, s *testserver.Server, method, path, id string, headers []string, status int) m {
	t.Helper()
	var d struct {
		Paths map[string]map[string]struct {
			RequestBody struct {
				Content map[string]struct{ Example json.RawMessage }
			}
		}
	}
	if err := json.Unmarshal(s.Request(t, "GET", "/openapi.json", "").Body, &d); err != nil {
		t.Fatal(err)
	}
	var body m
	if err := json.Unmarshal(d.Paths[path][strings.ToLower(method)].RequestBody.Content["application/json"].Example,
		&body); err != nil ||
		len(body) == 0 {
		t.Fatalf("%s %s has no example: %v", method, path, err)
	}
	if _, ok := body["delegationId"]; ok {
		body["delegationId"] = id
	}
	answer := s.Request(t, method, path, testserver.JSON(t, body), headers...)
	var got m
	if err := json.Unmarshal(answer.Body, &got); err != nil || answer.Status != status {
		t.Errorf("the example of %s %s: %d %s", method, path, answer.Status, answer.Body)
	}
	return got
}
