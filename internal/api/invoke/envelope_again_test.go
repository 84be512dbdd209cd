package invoke_test

import (
	"net/http"
	"testing"

	"writ/internal/testserver"
)

// TestEnvelopesOfStepsThatAreTwice: a plan may have a step twice, and each of them can be delegated.
func TestEnvelopesOfStepsThatAreTwice(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		plan := `{"goal":"g","steps":[{"action":"search","mcp":"files","params":{}},` +
			`{"action":"echo","mcp":"files","params":{}},{"action":"search","mcp":"files","params":{}}]}`
		minted := e.Mint(plan)
		_, delta := e.delegated(plan, minted, "/steps/[2]")
		if path := delta["payload"].(m)["subtree_path"]; path != "/steps/[2]" {
			t.Errorf("another part was delegated: %v", path)
		}
	})
}

// TestEnvelopesAfterReanchoring: what is delegated again of a plan that was re-anchored meanwhile is of the present
// version, and is what counts when the SDK shows it.
func TestEnvelopesAfterReanchoring(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		plan := planOf("files")
		minted := e.Mint(plan)
		search := e.invocation(plan, minted, "search", m{"q": "x"})
		first, before := e.delegated(plan, minted, "/steps/[0]")
		status, answer := e.Call("/iap/trust/reanchor", `{"planId":"`+minted["plan_id"].(string)+`","newPlan":`+
			`{"goal":"less","steps":[{"action":"search","tool":"search","mcp":"bank"}]}}`, "Authorization", "Bearer "+e.Key)
		if status != http.StatusOK {
			t.Fatalf("re-anchor: %d %v", status, answer)
		}
		second, after := e.delegated(plan, minted, "/steps/[0]")
		if first == second || after["payload"].(m)["parent_plan_hash"] == minted["plan_hash"] {
			t.Errorf("the delegation is of the version before: %v", testserver.JSON(t, after))
		}
		for name, delta := range map[string]m{"before": before, "after": after} {
			if answer, body := e.send(e.enveloped(search, delta)); answer.Status != http.StatusOK {
				t.Errorf("delegated %s: %d %v", name, answer.Status, body)
			}
		}
	})
}

// TestEnvelopesThatAreNoText: headers may hold bytes that no database takes.
func TestEnvelopesThatAreNoText(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		plan := planOf()
		minted := e.Mint(plan)
		_, delta := e.delegated(plan, minted, "/steps/[0]")
		inside := e.enveloped(e.invocation(plan, minted, "search", m{"q": "x"}), delta)
		for _, header := range []string{"X-CSRG-Subtree-Path", "X-CSRG-Subtree-Root", "X-CSRG-Parent-Root"} {
			if answer, body := e.send(inside.header(header, "/\xff")); answer.Status != http.StatusForbidden ||
				body["enforcement"].(m)["rule"] == "unavailable" {
				t.Errorf("%s: %d %v", header, answer.Status, body)
			}
		}
	})
}
