package approvals_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"writ/internal/database"
	"writ/internal/testserver"
)

// holding is an organization whose agent wants to pay, and someone who may approve.
type holding struct {
	*testserver.Published
	approver *testserver.Person
	token    string // of the plan, as SDKs send it back
}

func eachHolding(t *testing.T, body func(t *testing.T, h *holding)) {
	t.Helper()
	testserver.EachPublished(t, func(t *testing.T, w *testserver.Published) {
		h := &holding{Published: w, approver: w.Join(w.Owner, w.Org, "approver")}
		h.token = testserver.JSON(t, testserver.RawToken(json.RawMessage(testserver.BuilderPlan),
			w.Mint(testserver.BuilderPlan)))
		body(t, h)
	})
}

// userEmail is whom the agent works for; no member, as SDKs often have it.
const userEmail = "ada@customer.example"

// asUser are the headers of the delegation calls of SDKs.
func (h *holding) asUser() []string { return append(h.SDK(), "X-User-Email", userEmail) }

// enforce asks about a payment with these arguments.
func (h *holding) enforce(arguments string) m {
	h.T.Helper()
	status, answer := h.Call("/iap/sdk/enforce",
		fmt.Sprintf(`{"tool":"pay","arguments":%s,"intent_token":%s,"user_email":%q}`, arguments, h.token, userEmail),
		h.SDK()...)
	if status != http.StatusOK {
		h.T.Fatalf("enforce: %d %v", status, answer)
	}
	return answer
}

// checkApproved is step 2 of the clients' flow.
func (h *holding) checkApproved(amount string) m {
	h.T.Helper()
	answer := h.Request(h.T, "GET", "/delegation/check-approved?tool=pay&amount="+amount, "", h.asUser()...)
	if answer.Status != http.StatusOK {
		h.T.Fatalf("check-approved: %d %s", answer.Status, answer.Body)
	}
	return h.Members("check-approved", answer)
}

// request posts what a client posts on hold, with a new Idempotency-Key each time.
func (h *holding) request(body string) m {
	h.T.Helper()
	headers := append(h.asUser(), "Idempotency-Key", "deleg-"+database.NewID())
	status, answer := h.Call("/delegation/request", body, headers...)
	if status >= 400 {
		h.T.Fatalf("request: %d %v", status, answer)
	}
	testserver.WantTypes(h.T, "request", answer, map[string]string{
		"delegationId": "text", "status": "text", "expiresAt": "text",
	})
	return answer
}

// sessionRequest is the body of a session client.
func sessionRequest(arguments, amount string) string {
	return fmt.Sprintf(`{"tool":"pay","action":"pay","arguments":%s,"amount":%s,"requesterEmail":%q,"requesterRole":"agent_user","requesterLimit":0,
		"domain":"bank","planId":null,"reason":"held for approval"}`, arguments, amount, userEmail)
}

// answer approves or rejects as a person.
func (h *holding) answer(verb, id, more string) m {
	h.T.Helper()
	status, answer := h.Call("/delegation/"+verb+"?organizationId="+h.Org,
		fmt.Sprintf(`{"delegationId":%q%s}`, id, more), testserver.Credentials(h.approver.Client)...)
	if status != http.StatusOK {
		h.T.Fatalf("%s: %d %v", verb, status, answer)
	}
	return answer
}

// markExecuted is the last step.
func (h *holding) markExecuted(id string) int {
	h.T.Helper()
	headers := append(h.asUser(), "Idempotency-Key", "mark-exec:"+id)
	return h.Request(h.T, "POST", "/delegation/mark-executed", fmt.Sprintf(`{"delegationId":%q}`, id),
		headers...).Status
}

const payment = `{"to":"landlord","amount":5000,"memo":{"month":"may","lines":[1,2]}}`

