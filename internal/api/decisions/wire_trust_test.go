package decisions_test

import (
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"writ/client"
	"writ/internal/intent/trust"
	"writ/internal/testserver"
)

// trustPlan has a step of each kind that matters to delegations.
const trustPlan = `{"goal":"pay the rent","steps":[{"action":"search","tool":"search","mcp":"bank","params":{}},` +
	`{"action":"read","tool":"read","mcp":"files","params":{"path":"/tmp/a"}},` +
	`{"action":"count","mcp":"bank","max_calls":3}]}`

// delegate is a key pair of a delegate.
type delegate struct {
	public  string
	private ed25519.PrivateKey
}

func newDelegate(t *testing.T) delegate {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return delegate{hex.EncodeToString(public), private}
}

// proof is the header that proves a request with a delegation.
func (d delegate) proof(t *testing.T, delegation m, path, body string) []string {
	t.Helper()
	text, err := trust.Prove(delegation["plan_id"].(string), delegation["jwt_token"].(string),
		trust.RequestOf(path, []byte(body)), time.Now(), d.private)
	if err != nil {
		t.Fatal(err)
	}
	return []string{"X-Writ-Proof", text}
}

// asks asks with a delegation whether a call may run.
func (d delegate) asks(w *testserver.Published, key string, delegation m, tool, args string) m {
	w.T.Helper()
	body := `{"tool":"` + tool + `","arguments":` + args + `,"intent_token":` + testserver.JSON(w.T, delegation) + `}`
	headers := append([]string{"X-API-Key", key}, d.proof(w.T, delegation, "/iap/sdk/enforce", body)...)
	_, answer := w.Call("/iap/sdk/enforce", body, headers...)
	return answer
}

// trustBearer are the headers of the trust routes: SDKs send nothing else.
func trustBearer(key string) []string { return []string{"Authorization", "Bearer " + key} }

// bank permits what the plans of these tests name.
func permitAll(w *testserver.Published) {
	w.ActivePolicy(w.Owner, w.Org, `
version: v1
name: delegated
default: deny
rules:
  - {id: all, effect: allow, tools: ["bank.*", "files.*", "shop.*"]}
`)
}

func TestWireTrustDelegateSubtree(t *testing.T) {
	t.Parallel()
	testserver.EachPublished(t, func(t *testing.T, w *testserver.Published) {
		minted := w.Mint(trustPlan)
		token := testserver.RawToken(json.RawMessage(trustPlan), minted)
		for name, body := range map[string]m{
			"TypeScript": {"parentToken": token, "delegatePublicKey": "pub-key", "validitySeconds": 3600,
				"parentPlan": json.RawMessage(trustPlan), "subtreePath": "/steps/[0]"},
			"Python": {"parentToken": token, "delegatePublicKey": strings.Repeat("ab", 32), "validitySeconds": 60.0,
				"parentPlan": nil, "subtreePath": "/steps/[1]/action", "planId": minted["plan_id"],
				"intentReference": minted["intent_reference"]},
			"signed token alone": {"parentToken": minted["token"], "delegatePublicKey": "k", "subtreePath": "/"},
		} {
			status, answer := w.Call("/iap/trust/delegate", testserver.JSON(t, body), trustBearer(w.Key)...)
			if status != http.StatusCreated {
				t.Fatalf("%s: %d %v", name, status, answer)
			}
			testserver.WantTypes(t, name, answer, map[string]string{
				"trustId": "text", "delta": "object", "delta.payload": "object",
				"delta.payload.inclusion_proof":   "array",
				"delta.payload.subtree_node_hash": "text", "delta.payload.parent_plan_hash": "text",
				"delegation": "absent",
			})
			payload := answer["delta"].(m)["payload"].(m)
			if payload["parent_plan_hash"] != minted["plan_hash"] {
				t.Errorf("%s: of another plan: %v", name, payload)
			}
			again, repeated := w.Call("/iap/trust/delegate", testserver.JSON(t, body), trustBearer(w.Key)...)
			if again != http.StatusCreated || repeated["trustId"] != answer["trustId"] {
				t.Errorf("%s: sent again it is another delegation: %d %v", name, again, repeated)
			}
		}
	})
}

