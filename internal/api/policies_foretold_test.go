package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"writ/client"
)

// foretoldCase is a call with a key, under policies with bindings.
type foretoldCase struct {
	allow, deny  *client.Bindings // of the two policies; nil: it does not count at all
	agent, user  string           // whom the call names
	server, tool string           // absent: bank.t
	want, says   string
}

// TestAnAskedCallGetsTheAnswerOfADecision: who asks beforehand, with the key that
// the call is made with, is told what the call then gets.
func TestAnAskedCallGetsTheAnswerOfADecision(t *testing.T) {
	t.Parallel()
	eachBank(t, func(t *testing.T, b *bank) {
		member := b.join(b.owner, b.org, "member")
		key := b.agentKey(b.owner, b.org)
		agent := &client.Bindings{Clients: []string{"helper"}}
		itself := &client.Bindings{Clients: []string{key.ID}}
		owner := &client.Bindings{Members: []string{b.owner.ID}}
		other := &client.Bindings{Members: []string{member.ID}}
		everybody := &client.Bindings{}
		cases := map[string]foretoldCase{
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
		allowing, denying := b.draft(b.owner, b.org, "allowing"), b.draft(b.owner, b.org, "denying")
		text := "version: v1\nname: allowing\nrules:\n  - {id: all, effect: allow, tools: [\"*\"]}\n"
		if _, err := b.owner.UpdatePolicy(t.Context(), allowing, client.YAMLDocument, text, 0); err != nil {
			t.Fatal(err)
		}
		for name, test := range cases {
			if test.tool == "" {
				test.server, test.tool = "bank", "t"
			}
			b.countFor(allowing, test.allow)
			b.countFor(denying, test.deny)
			asked, decided := b.foretold(t, key.APIKey, test), b.cameTo(t, key.APIKey, test)
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
func (b *bank) countFor(id string, whom *client.Bindings) {
	b.t.Helper()
	ctx := b.t.Context()
	if whom == nil {
		if state, err := b.owner.Policy(ctx, id); err != nil || state.Status != "active" {
			return
		}
		if _, err := b.owner.DeactivatePolicy(ctx, id); err != nil {
			b.t.Fatal(err)
		}
		return
	}
	var err error
	if len(whom.Members)+len(whom.Clients)+len(whom.Roles) == 0 {
		_, err = b.owner.BindEverybody(ctx, id)
	} else {
		_, err = b.owner.SetBindings(ctx, id, *whom)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.owner.ActivatePolicy(ctx, id, 0); err != nil {
		b.t.Fatal(err)
	}
}

// foretold is what both answers tell.
type foretold struct {
	Allowed  bool   `json:"allowed"`
	Decision string `json:"decision"`
	Rule     string `json:"rule"`
	Reason   string `json:"reason"`
}

// foretold is what who asks beforehand is told, and cameTo what the call gets.
func (b *bank) foretold(t *testing.T, key string, c foretoldCase) foretold {
	t.Helper()
	return b.answered(t, key, "/policies/check-access",
		fmt.Sprintf(`{"server":%q,"tool":%q,"agentId":%q,"userEmail":%q}`, c.server, c.tool, c.agent, c.user))
}

func (b *bank) cameTo(t *testing.T, key string, c foretoldCase) foretold {
	t.Helper()
	return b.answered(t, key, "/iap/enforce", fmt.Sprintf(
		`{"source":"x","tool_name":%[2]q,"mcp_context":{"server_name":%[1]q,"tool_name":%[2]q},"tool_input":{},"agent_id":%[3]q,"user_email":%[4]q}`, c.server, c.tool, c.agent, c.user))
}

func (b *bank) answered(t *testing.T, key, path, body string) (got foretold) {
	t.Helper()
	answer := b.wire(t, "POST", path, body, "X-Api-Key", key)
	if err := json.Unmarshal([]byte(answer.body), &got); err != nil || answer.status != 200 {
		t.Fatalf("%s %s: status %d, %v: %s", path, body, answer.status, err, answer.body)
	}
	return got
}

// TestAKeyIsToldWhoCan: where only people may, a key that was sent is not asked
// for once more.
func TestAKeyIsToldWhoCan(t *testing.T) {
	t.Parallel()
	eachBank(t, func(t *testing.T, b *bank) {
		id := b.draft(b.owner, b.org, "pay")
		for route, who := range map[string]string{
			"POST /policies/profiles/confirm":                              "owner or admin of",
			"POST /policies/" + id + "/activate":                           "owner or admin of",
			"POST /policies/" + id + "/shadow":                             "owner or admin of",
			"POST /policies/draft":                                         "owner or admin or approver or member of",
			"POST /policies/suggest":                                       "owner or admin or approver or member of",
			"GET /organization/" + b.org + "/observability/policies/" + id: "somebody signs in",
		} {
			method, path, _ := strings.Cut(route, " ")
			for _, header := range [][2]string{
				{"X-Api-Key", b.agent.APIKey}, {"Authorization", "Bearer " + b.agent.APIKey},
			} {
				answer := b.wire(t, method, path, `{}`, header[0], header[1])
				if text := string(answer.body); answer.status != 401 ||
					!strings.Contains(text, "an API key cannot do this") || !strings.Contains(text, who) {
					t.Errorf("%s with %s: %d %s, want who can", route, header[0], answer.status, text)
				}
			}
			if answer := b.wire(t, method, path, `{}`); answer.status != 401 ||
				!strings.Contains(string(answer.body), "sign in: send Authorization") {
				t.Errorf("%s without credentials: %d %s", route, answer.status, answer.body)
			}
		}
	})
}
