package decisions_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"writ/internal/testserver"
)

// tokenTypes are the members of a mint's answer that clients read.
var tokenTypes = map[string]string{
	"success": "bool", "message": "text", "plan_id": "text", "plan_hash": "text", "merkle_root": "text",
	"intent_reference":   "text",
	"composite_identity": "text", "step_proofs": "array", "step_proofs[]": "array", "jwt_token": "text",
	"client_info":          "object",
	"client_info.clientId": "text", "client_info.clientName": "text", "client_info.orgId": "text",
	"token": "object", "token.signature": "text", "token.issued_at": "int", "token.expires_at": "int",
	"token.plan_hash": "text",
	"token.policy":    "object", "token.identity": "text", "token.public_key": "text", "token.version": "text",
	"token.allowed_operations": "absent", "token.resource_scope": "absent",
	"policy_validation": "object", "policy_validation.allowed_tools": "texts",
	"policy_validation.denied_tools":   "texts",
	"policy_validation.denied_reasons": "texts", "policy_validation.default_enforcement_action": "text",
	"policy_snapshot": "array", "policy_snapshot[].policyName": "text", "policy_snapshot[].targetName": "text",
	"policy_snapshot[].defaultEnforcementAction": "text", "policy_snapshot[].rules": "object",
	"policy_snapshot[].rules.allowedTools": "texts",
}

func TestWireSDKToken(t *testing.T) {
	t.Parallel()
	testserver.EachPublished(t, func(t *testing.T, w *testserver.Published) {
		for name, body := range map[string]string{
			"TypeScript": `{"user_id":"u","agent_id":"a","context_id":"default","plan":` + testserver.BuilderPlan +
				`,"expires_in":60}`,
			"Python": `{"user_id":"u","agent_id":"__sdk_multiuser__","context_id":"default","plan":` +
				testserver.BuilderPlan + `,"policy":null,"expires_in":3600.0}`,
			"for a user": `{"user_id":"ada@example.org","user_email":"ada@example.org","agent_id":"a","context_id":"default","plan":` + testserver.BuilderPlan + `,"policy":{"allow":["*"],"deny":[]},"expires_in":0.5}`,
			"CrewAI": `{"user_id":"u","agent_id":"a","context_id":"c","plan":` + testserver.CrewPlan +
				`,"expires_in":3600}`,
		} {
			status, answer := w.Call("/iap/sdk/token", body, w.SDK()...)
			if status >= 400 {
				t.Errorf("%s: %d %v", name, status, answer)
				continue
			}
			testserver.WantTypes(t, name, answer, tokenTypes)
			if proofs := answer["step_proofs"].([]any); len(proofs) != 2 {
				t.Errorf("%s: %d proofs for two steps", name, len(proofs))
			}
			if token := answer["token"].(map[string]any); token["plan_hash"] != answer["plan_hash"] ||
				token["expires_at"].(float64) <= token["issued_at"].(float64) {
				t.Errorf("%s: the token is of another plan, or ends before it begins: %v", name, token)
			}
		}
	})
}

// TestWireTokenVerifiesAsClientsVerify checks signature and digest as TypeScript
// and Python do, with nothing of ours.
func TestWireTokenVerifiesAsClientsVerify(t *testing.T) {
	t.Parallel()
	testserver.EachPublished(t, func(t *testing.T, w *testserver.Published) {
		minted := w.Mint(testserver.BuilderPlan)
		token := minted["token"].(map[string]any)
		signed := map[string]any{}
		for _, name := range []string{
			"plan_hash", "issued_at", "expires_at", "policy", "identity", "public_key", "version",
		} {
			signed[name] = token[name]
		}
		payload := testserver.JSON(t, signed) // sorted keys, no spaces; all of it is ASCII
		key, err := hex.DecodeString(token["public_key"].(string))
		if err != nil {
			t.Fatal(err)
		}
		signature, err := hex.DecodeString(token["signature"].(string))
		if err != nil {
			t.Fatal(err)
		}
		if !ed25519.Verify(key, []byte(payload), signature) {
			t.Error("the signature does not hold")
		}
		if claims := strings.Split(minted["jwt_token"].(string), "."); len(claims) != 3 {
			t.Errorf("the JWT has %d parts", len(claims))
		} else if _, err := base64.RawURLEncoding.DecodeString(claims[1]); err != nil {
			t.Errorf("the JWT: %v", err)
		}
	})
}

