package decisions_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"writ/client"
	"writ/internal/testserver"
)

const besideManifest = `
version: v1
name: beside
default: deny
rules:
  - {id: tools, effect: allow, tools: ["bank.*", "local.*"]}
  - {id: drops, effect: deny, tools: ["bank.drop"]}
`

// listed registers a manifest with the key of the organization's agent.
func listed(t *testing.T, o *testserver.Org, allow ...string) {
	t.Helper()
	var answer struct{ Status string }
	err := o.Agent.Call(t.Context(), http.MethodPost, "/iap/sdk/register", nil,
		testserver.Manifest("teller", m{"allow": allow}), &answer)
	if err != nil || answer.Status != "active" {
		t.Fatalf("register: %+v, %v", answer, err)
	}
}

// TestAManifestListsEverySpelling: what the list of a manifest names is in it however it is called, on every surface,
// whether the server is registered or only planned. What it does not name is not, nor what a policy denies.
func TestAManifestListsEverySpelling(t *testing.T) {
	t.Parallel()
	calls := []spelledCall{
		{"balance", 5, "allow"}, {"send_money", 5, "allow"}, {"pay", 5, "deny"}, {"drop", 5, "deny"},
	}
	for _, registered := range []bool{true, false} {
		testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
			o.ActivePolicy(o.Owner, o.ID, besideManifest)
			if registered {
				knowBank(t, o)
			}
			listed(t, o, "bank.balance", "bank.send_*", "bank.drop")
			token := o.Declared(o.Agent.APIKey, client.PlanRequest{
				Plan: json.RawMessage(spelledPlans(t)["policies"]), AgentID: "teller", ExpiresIn: 600,
			})
			for _, s := range surfaces {
				for _, call := range calls {
					for i := range spellings {
						if spellings[i].name == "host" && call.want == "allow" {
							continue // it is judged as a tool without a server too, and no list names one
						}
						_, said := s.ask(t, o, token, call.spelled(i, s.arguments))
						if got := s.decision(said); got != call.want {
							t.Errorf("registered: %t, %s: %s in the spelling %s is %v, want %s: %v", registered, s.path,
								call.tool, spellings[i].name, got, call.want, said["reason"])
						}
					}
				}
			}
		})
	}
}

// TestAManifestListsNoOtherToolWithoutAServer: the local clause of the list takes no name that the list does not
// spell out, and no rule about a server's tool is passed by leaving out the server.
func TestAManifestListsNoOtherToolWithoutAServer(t *testing.T) {
	t.Parallel()
	testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
		o.ActivePolicy(o.Owner, o.ID, besideManifest)
		listed(t, o, "bank.balance", "bank.drop", "shop.*")
		ask := func(call m) m {
			_, said := surface{path: "/iap/enforce"}.ask(t, o, client.PlanToken{}, call)
			return said
		}
		for _, tool := range []string{
			"balance", "bank", "bank.", ".balance", "bank.balances", "Bank.balance", "x.bank.balance", "bank.pay",
			"shop", "shops.buy", "local.balance", "local.bank.balance", "files.read", "*", "bank.*", "",
		} {
			for _, call := range []m{{"tool": tool}, {"tool": tool, "server": "local"}} {
				if said := ask(call); said["allowed"] != false {
					t.Errorf("%v: %v", call, said)
				}
			}
		}
		for _, call := range []m{{"tool": "bank.drop"}, {"tool": "bank.drop", "server": "local"}} {
			if said := ask(call); said["allowed"] != false || !strings.Contains(text(said["reason"]), "drops") {
				t.Errorf("%v, which a policy denies: %v", call, said)
			}
		}
		for _, source := range []string{"codex", "claude-code", "gemini-cli", "copilot"} {
			if said := ask(m{"tool": "bank.balance", "source": source}); said["allowed"] != false {
				t.Errorf("a tool of %s itself: %v", source, said)
			}
		}
	})
}

func knowBank(t *testing.T, o *testserver.Org) {
	t.Helper()
	if _, err := o.Owner.RegisterMCPServer(t.Context(), o.ID, client.NewMCPServer{Name: "bank"}); err != nil {
		t.Fatal(err)
	}
}

func text(value any) string {
	s, _ := value.(string)
	return s
}
