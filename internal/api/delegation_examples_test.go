package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// TestExamplesOfApprovalsWork sends every example of the document, about a request
// that is as the example wants it.
func TestExamplesOfApprovalsWork(t *testing.T) {
	t.Parallel()
	eachBank(t, func(t *testing.T, b *bank) {
		approver := b.join(b.owner, b.org, "approver")
		agent, person, admin := credentials(b.agent), credentials(approver.Client), credentials(b.owner.Client)
		// what the approver approves
		asked := b.example(t, "POST", "/delegation/request", "", agent, http.StatusCreated)
		for _, c := range []struct {
			method, path, id string
			headers          []string
		}{
			{"POST", "/delegation/preview", b.opened(b.agent), person},
			{"POST", "/delegation/approve", asked["delegationId"].(string), person},
			{"POST", "/delegation/reject", b.opened(b.agent), person},
			{"POST", "/delegation/cancel", b.opened(b.agent), agent},
			{"POST", "/delegation/mark-executed", b.approved(b.agent, approver, b.org, nil), agent},
			{"PUT", "/delegation/settings", "", admin},
		} {
			b.example(t, c.method, c.path, c.id, c.headers, http.StatusOK)
		}
	})
}

// example sends the example of a route, with an id in place of its own.
func (s *server) example(t *testing.T, method, path, id string, headers []string, status int) m {
	t.Helper()
	var d struct {
		Paths map[string]map[string]struct {
			RequestBody struct {
				Content map[string]struct{ Example json.RawMessage }
			}
		}
	}
	if err := json.Unmarshal(s.wire(t, "GET", "/openapi.json", "").body, &d); err != nil {
		t.Fatal(err)
	}
	var body m
	if err := json.Unmarshal(d.Paths[path][strings.ToLower(method)].RequestBody.Content["application/json"].Example, &body); err != nil ||
		len(body) == 0 {
		t.Fatalf("%s %s has no example: %v", method, path, err)
	}
	if _, ok := body["delegationId"]; ok {
		body["delegationId"] = id
	}
	answer := s.wire(t, method, path, jsonOf(t, body), headers...)
	var got m
	if err := json.Unmarshal(answer.body, &got); err != nil || answer.status != status {
		t.Errorf("the example of %s %s: %d %s", method, path, answer.status, answer.body)
	}
	return got
}
