package policies_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/client"
)

// exchange is a request of a plugin, and what its answer must hold.
type exchange struct {
	method, path, body string
	status             int
	want               string // a part of the answer
}

func (w *staging) exchanged(headers []string, all ...exchange) {
	w.T.Helper()
	for i, x := range all {
		answer := w.Request(w.T, x.method, x.path, x.body, headers...)
		if answer.Status != x.status || !strings.Contains(string(answer.Body), x.want) {
			w.T.Fatalf("request %d, %s %s: %d %.400s, want %d with %s", i+1, x.method, x.path, answer.Status,
				answer.Body, x.status, x.want)
		}
	}
}

// confirmsTheOpen has the owner confirm the one proposal that waits.
func (w *staging) confirmsTheOpen() {
	w.T.Helper()
	open, err := w.Owner.Proposals(w.T.Context(), w.Org, "open", client.List{})
	if err != nil || len(open.Items) != 1 {
		w.T.Fatalf("open proposals: %+v, %v", open.Items, err)
	}
	if _, err := w.Owner.ConfirmProfile(w.T.Context(), w.Org, open.Items[0].ID, open.Items[0].Hash); err != nil {
		w.T.Fatalf("confirm: %v", err)
	}
}

// TestWhatGeminiSendsAroundAProfile: the tool that a profile forbids runs while it
// is staged and proposed, and no longer once a person has confirmed it.
func TestWhatGeminiSendsAroundAProfile(t *testing.T) {
	t.Parallel()
	eachStaging(t, func(t *testing.T, w *staging) {
		w.activeDocument("version: v1\nname: all\ndefault: allow\nrules: []\n")
		fetch := func(want string) exchange {
			return exchange{
				"POST", "/iap/enforce",
				`{"source":"armorgemini","session_id":"s-1","tool_name":"web_fetch","tool_input":{"prompt":"https://example.org"},"org_id":"org-1"}`,
				http.StatusOK, want,
			}
		}
		w.exchanged(w.Gemini(),
			fetch(`"action":"allow"`),
			exchange{
				"PUT", "/policies/profiles/draft", fmt.Sprintf(`{"policy":%s,"orgId":%q}`, geminiProfile, w.Org),
				http.StatusOK, "",
			},
			fetch(`"action":"allow"`),
			exchange{
				"POST", "/policies/profiles/propose",
				fmt.Sprintf(`{"reason":"Staged via /armor:add deny web_fetch (no exfil)","orgId":%q}`, w.Org),
				http.StatusCreated, `"state":"open"`,
			},
			fetch(`"action":"allow"`),
			exchange{"POST", "/policies/profiles/confirm", `{}`, http.StatusUnauthorized, ""},
		)
		w.confirmsTheOpen()
		w.exchanged(w.Gemini(),
			fetch(`"action":"deny"`),
			exchange{
				"POST", "/iap/enforce",
				`{"source":"armorgemini","session_id":"s-1","tool_name":"read_file","tool_input":{"file_path":"README.md","description":"peek"},"description":"peek","org_id":"org-1"}`,
				http.StatusOK, `"action":"allow"`,
			},
			exchange{
				"POST", "/iap/audit",
				`{"source":"armorgemini","event":"AfterTool","at":"2026-11-15T02:00:17.512Z","session_id":"s-1","tool_name":"read_file","tool_input":{"file_path":"README.md"},"result_summary":"line1"}`,
				http.StatusCreated, "{",
			},
		)
	})
}

// bindsStatements is how Claude's plugin binds a profile's statements, without a key.
const bindsStatements = `{"plan":{"steps":[{"action":"policy_statement:forbid-destructive-bash","mcp":"armoriq-policy","description":"Policy statement: forbid Bash","metadata":{"statement_id":"forbid-destructive-bash","statement_effect":"forbid","action":{"type":"tool","eq":"Bash"},"resource":{"type":"workspace","scope":"current"},"conditions":[]}}],"metadata":{"goal":"ArmorIQ policy enforcement","policy_type":"crypto-bound","policy_schema":"armor.policy.v1"}},"policy":{"global":{"metadata":{"schema_version":"armor.policy.v1","statements":[],"version":1,"updated_by":"dashboard-sync","policy_digest":"11012477"}}},"identity":{"user_id":"claude-user","agent_id":"claude-code","context_id":"default"},"validity_seconds":3600}`

