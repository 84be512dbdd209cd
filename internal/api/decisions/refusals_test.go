package decisions_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"writ/client"
	"writ/internal/api/route"
	"writ/internal/database/dbtest"
	"writ/internal/testserver"
)

// deniesInEveryDialect checks that a body lets no client run anything.
func deniesInEveryDialect(t *testing.T, what string, answer testserver.Answer) {
	t.Helper()
	var body map[string]any
	if err := json.Unmarshal(answer.Body, &body); err != nil {
		t.Errorf("%s: the body is no JSON object: %.200s", what, answer.Body)
		return
	}
	reason, _ := body["reason"].(string)
	if body["allowed"] != false || body["action"] != "deny" || body["enforcementAction"] != "block" || reason == "" {
		t.Errorf("%s: status %d, a client could take this for a yes: %.300s", what, answer.Status, answer.Body)
	}
	if kind := answer.Header.Get("Content-Type"); kind != "application/json" {
		t.Errorf("%s: Content-Type %q", what, kind)
	}
}

// openPolicy allows everything.
const openPolicy = `{version: v1, name: open, default: deny, rules: [{id: all, effect: allow, tools: ["*"]}]}`

// decisionRoutes are the routes of the table that decide.
func decisionRoutes(t *testing.T, s *testserver.Server) (routes []route.Route) {
	t.Helper()
	for _, r := range s.API.Routes() {
		if decides(r.Path) {
			routes = append(routes, r)
		}
	}
	if len(routes) != 4 {
		t.Fatalf("%d routes decide, want four", len(routes))
	}
	return routes
}

// TestEveryErrorOfADecisionRouteDenies walks the statuses on every path that
// decides: whoever answers, the body says no in every dialect.
func TestEveryErrorOfADecisionRouteDenies(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		owner := s.Person("owner")
		org := s.Organization(owner, "Refusals")
		token := testserver.Credentials(owner.Client)
		unbound := testserver.Credentials(s.Public.WithKey(s.KeyFor(owner.ID, "").Secret.Reveal()))
		scopeless, err := owner.CreateKey(t.Context(), client.NewKey{
			Name: "ingests", OrganizationID: org, Scopes: []string{"ingest"},
		})
		if err != nil {
			t.Fatal(err)
		}
		noScope := testserver.Credentials(s.Public.WithKey(scopeless.APIKey))
		for _, r := range decisionRoutes(t, s) {
			for _, c := range []struct {
				name, method, path string
				headers            []string
				statuses           []int
			}{
				{"a person's token", "POST", r.Path, token, []int{401, 200}},
				{"a key that is none", "POST", r.Path, []string{"X-Api-Key", "ak_test_nope"}, []int{401, 200}},
				{"two keys", "POST", r.Path, []string{"X-Api-Key", "ak_a, ak_b"}, []int{401, 200}},
				{"no credentials", "POST", r.Path, nil, []int{401, 200}},
				{"a key without the scope", "POST", r.Path, noScope, []int{403, 200}},
				{"a key of no organization", "POST", r.Path, unbound, []int{403, 200}},
				{"another method", "GET", r.Path, nil, []int{405}},
				{"another method, deleted", "DELETE", r.Path, nil, []int{405}},
				{"a slash too many", "POST", r.Path + "/", nil, []int{404}},
				{"slashes that are cleaned", "GET", "/" + r.Path, nil, []int{405}},
				{"dots that are cleaned", "GET", "/x/.." + r.Path, nil, []int{405}},
				{"escapes", "GET", strings.ReplaceAll(r.Path, "e", "%65"), nil, []int{405}},
				{"a foreign host name", "POST", r.Path, []string{"Host", "evil.example"}, []int{421}},
			} {
				answer := s.Request(t, c.method, c.path, `{}`, c.headers...)
				if !slices.Contains(c.statuses, answer.Status) {
					t.Errorf("%s with %s: status %d, want one of %v", r.Path, c.name, answer.Status, c.statuses)
				}
				deniesInEveryDialect(t, r.Path+" with "+c.name, answer)
			}
		}
	})
}

// TestThrottledDecisionsDeny covers 429, which only the public route can answer.
func TestThrottledDecisionsDeny(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		for path, body := range map[string]string{
			"/verify/action": `{}`, "/intent": `{"plan":` + testserver.OnePlan + `}`,
		} {
			var answer testserver.Answer
			for range 130 { // sixty a minute, and the minute may end in between
				if answer = s.Request(t, "POST", path, body); answer.Status == http.StatusTooManyRequests {
					break
				}
			}
			if answer.Status != http.StatusTooManyRequests || answer.RetryAfter(t) < 1 {
				t.Fatalf("%s: status %d after 130 calls", path, answer.Status)
			}
			if path == "/verify/action" {
				deniesInEveryDialect(t, path, answer)
			}
		}
	})
}

