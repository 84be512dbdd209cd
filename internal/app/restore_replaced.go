package app

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"

	"writ/internal/agent"
	"writ/internal/apikey"
	"writ/internal/audit"
	"writ/internal/auth"
	"writ/internal/auth/account"
	"writ/internal/auth/federation"
	"writ/internal/database"
	"writ/internal/mcp"
	"writ/internal/organization"
	"writ/internal/principal"
)

// replacedData is what is known of the database that is being replaced.
type replacedData struct {
	heads       map[string]audit.Head // nil: there is none
	restores    map[string][]audit.PastRestore
	keys        replacedKeys
	revokedKeys []string
	stops       []agent.ReplacedStop
	suspended   []agent.ReplacedSuspension
	erased      []audit.Erased
	accounts    []auth.ReplacedAccount
	members     organization.Replaced
	agentKeys   []agent.ReplacedKeys
	servers     mcp.Replaced
	providers   federation.Replaced
}

// TakenAgain says what a restore took from people, agents and servers, because it was taken since the backup.
type TakenAgain struct {
	// AccountsCarriedOver have the password, address, second factor and identities of the replaced database.
	AccountsCarriedOver  int `json:"accountsCarriedOver,omitzero"`
	AccountsDeletedAgain int `json:"accountsDeletedAgain,omitzero"`
	MembersRemovedAgain  int `json:"membersRemovedAgain,omitzero"`
	RolesLoweredAgain    int `json:"rolesLoweredAgain,omitzero"`
	ClosedAgain          int `json:"organizationsClosedAgain,omitzero"`
	// KeptOwners would be owners no more, but their organization would have none.
	KeptOwners []organization.KeptOwner `json:"keptOwners,omitempty"`
	// AgentsBoundAgain are bound to fewer keys than in the backup, or suspended.
	AgentsBoundAgain int      `json:"agentsBoundAgain,omitzero"`
	ServersRefused   int      `json:"mcpServersRefusedAgain,omitzero"`
	RemovedProviders []string `json:"identityProvidersRemoved,omitempty"`
}

// readPresent reads what a restore is about to replace: the length of its logs, and what was taken from keys, agents,
// people and servers. Without a database it is empty.
func readPresent(ctx context.Context, o Options) (replacedData, error) {
	if info, err := os.Stat(databasePath(o.Config)); err != nil || info.Size() == 0 {
		return replacedData{}, nil
	}
	present := replacedData{heads: map[string]audit.Head{}, restores: map[string][]audit.PastRestore{}}
	err := database.ReadSQLite(databasePath(o.Config), func(r database.Reader) error {
		heads, err := audit.ReadHeads(ctx, r)
		if err != nil {
			return err
		}
		for _, head := range heads {
			present.heads[head.Log] = head
			if present.restores[head.Log], err = audit.ReadRestores(ctx, r, head.Log); err != nil {
				return err
			}
		}
		if present.keys, err = readReplacedKeys(ctx, r); err != nil {
			return err
		}
		return present.read(ctx, r)
	})
	if err != nil {
		return replacedData{}, fmt.Errorf("read the present database (move it away to restore without comparing): %w",
			err)
	}
	return present, nil
}

func (d *replacedData) read(ctx context.Context, r database.Reader) (err error) {
	if d.revokedKeys, err = apikey.RevokedIDs(ctx, r); err != nil {
		return err
	}
	if d.stops, err = agent.ReadStops(ctx, r); err != nil {
		return err
	}
	if d.suspended, err = agent.ReadSuspended(ctx, r); err != nil {
		return err
	}
	if d.erased, err = audit.ReadErased(ctx, r); err != nil {
		return err
	}
	return d.readTaken(ctx, r)
}

