package decisions_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"writ/internal/testserver"
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
	testserver.EachPublished(t, func(t *testing.T, w *testserver.Published) {
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
			status, answer := w.Call("/iap/enforce", c.body, w.Gemini()...)
			if status != 200 || answer["action"] != c.action || answer["decision"] != c.decision ||
				answer["allowed"] != (c.action == "allow") {
				t.Errorf("%s: %d %v", c.name, status, answer)
			}
			testserver.WantTypes(t, c.name, answer, types)
		}
		whatever := `{"source":"armorgemini","session_id":"s","tool_name":"read_file","tool_input":"not an object"}`
		if status, answer := w.Call("/iap/enforce", whatever, w.Gemini()...); status != 200 ||
			answer["allowed"] != false || answer["action"] != "deny" {
			t.Errorf("arguments of another kind: %d %v", status, answer)
		}
	})
}

// TestWireVerifyStep asks as Claude, Codex and OpenClaw do.
func TestWireVerifyStep(t *testing.T) {
	t.Parallel()
	testserver.EachPublished(t, func(t *testing.T, w *testserver.Published) {
		minted := w.Mint(claudePlan)
		proofs := minted["step_proofs"].([]any)
		text := testserver.JSON(t, testserver.JSON(t, testserver.RawToken(json.RawMessage(claudePlan), minted)))
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
		claim := fmt.Sprintf(`"path":"/steps/[0]/tool","step_index":0,"proof":%s`, testserver.JSON(t, proofs[0]))
		if status, answer := w.Call("/iap/audit",
			testserver.JSON(t, m{"plan_id": minted["plan_id"], "tool": "Read", "step_index": 0, "status": "success"}),
			w.Claude()...); status != 201 {
			t.Fatalf("report: %d %v", status, answer)
		}
		for _, c := range []struct {
			name, body string
			headers    []string
			allowed    bool
		}{
			{"Claude, the JWT", fmt.Sprintf(`{"token":%q,"tool_name":"Read"}`, minted["jwt_token"]), w.Claude(), true},
			{"Codex, the object as text", `{"token":` + text + `,"tool_name":"Read"}`, w.Claude(), true},
			{
				"with its proof",
				fmt.Sprintf(`{"token":%q,"tool_name":"Read",%s,"context":{"csrg_value_digest":%q,"proof_source":"client"}}`, minted["jwt_token"], claim, digestOfName(t, "Read")),
				w.Claude(), true,
			},
			{"OpenClaw, the token alone", `{"token":` + text + `,"tool_name":"Read"}`, nil, true},
			{
				"a tool that policy denies", fmt.Sprintf(`{"token":%q,"tool_name":"drop"}`, minted["jwt_token"]),
				w.Claude(), false,
			},
		} {
			status, answer := w.Call("/iap/verify-step", c.body, c.headers...)
			if status != 200 || answer["allowed"] != c.allowed {
				t.Errorf("%s: %d %v", c.name, status, answer)
			}
			if state, ok := answer["execution_state"].(map[string]any); ok &&
				fmt.Sprint(state["executed_steps"]) != "[0]" {
				t.Errorf("%s: the steps that ran are %v", c.name, state["executed_steps"])
			}
			testserver.WantTypes(t, c.name, answer, types)
		}
		for name, body := range map[string]string{
			"a tool that is not in the plan": fmt.Sprintf(`{"token":%q,"tool_name":"exec_command"}`,
				minted["jwt_token"]),
			"the proof of another step":     fmt.Sprintf(`{"token":%q,"tool_name":"Read","path":"/steps/[1]/tool","proof":%s}`, minted["jwt_token"], testserver.JSON(t, proofs[1])),
			"a proof of another place":      fmt.Sprintf(`{"token":%q,"tool_name":"Read","path":"/steps/[0]/tool","proof":%s}`, minted["jwt_token"], testserver.JSON(t, proofs[1])),
			"a step that is not the path's": fmt.Sprintf(`{"token":%q,"tool_name":"Read","path":"/steps/[0]/tool","step_index":1,"proof":%s}`, minted["jwt_token"], testserver.JSON(t, proofs[0])),
			"an empty proof":                fmt.Sprintf(`{"token":%q,"tool_name":"Read","path":"/steps/[0]/tool","proof":[]}`, minted["jwt_token"]),
			"another digest":                fmt.Sprintf(`{"token":%q,"tool_name":"Read",%s,"context":{"csrg_value_digest":"00"}}`, minted["jwt_token"], claim),
			"a JWT of one's own": fmt.Sprintf(`{"token":%q,"tool_name":"Read"}`,
				minted["jwt_token"].(string)[:len(minted["jwt_token"].(string))-4]+"AAAA"),
			"no token":             `{"tool_name":"Read"}`,
			"a token that is none": `{"token":"unknown","tool_name":"Read"}`,
			"the plan's id without its token": `{"token":` +
				testserver.JSON(t, testserver.JSON(t, m{"plan_id": minted["plan_id"]})) +
				`,"tool_name":"Read"}`,
		} {
			for _, headers := range [][]string{w.Claude(), nil} {
				if status, answer := w.Call("/iap/verify-step", body, headers...); status != 200 ||
					answer["allowed"] != false || answer["reason"] == "" {
					t.Errorf("%s: %d %v", name, status, answer)
				}
			}
		}
		other := w.KeyFor(w.Owner.ID, w.Org).Secret.Reveal()
		body := fmt.Sprintf(`{"token":%q,"tool_name":"Read"}`, minted["jwt_token"])
		if _, answer := w.Call("/iap/verify-step", body, "X-API-Key", other); answer["allowed"] != false {
			t.Errorf("the token of another key: %v", answer)
		}
	})
}