// TestWireHoldFlow is the whole flow of a session client.
func TestWireHoldFlow(t *testing.T) {
	t.Parallel()
	eachHolding(t, func(t *testing.T, h *holding) {
		held := h.enforce(payment)
		if held["enforcementAction"] != "hold" || held["allowed"] != false {
			t.Fatalf("before anyone said yes: %v", held)
		}
		if got := h.checkApproved("5000"); got["approved"] != false {
			t.Errorf("check-approved before: %v", got)
		}
		asked := h.request(sessionRequest(payment, "5000"))
		id := asked["delegationId"].(string)
		if id != held["approvalId"] || asked["status"] != "pending" {
			t.Errorf("the request is %v, enforce named %v", asked, held["approvalId"])
		}
		polled := h.Request(t, "GET", "/delegation/poll?waitSeconds=0&delegationId="+id, "", h.asUser()...)
		if got := h.Members("poll", polled); polled.Status != http.StatusOK || got["status"] != "pending" {
			t.Errorf("poll: %d %v", polled.Status, got)
		}
		h.answer("approve", id, "")
		polled = h.Request(t, "GET", "/delegation/poll?delegationId="+id, "", h.asUser()...) // answered: no wait
		if got := h.Members("poll", polled); got["status"] != "approved" || got["used"] != false ||
			got["grantExpiresAt"] == nil {
			t.Errorf("poll: %v", got)
		}
		if other := h.enforce(strings.Replace(payment, "[1,2]", "[2,1]", 1)); other["allowed"] != false ||
			other["approvalId"] == id {
			t.Errorf("the yes let other arguments run: %v", other)
		}
		reordered := `{"memo":{"lines":[1,2.0],"month":"may"},"amount":5e3,"to":"landlord"}`
		if got := h.enforce(reordered); got["allowed"] != true || got["enforcementAction"] != "allow" ||
			got["approvalId"] != id {
			t.Errorf("after the yes: %v", got)
		}
		polled = h.Request(t, "GET", "/delegation/poll?delegationId="+id, "", h.asUser()...)
		if got := h.Members("poll", polled); got["status"] != "approved" || got["used"] != true ||
			got["executedAt"] != nil {
			t.Errorf("poll after it ran: %v", got)
		}
		if got := h.enforce(payment); got["allowed"] != false || got["approvalId"] == id {
			t.Errorf("a yes was used twice: %v", got)
		}
		for range 2 {
			if status := h.markExecuted(id); status != http.StatusOK {
				t.Errorf("mark-executed: %d", status)
			}
		}
	})
}

// TestWirePollingLoop: a client that polls repeats enforce, check and request for
// half an hour. It is one request to people, and none of it is throttled.
func TestWirePollingLoop(t *testing.T) {
	t.Parallel()
	eachHolding(t, func(t *testing.T, h *holding) {
		var id string
		for round := range 120 {
			if held := h.enforce(payment); held["enforcementAction"] != "hold" {
				t.Fatalf("round %d: %v", round, held)
			}
			if got := h.checkApproved("5000.0"); got["approved"] != false {
				t.Fatalf("round %d: %v", round, got)
			}
			asked := h.request(sessionRequest(payment, "5000.0"))
			if round == 0 {
				id = asked["delegationId"].(string)
			}
			if asked["delegationId"] != id || asked["status"] != "pending" {
				t.Fatalf("round %d: %v, want the request %s", round, asked, id)
			}
		}
		list, err := h.approver.ApprovalRequests(t.Context(), h.Org, clientApprovals())
		if err != nil || len(list.Items) != 1 || list.Items[0].ID != id || list.Items[0].Repeats < 120 {
			t.Errorf("the queue: %+v, %v", list.Items, err)
		}
		h.answer("approve", id, "")
		if got := h.enforce(payment); got["allowed"] != true {
			t.Errorf("the loop does not end: %v", got)
		}
	})
}

// TestWireRejection: enforce says it, and the request is the same one afterwards.
func TestWireRejection(t *testing.T) {
	t.Parallel()
	eachHolding(t, func(t *testing.T, h *holding) {
		id := h.enforce(payment)["approvalId"].(string)
		h.answer("reject", id, `,"note":"pay by invoice"`)
		got := h.enforce(payment)
		if got["allowed"] != false || got["enforcementAction"] != "block" ||
			!strings.Contains(got["reason"].(string), "pay by invoice") {
			t.Errorf("after the no: %v", got)
		}
		if asked := h.request(sessionRequest(payment, "5000")); asked["delegationId"] != id ||
			asked["status"] != "rejected" {
			t.Errorf("asked again: %v", asked)
		}
		if got := h.checkApproved("5000"); got["approved"] != false {
			t.Errorf("check-approved: %v", got)
		}
		if status := h.markExecuted(id); status != http.StatusBadRequest {
			t.Errorf("mark-executed of what was refused: %d", status)
		}
	})
}

