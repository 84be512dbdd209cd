package policies_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"writ/client"
	"writ/internal/testserver"
	"writ/internal/toolname"
)

// predictionCase is a call with a key, under policies with bindings.
type predictionCase struct {
	allow, deny  *client.Bindings // of the two policies; nil: it does not count at all
	agent, user  string           // whom the call names
	server, tool string           // absent: bank.t
	want, says   string
}

// TestAnAskedCallGetsTheAnswerOfADecision: who asks beforehand, with the key that
// the call is made with, is told what the call then gets.
func TestAnAskedCallGetsTheAnswerOfADecision(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, b *testserver.Org) {
		member := b.Join(b.Owner, b.ID, "member")
		key := b.AgentKey(b.Owner, b.ID)
		agent := &client.Bindings{Clients: []string{"helper"}}
		itself := &client.Bindings{Clients: []string{key.ID}}
		owner := &client.Bindings{Members: []string{b.Owner.ID}}
		other := &client.Bindings{Members: []string{member.ID}}
		everybody := &client.Bindings{}
		cases := map[string]predictionCase{
			"nothing is active": {agent: "helper", want: "deny", says: "no active policy"},
			"for everybody":     {allow: everybody, agent: "helper", want: "allow"},
			"an allow for the agent": {
				allow: agent,
				agent: "helper",
				want:  "deny",
				says:  "the policies that apply to agent helper do not apply to its API key",
			},
			"an allow for another agent": {allow: agent, agent: "other", want: "deny", says: "no active policy"},
			"an allow for the key":       {allow: itself, agent: "helper", want: "allow"},
			"an allow for agent and key": {
				allow: &client.Bindings{Clients: []string{"helper", key.ID}}, agent: "helper", want: "allow",
			},
			"an allow for the owner":        {allow: owner, agent: "helper", want: "allow"},
			"an allow for the owner's role": {allow: &client.Bindings{Roles: []string{"owner"}}, want: "allow"},
			"for the owner, naming another": {allow: owner, user: member.Email, want: "allow"},
			"an allow for a member": {
				allow: other,
				user:  member.Email,
				want:  "deny",
				says:  "the policies that apply to the user whom the call names do not",
			},
			"an allow for a member's role": {
				allow: &client.Bindings{Roles: []string{"member"}},
				user:  member.Email,
				want:  "deny",
				says:  "the user whom the call names",
			},
			"a deny for the agent": {
				allow: everybody,
				deny:  agent,
				agent: "helper",
				want:  "deny",
				says:  "rule bank",
			},
			"a deny for another agent": {allow: everybody, deny: agent, agent: "other", want: "allow"},
			"a deny for a member": {
				allow: everybody,
				deny:  other,
				user:  member.Email,
				want:  "deny",
				says:  "rule bank",
			},
			"a deny for the owner, naming none": {allow: everybody, deny: owner, want: "deny", says: "rule bank"},
			"a name that says its server": {
				allow:  everybody,
				deny:   everybody,
				server: "local",
				tool:   "bank__t",
				want:   "deny",
				says:   "rule bank",
			},
		}
		allowing, denying := b.Draft(b.Owner, b.ID, "allowing"), b.Draft(b.Owner, b.ID, "denying")
		text := "version: v1\nname: allowing\nrules:\n  - {id: all, effect: allow, tools: [\"*\"]}\n"
		if _, err := b.Owner.UpdatePolicy(t.Context(), allowing, client.YAMLDocument, text, 0); err != nil {
			t.Fatal(err)
		}
		for name, test := range cases {
			if test.tool == "" {
				test.server, test.tool = "bank", "t"
			}
			countFor(b, allowing, test.allow)
			countFor(b, denying, test.deny)
			asked, decided := predict(t, b, key.APIKey, test), decide(t, b, key.APIKey, test)
			if asked != decided {
				t.Errorf("%s: asked %+v, decided %+v", name, asked, decided)
			}
			if asked.Decision != test.want || !strings.Contains(asked.Reason, test.says) {
				t.Errorf("%s: %+v, want %s because %s", name, asked, test.want, test.says)
			}
		}
	})
}

