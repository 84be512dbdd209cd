package api_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// The bodies that plugins were recorded to send.
const (
	claudePlan = `{"steps":[{"action":"Read","tool":"Read","mcp":"claude-code","description":"look","metadata":{}},
		{"action":"drop","tool":"drop","mcp":"db","description":"","metadata":{}}],"metadata":{"goal":"b","source":"claude-code-registered"}}`
	codexMint   = `{"user_id":"codex-user","agent_id":"codex","context_id":"default","plan":{"steps":[{"action":"exec_command","tool":"exec_command","mcp":"codex","description":"why","metadata":{"inputs":{"cmd":"make"}}},{"action":"apply_patch","tool":"apply_patch","mcp":"codex","description":"","metadata":{}}],"metadata":{"goal":"b","source":"codex-registered"}},"policy":{"rules":[]},"expires_in":3600}`
	copilotAuto = `{"user_id":"copilot-user","agent_id":"copilot","context_id":"default","plan":{"steps":[{"action":"bash","mcp":"copilot","metadata":{"inputs":{"command":"ls"}}}],"metadata":{"goal":"do it","source":"copilot"}},"policy":{"rules":[]},"expires_in":600}`
)

func TestWireGeminiEnforce(t *testing.T) {
	t.Parallel()
	eachWired(t, func(t *testing.T, w *wireWorld) {
		types := map[string]string{
			"allowed": "bool", "action": "text", "reason": "text", "matched_policy": "object",
			"matched_policy.name": "text", "matched_policy.id": "text",
			"decision": "text", "decisionId": "text", "receipt": "object",
		}
		for _, c := range []struct{ name, body, action, decision string }{
			{
				"allow",
				`{"source":"armorgemini","session_id":"s","tool_name":"read_file","tool_input":{"file_path":"a"},"description":"peek","org_id":"o"}`,
				"allow", "allow",
			},
			{
				"no session", `{"source":"armorgemini","session_id":"","tool_name":"read_file","tool_input":{}}`,
				"allow", "allow",
			},
			{
				"hold", `{"source":"armorgemini","session_id":"s","tool_name":"pay","tool_input":{"amount":3}}`,
				"hold", "hold",
			},
			{"ask", `{"source":"armorgemini","session_id":"s","tool_name":"mail","tool_input":{}}`, "hold", "ask"},
			{"deny", `{"source":"armorgemini","session_id":"s","tool_name":"drop","tool_input":{}}`, "deny", "deny"},
			{
				"what the host knows wins over the name",
				`{"source":"armorgemini","session_id":"s","tool_name":"mcp_x_read_file","tool_input":{},"mcp_context":{"server_name":"x","tool_name":"drop"}}`,
				"deny", "deny",
			},
		} {
			status, answer := w.call("/iap/enforce", c.body, w.gemini()...)
			if status != 200 || answer["action"] != c.action || answer["decision"] != c.decision ||
				answer["allowed"] != (c.action == "allow") {
				t.Errorf("%s: %d %v", c.name, status, answer)
			}
			wantTypes(t, c.name, answer, types)
		}
		whatever := `{"source":"armorgemini","session_id":"s","tool_name":"read_file","tool_input":"not an object"}`
		if status, answer := w.call("/iap/enforce", whatever, w.gemini()...); status != 200 ||
			answer["allowed"] != false || answer["action"] != "deny" {
			t.Errorf("arguments of another kind: %d %v", status, answer)
		}
	})
}

