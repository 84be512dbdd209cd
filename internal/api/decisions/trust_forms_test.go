package decisions_test

import (
	"net/http"
	"strings"
	"testing"

	"writ/internal/testserver"
)

// TestNoRestrictionOfADelegationIsPassedOver: what one form of a request says is not left out because the rest of the
// request has the other form, or says it another time.
func TestNoRestrictionOfADelegationIsPassedOver(t *testing.T) {
	t.Parallel()
	testserver.EachPublished(t, func(t *testing.T, w *testserver.Published) {
		minted := w.Mint(trustPlan)
		key, search := strings.Repeat("ab", 32), m{"steps": []m{{"action": "search", "mcp": "bank"}}}
		own := m{"token": minted["token"], "delegate_public_key": key}
		published := m{"parentToken": minted["token"], "delegatePublicKey": "k", "subtreePath": "/"}
		ask := func(form, more m) testserver.Answer {
			body := m{}
			for _, part := range []m{form, more} {
				for name, value := range part {
					body[name] = value
				}
			}
			return w.Request(t, "POST", "/iap/trust/delegate", testserver.JSON(t, body), trustBearer(w.Key)...)
		}
		for _, tt := range []struct {
			form, more m
			field      string
		}{
			{published, m{"budget": 1}, "budget"},
			{published, m{"max_depth": 0}, "max_depth"},
			{published, m{"allowed_actions": []string{"search"}}, "allowed_actions"},
			{published, m{"target_agent": "helper"}, "target_agent"},
			{published, m{"plan": search}, "plan"},
			{published, m{"subtask": search}, "subtask"},
			{published, m{"validity_seconds": 60}, "validity_seconds"},
			{own, m{"validitySeconds": 60}, "validitySeconds"},
			{own, m{"delegatePublicKey": "k"}, "delegatePublicKey"},
			{own, m{"planId": minted["plan_id"]}, "planId"},
			{own, m{"intentReference": minted["intent_reference"]}, "intentReference"},
			{own, m{"plan": search, "subtask": search}, "subtask"},
		} {
			answer := ask(tt.form, tt.more)
			fields := answer.ErrorFields(t, http.StatusBadRequest)
			if len(fields) != 1 || fields[0] != tt.field {
				t.Errorf("%s: fields %v: %d %s", tt.field, fields, answer.Status, answer.Body)
			}
		}
		exported := m{"token": minted["token"], "delegate_public_key": "302a300506032b6570032100" + key}
		if answer := ask(exported, nil); answer.Status != http.StatusCreated {
			t.Errorf("a key as Node exports it: %d %s", answer.Status, answer.Body)
		}
		// Both restrictions hold where a published SDK may send both.
		more := m{"allowed_actions": []string{"search"}, "subtask": trustSubtask("search", "read")}
		if answer := ask(own, more); answer.Status != http.StatusForbidden {
			t.Errorf("a step beside allowed_actions: %d %s", answer.Status, answer.Body)
		}
		more["subtask"] = trustSubtask("search")
		if answer := ask(own, more); answer.Status != http.StatusCreated {
			t.Errorf("steps of allowed_actions alone: %d %s", answer.Status, answer.Body)
		}
		for _, null := range []m{
			{"parentToken": nil, "subtreePath": nil, "validitySeconds": nil},
			{"parentPlan": nil},
		} {
			if answer := ask(own, null); answer.Status != http.StatusCreated {
				t.Errorf("nulls of the other form: %d %s", answer.Status, answer.Body)
			}
		}
	})
}

// trustSubtask is a task with steps of trustPlan.
func trustSubtask(tools ...string) m {
	of := map[string]m{
		"search": {"action": "search", "mcp": "bank"},
		"read":   {"action": "read", "mcp": "files", "params": m{"path": "/tmp/a"}},
	}
	steps := []m{}
	for _, tool := range tools {
		steps = append(steps, of[tool])
	}
	return m{"goal": "look it up", "steps": steps}
}

// TestTokensWithHashesThatAreNone: a token is looked up by the hash that it states, which may be text that no database
// takes.
func TestTokensWithHashesThatAreNone(t *testing.T) {
	t.Parallel()
	testserver.EachPublished(t, func(t *testing.T, w *testserver.Published) {
		token := m{"plan_hash": "\x00", "signature": "x"}
		key := strings.Repeat("ab", 32)
		for path, tt := range map[string]struct {
			body   m
			status int
		}{
			"/iap/trust/delegate": {m{"token": token, "delegate_public_key": key}, http.StatusNotFound},
			"/iap/trust/revoke":   {m{"token": token}, http.StatusNotFound},
		} {
			answer := w.Request(t, "POST", path, testserver.JSON(t, tt.body), trustBearer(w.Key)...)
			if answer.Status != tt.status {
				t.Errorf("%s: %d %s", path, answer.Status, answer.Body)
			}
		}
		call := m{"tool": "search", "arguments": m{}, "intent_token": token}
		if _, got := w.Call("/iap/sdk/enforce", testserver.JSON(t, call), w.SDK()...); got["rule"] != "no_plan" {
			t.Errorf("a call with it: %v", got)
		}
		step := m{"token": token, "path": "/steps/[0]/action", "tool_name": "search", "proof": []any{}}
		if answer := w.Request(t, "POST", "/iap/verify-step", testserver.JSON(t, step)); answer.Status >= 500 {
			t.Errorf("a step that nobody has signed in for: %d %s", answer.Status, answer.Body)
		}
	})
}

// TestPlansAreNamedAsTheyWereSent: errors of a plan name the member that holds it.
func TestPlansAreNamedAsTheyWereSent(t *testing.T) {
	t.Parallel()
	testserver.EachPublished(t, func(t *testing.T, w *testserver.Published) {
		minted := w.Mint(trustPlan)
		own := m{"token": minted["token"], "delegate_public_key": strings.Repeat("ab", 32)}
		bad := m{"steps": []m{{"action": "search", "mcp": "bank", "max_calls": 0}}}
		for _, tt := range []struct {
			path, member, field string
			plan                any
		}{
			{"/iap/trust/reanchor", "newPlan", "newPlan", m{}},
			{"/iap/trust/reanchor", "newPlan", "newPlan.steps[0].max_calls", bad},
			{"/iap/trust/delegate", "subtask", "subtask.steps[0].max_calls", bad},
			{"/iap/trust/delegate", "plan", "plan.steps[0].max_calls", bad},
		} {
			body := m{"planId": minted["plan_id"]}
			if tt.member != "newPlan" {
				body = m{"token": own["token"], "delegate_public_key": own["delegate_public_key"]}
			}
			body[tt.member] = tt.plan
			answer := w.Request(t, "POST", tt.path, testserver.JSON(t, body), trustBearer(w.Key)...)
			if fields := answer.ErrorFields(t, http.StatusBadRequest); len(fields) != 1 || fields[0] != tt.field {
				t.Errorf("%s of %s: %v: %s", tt.member, tt.path, fields, answer.Body)
			}
		}
	})
}
