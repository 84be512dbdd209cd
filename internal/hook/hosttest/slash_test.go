package hosttest_test

import (
	"strings"
	"testing"

	"writ/client"
	"writ/internal/hook/hosttest"
)

// TestSlashCommands: what a person types into the real host runs, and its output comes back.
func TestSlashCommands(t *testing.T) {
	t.Parallel()
	hosts := hosttest.Hosts(t)
	const add = "/writ:add deny web_fetch it's for $HOME `id`"
	for host, typed := range map[hosttest.Host]map[string]string{
		hosts[0]: {
			"/writ:list":   "run_shell_command  hold (commands)",
			"/writ:yes":    "In a terminal of your own",
			"/writ:no AN1": "In a terminal of your own",
			"/writ:help":   "/writ:template NAME",
			add:            "decides nothing until an owner or admin confirms it",
		},
		hosts[len(hosts)-1]: {add: "decides nothing until"},
	} {
		t.Run(host.Version, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t, host, policy, nil)
			o.useKey(t, "enforce", "profile.propose")
			for command, want := range typed {
				run := o.Run(t, command, hosttest.Turns())
				if run.Exit != 0 || len(run.Requests) == 0 {
					t.Errorf("%s: exit %d, %s", command, run.Exit, run.Stderr)
					continue
				}
				contents := run.Requests[0].Contents
				told := contents[len(contents)-1].Text()
				if !strings.Contains(told, want) || strings.Contains(told, "exited with code") { // not for people
					t.Errorf("%s: the model was told %q, want %q", command, told, want)
				}
			}
			o.wantProposal(t)
		})
	}
}

// useKey has the guard file name a key with these scopes.
func (o *office) useKey(t *testing.T, scopes ...string) {
	t.Helper()
	key, err := o.owner.CreateKey(t.Context(), client.NewKey{Name: "slash", OrganizationID: o.org, Scopes: scopes})
	if err != nil {
		t.Fatal(err)
	}
	o.setGuard(t, map[string]any{"key": key.APIKey})
}

// wantProposal checks that the rule of /writ:add waits for a person, and decides nothing yet.
func (o *office) wantProposal(t *testing.T) {
	t.Helper()
	open, err := o.owner.Proposals(t.Context(), o.org, "open", client.List{})
	if err != nil || len(open.Items) == 0 || open.Items[0].Reason != "deny web_fetch: it's for $HOME `id`" {
		t.Errorf("proposals: %+v, %v", open.Items, err)
	}
	active, err := o.owner.ActiveProfile(t.Context(), o.org)
	if err != nil || string(active.Policy) != "null" && len(active.Policy) > 0 {
		t.Errorf("active: %s, %v", active.Policy, err)
	}
}