// TestWireInvokeWithPolicy is the other flow: it asks with action execute, polls
// check-approved alone and runs the tool on its word.
func TestWireInvokeWithPolicy(t *testing.T) {
	t.Parallel()
	eachHolding(t, func(t *testing.T, h *holding) {
		role := h.Request(t, "GET", "/delegation/my-role", "", h.asUser()...)
		if got := h.Members("my-role", role); role.Status != http.StatusOK || got["role"] != "agent_user" ||
			got["limit"] != 0.0 {
			t.Errorf("my-role of a stranger: %d %v", role.Status, got)
		}
		role = h.Request(t, "GET", "/delegation/my-role", "", append(h.SDK(), "X-User-Email",
			" "+strings.ToUpper(h.approver.Email))...)
		if got := h.Members("my-role", role); got["role"] != "approver" {
			t.Errorf("my-role of a member: %v", got)
		}
		id := h.request(fmt.Sprintf(`{"tool":"pay","action":"execute","arguments":%s,"amount":5000,"requesterEmail":%q,"requesterRole":"agent_user",
			"requesterLimit":0,"domain":"payments","targetUrl":"http://bank.example/mcp","intentReference":"ref","merkleRoot":"00","reason":"over the limit"}`,
			payment, userEmail))["delegationId"].(string)
		h.answer("approve", id, "")
		for _, other := range []string{"4999.99", "0", "0.01", ""} {
			if got := h.checkApproved(other); got["approved"] != false {
				t.Errorf("the amount %q: %v", other, got)
			}
		}
		got := h.checkApproved("5000.0")
		if got["approved"] != true || got["delegationId"] != id || got["approverEmail"] != h.approver.Email {
			t.Errorf("check-approved: %v", got)
		}
		testserver.WantTypes(t, "check-approved", got, map[string]string{
			"delegationId": "text", "approverEmail": "text", "approverRole": "text",
		})
		if again := h.checkApproved("5000.0"); again["approved"] != false {
			t.Errorf("the yes was given out twice: %v", again)
		}
		if held := h.enforce(payment); held["allowed"] != false {
			t.Errorf("enforce used the yes that was given out: %v", held)
		}
		for range 2 {
			if status := h.markExecuted(id); status != http.StatusOK {
				t.Errorf("mark-executed: %d", status)
			}
		}
	})
}

// TestWireAmounts: enforce is not told the user nor the amount; the request that
// follows is the same one all the same, and completes it.
func TestWireAmounts(t *testing.T) {
	t.Parallel()
	eachHolding(t, func(t *testing.T, h *holding) {
		for name, c := range map[string]struct{ arguments, body, amount string }{
			"TypeScript, without an amount": {`{"n":1}`, sessionRequest(`{"n":1}`, "0.01"), "0.01"},
			"Python, as a float":            {`{"n":2}`, sessionRequest(`{"n":2}`, "5000.0"), "5000.0"},
			"Python of late, without one": {
				`{"n":3}`,
				fmt.Sprintf(`{"tool":"pay","action":"pay","arguments":{"n":3},"requesterEmail":%q}`, userEmail), "0",
			},
			"Python of late, none asked": {
				`{"n":4}`,
				fmt.Sprintf(`{"tool":"pay","action":"pay","arguments":{"n":4},"amount":null,"requesterEmail":%q}`,
					userEmail),
				"",
			},
			"a large one": {
				`{"n":5}`, sessionRequest(`{"n":5}`, "12345678901234.5"), "12345678901234.5",
			},
		} {
			_, held := h.Call("/iap/sdk/enforce",
				fmt.Sprintf(`{"tool":"pay","arguments":%s,"intent_token":%s,"user_email":null}`, c.arguments, h.token),
				h.SDK()...)
			asked := h.request(c.body)
			if asked["delegationId"] != held["approvalId"] {
				t.Errorf("%s: %v, want the request of enforce, %v", name, asked, held)
			}
			h.answer("approve", asked["delegationId"].(string), "")
			if got := h.checkApproved(c.amount); got["approved"] != true ||
				got["delegationId"] != asked["delegationId"] {
				t.Errorf("%s: %v", name, got)
			}
		}
	})
}

