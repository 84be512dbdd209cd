package writ

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"writ/client"
	"writ/internal/cli"
)

// addAllFlags adds --all, with which a command about the caller's own keys is about everybody's. The key of the sign-in
// is for the former, and a person for the latter: their flags do nothing without it.
// With --everywhere it is about the person's own of all organizations, and of none: no other command shows the latter.
func addAllFlags(cmd *cobra.Command, p *asPerson, all, everywhere *bool) {
	p.addFlags(cmd)
	cmd.Flags().BoolVar(all, "all", false, "keys of everybody in the organization, also of people who have left")
	cmd.Flags().BoolVar(everywhere, "everywhere", false,
		"your keys of every organization, and those that are bound to none, which decide and send nothing")
	cmd.MarkFlagsMutuallyExclusive("all", "everywhere")
	cmd.MarkFlagsMutuallyExclusive("organization", "everywhere")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		for _, name := range []string{"token", "organization", "code"} {
			if !*all && !*everywhere && cmd.Flags().Changed(name) {
				with := "--all or --everywhere"
				if name == "organization" {
					with = "--all"
				}
				return fmt.Errorf("--%s is for %s", name, with)
			}
		}
		return nil
	}
}

// listKeysEverywhere lists the person's own keys with their organizations.
func listKeysEverywhere(p *asPerson, s cli.Streams, page client.List) func(*cobra.Command, []string) error {
	ask := func(ctx context.Context, c *client.Client, _ []string) (client.Page[client.Key], error) {
		return c.Keys(ctx, "", page)
	}
	return asking(p, s, ask, func(s cli.Streams, listed client.Page[client.Key]) error {
		rows := make([][]any, len(listed.Items))
		for i, k := range listed.Items {
			org := "none"
			if k.OrganizationID != nil {
				org = *k.OrganizationID
			}
			rows[i] = []any{k.ID, k.Name, org, keyStatus(k), k.Prefix + "…", lastUsed(k)}
		}
		return printPage(s, "ID\tNAME\tORGANIZATION\tSTATUS\tKEY\tUSED", rows, listed.NextCursor)
	})
}

// revokeKeyAnywhere revokes a key of the person.
func revokeKeyAnywhere(ctx context.Context, c *client.Client, args []string) (revokedKey, error) {
	id, err := keyID(ctx, c, "", args[0])
	if err != nil {
		return revokedKey{}, err
	}
	return revoked(id, args[0]), c.RevokeKey(ctx, id)
}

// listAllKeys lists the keys of an organization with their owners.
func listAllKeys(p *asPerson, s cli.Streams, page client.List) func(*cobra.Command, []string) error {
	var owners map[string]string
	ask := func(ctx context.Context, c *client.Client, _ []string) (client.Page[client.Key], error) {
		return inOrganization(ctx, c, p, func(orgID string) (client.Page[client.Key], error) {
			if !p.asJSON {
				owners = p.addresses(ctx, c)
			}
			return c.Keys(ctx, orgID, page)
		})
	}
	return asking(p, s, ask, func(s cli.Streams, listed client.Page[client.Key]) error {
		rows := make([][]any, len(listed.Items))
		for i, k := range listed.Items {
			rows[i] = []any{k.ID, k.Name, ownerOf(k, owners), keyStatus(k), k.Prefix + "…", lastUsed(k)}
		}
		return printPage(s, "ID\tNAME\tOWNER\tSTATUS\tKEY\tUSED", rows, listed.NextCursor)
	})
}

// ownerOf is the address of a key's owner. Who has left has none here.
func ownerOf(k client.Key, members map[string]string) string {
	if len(members) == 0 {
		return k.OwnerID
	}
	return cmp.Or(members[k.OwnerID], "has left")
}

// revokedKey is what `writ keys revoke --json` prints.
type revokedKey struct {
	ID     string `json:"id"`
	Status string `json:"status"`
	named  string
}

func revoked(id, named string) revokedKey { return revokedKey{ID: id, Status: "revoked", named: named} }

// revokeAnyKey revokes a key of an organization.
func revokeAnyKey(p *asPerson) request[revokedKey] {
	return func(ctx context.Context, c *client.Client, args []string) (revokedKey, error) {
		ids, err := p.keyIDs(ctx, c, args)
		if err != nil {
			return revokedKey{}, err
		}
		return revoked(ids[0], args[0]), c.RevokeKey(ctx, ids[0])
	}
}

// keyIDs finds keys of the organization by their ids or exact names.
func (p *asPerson) keyIDs(ctx context.Context, c *client.Client, named []string) ([]string, error) {
	if len(named) == 0 {
		return nil, nil
	}
	ids := make([]string, len(named))
	for i, name := range named {
		if ids[i] = uuidOf(name); ids[i] != "" {
			continue
		}
		found, err := inOrganization(ctx, c, p, func(orgID string) ([]string, error) {
			return keysCalled(ctx, c, orgID, name, func(client.Key) bool { return true })
		})
		if err != nil {
			return nil, err
		}
		if len(found) != 1 {
			return nil, fmt.Errorf("%s called %q: give %s of writ keys list --all",
				howMany(len(found), "key here", "keys here"), name, idOrName(len(found)))
		}
		ids[i] = found[0]
	}
	return ids, nil
}
