package principal

import "slices"

// Role is what a person is in an organization.
type Role string

// The roles, from most to least.
const (
	Owner    Role = "owner"
	Admin    Role = "admin"
	Approver Role = "approver"
	Member   Role = "member"
	Viewer   Role = "viewer"
)

// Roles lists every role, from most to least.
func Roles() []Role { return []Role{Owner, Admin, Approver, Member, Viewer} }

// Valid reports whether this is one of the roles.
func (r Role) Valid() bool { return slices.Contains(Roles(), r) }

// Action is something a role may allow.
type Action string

// The actions of an organization.
const (
	ReadOrganization   Action = "organization.read"
	UpdateOrganization Action = "organization.update"
	CloseOrganization  Action = "organization.close"
	ReadMembers        Action = "members.read"
	ManageMembers      Action = "members.manage" // invite, change role, remove; not owners
	ManageOwners       Action = "owners.manage"  // make, demote and remove owners
	OwnKeys            Action = "keys.own"       // create, list, rotate and revoke one's own keys
	ManageKeys         Action = "keys.manage"    // anyone's
	ReadTelemetry      Action = "telemetry.read"
	ReadPayloads       Action = "payloads.read" // prompts, arguments and results of agents
	ErasePayloads      Action = "payloads.erase"
	ReadPolicies       Action = "policies.read"
	DraftPolicies      Action = "policies.draft"   // write, validate and simulate inactive policies
	ManagePolicies     Action = "policies.manage"  // activate and bind policies
	DecideApprovals    Action = "approvals.decide" // approve or reject calls of agents
	ManageWebhooks     Action = "webhooks.manage"  // choose where events are sent

	ManageIdentityProvider Action = "identity_provider.manage" // choose who vouches for the organization's people
	ManageForwarding       Action = "forwarding.manage"        // choose where traces and decisions are sent
	ManageAgents           Action = "agents.manage"            // register, bind and suspend agents
	// register, approve and remove MCP servers, accept their tools
	ManageServers Action = "servers.manage"
	// the kill switch; approvers only if the organization says so
	KillAgents Action = "agents.kill"
)

// rights is what each role may do. Everything else is refused.
var rights = map[Role][]Action{
	Owner: {
		ReadOrganization, UpdateOrganization, CloseOrganization,
		ReadMembers, ManageMembers, ManageOwners,
		OwnKeys, ManageKeys,
		ReadTelemetry, ReadPayloads, ErasePayloads,
		ReadPolicies, DraftPolicies, ManagePolicies, DecideApprovals, ManageWebhooks,
		ManageIdentityProvider, ManageForwarding, ManageAgents, KillAgents, ManageServers,
	},
	Admin: {
		ReadOrganization, UpdateOrganization,
		ReadMembers, ManageMembers,
		OwnKeys, ManageKeys,
		ReadTelemetry, ReadPayloads,
		ReadPolicies, DraftPolicies, ManagePolicies, DecideApprovals, ManageWebhooks, ManageForwarding,
		ManageAgents, KillAgents, ManageServers,
	},
	Approver: {
		ReadOrganization, ReadMembers, OwnKeys, ReadTelemetry, ReadPayloads, ReadPolicies, DraftPolicies,
		DecideApprovals, KillAgents,
	},
	Member: {ReadOrganization, ReadMembers, OwnKeys, ReadTelemetry, ReadPayloads, ReadPolicies, DraftPolicies},
	Viewer: {ReadOrganization, ReadMembers, ReadTelemetry, ReadPolicies},
}

// May reports whether the role allows the action.
func (r Role) May(action Action) bool { return slices.Contains(rights[r], action) }

// leastRole is the least of the roles that allow the action; every role above it does too.
func leastRole(action Action) Role {
	least := Owner
	for _, role := range Roles() {
		if role.May(action) {
			least = role
		}
	}
	return least
}

// Rights lists what the role allows.
func (r Role) Rights() []Action { return slices.Clone(rights[r]) }

// ManageRole is the action needed to give, change or take this role.
func (r Role) ManageRole() Action {
	if r == Owner {
		return ManageOwners
	}
	return ManageMembers
}