// TestWhatClaudeSendsAroundAProfile: a session begins without a profile, the person
// says yes in the terminal, and the next session after the confirmation begins with
// what was staged.
func TestWhatClaudeSendsAroundAProfile(t *testing.T) {
	t.Parallel()
	eachStaging(t, func(t *testing.T, w *staging) {
		claude := append(w.Claude(), "Content-Type", "application/json")
		none := exchange{"GET", "/policies/profiles/active", "", http.StatusOK, `"policy":null`}
		bind := exchange{"POST", "/intent", bindsStatements, http.StatusOK, `"policy-1"`}
		w.exchanged(claude, none)
		w.exchanged(nil, bind)
		w.exchanged(claude,
			exchange{
				"PUT", "/policies/profiles/draft", fmt.Sprintf(`{"policy":%s,"orgId":%q}`, claudeProfile, w.Org),
				http.StatusOK, "",
			},
			exchange{
				"POST", "/policies/profiles/propose",
				fmt.Sprintf(`{"reason":"Policy synced via /armor (terminal)","orgId":%q}`, w.Org), http.StatusCreated,
				`"state":"open"`,
			},
			none,
			exchange{
				"PUT", "/policies/profiles/draft", fmt.Sprintf(`{"policy":%s,"orgId":%q}`, claudeProfile, w.Org),
				http.StatusOK, "",
			},
			exchange{
				"POST", "/policies/profiles/propose",
				fmt.Sprintf(`{"reason":"Profile \"mine\" proposed via /armor","orgId":%q}`, w.Org), http.StatusCreated,
				`"state":"open"`,
			},
			none,
		)
		w.confirmsTheOpen() // one: what waits already is not proposed twice
		if diff := cmp.Diff(decoded(t, []byte(claudeProfile)), w.active(claude)["policy"]); diff != "" {
			t.Errorf("the next session's profile (-staged +active):\n%s", diff)
		}
		w.exchanged(nil, bind)
	})
}

// TestAProfileReplaysAsItDecides: of every call of the table a replay tells the
// answer, and the rule, that enforcement gives once the same profile is in force.
func TestAProfileReplaysAsItDecides(t *testing.T) {
	t.Parallel()
	eachStaging(t, func(t *testing.T, w *staging) {
		w.inForce("architect")
		recorded := make([]string, len(profileCalls)) // ids of decisions
		for i, c := range profileCalls {
			recorded[i] = w.enforced(c.source, c.server, c.tool, c.input)["decisionId"].(string)
		}
		foretold := map[string]map[string]client.ReplayChange{}
		for _, name := range []string{"velocity-machine", "strict-read-only"} {
			foretold[name] = w.foretold(w.Proposed(w.plugin, w.Org, w.template(name)))
		}
		for name, told := range foretold {
			w.inForce(name)
			for i, c := range profileCalls {
				change, changes := told[recorded[i]]
				answer := w.enforced(c.source, c.server, c.tool, c.input)
				switch {
				case !changes && answer["action"] != c.architect:
					t.Errorf("%s, %s %s: replay says unchanged, and it is %v", name, c.tool, c.input, answer["action"])
				case changes &&
					(change.Today != c.architect || change.Recorded != c.architect ||
						change.Drafted != answer["action"] || change.Rule != answer["rule"]):
					t.Errorf("%s, %s %s: replay says %+v, and it is %v by %v", name, c.tool, c.input, change,
						answer["action"], answer["rule"])
				}
			}
		}
	})
}

// foretold is what a replay says of each decision whose answer changes.
func (w *staging) foretold(p client.Proposal) map[string]client.ReplayChange {
	w.T.Helper()
	report := replay(w.Server, w.Owner.Client, w.Org, client.NewReplay{
		PolicyID: p.PolicyID, PolicyVersion: p.PolicyVersion, Days: 1,
	})
	told := map[string]client.ReplayChange{}
	for _, change := range report.Changes {
		if int64(len(change.Examples)) != change.Count {
			w.T.Fatalf("a change without all of its calls: %+v", change)
		}
		for _, example := range change.Examples {
			told[example.DecisionID] = change
		}
	}
	if len(told) == 0 {
		w.T.Fatalf("nothing changes by %s", p.Name)
	}
	return told
}

// template is the text of one of the profiles we ship.
func (w *staging) template(name string) string {
	w.T.Helper()
	template, err := w.plugin.ProfileTemplate(w.T.Context(), name)
	if err != nil {
		w.T.Fatal(err)
	}
	return string(template.Policy)
}

// inForce has one of the profiles we ship count.
func (w *staging) inForce(name string) client.Proposal {
	w.T.Helper()
	proposal := w.Proposed(w.plugin, w.Org, w.template(name))
	if _, err := w.Owner.ConfirmProfile(w.T.Context(), w.Org, proposal.ID, proposal.Hash); err != nil {
		w.T.Fatal(err)
	}
	return proposal
}

// enforced asks about a call as a plugin does.
func (w *staging) enforced(source, server, tool, input string) m {
	w.T.Helper()
	body := fmt.Sprintf(`{"source":%q,"session_id":"s","tool_name":%q,"tool_input":%s}`, source, tool, input)
	if source == "" {
		body = fmt.Sprintf(`{"source":"armorgemini","session_id":"s","tool_name":"mcp_%[2]s_%[3]s","tool_input":%[1]s,"mcp_context":{"server_name":%[2]q,"tool_name":%[3]q}}`, input, server, tool)
	}
	status, answer := w.Call("/iap/enforce", body, w.Gemini()...)
	if status != http.StatusOK {
		w.T.Fatalf("enforce: %d %v", status, answer)
	}
	return answer
}