func TestWireTrustDelegateLegacy(t *testing.T) {
	t.Parallel()
	testserver.EachPublished(t, func(t *testing.T, w *testserver.Published) {
		permitAll(w)
		for _, path := range []string{"/iap/trust/delegate", "/delegation/create"} {
			minted := w.Mint(trustPlan)
			d := newDelegate(t)
			body := m{"token": minted["token"], "delegate_public_key": d.public, "validity_seconds": 3600,
				"allowed_actions": []string{"search"}, "target_agent": "helper", "subtask": m{"goal": "look it up"}}
			status, answer := w.Call(path, testserver.JSON(t, body), trustBearer(w.Key)...)
			if status != http.StatusCreated {
				t.Fatalf("%s: %d %v", path, status, answer)
			}
			testserver.WantTypes(t, path, answer, map[string]string{
				"delegation": "object", "delegation_id": "text", "trust_delta": "object", "metadata": "object",
				"delegation.token_id": "text", "delegation.plan_hash": "text", "delegation.plan_id": "text",
				"delegation.signature": "text", "delegation.issued_at": "int", "delegation.expires_at": "int",
				"delegation.policy": "object", "delegation.composite_identity": "text",
				"delegation.client_info":       "object",
				"delegation.policy_validation": "object", "delegation.step_proofs": "array",
				"delegation.total_steps": "int",
			})
			given := answer["delegation"].(m)
			if given["expires_at"].(float64) > minted["token"].(m)["expires_at"].(float64) {
				t.Errorf("%s: the delegation outlives its plan", path)
			}
			other := w.KeyFor(w.Owner.ID, w.Org).Secret.Reveal()
			if got := d.asks(w, other, given, "search", `{}`); got["allowed"] != true {
				t.Errorf("%s: the delegate may not search: %v", path, got)
			}
			if got := d.asks(w, other, given, "read", `{"path":"/tmp/a"}`); got["allowed"] != false {
				t.Errorf("%s: the delegate may read: %v", path, got)
			}
			if got := newDelegate(t).asks(w, other, given, "search", `{}`); got["allowed"] != false ||
				got["rule"] != "not_held" {
				t.Errorf("%s: whoever found the token may use it: %v", path, got)
			}
			stolen := `{"tool":"search","arguments":{},"intent_token":` + testserver.JSON(t, minted["token"]) + `}`
			if _, got := w.Call("/iap/sdk/enforce", stolen, "X-API-Key", other); got["allowed"] != false {
				t.Errorf("%s: the delegate may use its parent's token: %v", path, got)
			}
			bare := `{"tool":"search","arguments":{},"intent_token":` + testserver.JSON(t, given) + `}`
			if _, got := w.Call("/iap/sdk/enforce", bare, "X-API-Key", other); got["rule"] != "not_held" {
				t.Errorf("%s: without a proof: %v", path, got)
			}
		}
	})
}