// TestWireWithoutArguments: a person can answer, and nothing is allowed by it.
func TestWireWithoutArguments(t *testing.T) {
	t.Parallel()
	eachHolding(t, func(t *testing.T, h *holding) {
		body := fmt.Sprintf(`{"tool":"pay","action":"pay","amount":5000,"requesterEmail":%q,"domain":"bank","reason":"test"}`, userEmail)
		id := h.request(body)["delegationId"].(string)
		if again := h.request(body); again["delegationId"] != id {
			t.Errorf("asked again: %v", again)
		}
		if other := h.request(strings.Replace(body, "5000", "5001", 1)); other["delegationId"] == id {
			t.Errorf("another amount is the same request: %v", other)
		}
		h.answer("approve", id, "")
		for _, arguments := range []string{payment, `{}`, `{"amount":5000}`} {
			if got := h.enforce(arguments); got["allowed"] != false {
				t.Errorf("%s ran by a yes to no arguments: %v", arguments, got)
			}
		}
	})
}

// TestWireDelegationErrors: clients take a 4xx in silence, and repeat a 5xx.
func TestWireDelegationErrors(t *testing.T) {
	t.Parallel()
	eachHolding(t, func(t *testing.T, h *holding) {
		pending := h.enforce(payment)["approvalId"].(string)
		for _, c := range []struct {
			name, method, path, body string
			status                   int
		}{
			{
				"mark-executed of what waits", "POST", "/delegation/mark-executed",
				fmt.Sprintf(`{"delegationId":%q}`, pending), 400,
			},
			{
				"mark-executed of nothing", "POST", "/delegation/mark-executed",
				fmt.Sprintf(`{"delegationId":%q}`, database.NewID()), 404,
			},
			{"mark-executed of no id", "POST", "/delegation/mark-executed", `{"delegationId":"unknown"}`, 404},
			{"check-approved without a tool", "GET", "/delegation/check-approved?amount=1", "", 400},
			{"check-approved of no number", "GET", "/delegation/check-approved?tool=pay&amount=NaN", "", 400},
			{"check-approved of infinity", "GET", "/delegation/check-approved?tool=pay&amount=1e999", "", 400},
			{"a request without a tool", "POST", "/delegation/request", `{"action":"a","requesterEmail":"e"}`, 400},
			{"a request without a requester", "POST", "/delegation/request", `{"tool":"pay","action":"a"}`, 400},
			{"poll of nothing", "GET", "/delegation/poll?delegationId=" + database.NewID(), "", 404},
			{"poll for too long", "GET", "/delegation/poll?waitSeconds=26&delegationId=" + pending, "", 400},
			{"cancel of nothing", "POST", "/delegation/cancel", `{"delegationId":"x"}`, 404},
		} {
			h.Request(t, c.method, c.path, c.body, h.asUser()...).ErrorFields(t, c.status)
		}
		if head := h.Request(t, "HEAD", "/delegation/check-approved?tool=pay&amount=5000", "",
			h.asUser()...); head.Status < 400 {
			t.Errorf("a HEAD of check-approved: %d", head.Status)
		}
		if answer := h.Request(t, "GET", "/delegation/check-approved?tool=pay&amount=1", "",
			append(h.SDK(), "X-User-Email", "\xff")...); answer.Status != 400 {
			t.Errorf("a user who is no text: %d %s", answer.Status, answer.Body)
		}
		// A long reason is cut, not refused.
		long := fmt.Sprintf(`{"tool":"pay","action":"pay","arguments":{"amount":9},"requesterEmail":"e","reason":"%s\u0000","targetUrl":"%s"}`,
			strings.Repeat("ä", 4000), strings.Repeat("u", 9000))
		shown, err := h.approver.ApprovalRequest(t.Context(), h.Org, h.request(long)["delegationId"].(string))
		if err != nil || shown.AskedFor != strings.Repeat("ä", 500) {
			t.Errorf("a long reason: %d bytes, %v", len(shown.AskedFor), err)
		}
		// Not an e-mail, as clients send it when they know no user.
		if asked := h.request(fmt.Sprintf(`{"tool":"pay","action":"pay","arguments":%s,"requesterEmail":"unknown@armoriq"}`, payment)); asked["status"] != "pending" {
			t.Errorf("an unknown user: %v", asked)
		}
	})
}