// TestWireVerifyStep asks as Claude, Codex and OpenClaw do.
func TestWireVerifyStep(t *testing.T) {
	t.Parallel()
	eachWired(t, func(t *testing.T, w *wireWorld) {
		minted := w.mint(claudePlan)
		proofs := minted["step_proofs"].([]any)
		text := jsonOf(t, jsonOf(t, rawToken(json.RawMessage(claudePlan), minted)))
		types := map[string]string{
			"allowed": "bool", "reason": "text", "verification_source": "text", "csrg_merkle_root": "text",
			"expiresAt":                       "int",
			"policy_validation.allowed_tools": "texts", "policy_validation.denied_tools": "texts",
			"policy_validation.denied_reasons": "texts",
			"node_hash":                        "text", "csrg_path": "text", "step.step_index": "int",
			"step.action":             "text",
			"step.params":             "object",
			"execution_state.plan_id": "text", "execution_state.intent_reference": "text",
			"execution_state.executed_steps": "array",
			"execution_state.current_step":   "int", "execution_state.total_steps": "int",
			"execution_state.status": "text", "execution_state.is_completed": "bool",
		}
		claim := fmt.Sprintf(`"path":"/steps/[0]/tool","step_index":0,"proof":%s`, jsonOf(t, proofs[0]))
		if status, answer := w.call("/iap/audit",
			jsonOf(t, m{"plan_id": minted["plan_id"], "tool": "Read", "step_index": 0, "status": "success"}),
			w.claude()...); status != 201 {
			t.Fatalf("report: %d %v", status, answer)
		}
		for _, c := range []struct {
			name, body string
			headers    []string
			allowed    bool
		}{
			{"Claude, the JWT", fmt.Sprintf(`{"token":%q,"tool_name":"Read"}`, minted["jwt_token"]), w.claude(), true},
			{"Codex, the object as text", `{"token":` + text + `,"tool_name":"Read"}`, w.claude(), true},
			{
				"with its proof",
				fmt.Sprintf(`{"token":%q,"tool_name":"Read",%s,"context":{"csrg_value_digest":%q,"proof_source":"client"}}`, minted["jwt_token"], claim, digestOfName(t, "Read")),
				w.claude(), true,
			},
			{"OpenClaw, the token alone", `{"token":` + text + `,"tool_name":"Read"}`, nil, true},
			{
				"a tool that policy denies", fmt.Sprintf(`{"token":%q,"tool_name":"drop"}`, minted["jwt_token"]),
				w.claude(), false,
			},
		} {
			status, answer := w.call("/iap/verify-step", c.body, c.headers...)
			if status != 200 || answer["allowed"] != c.allowed {
				t.Errorf("%s: %d %v", c.name, status, answer)
			}
			if state, ok := answer["execution_state"].(map[string]any); ok &&
				fmt.Sprint(state["executed_steps"]) != "[0]" {
				t.Errorf("%s: the steps that ran are %v", c.name, state["executed_steps"])
			}
			wantTypes(t, c.name, answer, types)
		}
		for name, body := range map[string]string{
			"a tool that is not in the plan": fmt.Sprintf(`{"token":%q,"tool_name":"exec_command"}`,
				minted["jwt_token"]),
			"the proof of another step":     fmt.Sprintf(`{"token":%q,"tool_name":"Read","path":"/steps/[1]/tool","proof":%s}`, minted["jwt_token"], jsonOf(t, proofs[1])),
			"a proof of another place":      fmt.Sprintf(`{"token":%q,"tool_name":"Read","path":"/steps/[0]/tool","proof":%s}`, minted["jwt_token"], jsonOf(t, proofs[1])),
			"a step that is not the path's": fmt.Sprintf(`{"token":%q,"tool_name":"Read","path":"/steps/[0]/tool","step_index":1,"proof":%s}`, minted["jwt_token"], jsonOf(t, proofs[0])),
			"an empty proof":                fmt.Sprintf(`{"token":%q,"tool_name":"Read","path":"/steps/[0]/tool","proof":[]}`, minted["jwt_token"]),
			"another digest":                fmt.Sprintf(`{"token":%q,"tool_name":"Read",%s,"context":{"csrg_value_digest":"00"}}`, minted["jwt_token"], claim),
			"a JWT of one's own": fmt.Sprintf(`{"token":%q,"tool_name":"Read"}`,
				minted["jwt_token"].(string)[:len(minted["jwt_token"].(string))-4]+"AAAA"),
			"no token":             `{"tool_name":"Read"}`,
			"a token that is none": `{"token":"unknown","tool_name":"Read"}`,
			"the plan's id without its token": `{"token":` + jsonOf(t, jsonOf(t, m{"plan_id": minted["plan_id"]})) +
				`,"tool_name":"Read"}`,
		} {
			for _, headers := range [][]string{w.claude(), nil} {
				if status, answer := w.call("/iap/verify-step", body, headers...); status != 200 ||
					answer["allowed"] != false || answer["reason"] == "" {
					t.Errorf("%s: %d %v", name, status, answer)
				}
			}
		}
		other := w.keyFor(w.owner.ID, w.org).Secret.Reveal()
		body := fmt.Sprintf(`{"token":%q,"tool_name":"Read"}`, minted["jwt_token"])
		if _, answer := w.call("/iap/verify-step", body, "X-API-Key", other); answer["allowed"] != false {
			t.Errorf("the token of another key: %v", answer)
		}
	})
}