func TestTrustDelegateRefuses(t *testing.T) {
	t.Parallel()
	testserver.EachPublished(t, func(t *testing.T, w *testserver.Published) {
		minted := w.Mint(trustPlan)
		key := strings.Repeat("ab", 32)
		forged := m{}
		for name, value := range minted["token"].(m) {
			forged[name] = value
		}
		forged["signature"] = strings.Repeat("00", 64)
		forged["plan_id"] = minted["plan_id"]
		for name, tt := range map[string]struct {
			status int
			field  string
			body   m
		}{
			"nothing": {400, "token", m{}},
			"no key":  {400, "delegate_public_key", m{"token": minted["token"]}},
			"short key": {400, "delegate_public_key", m{"token": minted["token"],
				"delegate_public_key": "abcd"}},
			"another tool": {403, "", m{"token": minted["token"], "delegate_public_key": key,
				"allowed_actions": []string{"pay"}}},
			"forged": {403, "", m{"token": forged, "delegate_public_key": key}},
			"unknown": {404, "", m{"token": m{"plan_id": "0190d6f8-0000-7000-8000-000000000000",
				"signature": "x"}, "delegate_public_key": key}},
			"budget": {400, "budget", m{"token": minted["token"], "delegate_public_key": key, "budget": 0}},
			"too deep": {400, "max_depth", m{"token": minted["token"], "delegate_public_key": key,
				"max_depth": 8}},
			"both forms": {400, "token", m{"token": minted["token"], "parentToken": minted["token"],
				"subtreePath": "/"}},
			"no such part": {400, "subtreePath", m{"parentToken": minted["token"], "delegatePublicKey": "k",
				"subtreePath": "/steps/[9]"}},
			"no part": {400, "subtreePath", m{"parentToken": minted["token"], "delegatePublicKey": "k"}},
			"other plan": {400, "planId", m{"parentToken": testserver.RawToken(nil, minted),
				"delegatePublicKey": "k", "subtreePath": "/", "planId": "x"}},
			"widened argument": {403, "", m{"token": minted["token"], "delegate_public_key": key,
				"plan": m{"steps": []m{{"action": "read", "mcp": "files"}}}}},
			"other value": {403, "", m{"token": minted["token"], "delegate_public_key": key,
				"plan": m{"steps": []m{{"action": "read", "mcp": "files", "params": m{"path": "/etc"}}}}}},
			"more calls": {403, "", m{"token": minted["token"], "delegate_public_key": key,
				"plan": m{"steps": []m{{"action": "count", "mcp": "bank", "max_calls": 4}}}}},
			"any calls": {403, "", m{"token": minted["token"], "delegate_public_key": key,
				"plan": m{"steps": []m{{"action": "count", "mcp": "bank"}}}}},
			"other server": {403, "", m{"token": minted["token"], "delegate_public_key": key,
				"plan": m{"steps": []m{{"action": "search", "mcp": "shop"}}}}},
			"no steps": {400, "", m{"token": minted["token"], "delegate_public_key": key,
				"plan": m{"steps": []m{}}}},
			"may": {400, "plan.may", m{"token": minted["token"], "delegate_public_key": key,
				"plan": m{"steps": []m{{"action": "search", "mcp": "bank"}}, "may": []string{"pay"}}}},
			"misspelled": {400, "allowed_action", m{"token": minted["token"], "delegate_public_key": key,
				"allowed_action": []string{"search"}}},
			"misspelled, in the form of current SDKs": {400, "allowedTools", m{"parentToken": minted["token"],
				"delegatePublicKey": "k", "subtreePath": "/", "allowedTools": []string{"search"}}},
			"both restrictions": {400, "allowed_actions", m{"token": minted["token"], "delegate_public_key": key,
				"allowed_actions": []string{"search"}, "plan": m{"steps": []m{{"action": "search", "mcp": "bank"}}}}},
			"a number for a key": {400, "delegate_public_key", m{"token": minted["token"], "delegate_public_key": 7}},
		} {
			answer := w.Request(t, "POST", "/iap/trust/delegate", testserver.JSON(t, tt.body), trustBearer(w.Key)...)
			fields := answer.ErrorFields(t, tt.status)
			if tt.field != "" && (len(fields) != 1 || fields[0] != tt.field) {
				t.Errorf("%s: fields %v, want %s: %s", name, fields, tt.field, answer.Body)
			}
		}
		narrower := m{"token": minted["token"], "delegate_public_key": key, "plan": m{"steps": []m{
			{"action": "search", "mcp": "bank", "params": m{"q": "rent"}, "strict": true, "max_calls": 1},
			{"action": "count", "mcp": "bank", "max_calls": 2},
		}}}
		if status, answer := w.Call("/iap/trust/delegate", testserver.JSON(t, narrower),
			trustBearer(w.Key)...); status != 201 {
			t.Errorf("narrower in every respect: %d %v", status, answer)
		}
		callers := map[string][]string{
			"another key of the organization": trustBearer(w.KeyFor(w.Owner.ID, w.Org).Secret.Reveal()),
			"a person":                        testserver.Credentials(w.Owner.Client),
			"nobody":                          nil,
			"a key of another organization": trustBearer(w.KeyFor(w.Owner.ID, w.Organization(w.Owner,
				"Else")).Secret.Reveal()),
			"a key that may not declare plans": testserver.Credentials(w.UnboundKey(w.Owner)),
		}
		for name, headers := range callers {
			body := testserver.JSON(t, m{"token": minted["token"], "delegate_public_key": key})
			if answer := w.Request(t, "POST", "/iap/trust/delegate", body, headers...); answer.Status < 400 ||
				answer.Status >= 500 {
				t.Errorf("%s: %d %s", name, answer.Status, answer.Body)
			}
		}
	})
}

