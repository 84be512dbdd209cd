package turns_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"writ/client"
	"writ/internal/hook"
	"writ/internal/hook/state"
	"writ/internal/hook/turns"
	"writ/internal/testserver"
)

const confinedShell = `version: v1
name: shell
rules:
- {id: shell, effect: allow, tools: ["*.run_shell_command"], confine: {write: [workspace], net: none}}
`

// TestConfinedCalls: a rewritten call is compared as it was rewritten and reported as it was decided, with
// what writ run says that held it.
func TestConfinedCalls(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		report string // of writ run; DECISION stands for the id
		want   []string
	}{
		"held":      {`{"version":1,"decision":"DECISION","notHeld":[]}`, nil},
		"no report": {``, []string{"execution_not_confined run_shell_command"}},
		"not held": {
			`{"decision":"DECISION","notHeld":["namespaces"]}`, []string{"execution_not_confined run_shell_command"},
		},
		"report of another": {
			`{"decision":"other","notHeld":[]}`, []string{"execution_not_confined run_shell_command"},
		},
		"the kernel refused a call": {
			`{"decision":"DECISION","notHeld":[],"refusedCalls":[{"name":"ptrace","count":2}]}`,
			[]string{"refused_by_kernel run_shell_command"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testserver.EachOrg(t, func(t *testing.T, o *testserver.Org) {
				o.ActivePolicy(o.Owner, o.ID, confinedShell)
				h := newHost(t, o.Agent.BaseURL, o.Agent)
				h.prompt("run the tests")
				h.plan("run_shell_command")
				d := h.confine("make test", `{"command":"'/usr/bin/writ' 'run' '--' 'bash' '-c' 'make test'"}`)
				if c.report != "" {
					text := strings.ReplaceAll(c.report, "DECISION", d.DecisionID)
					if err := os.WriteFile(h.state().RunReport(d.DecisionID), []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				_, said := h.fire(hook.AfterTool,
					ran("run_shell_command", `{"command":"'/usr/bin/writ' 'run' '--' 'bash' '-c' 'make test'"}`, "ok"))
				if said != "" {
					t.Errorf("after-tool says %q", said)
				}
				if input := reportedInput(t, o); input != `{"command":"make test"}` {
					t.Errorf("reported %s, want what was decided", input)
				}
				if err := o.Executions.Reconcile(t.Context()); err != nil {
					t.Fatal(err)
				}
				if found := findings(t, o); !slices.Equal(found, c.want) {
					t.Errorf("findings %q, want %q", found, c.want)
				}
			})
		})
	}
}

// confine decides about a command that the hook rewrites.
func (h *host) confine(command, rewritten string) client.Decision {
	h.t.Helper()
	input, err := json.Marshal(m{"command": command})
	if err != nil {
		h.t.Fatal(err)
	}
	d, err := h.key.EnforceHarness(h.t.Context(), client.HarnessCall{
		ToolName:     "run_shell_command",
		ToolInput:    input,
		Source:       turns.Product,
		AgentID:      "gemini-cli",
		SessionID:    sessionID,
		SessionTurn:  h.turn,
		Capabilities: []string{client.CanConfine},
	})
	if err != nil || d.Confine == nil {
		h.t.Fatalf("%+v, %v", d, err)
	}
	limits, err := json.Marshal(d.Confine)
	if err != nil {
		h.t.Fatal(err)
	}
	err = h.state().Decided(state.Decision{
		ID:       d.DecisionID,
		PlanID:   d.PlanID,
		Tool:     "run_shell_command",
		Input:    json.RawMessage(rewritten),
		Original: input,
		Confine:  limits,
		Verdict:  state.Allow,
		At:       time.Now(),
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return d
}

// reportedInput is the arguments of the one report in the log.
func reportedInput(t *testing.T, o *testserver.Org) string {
	t.Helper()
	page, err := o.Owner.LogEntries(t.Context(), o.ID, client.LogFilter{Action: "call.executed"})
	if err != nil || len(page.Items) != 1 {
		t.Fatalf("%d reports, %v", len(page.Items), err)
	}
	var payload struct{ Input json.RawMessage }
	if err := json.Unmarshal(page.Items[0].Payload, &payload); err != nil {
		t.Fatal(err)
	}
	return string(payload.Input)
}