// readTaken reads what takeAgain compares with.
func (d *replacedData) readTaken(ctx context.Context, r database.Reader) (err error) {
	if d.accounts, err = auth.ReadAccounts(ctx, r); err != nil {
		return err
	}
	if d.members, err = organization.ReadReplaced(ctx, r); err != nil {
		return err
	}
	if d.agentKeys, err = agent.ReadKeys(ctx, r); err != nil {
		return err
	}
	if d.servers, err = mcp.ReadReplaced(ctx, r); err != nil {
		return err
	}
	d.providers, err = federation.ReadReplaced(ctx, r)
	return err
}

// takeAgain takes from people, agents and MCP servers what was taken from them since the backup.
func (r *Restored) takeAgain(ctx context.Context, tx *database.Tx, log *audit.Log, before replacedData) error {
	accounts, err := auth.CarryAccounts(ctx, tx, log, before.accounts, forgetDeleted)
	if err != nil {
		return err
	}
	r.AccountsCarriedOver, r.AccountsDeletedAgain = accounts.Accounts, accounts.Deleted
	people, err := organization.TakeAgain(ctx, tx, log, before.members)
	if err != nil {
		return err
	}
	r.MembersRemovedAgain, r.RolesLoweredAgain, r.ClosedAgain = people.Members, people.Roles, people.Closed
	r.KeptOwners = people.Kept
	if r.AgentsBoundAgain, err = agent.TakeKeysAgain(ctx, tx, log, before.agentKeys); err != nil {
		return err
	}
	if r.ServersRefused, err = mcp.RefuseAgain(ctx, tx, log, before.servers); err != nil {
		return err
	}
	r.RemovedProviders, err = federation.RemoveAgain(ctx, tx, log, before.providers)
	return err
}

// forgetDeleted forgets what areas know of a person whose account was deleted since the backup.
func forgetDeleted(ctx context.Context, tx *database.Tx, userID, address string) error {
	return forgetPerson(ctx, tx, account.Leaving{Principal: principal.Principal{UserID: userID}, Email: address})
}

// leftToCheck are the changes that a restore undoes and does not make again, as the log calls them.
var leftToCheck = []string{
	"agent.settings_changed", "agent.status_changed", "agent.updated", "approval.settings_changed",
	"enforcement.settings_changed", "enforcement.tool_classes_changed", "identity_provider.set", "key.handed_over",
	"manifest.registered", "mcp.updated", "organization.second_factor_changed", "policy.activated", "policy.bound",
	"policy.deactivated", "policy.deleted", "policy.rolled_back", "profile.confirmed", "signing_key.created",
	"webhook.deleted", "webhook.disabled", "webhook.secret_renewed", "webhook.updated",
}

// addChecks names what changed since the backup and is as it was then. The replaced database is still in its place.
func (r *Restored) addChecks(ctx context.Context, o Options, before replacedData) error {
	if before.heads == nil {
		r.Check = unknownChanges()
		return nil
	}
	err := database.ReadSQLite(databasePath(o.Config), func(reader database.Reader) error {
		for _, log := range slices.Sorted(maps.Keys(r.Logs)) {
			lost := r.Logs[log]
			if !lost.Known || lost.From == 0 {
				continue // the other database does not have it
			}
			changes, err := audit.ReadChanges(ctx, reader, log, lost.From, leftToCheck)
			if err != nil {
				return err
			}
			for _, change := range changes {
				r.Check = append(r.Check, fmt.Sprintf("%s of %s, at index %d of the replaced log %s", change.Action,
					change.Subject, change.Index, log))
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read what changed since the backup: %w", err)
	}
	return nil
}

// unknownChanges names all that may have been taken since the backup, where no replaced database shows it.
func unknownChanges() []string {
	return []string{
		"members and their roles", "passwords, addresses, second factors and linked identities of accounts",
		"accounts that were deleted, and organizations that were closed", "API keys that were revoked or handed over",
		"agents that were stopped or suspended, and keys that were taken from agents",
		"MCP servers that were denied or removed", "identity providers that were removed or changed",
		"policies, their bindings, manifests and settings", "webhooks that were removed or disabled",
		"signing keys that were rotated", "payloads of the audit log that were erased",
	}
}