func TestWireTrustReanchor(t *testing.T) {
	t.Parallel()
	testserver.EachPublished(t, func(t *testing.T, w *testserver.Published) {
		permitAll(w)
		minted := w.Mint(trustPlan)
		token := testserver.RawToken(json.RawMessage(trustPlan), minted)
		asks := func(tool, args string) m {
			body := `{"tool":"` + tool + `","arguments":` + args + `,"intent_token":` + testserver.JSON(t, token) + `}`
			_, answer := w.Call("/iap/sdk/enforce", body, w.SDK()...)
			return answer
		}
		grown := `{"goal":"pay the rent","steps":[{"action":"search","mcp":"bank","params":{}},{"action":"move","mcp":"bank"}]}`
		body := `{"newPlan":` + grown + `,"reason":"plan grew","planId":"` + minted["plan_id"].(string) +
			`","intentReference":null}`
		status, answer := w.Call("/iap/trust/reanchor", body, trustBearer(w.Key)...)
		if status != http.StatusOK {
			t.Fatalf("re-anchor: %d %v", status, answer)
		}
		testserver.WantTypes(t, "re-anchor", answer, map[string]string{
			"trustId": "text", "delta": "object", "delta.payload": "object", "delta.payload.from_hash": "text",
			"delta.payload.to_hash": "text",
		})
		if answer["delta"].(m)["payload"].(m)["from_hash"] != minted["plan_hash"] || answer["held"] != true {
			t.Errorf("re-anchored from another plan, or nothing is held: %v", answer)
		}
		if _, again := w.Call("/iap/trust/reanchor", body,
			trustBearer(w.Key)...); again["trustId"] != answer["trustId"] {
			t.Errorf("sent again it is another anchor: %v", again)
		}
		// The old token and plan are sent on, with the new tool.
		if got := asks("search", `{}`); got["allowed"] != true {
			t.Errorf("what both plans have: %v", got)
		}
		if got := asks("move", `{}`); got["decision"] != "hold" || got["rule"] != "widened" {
			t.Errorf("what was added: %v", got)
		}
		if got := asks("read", `{"path":"/tmp/a"}`); got["decision"] != "deny" {
			t.Errorf("what is not there any more: %v", got)
		}
		for setting, want := range map[string]string{"allow": "allow", "refuse": ""} {
			if _, err := w.Owner.SetEnforcementSettings(t.Context(), w.Org, client.EnforcementSettings{
				MaxPlanTTLSeconds: 3600, Widening: setting,
			}); err != nil {
				t.Fatal(err)
			}
			minted = w.Mint(trustPlan)
			token = testserver.RawToken(json.RawMessage(trustPlan), minted)
			body = `{"newPlan":` + grown + `,"planId":"` + minted["plan_id"].(string) + `"}`
			status, answer = w.Call("/iap/trust/reanchor", body, trustBearer(w.Key)...)
			if want == "" && status != http.StatusForbidden {
				t.Errorf("%s: %d %v", setting, status, answer)
			}
			if want != "" && asks("move", `{}`)["decision"] != want {
				t.Errorf("%s: %v", setting, asks("move", `{}`))
			}
		}
		other := w.KeyFor(w.Owner.ID, w.Org).Secret.Reveal()
		for name, tt := range map[string]struct {
			status int
			key    string
			body   string
		}{
			"no plan named":  {400, w.Key, `{"newPlan":` + grown + `}`},
			"no new plan":    {400, w.Key, `{"newPlan":{},"planId":"` + minted["plan_id"].(string) + `"}`},
			"another's plan": {404, other, body},
			"unknown plan":   {404, w.Key, `{"newPlan":` + grown + `,"planId":"0190d6f8-0000-7000-8000-000000000000"}`},
			"no plan at all": {400, w.Key, `{"planId":"` + minted["plan_id"].(string) + `"}`},
		} {
			answer := w.Request(t, "POST", "/iap/trust/reanchor", tt.body, trustBearer(tt.key)...)
			if answer.Status != tt.status && !(tt.status == 400 && answer.Status == 422) {
				t.Errorf("%s: %d %s", name, answer.Status, answer.Body)
			}
		}
	})
}