func TestWireIdempotencyKey(t *testing.T) {
	t.Parallel()
	testserver.EachPublished(t, func(t *testing.T, w *testserver.Published) {
		body := `{"user_id":"u","agent_id":"a","context_id":"default","plan":` + testserver.BuilderPlan +
			`,"expires_in":60}`
		headers := append([]string{"Idempotency-Key", strings.Repeat("ab", 16)}, w.SDK()...)
		_, first := w.Call("/iap/sdk/token", body, headers...)
		_, again := w.Call("/iap/sdk/token", body, headers...)
		if first["plan_id"] != again["plan_id"] ||
			testserver.JSON(t, first["token"]) != testserver.JSON(t, again["token"]) {
			t.Errorf("the same request got two tokens: %v, %v", first["plan_id"], again["plan_id"])
		}
		if _, other := w.Call("/iap/sdk/token", body, w.SDK()...); other["plan_id"] == first["plan_id"] {
			t.Error("another request got the same plan")
		}
		if status, _ := w.Call("/iap/sdk/token", strings.Replace(body, `"u"`, `"v"`, 1), headers...); status != 409 {
			t.Errorf("the key for another request: status %d, want 409", status)
		}
	})
}

// enforceTypes are the members of an SDK's decision.
var enforceTypes = map[string]string{
	"allowed": "bool", "enforcementAction": "text", "reason": "text", "matchedPolicy": "object|null",
	"decision": "text", "decisionId": "text", "receipt": "object", "receipt.index": "int", "receipt.leaf": "text",
	"receipt.proof": "array", "receipt.checkpoint": "text",
}

func TestWireSDKEnforce(t *testing.T) {
	t.Parallel()
	const plan = `{"steps":[{"action":"search","mcp":"web"},{"action":"pay","mcp":"bank"},{"action":"mail","mcp":"post"},{"action":"drop","mcp":"db"},
		{"action":"transfer","mcp":"bank"}]}`
	testserver.EachPublished(t, func(t *testing.T, w *testserver.Published) {
		minted := w.Mint(plan)
		token := testserver.JSON(t, testserver.RawToken(json.RawMessage(plan), minted))
		for _, c := range []struct {
			name, body, action, decision string
		}{
			{
				"TypeScript",
				`{"tool":"search","arguments":{"q":"x"},"intent_token":%s,"agent_id":"__sdk_multiuser__"}`, "allow",
				"allow",
			},
			{
				"Python",
				`{"tool":"search","arguments":{},"intent_token":%s,"policy_snapshot":null,"user_email":null,"agent_id":null}`,
				"allow", "allow",
			},
			{
				"with a snapshot",
				`{"tool":"search","arguments":{},"intent_token":%s,"policy_snapshot":[{"policyName":"p","rules":{"allowedTools":["*"]}}]}`,
				"allow", "allow",
			},
			{
				"a hold", `{"tool":"pay","arguments":{"amount":5},"intent_token":%s,"policy_snapshot":[]}`, "hold",
				"hold",
			},
			{"an ask", `{"tool":"mail","arguments":{},"intent_token":%s}`, "hold", "ask"},
			{
				"a deny",
				`{"tool":"drop","arguments":{},"intent_token":%s,"policy_snapshot":[{"policyName":"p","rules":{"allowedTools":["drop"]}}]}`,
				"block", "deny",
			},
			{
				"a condition that holds", `{"tool":"transfer","arguments":{"amount":9},"intent_token":%s}`, "allow",
				"allow",
			},
			{
				"a condition that does not", `{"tool":"transfer","arguments":{"amount":10},"intent_token":%s}`,
				"block", "deny",
			},
			{
				"a tool that is not in the plan", `{"tool":"read_file","arguments":{},"intent_token":%s}`, "block",
				"deny",
			},
		} {
			status, answer := w.Call("/iap/sdk/enforce", fmt.Sprintf(c.body, token), w.SDK()...)
			if status != 200 || answer["enforcementAction"] != c.action || answer["decision"] != c.decision ||
				answer["allowed"] != (c.action == "allow") {
				t.Errorf("%s: %d %v", c.name, status, answer)
			}
			testserver.WantTypes(t, c.name, answer, enforceTypes)
			if policy, ok := answer["matchedPolicy"].(map[string]any); ok && policy["name"] != "wired" {
				t.Errorf("%s: matchedPolicy is %v", c.name, policy)
			}
		}
		for name, body := range map[string]string{
			"no token":     `{"tool":"search","arguments":{}}`,
			"a null token": `{"tool":"search","arguments":{},"intent_token":null}`,
			"the signature gone": `{"tool":"search","intent_token":` +
				testserver.JSON(t, m{"plan_id": minted["plan_id"]}) + `}`,
		} {
			if _, answer := w.Call("/iap/sdk/enforce", body, w.SDK()...); answer["allowed"] != false ||
				answer["enforcementAction"] != "block" {
				t.Errorf("%s: %v", name, answer)
			}
		}
		old := testserver.JSON(t, testserver.RawToken(json.RawMessage(plan), minted, "plan_id")) // 0.2.6 sends none
		if _, answer := w.Call("/iap/sdk/enforce", `{"tool":"search","arguments":{},"intent_token":`+old+`}`,
			w.SDK()...); answer["allowed"] != true {
			t.Errorf("a token without plan_id: %v", answer)
		}
	})
}

