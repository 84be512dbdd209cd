package decisions_test

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"writ/client"
	"writ/internal/database"
	"writ/internal/testserver"
)

// caseEnv is where the cases of a file happen: an organization with the file's
// policy and two keys, and a stranger's.
type caseEnv struct {
	server   *testserver.Server
	file     *caseFile
	owner    *testserver.Person
	moved    bool // time has passed: the owner must sign in again
	org      string
	key      string
	otherKey string
	stranger string // key of another organization
}

// caseRun is one case on one surface.
type caseRun struct {
	*caseEnv
	t *testing.T
}

func newCaseEnv(t *testing.T, s *testserver.Server, file *caseFile) *caseEnv {
	t.Helper()
	w := &caseEnv{server: s, file: file, owner: s.Person("owner")}
	w.stranger = s.AgentKey(w.owner, s.Organization(w.owner, "Strangers")).APIKey
	w.settle(t)
	return w
}

// settle makes the organization of the cases that follow.
func (w *caseEnv) settle(t *testing.T) {
	t.Helper()
	if w.moved {
		w.owner, w.moved = w.server.SignIn(w.owner.Email), false
	}
	w.org = w.server.Organization(w.owner, "Cases")
	w.key = w.server.AgentKey(w.owner, w.org).APIKey
	w.otherKey = w.server.AgentKey(w.owner, w.org).APIKey
	if w.file.Settings != nil {
		if err := w.owner.Call(t.Context(), http.MethodPut, "/organization/"+w.org+"/enforcement", nil, w.file.Settings,
			nil); err != nil {
			t.Fatalf("the file's settings: %v", err)
		}
	}
	if string(w.file.Policy) == `"none"` {
		return
	}
	made, err := w.owner.CreatePolicy(t.Context(), w.org, client.JSONDocument, string(w.file.Policy))
	if err != nil {
		t.Fatalf("the file's policy: %v", err)
	}
	if _, err := w.owner.ActivatePolicy(t.Context(), made.ID, made.PolicyVersion); err != nil {
		t.Fatalf("activate the file's policy: %v", err)
	}
}

// begin begins a case.
func (w *caseEnv) begin(t *testing.T) *caseRun {
	t.Helper()
	if w.file.Fresh {
		w.settle(t)
	}
	return &caseRun{caseEnv: w, t: t}
}

func (r *caseRun) keyOf(by string) string {
	r.t.Helper()
	key, ok := map[string]string{"": r.key, "other key": r.otherKey, "other organization": r.stranger}[by]
	if !ok {
		r.t.Fatalf("nobody calls as %q", by)
	}
	return key
}

