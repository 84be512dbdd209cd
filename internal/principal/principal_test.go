package principal_test

import (
	"testing"

	"writ/internal/fault"
	"writ/internal/principal"
)

// TestRights is the table of docs and rulings, written out by hand: who may
// what. A change of rights must be made in both places.
func TestRights(t *testing.T) {
	t.Parallel()
	const all = "owner admin approver member viewer"
	wants := map[principal.Action]string{
		principal.ReadOrganization:   all,
		principal.ReadMembers:        all,
		principal.OwnKeys:            "owner admin approver member",
		principal.ReadTelemetry:      all,
		principal.ReadPayloads:       "owner admin approver member",
		principal.UpdateOrganization: "owner admin",
		principal.ManageMembers:      "owner admin",
		principal.ManageKeys:         "owner admin",
		principal.ManageOwners:       "owner",
		principal.CloseOrganization:  "owner",
		principal.ReadPolicies:       all,
		principal.DraftPolicies:      "owner admin approver member",
		principal.ManagePolicies:     "owner admin",
		principal.DecideApprovals:    "owner admin approver",
		principal.ManageWebhooks:     "owner admin",
		principal.ManageForwarding:   "owner admin",
		principal.ManageAgents:       "owner admin",
		principal.KillAgents:         "owner admin approver",
		principal.ManageServers:      "owner admin",
	}
	for action, want := range wants {
		got := ""
		for _, role := range principal.Roles() {
			if role.May(action) {
				got += " " + string(role)
			}
		}
		if got != " "+want {
			t.Errorf("%s: allowed for%s, want %s", action, got, want)
		}
	}
}

func TestNobodyMayNothing(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]principal.Principal{
		"zero value":   {},
		"unknown role": {Kind: principal.User, Role: "root"},
		"key":          {Kind: principal.Key, Scopes: principal.DefaultScopes()},
	} {
		if err := p.Require(principal.ReadOrganization); !fault.Is(err, fault.Forbidden) {
			t.Errorf("%s: %v, want forbidden", name, err)
		}
	}
	person := principal.Principal{Kind: principal.User, Scopes: []principal.Scope{principal.Ingest}}
	if person.HasScope(principal.Ingest) {
		t.Error("a person has a key's scope")
	}
	if principal.CLI.Requestable() {
		t.Error("anyone may ask for the cli scope")
	}
}
