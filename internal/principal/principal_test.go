package principal_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"writ/internal/fault"
	"writ/internal/principal"
)

// TestRights writes the table of rights out again, by hand: who may do what. A change
// of rights must be made in both places.
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

// TestRefusalsNameTheRole: whoever is refused learns whom to ask, and everybody from that role on may.
func TestRefusalsNameTheRole(t *testing.T) {
	t.Parallel()
	viewer := principal.Principal{Kind: principal.User, Role: principal.Viewer}
	for _, action := range principal.Owner.Rights() {
		err := viewer.Require(action)
		if viewer.May(action) {
			continue
		}
		_, named, _ := strings.Cut(fmt.Sprint(err), "it takes at least the role ")
		named, _, _ = strings.Cut(named, ",") // what an organization may set
		least := slices.Index(principal.Roles(), principal.Role(named))
		if least < 0 {
			t.Fatalf("%s: %v", action, err)
		}
		for i, role := range principal.Roles() {
			if role.May(action) != (i <= least) {
				t.Errorf("%s takes the role %s, and to the role %s it is allowed: %t", action, named, role, role.May(action))
			}
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
	if slices.Contains(principal.RequestableScopes(), principal.CLI) {
		t.Error("anyone may ask for the cli scope")
	}
}
