package decisions_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// surfacePath is the route of a surface.
func surfacePath(surface string) string {
	return map[string]string{
		surfaceSDK: "/iap/sdk/enforce", surfaceEnforce: "/iap/enforce", surfaceVerifyStep: "/iap/verify-step",
	}[surface]
}

// callBody is a call as the clients of a surface send it.
func callBody(surface string, call map[string]json.RawMessage, token json.RawMessage) []byte {
	body := map[string]json.RawMessage{}
	for member, value := range call {
		var exact string // JSON that YAML cannot spell
		if member == "arguments" && json.Unmarshal(value, &exact) == nil {
			value = json.RawMessage(exact)
		}
		body[member] = value
	}
	rename := func(from, to string) {
		if value, ok := body[from]; ok {
			delete(body, from)
			body[to] = value
		}
	}
	switch surface {
	case surfaceSDK:
		if token != nil {
			body["intent_token"] = token
		}
	case surfaceEnforce:
		rename("tool", "tool_name")
		rename("arguments", "tool_input")
		if token != nil {
			body["intent_token"] = token
		}
	case surfaceVerifyStep:
		body = map[string]json.RawMessage{"tool_name": call["tool"]}
		if token != nil {
			body["token"] = token
			if token[0] == '{' { // plugins send the object as text
				body["token"] = quoteJSON(string(token))
			}
		}
	}
	return quoteJSON(body)
}

// sdkAnswer is what clients read of /iap/sdk/enforce, and what we add.
type sdkAnswer struct {
	Allowed           *bool  `json:"allowed"`
	EnforcementAction string `json:"enforcementAction"`
	Decision          string `json:"decision"`
	Reason            string `json:"reason"`
	Message           string `json:"message"`
	MatchedPolicy     *named `json:"matchedPolicy"`
	DecidedBy         string `json:"decidedBy"`
	Rule              string `json:"rule"`
	ApprovalID        string `json:"approvalId"`
}

// enforceAnswer is the same of /iap/enforce.
type enforceAnswer struct {
	Allowed       *bool  `json:"allowed"`
	Action        string `json:"action"`
	Decision      string `json:"decision"`
	Reason        string `json:"reason"`
	Message       string `json:"message"`
	MatchedPolicy *named `json:"matched_policy"`
	DecidedBy     string `json:"decidedBy"`
	Rule          string `json:"rule"`
}

type named struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// decidedBy reports whether this is what the cases name so: a policy by its name,
// or by its reserved id what decided in place of one.
func (a enforceAnswer) decidedBy(want string) bool {
	if strings.HasPrefix(want, "writ:") {
		return a.MatchedPolicy == nil && a.DecidedBy == want
	}
	return a.MatchedPolicy != nil && a.MatchedPolicy.Name == want
}

// compareAnswer holds an answer against what the case wants of its surface.
func compareAnswer(t *testing.T, surface string, want goldenWant, status int, raw []byte) {
	t.Helper()
	for _, text := range want.Never {
		if strings.Contains(string(raw), text) {
			t.Errorf("the answer shows %q: %s", text, raw)
		}
	}
	if status != 200 {
		t.Fatalf("status %d, want 200: %s", status, raw)
	}
	var got enforceAnswer
	switch surface {
	case surfaceVerifyStep:
		compareStep(t, *want.VerifyStep, raw)
		return
	case surfaceSDK:
		var answer sdkAnswer
		if err := json.Unmarshal(raw, &answer); err != nil {
			t.Fatalf("%v: %s", err, raw)
		}
		if answer.EnforcementAction != want.SDK {
			t.Errorf("enforcementAction is %q, want %q: %s", answer.EnforcementAction, want.SDK, answer.Reason)
		}
		got = enforceAnswer{
			answer.Allowed, want.Enforce, answer.Decision, answer.Reason, answer.Message, answer.MatchedPolicy,
			answer.DecidedBy, answer.Rule,
		}
	case surfaceEnforce:
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatalf("%v: %s", err, raw)
		}
	}
	compareDecision(t, want, got)
}

// compareDecision compares what both enforce routes say alike.
func compareDecision(t *testing.T, want goldenWant, got enforceAnswer) {
	t.Helper()
	if got.Allowed == nil || *got.Allowed != (want.Decision == "allow") {
		t.Errorf("allowed is not %t: %s", want.Decision == "allow", got.Reason)
	}
	if got.Action != want.Enforce || got.Decision != want.Decision {
		t.Errorf("%q, decision %q, want %q, %q: %s", got.Action, got.Decision, want.Enforce, want.Decision, got.Reason)
	}
	if got.Reason == "" || !strings.Contains(got.Reason, want.Reason) {
		t.Errorf("the reason is %q, want %q", got.Reason, want.Reason)
	}
	if !strings.Contains(got.Reason, want.Message) {
		t.Errorf("the reason is %q, want the rule's words %q in it: clients show nothing else", got.Reason,
			want.Message)
	}
	if want.Message != "" && got.Message != want.Message {
		t.Errorf("the message is %q, want %q", got.Message, want.Message)
	}
	if want.Rule != "" && got.Rule != want.Rule {
		t.Errorf("the rule is %q, want %q: %s", got.Rule, want.Rule, got.Reason)
	}
	if want.Policy != "" && !got.decidedBy(want.Policy) {
		t.Errorf("decided by %q (%+v), want %q", got.DecidedBy, got.MatchedPolicy, want.Policy)
	}
}

func compareStep(t *testing.T, want bool, raw []byte) {
	t.Helper()
	var got struct {
		Allowed *bool  `json:"allowed"`
		Reason  string `json:"reason"`
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	if got.Allowed == nil || *got.Allowed != want || got.Reason == "" {
		t.Errorf("allowed is not %t, or no reason is given: %s", want, raw)
	}
}
