package api_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"writ/client"
)

// wireWorld is an organization as published clients meet it: a policy, and a key that
// is sent in the ways they send it.
type wireWorld struct {
	*server
	t     *testing.T
	owner *person
	org   string
	key   string
}

// wiredPolicy allows, holds, asks about and denies a tool of each name.
const wiredPolicy = `
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

func eachWired(t *testing.T, body func(t *testing.T, w *wireWorld)) {
	t.Helper()
	each(t, func(t *testing.T, s *server) {
		w := &wireWorld{server: s, t: t, owner: s.person("owner")}
		w.org = s.organization(w.owner, "Wired")
		s.activePolicy(w.owner, w.org, wiredPolicy)
		w.key = s.keyFor(w.owner.ID, w.org).Secret.Reveal()
		body(t, w)
	})
}

// Ways in which published clients send their key.
func (w *wireWorld) sdk() []string {
	return []string{
		"Authorization", "Bearer " + w.key, "X-API-Key", w.key, "User-Agent", "ArmorIQ-SDK-TS/0.3.0 (agent=a)",
	}
}
func (w *wireWorld) gemini() []string {
	return []string{
		"Authorization", "Bearer " + w.key, "X-ArmorIQ-Client", "armorgemini/0.3.0", "Accept", "application/json",
	}
}
func (w *wireWorld) claude() []string {
	return []string{"Authorization", "Bearer " + w.key, "X-API-Key", w.key + ", " + w.key}
}

// call posts a body and gives the answer's members.
func (w *wireWorld) call(path, body string, headers ...string) (int, m) {
	w.t.Helper()
	answer := w.wire(w.t, "POST", path, body, headers...)
	return answer.status, w.members(path, answer)
}

func (w *wireWorld) members(what string, answer wireAnswer) m {
	w.t.Helper()
	var members m
	if err := json.Unmarshal(answer.body, &members); err != nil {
		w.t.Fatalf("%s: %d, no JSON object: %.300s", what, answer.status, answer.body)
	}
	return members
}

// wantTypes checks that members are there with their types: "string", "text" (a
// string that is not empty), "bool", "int" (a number without fraction), "number",
// "object", "array", "texts", "null", or some of them with a bar between. A dot
// leads into an object, [] into each item of an array.
func wantTypes(t *testing.T, what string, body m, types map[string]string) {
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

// rawToken is the object an SDK assembles of a mint's answer and sends back.
func rawToken(plan json.RawMessage, minted m, without ...string) m {
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

// mint declares a plan as an SDK does.
func (w *wireWorld) mint(plan string) m {
	w.t.Helper()
	status, body := w.call("/iap/sdk/token", fmt.Sprintf(
		`{"user_id":"__sdk_multiuser__","agent_id":"__sdk_multiuser__","context_id":"default","plan":%s,"expires_in":3600}`, plan), w.sdk()...)
	if status >= 400 || body["success"] != true {
		w.t.Fatalf("mint: %d %v", status, body)
	}
	return body
}

// planRequest is a plan for declared.
func planRequest(plan string) client.PlanRequest {
	return client.PlanRequest{Plan: json.RawMessage(plan), ExpiresIn: 600}
}

// digestOfName is the digest that clients make of a tool's name.
func digestOfName(t *testing.T, name string) string {
	t.Helper()
	sum := sha256.Sum256([]byte(jsonOf(t, name)))
	return hex.EncodeToString(sum[:])
}
