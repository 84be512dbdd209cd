package invoke_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"testing"

	"writ/internal/testserver"
)

// enveloped is a request with the sub-tree that was delegated, as an SDK sends it.
func (e *env) enveloped(i invocation, delta m) invocation {
	e.T.Helper()
	payload := delta["payload"].(m)
	i = i.header("X-CSRG-Subtree-Path", payload["subtree_path"].(string)).
		header("X-CSRG-Subtree-Root", payload["subtree_node_hash"].(string)).
		header("X-CSRG-Parent-Root", payload["parent_plan_hash"].(string))
	if proof := payload["inclusion_proof"].([]any); len(proof) > 0 {
		i = i.header("X-CSRG-Subtree-Proof", base64.StdEncoding.EncodeToString([]byte(testserver.JSON(e.T, proof))))
	}
	return i
}

// delegated has a part of a plan delegated, as an SDK does.
func (e *env) delegated(plan string, minted m, path string) (trustID string, delta m) {
	e.T.Helper()
	status, answer := e.Call("/iap/trust/delegate", testserver.JSON(e.T, m{
		"parentToken": testserver.RawToken(json.RawMessage(plan), minted), "delegatePublicKey": "pub",
		"subtreePath":     path,
		"validitySeconds": 3600,
	}), "Authorization", "Bearer "+e.Key)
	if status != http.StatusCreated {
		e.T.Fatalf("delegate %s: %d %v", path, status, answer)
	}
	return answer["trustId"].(string), answer["delta"].(m)
}

func TestEnvelopesLimitCalls(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		plan := planOf("files")
		minted := e.Mint(plan)
		search, fails := e.invocation(plan, minted, "search", m{"q": "x"}), e.invocation(plan, minted, "fails", m{})
		id, delta := e.delegated(plan, minted, "/steps/[0]")
		_, all := e.delegated(plan, minted, "/")
		inside := e.enveloped(search, delta)
		for name, i := range map[string]invocation{"a step": inside, "the whole plan": e.enveloped(search, all)} {
			if answer, body := e.send(i); answer.Status != http.StatusOK || body["result"] == nil {
				t.Errorf("%s: %d %v", name, answer.Status, body)
			}
		}
		_, other := e.delegated(plan, minted, "/steps/[5]/action")
		for name, i := range map[string]invocation{
			"another step's call":        e.enveloped(fails, delta),
			"a sub-tree of another step": e.enveloped(search, other),
			"another proof of the call":  inside.header("X-CSRG-Path", "/steps/[1]/action"),
			"another hash":               inside.header("X-CSRG-Subtree-Root", minted["plan_hash"].(string)),
			"another plan's hash": inside.header("X-CSRG-Parent-Root",
				delta["payload"].(m)["subtree_node_hash"].(string)),
			"a proof that is none": inside.header("X-CSRG-Subtree-Proof", "not base64"),
			"another proof of the part": inside.header("X-CSRG-Subtree-Proof", base64.StdEncoding.EncodeToString(
				[]byte(testserver.JSON(t, other["payload"].(m)["inclusion_proof"])))),
			"a part that was not delegated": inside.header("X-CSRG-Subtree-Path", "/steps/[2]"),
			"no path":                       inside.header("X-CSRG-Subtree-Path", ""),
			"without a proof of the call":   inside.header("X-CSRG-Proof", ""),
		} {
			if answer, body := e.send(i); answer.Status != http.StatusForbidden {
				t.Errorf("%s: %d %v", name, answer.Status, body)
			}
		}
		// The parent's own calls go on as they were.
		if answer, body := e.send(search); answer.Status != http.StatusOK {
			t.Errorf("the parent: %d %v", answer.Status, body)
		}
		status, answer := e.Call("/iap/trust/revoke", testserver.JSON(t, m{
			"token": testserver.RawToken(json.RawMessage(plan), minted), "trustId": id, "reason": "done",
		}), "Authorization", "Bearer "+e.Key)
		if status != http.StatusOK || answer["trustId"] != id {
			t.Fatalf("revoke: %d %v", status, answer)
		}
		if answer, body := e.send(inside); answer.Status != http.StatusForbidden {
			t.Errorf("revoked: %d %v", answer.Status, body)
		}
		if answer, body := e.send(search); answer.Status != http.StatusOK {
			t.Errorf("the parent, after a delegation was revoked: %d %v", answer.Status, body)
		}
	})
}