// TestATokenDoesNotOutliveItsKey revokes the key of a client that sends nothing
// but the token.
func TestATokenDoesNotOutliveItsKey(t *testing.T) {
	t.Parallel()
	testserver.EachPublished(t, func(t *testing.T, w *testserver.Published) {
		issued := w.KeyFor(w.Owner.ID, w.Org)
		token := w.Declared(issued.Secret.Reveal(), testserver.PlanRequest(claudePlan)).JWT
		body := fmt.Sprintf(`{"token":%q,"tool_name":"Read"}`, token)
		if _, answer := w.Call("/iap/verify-step", body); answer["allowed"] != true {
			t.Fatalf("before: %v", answer)
		}
		if err := w.Owner.RevokeKey(t.Context(), issued.ID); err != nil {
			t.Fatal(err)
		}
		if _, answer := w.Call("/iap/verify-step", body); answer["allowed"] != false {
			t.Errorf("after its key was revoked: %v", answer)
		}
	})
}

func TestWirePluginTokens(t *testing.T) {
	t.Parallel()
	testserver.EachPublished(t, func(t *testing.T, w *testserver.Published) {
		status, answer := w.Call("/iap/sdk/token", codexMint, w.SDK()...)
		if status >= 400 {
			t.Fatalf("Codex: %d %v", status, answer)
		}
		testserver.WantTypes(t, "Codex", answer, tokenTypes)
		if status, answer = w.Call("/iap/sdk/token", copilotAuto, w.SDK()...); status != 403 ||
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
	testserver.EachPublished(t, func(t *testing.T, w *testserver.Published) {
		status, bound := w.Call("/intent", intentBody)
		if status >= 300 {
			t.Fatalf("%d %v", status, bound)
		}
		testserver.WantTypes(t, "/intent", bound, map[string]string{
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
			status, answer := w.Call("/verify/action", testserver.JSON(t, body))
			if status != 200 {
				t.Errorf("/verify/action: %d %v", status, answer)
			}
			return answer
		}
		answer := ask(nil)
		if answer["allowed"] != true {
			t.Errorf("a value that was signed: %v", answer)
		}
		testserver.WantTypes(t, "/verify/action", answer, map[string]string{
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
			"/iap/verify-step": {"tool_name": "policy_statement:s1", "token": testserver.JSON(t, bound)},
		} {
			if _, answer := w.Call(path, testserver.JSON(t, body), w.SDK()...); answer["allowed"] != false {
				t.Errorf("%s takes a policy binding for a plan: %v", path, answer)
			}
		}
		large := strings.Replace(intentBody, `"goal":"bind"`, `"goal":"`+strings.Repeat("x", 256<<10)+`"`, 1)
		if status, _ := w.Call("/intent", large); status != 413 {
			t.Errorf("more than 256 KiB: status %d, want 413", status)
		}
	})
}

// TestPlansAreShown reads what was declared, as its key and as people.
func TestPlansAreShown(t *testing.T) {
	t.Parallel()
	testserver.EachPublished(t, func(t *testing.T, w *testserver.Published) {
		const plan = `{"goal":"g","steps":[{"action":"search","mcp":"web","params":{"password":"hunter2"}},{"action":"pay","mcp":"bank"},{"action":"read_file","mcp":"fs"}]}`
		minted := w.Mint(plan)
		id := minted["plan_id"].(string)
		token := testserver.RawToken(json.RawMessage(plan), minted)
		for _, tool := range []string{"search", "pay", "read_file", "read_file", "drop"} {
			args := m{}
			if tool == "search" {
				args["password"] = "hunter2"
			}
			w.Call("/iap/sdk/enforce", testserver.JSON(t, m{"tool": tool, "arguments": args, "intent_token": token}),
				w.SDK()...)
		}
		for _, row := range []m{
			{"tool": "search", "status": "success"}, {"tool": "read_file", "step_index": 2, "status": "failed"},
			{"tool": "pay", "status": "blocked"}, {"tool": "drop", "status": "success"},
		} {
			row["plan_id"], row["executed_at"] = id, "2026-01-02T03:04:05Z"
			if status, answer := w.Call("/iap/audit", testserver.JSON(t, row), w.SDK()...); status != 201 {
				t.Fatalf("report %v: %d %v", row, status, answer)
			}
		}
		viewer := w.Join(w.Owner, w.Org, "viewer")
		for name, headers := range map[string][]string{
			"its key": {"X-API-Key", w.Key}, "the owner": testserver.Credentials(w.Owner.Client),
		} {
			answer := w.Request(t, "GET", "/iap/plan/"+id, "", headers...)
			if strings.Contains(string(answer.Body), "hunter2") {
				t.Errorf("%s sees a secret: %s", name, answer.Body)
			}
			shown := w.Members("plan", answer)
			testserver.WantTypes(t, name, shown, map[string]string{
				"id":         "text",
				"status":     "text",
				"plan":       "object",
				"plan.steps": "array",
				"stepCount":  "int",
				"expiresAt":  "text",
				"uses":       "array",
			})
			tree := w.Members("tree", w.Request(t, "GET", "/iap/plan/"+id+"/merkle-tree", "", headers...))
			testserver.WantTypes(t, name, tree, map[string]string{
				"root":             "text",
				"nodes[].id":       "text",
				"nodes[].level":    "int",
				"nodes[].hash":     "text",
				"nodes[].children": "array",
			})
			if tree["root"] != minted["merkle_root"] || len(tree["nodes"].([]any)) != 13 { // seven leaves
				t.Errorf("%s: the tree has the root %v and %d nodes", name, tree["root"], len(tree["nodes"].([]any)))
			}
			report := w.Members("report", w.Request(t, "GET", "/iap/plan/"+id+"/report", "", headers...))
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
		shown := w.Members("plan", w.Request(t, "GET", "/iap/plan/"+id, "", testserver.Credentials(viewer.Client)...))
		if shown["plan"] != nil {
			t.Errorf("a viewer reads the plan: %v", shown["plan"])
		}
		for _, rest := range []string{"/merkle-tree", "/steps/0/proof", "/report"} {
			if answer := w.Request(t, "GET", "/iap/plan/"+id+rest, "",
				testserver.Credentials(viewer.Client)...); answer.Status != 403 {
				t.Errorf("a viewer reads %s: %d", rest, answer.Status)
			}
		}
		for _, rest := range []string{"/steps/3/proof", "/steps/-1/proof", "/steps/00/proof", "/steps/x/proof"} {
			if answer := w.Request(t, "GET", "/iap/plan/"+id+rest, "", "X-API-Key", w.Key); answer.Status != 404 {
				t.Errorf("%s: %d, want 404", rest, answer.Status)
			}
		}
		other := w.KeyFor(w.Owner.ID, w.Org).Secret.Reveal()
		if answer := w.Request(t, "GET", "/iap/plan/"+id, "", "X-API-Key", other); answer.Status != 404 {
			t.Errorf("another key of the organization: %d, want 404", answer.Status)
		}
	})
}