// TestATokenDoesNotOutliveItsKey revokes the key of a client that sends nothing
// but the token.
func TestATokenDoesNotOutliveItsKey(t *testing.T) {
	t.Parallel()
	eachWired(t, func(t *testing.T, w *wireWorld) {
		issued := w.keyFor(w.owner.ID, w.org)
		token := w.declared(issued.Secret.Reveal(), planRequest(claudePlan)).JWT
		body := fmt.Sprintf(`{"token":%q,"tool_name":"Read"}`, token)
		if _, answer := w.call("/iap/verify-step", body); answer["allowed"] != true {
			t.Fatalf("before: %v", answer)
		}
		if err := w.owner.RevokeKey(t.Context(), issued.ID); err != nil {
			t.Fatal(err)
		}
		if _, answer := w.call("/iap/verify-step", body); answer["allowed"] != false {
			t.Errorf("after its key was revoked: %v", answer)
		}
	})
}

func TestWirePluginTokens(t *testing.T) {
	t.Parallel()
	eachWired(t, func(t *testing.T, w *wireWorld) {
		status, answer := w.call("/iap/sdk/token", codexMint, w.sdk()...)
		if status >= 400 {
			t.Fatalf("Codex: %d %v", status, answer)
		}
		wantTypes(t, "Codex", answer, tokenTypes)
		if status, answer = w.call("/iap/sdk/token", copilotAuto, w.sdk()...); status != 403 ||
			!strings.Contains(answer["message"].(string), "register") {
			t.Errorf("a plan that a plugin made of the call itself: %d %v", status, answer)
		}
	})
}

const intentBody = `{"plan":{"steps":[{"action":"policy_statement:s1","tool":"policy_statement:s1"},{"action":"policy_statement:s2","tool":"policy_statement:s2"}],
	"metadata":{"goal":"bind","policy_type":"crypto-bound","policy_schema":"armor.policy.v1"}},
	"policy":{"global":{"metadata":{"schema_version":"armor.policy.v1","statements":[],"version":1,"updated_at":"2026-11-15T00:00:00Z","updated_by":"u","policy_digest":"ab"}}},
	"identity":{"user_id":"u","agent_id":"a","context_id":"default"},"validity_seconds":3600}`