// TestBodiesThatCannotBeReadAreDenied sends what no decoder may take. Clients
// take a 400 for "allow" there, so each is answered 200 with a deny.
func TestBodiesThatCannotBeReadAreDenied(t *testing.T) {
	t.Parallel()
	const deep = 40_000
	bodies := map[string]string{
		"nothing": "", "white space": " \n", "null": `null`, "an array": `[{}]`, "a number": `1`,
		"a string":       `"` + testserver.TypedSecret + `"`,
		"half an object": `{"tool":"` + testserver.TypedSecret, "two objects": `{} {}`, "rest": `{}x`,
		"a comma at the end": `{"tool":"a",}`,
		"a byte order mark":  "\ufeff{}", "a number JSON lacks": `{"a":NaN}`,
		"invalid UTF-8":         "{\"tool\":\"\xff" + testserver.TypedSecret + "\"}",
		"half a surrogate pair": `{"tool":"\ud800"}`, "a member twice": `{"tool":"a","tool":"b"}`,
		"an escaped member twice": `{"tool":"a","\u0074ool":"b"}`,
		"an unknown member twice": `{"x":1,"x":1}`, "brackets without end": strings.Repeat("[", deep),
		"braces without end":       strings.Repeat(`{"a":`, deep),
		"deep nesting":             `{"a":` + strings.Repeat("[", deep) + strings.Repeat("]", deep) + `}`,
		"too large":                `{"a":"` + strings.Repeat("x", 2<<20) + `"}`,
		"a tool that is no text":   `{"tool":{"a":"` + testserver.TypedSecret + `"},"tool_name":17,"path":{}}`,
		"labels that are no texts": `{"tool":"a","tool_name":"a","labels":{"` + testserver.TypedSecret + `":1}}`,
		"arguments that are no object": `{"tool":"a","tool_name":"a","arguments":"` + testserver.TypedSecret +
			`","tool_input":["` + testserver.TypedSecret + `"]}`,
		"arguments with a member twice":  `{"tool":"a","tool_name":"a","arguments":{"x":1,"x":2},"tool_input":{"x":1,"x":2}}`,
		"a huge number in the arguments": `{"tool":"a","tool_name":"a","arguments":{"x":1e999},"tool_input":{"x":1e999}}`,
		"no tool":                        `{"arguments":{}}`,
		"an empty tool":                  `{"tool":" ","tool_name":""}`,
		"a tool nobody can read":         `{"tool":"a\u0000b","tool_name":"a\u0000b"}`,
		"a tool of a megabyte": `{"tool":"` + strings.Repeat("t", 900_000) + `","tool_name":"` +
			strings.Repeat("t", 900_000) + `"}`,
		"TOOL for tool": `{"TOOL":"a","Tool_Name":"a"}`,
	}
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		owner := s.Person("owner")
		org := s.Organization(owner, "Bodies")
		s.ActivePolicy(owner, org, openPolicy)
		key := testserver.Credentials(s.Public.WithKey(s.KeyFor(owner.ID, org).Secret.Reveal()))
		calls := 0
		for _, r := range decisionRoutes(t, s) {
			for name, body := range bodies {
				calls++
				headers := []string{"X-Forwarded-For", fmt.Sprintf("10.0.%d.%d", calls>>8, calls&255)}
				if r.Mode != route.Public {
					headers = append(headers, key...)
				}
				answer := s.Request(t, "POST", r.Path, body, headers...)
				what := r.Path + " with " + name
				if answer.Status != http.StatusOK {
					t.Errorf("%s: status %d, want 200: %.200s", what, answer.Status, answer.Body)
				}
				deniesInEveryDialect(t, what, answer)
				if strings.Contains(string(answer.Body), testserver.TypedSecret) {
					t.Errorf("%s: the answer repeats what was sent: %s", what, answer.Body)
				}
			}
			for _, encoding := range []string{"gzip", "zstd", "br"} {
				headers := append([]string{"Content-Encoding", encoding}, key...)
				if r.Mode == route.Public {
					headers = headers[:2]
				}
				deniesInEveryDialect(t, r.Path+" in "+encoding, s.Request(t, "POST", r.Path, `{}`, headers...))
			}
		}
	}, "WRIT_TRUSTED_PROXIES", "127.0.0.1")
}

// TestDecisionsDuringAnOutageDeny covers what is answered when nothing can be
// read or recorded.
func TestDecisionsDuringAnOutageDeny(t *testing.T) {
	t.Parallel()
	options, line := dbtest.PostgresOnALine(t)
	s := testserver.Start(t, options)
	owner := s.Person("owner")
	org := s.Organization(owner, "Outage")
	s.ActivePolicy(owner, org, openPolicy)
	agent := s.Public.WithKey(s.KeyFor(owner.ID, org).Secret.Reveal())
	token := s.Declare(agent.APIKey, "outage")
	bodies := map[string]string{
		"/iap/sdk/enforce": testserver.JSON(t, map[string]any{"tool": "read", "intent_token": token}),
		"/iap/enforce":     `{"tool_name":"read"}`,
		"/iap/verify-step": testserver.JSON(t, map[string]any{"tool_name": "read", "token": token.JWT}),
		"/verify/action": testserver.JSON(t, map[string]any{
			"path": "/steps/[0]/action", "value": "read", "proof": token.StepProofs[0], "token": token.Token,
		}),
	}
	for path, body := range bodies {
		if answer := s.Request(t, "POST", path, body,
			testserver.Credentials(agent)...); !strings.Contains(string(answer.Body), `"allowed":true`) {
			t.Fatalf("%s before the outage: %s", path, answer.Body)
		}
	}
	line.Cut()
	for path, body := range bodies {
		deniesInEveryDialect(t, path+" during the outage", s.Request(t, "POST", path, body,
			testserver.Credentials(agent)...))
	}
	line.Mend()
	if err := testserver.Eventually(func() error { _, err := s.Public.Ready(t.Context()); return err }); err != nil {
		t.Fatalf("the server is not ready after the database is back: %v", err)
	}
}