func TestWireTrustRevokeAndChain(t *testing.T) {
	t.Parallel()
	testserver.EachPublished(t, func(t *testing.T, w *testserver.Published) {
		permitAll(w)
		minted := w.Mint(trustPlan)
		one, two := newDelegate(t), newDelegate(t)
		first := one.delegated(w, w.Key, minted["token"].(m), nil)
		inner := w.KeyFor(w.Owner.ID, w.Org).Secret.Reveal()
		body := testserver.JSON(t, m{"token": first, "delegate_public_key": two.public,
			"allowed_actions": []string{"search"}})
		if _, refused := w.Call("/iap/trust/delegate", body, trustBearer(inner)...); refused["delegation"] != nil {
			t.Errorf("delegated on without a proof: %v", refused)
		}
		second := two.delegated(w, inner, first, one.proof(t, first, "/iap/trust/delegate", body), "search")
		if got := two.asks(w, inner, second, "search", `{}`); got["allowed"] != true {
			t.Fatalf("two delegations deep: %v", got)
		}

		chain := w.Request(t, "GET", "/iap/trust/chain/"+second["plan_id"].(string), "",
			testserver.Credentials(w.Owner.Client)...)
		tree := w.Members("chain", chain)
		root := tree["root"].(m)
		child := root["children"].([]any)[0].(m)
		leaf := child["children"].([]any)[0].(m)
		if root["id"] != minted["plan_id"] || child["id"] != first["plan_id"] || leaf["id"] != second["plan_id"] ||
			leaf["counts"] != true || leaf["depth"].(float64) != 2 || len(tree["anchors"].([]any)) != 1 {
			t.Errorf("the chain: %v", tree)
		}
		stranger := w.KeyFor(w.Owner.ID, w.Org).Secret.Reveal()
		for name, headers := range map[string][]string{
			"another key": trustBearer(stranger), "nobody": nil,
			"another organization": trustBearer(w.KeyFor(w.Owner.ID, w.Organization(w.Owner, "Else")).Secret.Reveal()),
		} {
			if a := w.Request(t, "GET", "/iap/trust/chain/"+second["plan_id"].(string), "",
				headers...); a.Status < 401 {
				t.Errorf("%s sees the chain: %d", name, a.Status)
			}
			revoke := testserver.JSON(t, m{"trustId": second["plan_id"], "reason": "r"})
			if a := w.Request(t, "POST", "/iap/trust/revoke", revoke, headers...); a.Status < 401 {
				t.Errorf("%s revokes: %d", name, a.Status)
			}
		}

		// Alone: what hangs under it counts no more, and is not marked.
		status, answer := w.Call("/iap/trust/revoke", testserver.JSON(t, m{
			"token": first, "reason": "not needed", "cascade": false, "planId": nil, "intentReference": nil,
		}), trustBearer(w.Key)...)
		if status != http.StatusOK {
			t.Fatalf("revoke: %d %v", status, answer)
		}
		testserver.WantTypes(t, "revoke", answer, map[string]string{
			"trustId": "text", "delta": "object", "cascadedRevocations": "array",
		})
		for name, got := range map[string]m{
			"revoked": one.asks(w, inner, first, "search", `{}`), "below": two.asks(w, inner, second, "search", `{}`),
		} {
			if got["allowed"] != false {
				t.Errorf("%s: %v", name, got)
			}
		}
		// With its sub-tree, by the plan's own token.
		token := testserver.RawToken(json.RawMessage(trustPlan), minted)
		status, answer = w.Call("/iap/trust/revoke", testserver.JSON(t, m{"token": token, "reason": "over",
			"cascade": true}),
			trustBearer(w.Key)...)
		if cascaded, _ := answer["cascadedRevocations"].([]any); status != 200 || len(cascaded) != 1 ||
			cascaded[0] != second["plan_id"] {
			t.Errorf("with its sub-tree: %d %v", status, answer)
		}
		_, again := w.Call("/iap/trust/revoke", testserver.JSON(t, m{"token": token, "reason": "over"}),
			trustBearer(w.Key)...)
		if testserver.JSON(t, again["cascadedRevocations"]) != testserver.JSON(t, answer["cascadedRevocations"]) {
			t.Errorf("revoked again: %v", again)
		}
		if a := w.Request(t, "POST", "/iap/plans/"+minted["plan_id"].(string)+"/status", `{"status":"active"}`,
			testserver.Credentials(w.Owner.Client)...); a.Status != http.StatusConflict {
			t.Errorf("a revoked plan is made active: %d %s", a.Status, a.Body)
		}
	})
}

// delegated delegates a plan or delegation to the key.
func (d delegate) delegated(w *testserver.Published, key string, parent m, proof []string, actions ...string) m {
	w.T.Helper()
	body := m{"token": parent, "delegate_public_key": d.public}
	if actions != nil {
		body["allowed_actions"] = actions
	}
	status, answer := w.Call("/iap/trust/delegate", testserver.JSON(w.T, body), append(trustBearer(key), proof...)...)
	if status != http.StatusCreated {
		w.T.Fatalf("delegate: %d %v", status, answer)
	}
	return answer["delegation"].(m)
}
