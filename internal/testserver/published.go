package testserver

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"writ/client"
)

// Published is an organization as published clients use it: a policy, and a key that
// is sent in the ways they send it.
type Published struct {
	*Server
	T     *testing.T
	Owner *Person
	Org   string
	Key   string
}

// publishedPolicy allows, holds, asks about and denies a tool of each name.
const publishedPolicy = `
version: v1
name: wired
default: deny
rules:
  - {id: reads, effect: allow, tools: ["*.search", "*.read_file", "*.Read", "*.exec_command"]}
  - {id: pays, effect: hold, tools: ["*.pay"], message: A person must approve payments.}
  - {id: mails, effect: ask, tools: ["*.mail"]}
  - {id: drops, effect: deny, tools: ["*.drop"], message: Nothing is dropped here.}
  - {id: small, effect: allow, tools: ["*.transfer"], when: "args.amount < 10"}
`

// EachPublished runs the body for an organization on each database.
func EachPublished(t *testing.T, body func(t *testing.T, w *Published)) {
	t.Helper()
	Each(t, func(t *testing.T, s *Server) {
		w := &Published{Server: s, T: t, Owner: s.Person("owner")}
		w.Org = s.Organization(w.Owner, "Wired")
		s.ActivePolicy(w.Owner, w.Org, publishedPolicy)
		w.Key = s.KeyFor(w.Owner.ID, w.Org).Secret.Reveal()
		body(t, w)
	})
}

// SDK is how the SDK sends the key.
func (w *Published) SDK() []string {
	return []string{
		"Authorization", "Bearer " + w.Key, "X-API-Key", w.Key, "User-Agent", "ArmorIQ-SDK-TS/0.3.0 (agent=a)",
	}
}

// Gemini is how the plugin for Gemini sends it.
func (w *Published) Gemini() []string {
	return []string{
		"Authorization", "Bearer " + w.Key, "X-ArmorIQ-Client", "armorgemini/0.3.0", "Accept", "application/json",
	}
}

// Claude is how the plugin for Claude sends it.
func (w *Published) Claude() []string {
	return []string{"Authorization", "Bearer " + w.Key, "X-API-Key", w.Key + ", " + w.Key}
}

// Call posts a body and gives the answer's members.
func (w *Published) Call(path, body string, headers ...string) (int, m) {
	w.T.Helper()
	answer := w.Request(w.T, "POST", path, body, headers...)
	return answer.Status, w.Members(path, answer)
}

// Members decodes an answer that is an object.
func (w *Published) Members(what string, answer Answer) m {
	w.T.Helper()
	var members m
	if err := json.Unmarshal(answer.Body, &members); err != nil {
		w.T.Fatalf("%s: %d, no JSON object: %.300s", what, answer.Status, answer.Body)
	}
	return members
}

// WantTypes checks that members are there with their types: "string", "text" (a
// string that is not empty), "bool", "int" (a number without fraction), "number",
// "object", "array", "texts", "null", or some of them with a bar between. A dot
// leads into an object, [] into each item of an array.
func WantTypes(t *testing.T, what string, body m, types map[string]string) {
	t.Helper()
	for _, path := range slices.Sorted(maps.Keys(types)) {
		for _, value := range valuesAt(body, path) {
			if !slices.ContainsFunc(strings.Split(types[path], "|"), func(kind string) bool {
				return isOfType(value, kind)
			}) {
				t.Errorf("%s: %s is %v (%T), want %s", what, path, value, value, types[path])
			}
		}
	}
}

// noMember stands for a member that is not there.
type noMember struct{}

func valuesAt(value any, path string) []any {
	if path == "" {
		return []any{value}
	}
	name, rest, _ := strings.Cut(path, ".")
	name, each := strings.CutSuffix(name, "[]")
	object, _ := value.(map[string]any)
	if made, ok := value.(m); ok {
		object = made
	}
	member, ok := object[name]
	if !ok {
		return []any{noMember{}}
	}
	if !each {
		return valuesAt(member, rest)
	}
	var all []any
	items, ok := member.([]any)
	if !ok || len(items) == 0 {
		return []any{noMember{}}
	}
	for _, item := range items {
		all = append(all, valuesAt(item, rest)...)
	}
	return all
}

func isOfType(value any, kind string) bool {
	switch v := value.(type) {
	case noMember:
		return kind == "absent"
	case nil:
		return kind == "null"
	case string:
		return kind == "string" || kind == "text" && v != ""
	case bool:
		return kind == "bool"
	case float64:
		return kind == "number" || kind == "int" && v == float64(int64(v))
	case []any:
		isText := func(item any) bool { _, ok := item.(string); return ok }
		return kind == "array" ||
			kind == "texts" && !slices.ContainsFunc(v, func(item any) bool { return !isText(item) })
	case map[string]any:
		return kind == "object"
	}
	return false
}

// RawToken is the object an SDK assembles of a mint's answer and sends back.
func RawToken(plan json.RawMessage, minted m, without ...string) m {
	token := m{"plan": plan}
	for _, name := range []string{
		"plan_id", "token", "plan_hash", "merkle_root", "intent_reference", "composite_identity", "step_proofs",
	} {
		token[name] = minted[name]
	}
	for _, name := range without {
		delete(token, name)
	}
	return token
}

// Mint declares a plan as an SDK does.
func (w *Published) Mint(plan string) m {
	w.T.Helper()
	status, body := w.Call("/iap/sdk/token", fmt.Sprintf(
		`{"user_id":"__sdk_multiuser__","agent_id":"__sdk_multiuser__","context_id":"default","plan":%s,"expires_in":3600}`, plan), w.SDK()...)
	if status >= 400 || body["success"] != true {
		w.T.Fatalf("mint: %d %v", status, body)
	}
	return body
}

// PlanRequest is a request for Declared.
func PlanRequest(plan string) client.PlanRequest {
	return client.PlanRequest{Plan: json.RawMessage(plan), ExpiresIn: 600}
}

// Plans in the forms that SDKs send.
const (
	BuilderPlan = `{"goal":"agent task","steps":[{"action":"search","tool":"search","mcp":"web","params":{"q":"x"},"description":"Call search on web"},
		{"action":"pay","tool":"pay","mcp":"bank","params":{},"description":"Call pay on bank"}]}`
	CrewPlan = `{"goal":"g","steps":[{"action":"search","mcp":"web"},{"action":"drop","mcp":"db"}]}`
)