// countFor has a policy count for some, for everybody with empty bindings, or not
// at all.
func countFor(b *testserver.Org, id string, whom *client.Bindings) {
	b.T.Helper()
	ctx := b.T.Context()
	if whom == nil {
		if state, err := b.Owner.Policy(ctx, id); err != nil || state.Status != "active" {
			return
		}
		if _, err := b.Owner.DeactivatePolicy(ctx, id); err != nil {
			b.T.Fatal(err)
		}
		return
	}
	var err error
	if len(whom.Members)+len(whom.Clients)+len(whom.Roles) == 0 {
		_, err = b.Owner.BindEverybody(ctx, id)
	} else {
		_, err = b.Owner.SetBindings(ctx, id, *whom)
	}
	if err != nil {
		b.T.Fatal(err)
	}
	if _, err := b.Owner.ActivatePolicy(ctx, id, 0); err != nil {
		b.T.Fatal(err)
	}
}

// prediction is what both answers tell.
type prediction struct {
	Allowed  bool   `json:"allowed"`
	Decision string `json:"decision"`
	Rule     string `json:"rule"`
	Reason   string `json:"reason"`
}

// predict is what who asks beforehand is told, and cameTo what the call gets.
func predict(t *testing.T, b *testserver.Org, key string, c predictionCase) prediction {
	t.Helper()
	return answered(t, b, key, "/policies/check-access",
		fmt.Sprintf(`{"server":%q,"tool":%q,"agentId":%q,"userEmail":%q}`, c.server, c.tool, c.agent, c.user))
}

func decide(t *testing.T, b *testserver.Org, key string, c predictionCase) prediction {
	t.Helper()
	host := fmt.Sprintf(`"mcp_context":{"server_name":%q,"tool_name":%q},`, c.server, c.tool)
	if toolname.IsReserved(c.server) {
		host = "" // no MCP server has that name: a call without one is placed there
	}
	return answered(t, b, key, "/iap/enforce", fmt.Sprintf(
		`{"source":"x","tool_name":%q,%s"tool_input":{},"agent_id":%q,"user_email":%q}`, c.tool, host, c.agent, c.user))
}

func answered(t *testing.T, b *testserver.Org, key, path, body string) (got prediction) {
	t.Helper()
	answer := b.Request(t, "POST", path, body, "X-Api-Key", key)
	if err := json.Unmarshal([]byte(answer.Body), &got); err != nil || answer.Status != 200 {
		t.Fatalf("%s %s: status %d, %v: %s", path, body, answer.Status, err, answer.Body)
	}
	return got
}

// TestAKeyIsToldWhoCan: where only people may, a key that was sent is not asked
// for once more.
func TestAKeyIsToldWhoCan(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, b *testserver.Org) {
		id := b.Draft(b.Owner, b.ID, "pay")
		for route, who := range map[string]string{
			"POST /policies/profiles/confirm":                             "owner or admin of",
			"POST /policies/" + id + "/activate":                          "owner or admin of",
			"POST /policies/" + id + "/shadow":                            "owner or admin of",
			"POST /policies/draft":                                        "owner or admin or approver or member of",
			"POST /policies/suggest":                                      "owner or admin or approver or member of",
			"GET /organization/" + b.ID + "/observability/policies/" + id: "somebody signs in",
		} {
			method, path, _ := strings.Cut(route, " ")
			for _, header := range [][2]string{
				{"X-Api-Key", b.Agent.APIKey}, {"Authorization", "Bearer " + b.Agent.APIKey},
			} {
				answer := b.Request(t, method, path, `{}`, header[0], header[1])
				if text := string(answer.Body); answer.Status != 401 ||
					!strings.Contains(text, "an API key cannot do this") || !strings.Contains(text, who) {
					t.Errorf("%s with %s: %d %s, want who can", route, header[0], answer.Status, text)
				}
			}
			if answer := b.Request(t, method, path, `{}`); answer.Status != 401 ||
				!strings.Contains(string(answer.Body), "sign in: send Authorization") {
				t.Errorf("%s without credentials: %d %s", route, answer.Status, answer.Body)
			}
		}
	})
}