// post sends a body as it is.
func (r *caseRun) post(path, key string, body []byte) (int, []byte) {
	r.t.Helper()
	request, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, r.server.Public.BaseURL+path,
		bytes.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if key != "" {
		request.Header.Set("X-API-Key", key)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		r.t.Fatalf("POST %s: %v", path, err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		r.t.Fatalf("POST %s: %v", path, err)
	}
	return response.StatusCode, answer
}

// minted is the answer of POST /iap/sdk/token, with the plan as it was sent.
type minted map[string]json.RawMessage

func (m minted) text(member string) (text string) {
	if json.Unmarshal(m[member], &text) != nil {
		return ""
	}
	return text
}

// mintBody is the request for one of the file's plans, with what SDKs always send.
func (r *caseRun) mintBody(name string) map[string]json.RawMessage {
	r.t.Helper()
	body := map[string]json.RawMessage{
		"user_id": quoteJSON("user"), "agent_id": quoteJSON("agent"), "context_id": quoteJSON("default"),
		"expires_in": quoteJSON(3600),
	}
	var own map[string]json.RawMessage
	if err := json.Unmarshal(r.file.Plans[name], &own); err != nil {
		r.t.Fatalf("plan %q: %v", name, err)
	}
	maps.Copy(body, own)
	if string(body["expires_in"]) == "null" {
		delete(body, "expires_in")
	}
	return body
}

func (r *caseRun) mint(name string) minted {
	r.t.Helper()
	body := r.mintBody(name)
	status, raw := r.post("/iap/sdk/token", r.key, quoteJSON(body))
	var m minted
	if err := json.Unmarshal(raw, &m); err != nil || status/100 != 2 || string(m["success"]) != "true" {
		r.t.Fatalf("declare %s: %d %s", name, status, raw)
	}
	m["plan"] = body["plan"]
	return m
}

// refusesPlan checks that declaring the case's plan is refused as it says.
func (r *caseRun) refusesPlan(c goldenCase) {
	r.t.Helper()
	if c.Holds != "" {
		held := r.mint(c.Holds)
		defer r.post("/iap/plans/"+held.text("plan_id")+"/status", r.key, []byte(`{"status":"completed"}`))
	}
	code, message, _ := strings.Cut(c.Mint, " ")
	status, raw := r.post("/iap/sdk/token", r.key, quoteJSON(r.mintBody(c.Plan)))
	if strconv.Itoa(status) != code || !strings.Contains(string(raw), message) {
		r.t.Errorf("declare %s: %d %s, want %s", c.Plan, status, raw, c.Mint)
	}
}

// token is the token of a plan as the case shows it; nil: none is sent.
func (r *caseRun) token(show string, own, held minted) json.RawMessage {
	r.t.Helper()
	whole := minted{}
	for _, member := range []string{
		"plan", "plan_id", "token", "plan_hash", "merkle_root", "intent_reference", "composite_identity", "step_proofs",
	} {
		if own[member] != nil {
			whole[member] = own[member]
		}
	}
	switch show {
	case "":
		if own == nil {
			return nil
		}
	case "nothing":
		return nil
	case "in text":
		return quoteJSON(string(quoteJSON(whole)))
	case "jwt":
		return own["jwt_token"]
	case "altered jwt":
		return quoteJSON(altered(own.text("jwt_token")))
	case "signed token":
		return own["token"]
	case "without plan_id":
		delete(whole, "plan_id")
	case "widened copy":
		whole["plan"] = json.RawMessage(`{"steps":[{"action":"a","mcp":"x"},{"action":"rm","mcp":"x"}]}`)
	case "other plan_hash", "other merkle_root":
		whole[strings.TrimPrefix(show, "other ")] = quoteJSON(strings.Repeat("0", 64))
	case "later expires_at":
		whole["expires_at"] = json.RawMessage("4102444800")
	case "later expires_at in the signed token":
		whole["token"] = json.RawMessage(expiresAt.ReplaceAllString(string(own["token"]), `"expires_at":4102444800`))
	case "unknown plan":
		whole["plan_id"] = quoteJSON(database.NewID())
	case "other signature":
		whole["token"] = held["token"]
	case "altered signature", "no signature":
		whole["token"] = withoutSignature(r.t, own["token"], show == "altered signature")
	case "policy binding":
		return r.policyBinding()
	default:
		return r.noToken(show)
	}
	return quoteJSON(whole)
}

var expiresAt = regexp.MustCompile(`"expires_at": ?[0-9]+`)

// noToken is what stands in place of a token and is none.
func (r *caseRun) noToken(show string) json.RawMessage {
	r.t.Helper()
	raw, ok := map[string]string{"null": `null`, "empty object": `{}`, "unknown": `"unknown"`, "number": `17`}[show]
	if !ok {
		r.t.Fatalf("no token is shown as %q", show)
	}
	return json.RawMessage(raw)
}

// policyBinding is a token that anyone can have signed.
func (r *caseRun) policyBinding() json.RawMessage {
	r.t.Helper()
	status, raw := r.post("/intent", "",
		[]byte(`{"plan":{"steps":[{"action":"a","mcp":"x"}],"metadata":{"goal":"g","policy_type":"crypto-bound"}},`+
			`"policy":{"global":{"metadata":{"rules":[]}}},"identity":{"user_id":"user","agent_id":"agent","context_id":"default"},"validity_seconds":3600}`))
	if status/100 != 2 {
		r.t.Fatalf("POST /intent: %d %s", status, raw)
	}
	return raw
}

// altered changes the last but one character.
func altered(text string) string {
	at, c := len(text)-2, "A"
	if text[at:at+1] == c {
		c = "B"
	}
	return text[:at] + c + text[at+1:]
}

// withoutSignature is a token whose signature is gone, or has one character changed.
func withoutSignature(t *testing.T, token json.RawMessage, alter bool) json.RawMessage {
	t.Helper()
	var inner minted
	if err := json.Unmarshal(token, &inner); err != nil {
		t.Fatal(err)
	}
	signature := []byte(inner.text("signature"))
	delete(inner, "signature")
	if alter {
		signature[0] ^= 1 // another digit: 0 and 1, a and b differ in one bit, f becomes g, which is none
		inner["signature"] = quoteJSON(string(signature))
	}
	return quoteJSON(inner)
}