// TestWirePolicyBinding asks for a binding without credentials, verifies it, and
// tries it where it must not work.
func TestWirePolicyBinding(t *testing.T) {
	t.Parallel()
	eachWired(t, func(t *testing.T, w *wireWorld) {
		status, bound := w.call("/intent", intentBody)
		if status >= 300 {
			t.Fatalf("%d %v", status, bound)
		}
		wantTypes(t, "/intent", bound, map[string]string{
			"intent_reference": "text", "plan_hash": "text", "merkle_root": "text", "step_proofs": "array",
			"step_proofs[].path": "text", "step_proofs[].proof": "array",
			"token": "object", "token.signature": "text", "token.version": "text", "token.issued_at": "int",
			"token.expires_at": "int",
		})
		if version := bound["token"].(map[string]any)["version"]; version != "policy-1" {
			t.Errorf("version %v, want policy-1", version)
		}
		proof := bound["step_proofs"].([]any)[1].(map[string]any)
		ask := func(changes m) m {
			body := m{
				"path": proof["path"], "value": "policy_statement:s2", "proof": proof["proof"], "token": bound["token"],
			}
			for name, value := range changes {
				body[name] = value
			}
			status, answer := w.call("/verify/action", jsonOf(t, body))
			if status != 200 {
				t.Errorf("/verify/action: %d %v", status, answer)
			}
			return answer
		}
		answer := ask(nil)
		if answer["allowed"] != true {
			t.Errorf("a value that was signed: %v", answer)
		}
		wantTypes(t, "/verify/action", answer, map[string]string{
			"reason": "text", "node_hash": "text", "path": "text", "merkle_root": "text",
		})
		token := bound["token"].(map[string]any)
		forged := m{}
		for name, value := range token {
			forged[name] = value
		}
		forged["expires_at"] = token["expires_at"].(float64) + 1
		for name, changes := range map[string]m{
			"another value": {"value": "policy_statement:s1"}, "another place": {"path": "/steps/[0]/action"},
			"no proof": {"proof": nil},
			"no token": {"token": nil}, "an altered token": {"token": forged}, "no path": {"path": ""},
		} {
			if answer := ask(changes); answer["allowed"] != false || answer["reason"] == "" {
				t.Errorf("%s: %v", name, answer)
			}
		}
		for path, body := range map[string]m{
			"/iap/sdk/enforce": {"tool": "policy_statement:s1", "arguments": m{}, "intent_token": bound},
			"/iap/enforce":     {"tool_name": "policy_statement:s1", "intent": bound},
			"/iap/verify-step": {"tool_name": "policy_statement:s1", "token": jsonOf(t, bound)},
		} {
			if _, answer := w.call(path, jsonOf(t, body), w.sdk()...); answer["allowed"] != false {
				t.Errorf("%s takes a policy binding for a plan: %v", path, answer)
			}
		}
		large := strings.Replace(intentBody, `"goal":"bind"`, `"goal":"`+strings.Repeat("x", 256<<10)+`"`, 1)
		if status, _ := w.call("/intent", large); status != 413 {
			t.Errorf("more than 256 KiB: status %d, want 413", status)
		}
	})
}

