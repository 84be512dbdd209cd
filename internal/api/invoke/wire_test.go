package invoke_test

import (
	"strings"
	"testing"

	"writ/client"
	"writ/internal/testserver"
)

// TestWire: allow, block, and hold, approve, retry, request by request as the SDKs send them.
func TestWire(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		plan := planOf()
		minted := e.Mint(plan)
		allow(t, e, e.invocation(plan, minted, "search", m{"q": "x"}))
		block(t, e, e.invocation(plan, minted, "drop", m{"table": "users"}))
		hold(t, e, e.invocation(plan, minted, "pay", m{"amount": 5000}), minted)
	})
}

func allow(t *testing.T, e *env, i invocation) {
	t.Helper()
	injected := m{
		"q": "x", "_policy_context": m{"is_financial": false}, "_delegation_id": "d", "_approvals": 999,
		"_iam_context": m{"email": "root@example.org"}, "user_email": "root@example.org",
	}
	answer, body := e.send(i.with(m{"params": injected, "arguments": injected}))
	if answer.Status != 200 || body["enforcement"] != nil {
		t.Fatalf("allow: %d %s", answer.Status, answer.Body)
	}
	testserver.WantTypes(t, "the result", body, map[string]string{
		"jsonrpc": "text", "id": "text", "result": "object", "result.content": "array", "result.content[].text": "text",
		"error": "absent", "enforcement": "absent",
	})
	if n, args := e.bank.ran("search"); n != 1 || args != `{"q":"x"}` {
		t.Errorf("search ran %d times, last with %s", n, args)
	}
	if got := e.bank.header("Authorization"); got != "Bearer registered-s3cret" {
		t.Errorf("the server was called with %q", got)
	}
	decided := e.entries("call.decided")[0]
	if strings.Contains(testserver.JSON(t, decided), "root@example.org") {
		t.Errorf("what the client asserts was judged: %v", decided)
	}
	done := e.entries("call.executed")
	if len(done) != 1 || done[0]["status"] != "success" || done[0]["source"] != "writ:proxy" ||
		!strings.Contains(testserver.JSON(t, done[0]["output"]), "found it") {
		t.Errorf("executed: %v", done)
	}
}

func block(t *testing.T, e *env, i invocation) {
	t.Helper()
	answer, body := e.send(i)
	if answer.Status != 403 || !strings.HasPrefix(answer.Header.Get("Content-Type"), "application/json") {
		t.Fatalf("block: %d %s", answer.Status, answer.Body)
	}
	testserver.WantTypes(t, "the refusal", body, map[string]string{
		"message": "text", "enforcement.action": "text", "enforcement.reason": "text",
		"enforcement.requiresApproval": "bool", "enforcement.metadata": "object",
		"enforcement.matched_policy.name": "text", "decisionId": "text", "receipt": "object",
	})
	said := body["enforcement"].(m)
	if said["action"] != "block" || said["requiresApproval"] != false ||
		!strings.Contains(said["reason"].(string), "Nothing is dropped here") {
		t.Errorf("block: %v", said)
	}
	if n, _ := e.bank.ran("drop"); n != 0 {
		t.Error("what was blocked ran")
	}
}