func TestWirePlanStatus(t *testing.T) {
	t.Parallel()
	testserver.EachPublished(t, func(t *testing.T, w *testserver.Published) {
		minted := w.Mint(testserver.CrewPlan)
		path := "/iap/plans/" + minted["plan_id"].(string) + "/status"
		headers := append([]string{"Idempotency-Key", "plan-status:x:completed"}, w.SDK()...)
		for _, c := range []struct {
			status string
			want   int
		}{
			{"active", 200}, {"completed", 200}, {"completed", 200}, {"active", 403}, {"failed", 200},
			{"sleeping", 400},
		} {
			if status, answer := w.Call(path, `{"status":"`+c.status+`"}`, headers...); status != c.want {
				t.Errorf("%s: %d, want %d: %v", c.status, status, c.want, answer)
			}
		}
		body := `{"tool":"search","arguments":{},"intent_token":` +
			testserver.JSON(t, testserver.RawToken(json.RawMessage(testserver.CrewPlan), minted)) + `}`
		if _, answer := w.Call("/iap/sdk/enforce", body, w.SDK()...); answer["allowed"] != false ||
			!strings.Contains(answer["reason"].(string), "ended") {
			t.Errorf("a call of an ended plan: %v", answer)
		}
	})
}

func TestWirePreflightBootstrapAndUsers(t *testing.T) {
	t.Parallel()
	testserver.EachPublished(t, func(t *testing.T, w *testserver.Published) {
		types := map[string]string{
			"decision": "text", "intent_id": "text", "violations": "texts", "offending_interfaces": "texts",
			"predicate_fails": "array", "meta": "object",
		}
		for _, c := range []struct{ name, body, want string }{
			{
				"accepted", `{"agent_id":"a","user_prompt":"find","tool_calls":[{"name":"search","input":{"q":"x"}}]}`,
				"accepted",
			},
			{
				"without calls", `{"agent_id":"a","user_prompt":"find","tool_calls":[],"authority_snapshot":{}}`,
				"accepted",
			},
			{
				"rejected",
				`{"agent_id":"a","user_prompt":"drop","tool_calls":[{"name":"search"},{"name":"db__drop","input":null}],"authority_snapshot":null}`,
				"rejected",
			},
			{"escalated", `{"agent_id":"a","user_prompt":"pay","tool_calls":[{"name":"pay"}]}`, "escalated"},
			{
				"beyond its own authority",
				`{"agent_id":"a","user_prompt":"x","tool_calls":[{"name":"search"}],"authority_snapshot":{"interfaces":["read_file"],"constraints":[]}}`,
				"rejected",
			},
			{
				"within its own authority",
				`{"agent_id":"a","user_prompt":"x","tool_calls":[{"name":"search"}],"authority_snapshot":{"interfaces":[{"name":"search"}]}}`,
				"accepted",
			},
		} {
			status, answer := w.Call("/iap/sdk/preflight", c.body, w.SDK()...)
			if status >= 300 || answer["decision"] != c.want {
				t.Errorf("%s: %d %v", c.name, status, answer)
			}
			testserver.WantTypes(t, c.name, answer, types)
			if c.want != "accepted" {
				testserver.WantTypes(t, c.name, answer, map[string]string{
					"predicate_fails[].predicate": "text", "predicate_fails[].tool_name": "text",
					"predicate_fails[].decision": "text", "predicate_fails[].reason": "text",
				})
			}
		}
		status, answer := w.Call("/iap/sdk/bootstrap", `{}`, w.SDK()...)
		if status >= 400 {
			t.Errorf("bootstrap: %d %v", status, answer)
		}
		testserver.WantTypes(t, "bootstrap", answer, map[string]string{
			"org.name": "text", "mcps": "array", "toolMap": "object", "agents": "array",
		})
		status, answer = w.Call("/iap/sdk/resolve-user", `{"userEmail":"`+w.Owner.Email+`"}`, w.SDK()...)
		if status >= 400 || answer["isMember"] != true {
			t.Errorf("resolve-user: %d %v", status, answer)
		}
		testserver.WantTypes(t, "resolve-user", answer, map[string]string{
			"userEmail":         "text",
			"orgId":             "text",
			"membership.userId": "text",
			"membership.role":   "text",
			"approverChain":     "texts",
		})
		if status, answer = w.Call("/iap/sdk/resolve-user", `{"userEmail":"nobody@example.org"}`,
			w.SDK()...); status != 200 || answer["isMember"] != false || answer["membership"] != nil {
			t.Errorf("resolve-user of a stranger: %d %v", status, answer)
		}
	})
}