// TestPlansAreShown reads what was declared, as its key and as people.
func TestPlansAreShown(t *testing.T) {
	t.Parallel()
	eachWired(t, func(t *testing.T, w *wireWorld) {
		const plan = `{"goal":"g","steps":[{"action":"search","mcp":"web","params":{"password":"hunter2"}},{"action":"pay","mcp":"bank"},{"action":"read_file","mcp":"fs"}]}`
		minted := w.mint(plan)
		id := minted["plan_id"].(string)
		token := rawToken(json.RawMessage(plan), minted)
		for _, tool := range []string{"search", "pay", "read_file", "read_file", "drop"} {
			args := m{}
			if tool == "search" {
				args["password"] = "hunter2"
			}
			w.call("/iap/sdk/enforce", jsonOf(t, m{"tool": tool, "arguments": args, "intent_token": token}), w.sdk()...)
		}
		for _, row := range []m{
			{"tool": "search", "status": "success"}, {"tool": "read_file", "step_index": 2, "status": "failed"},
			{"tool": "pay", "status": "blocked"}, {"tool": "drop", "status": "success"},
		} {
			row["plan_id"], row["executed_at"] = id, "2026-01-02T03:04:05Z"
			if status, answer := w.call("/iap/audit", jsonOf(t, row), w.sdk()...); status != 201 {
				t.Fatalf("report %v: %d %v", row, status, answer)
			}
		}
		viewer := w.join(w.owner, w.org, "viewer")
		for name, headers := range map[string][]string{
			"its key": {"X-API-Key", w.key}, "the owner": credentials(w.owner.Client),
		} {
			answer := w.wire(t, "GET", "/iap/plan/"+id, "", headers...)
			if strings.Contains(string(answer.body), "hunter2") {
				t.Errorf("%s sees a secret: %s", name, answer.body)
			}
			shown := w.members("plan", answer)
			wantTypes(t, name, shown, map[string]string{
				"id":         "text",
				"status":     "text",
				"plan":       "object",
				"plan.steps": "array",
				"stepCount":  "int",
				"expiresAt":  "text",
				"uses":       "array",
			})
			tree := w.members("tree", w.wire(t, "GET", "/iap/plan/"+id+"/merkle-tree", "", headers...))
			wantTypes(t, name, tree, map[string]string{
				"root":             "text",
				"nodes[].id":       "text",
				"nodes[].level":    "int",
				"nodes[].hash":     "text",
				"nodes[].children": "array",
			})
			if tree["root"] != minted["merkle_root"] || len(tree["nodes"].([]any)) != 13 { // seven leaves
				t.Errorf("%s: the tree has the root %v and %d nodes", name, tree["root"], len(tree["nodes"].([]any)))
			}
			report := w.members("report", w.wire(t, "GET", "/iap/plan/"+id+"/report", "", headers...))
			steps := report["steps"].([]any)
			allowed := func(i int) any { return steps[i].(map[string]any)["allow"] }
			if len(steps) != 3 || allowed(0) != 1.0 || allowed(1) != 0.0 || allowed(2) != 2.0 ||
				report["used"] != 2.0 || report["allowed"] != 3.0 || report["refused"] != 2.0 {
				t.Errorf("%s: the report is %v", name, report)
			}
			ran := func(i int) any { return steps[i].(map[string]any)["executed"] }
			if ran(0) != 1.0 || ran(1) != 0.0 || ran(2) != 1.0 || steps[2].(map[string]any)["failed"] != 1.0 ||
				report["executed"] != 3.0 {
				t.Errorf("%s: what ran is %v", name, report)
			}
			drop := func(d any) bool {
				of := d.(map[string]any)
				return of["tool"] == "drop" && of["deny"] == 1.0
			}
			if drift := report["drift"].([]any); !slices.ContainsFunc(drift, drop) ||
				!strings.Contains(fmt.Sprint(drift), "executed:1") {
				t.Errorf("%s: the drift is %v", name, drift)
			}
		}
		shown := w.members("plan", w.wire(t, "GET", "/iap/plan/"+id, "", credentials(viewer.Client)...))
		if shown["plan"] != nil {
			t.Errorf("a viewer reads the plan: %v", shown["plan"])
		}
		for _, rest := range []string{"/merkle-tree", "/steps/0/proof", "/report"} {
			if answer := w.wire(t, "GET", "/iap/plan/"+id+rest, "",
				credentials(viewer.Client)...); answer.status != 403 {
				t.Errorf("a viewer reads %s: %d", rest, answer.status)
			}
		}
		for _, rest := range []string{"/steps/3/proof", "/steps/-1/proof", "/steps/00/proof", "/steps/x/proof"} {
			if answer := w.wire(t, "GET", "/iap/plan/"+id+rest, "", "X-API-Key", w.key); answer.status != 404 {
				t.Errorf("%s: %d, want 404", rest, answer.status)
			}
		}
		other := w.keyFor(w.owner.ID, w.org).Secret.Reveal()
		if answer := w.wire(t, "GET", "/iap/plan/"+id, "", "X-API-Key", other); answer.status != 404 {
			t.Errorf("another key of the organization: %d, want 404", answer.status)
		}
	})
}