func hold(t *testing.T, e *env, i invocation, minted m) {
	t.Helper()
	answer, body := e.send(i)
	if answer.Status != 403 {
		t.Fatalf("hold: %d %s", answer.Status, answer.Body)
	}
	testserver.WantTypes(t, "the hold", body, map[string]string{
		"delegation_context.delegationId": "text", "delegation_context.domain": "text",
		"delegation_context.planId": "text", "delegation_context.intentReference": "text",
		"delegation_context.merkleRoot": "text",
	})
	said, about := body["enforcement"].(m), body["delegation_context"].(m)
	if said["action"] != "hold" || said["requiresApproval"] != true ||
		said["metadata"].(m)["requiresApproval"] != true || about["merkleRoot"] != minted["merkle_root"] ||
		about["planId"] != minted["plan_id"] || about["domain"] != "bank" {
		t.Errorf("hold: %v %v", said, about)
	}
	_, again := e.send(i)
	if again["delegation_context"].(m)["delegationId"] != about["delegationId"] {
		t.Error("asking again opened another request")
	}
	id := about["delegationId"].(string)
	status, asked := e.Call("/delegation/request", testserver.JSON(t, m{
		"tool": "pay", "action": "execute", "arguments": m{"amount": 5000}, "amount": 5000, "domain": about["domain"],
		"requesterEmail": e.Owner.Email, "planId": about["planId"], "intentReference": about["intentReference"],
		"merkleRoot": about["merkleRoot"], "reason": "it is held",
	}), append(e.SDK(), "X-User-Email", e.Owner.Email)...)
	if status >= 400 || asked["delegationId"] != id {
		t.Errorf("the SDK asks again: %d %v, want %s", status, asked, id)
	}
	if _, err := e.Owner.Approve(t.Context(), e.Org, client.Approval{ID: id}); err != nil {
		t.Fatal(err)
	}
	user := append(e.SDK(), "X-User-Email", e.Owner.Email)
	asks := "/delegation/check-approved?tool=pay&amount=5000"
	told := e.Members("check-approved", e.Request(t, "GET", asks, "", user...))
	if told["approved"] != true || told["delegationId"] != id {
		t.Errorf("check-approved: %v", told)
	}
	args := m{"amount": 5000, "_delegation_id": id, "_approvals": 999}
	answer, body = e.send(i.with(m{"params": args, "arguments": args}))
	if answer.Status != 200 || body["result"] == nil {
		t.Fatalf("approved: %d %s", answer.Status, answer.Body)
	}
	status, marked := e.Call("/delegation/mark-executed", `{"delegationId":"`+id+`"}`, e.SDK()...)
	if status >= 500 {
		t.Errorf("mark-executed: %d %v", status, marked)
	}
	if answer, _ = e.send(i); answer.Status != 403 {
		t.Errorf("an approval was used twice: %d", answer.Status)
	}
	other := m{"amount": 9000, "_delegation_id": id, "_approvals": 999}
	if answer, _ = e.send(i.with(m{"params": other, "arguments": other})); answer.Status != 403 {
		t.Errorf("an approval released other arguments: %d", answer.Status)
	}
	if n, got := e.bank.ran("pay"); n != 1 || got != `{"amount":5000}` {
		t.Errorf("pay ran %d times, last with %s", n, got)
	}
}

// TestEnforceOnly: the flat shape, with 200 whatever is decided, and nothing runs.
func TestEnforceOnly(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		plan := planOf()
		minted := e.Mint(plan)
		for tool, want := range map[string]string{"search": "allow", "drop": "block", "pay": "hold"} {
			token := testserver.RawToken([]byte(plan), minted)
			answer, body := e.send(invocation{body: m{
				"enforce_only": true, "mcp": "bank", "tool": tool, "action": tool, "params": m{"n": 1},
				"arguments": m{"n": 1}, "intent_token": token,
			}})
			if answer.Status != 200 || body["allowed"] != (want == "allow") || body["action"] != want ||
				body["enforcementAction"] != want || body["enforcement"] != nil {
				t.Errorf("%s: %d %s", tool, answer.Status, answer.Body)
			}
			testserver.WantTypes(t, tool, body, map[string]string{
				"reason": "text", "decisionId": "text", "matched_policy.name": "text",
			})
			if _, ok := body["delegation_id"].(string); ok != (want == "hold") {
				t.Errorf("%s: delegation_id %v", tool, body["delegation_id"])
			}
			if n, _ := e.bank.ran(tool); n != 0 {
				t.Errorf("%s ran", tool)
			}
		}
		if n := len(e.entries("call.decided")); n != 3 {
			t.Errorf("%d decisions, want 3", n)
		}
		for name, token := range map[string]any{"the JWT alone": minted["jwt_token"], "a number": 5} {
			answer, _ := e.send(invocation{body: m{
				"enforce_only": true, "mcp": "bank", "tool": "search", "arguments": m{"n": 1}, "intent_token": token,
			}})
			if fields := answer.ErrorFields(t, 400); len(fields) != 1 || fields[0] != "intent_token" {
				t.Errorf("%s: %v, %s", name, fields, answer.Body)
			}
		}
	})
}