// TestWireValueDigest is the published vector of a value's digest.
func TestWireValueDigest(t *testing.T) {
	t.Parallel()
	sum := sha256.Sum256([]byte(`"noop"`))
	if hex.EncodeToString(sum[:]) != "a48838a5da63ab6652e7925667e233cbe0bbc1d60c5516137773ffc361c15485" {
		t.Fatal("the digest of the vector is another")
	}
	testserver.EachPublished(t, func(t *testing.T, w *testserver.Published) {
		minted := w.Mint(`{"steps":[{"action":"noop","mcp":"x"}]}`)
		answer := w.Request(t, "GET", "/iap/plan/"+minted["plan_id"].(string)+"/steps/0/proof", "", "X-API-Key", w.Key)
		proof := w.Members("proof", answer)
		if proof["value_digest"] != hex.EncodeToString(sum[:]) || proof["path"] != "/steps/[0]/action" ||
			proof["merkle_root"] != minted["merkle_root"] {
			t.Errorf("the proof of a step: %v", proof)
		}
		testserver.WantTypes(t, "proof", proof, map[string]string{
			"step_index":           "int",
			"proof":                "array",
			"proof[].position":     "text",
			"proof[].sibling_hash": "text",
			"step.value_digest":    "text",
		})
		if testserver.JSON(t, proof["proof"]) != testserver.JSON(t, minted["step_proofs"].([]any)[0]) {
			t.Error("the proof is not the one of the token")
		}
	})
}
