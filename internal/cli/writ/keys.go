package writ

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"writ/client"
	"writ/internal/cli"
	"writ/internal/cli/credentials"
)

// keys holds the commands about API keys.
func keys(s cli.Streams) *cobra.Command {
	c := &cobra.Command{
		Use: "keys", Short: "List, create, rotate and revoke your API keys",
		Long: `List, create, rotate and revoke your API keys. Listing and revoking need the key of the sign-in, creating and rotating
need its session.`,
	}
	c.AddCommand(keysList(s), byHand(keysCreate(s)), byHand(keysRotate(s)), byHand(keysRevoke(s)))
	return c
}

func keysList(s cli.Streams) *cobra.Command {
	var p asPerson
	var all, everywhere bool
	var page client.List
	cmd := &cobra.Command{
		Use: "list", Short: "List your keys of the organization you work in", Args: cobra.NoArgs,
		Long: `List your keys of the organization you work in. With --all, those of everybody there, also of people who have left, with
their owners; that needs a session, and an owner or admin: others see their own. With --everywhere, yours of every
organization, and those that were made without one; that needs a session.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if all {
				return listAllKeys(&p, s, page)(cmd, args)
			}
			if everywhere {
				return listKeysEverywhere(&p, s, page)(cmd, args)
			}
			listed, found, err := callWithKey(cmd.Context(), &p.server,
				func(ctx context.Context, c *client.Client) (client.Page[client.Key], error) {
					return c.Keys(ctx, "", page)
				})
			if err != nil {
				return needsTerminalKey(err, found)
			}
			return show(&p.server, s, listed, func(s cli.Streams, listed client.Page[client.Key]) error {
				return printKeys(s, listed, found.APIKey)
			})
		},
	}
	addAllFlags(cmd, &p, &all, &everywhere)
	addPageFlags(cmd, &page)
	return cmd
}

// printKeys marks the key that commands use with a star.
func printKeys(s cli.Streams, listed client.Page[client.Key], mine string) error {
	rows := make([][]any, len(listed.Items))
	for i, k := range listed.Items {
		mark := ""
		if k.Prefix != "" && strings.HasPrefix(mine, k.Prefix) {
			mark = "*"
		}
		rows[i] = []any{mark, k.ID, k.Name, keyStatus(k), k.Prefix + "…", lastUsed(k), strings.Join(k.Scopes, " ")}
	}
	return printPage(s, "\tID\tNAME\tSTATUS\tKEY\tUSED\tSCOPES", rows, listed.NextCursor)
}

// keyStatus is active only for a key that may do something.
func keyStatus(k client.Key) string {
	if k.Stopped && k.Status == "active" { // else it is over, whatever stopped it before
		return "stopped"
	}
	return k.Status
}

func lastUsed(k client.Key) string {
	if k.LastUsedAt == nil {
		return "never"
	}
	return ago(k.LastUsedAt)
}

func keysCreate(s cli.Streams) *cobra.Command {
	var p asPerson
	var n client.NewKey
	var life time.Duration
	create := func(ctx context.Context, c *client.Client, _ []string) (_ client.IssuedKey, err error) {
		if n.OrganizationID, err = p.organization(ctx, c); err != nil {
			return client.IssuedKey{}, err
		}
		if life > 0 {
			ends := time.Now().Add(life)
			n.ExpiresAt = &ends
		}
		made, err := c.CreateKey(ctx, n)
		if err == nil {
			tellSameName(ctx, c, s, n)
		}
		return made, err
	}
	cmd := &cobra.Command{
		Use: "create", Short: "Create a key, and print it: once, and alone", Args: cobra.NoArgs,
		RunE: asking(&p, s, create, printIssued),
	}
	p.addFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&n.Name, "name", "", "what it is for")
	cli.ChoiceFlag(cmd, &n.Environment, "environment", "sandbox or production; sandbox unless given", environments...)
	f.StringVar(&n.Product, "product", "", "the product it is for; any unless given")
	cli.ChoicesFlag(cmd, &n.Scopes, "scope",
		"what it may do: ingest, enforce, audit, delegation.request (these unless given), profile.propose, policy.draft",
		"ingest", "enforce", "audit", "delegation.request", "profile.propose", "policy.draft")
	cli.DurationFlag(cmd, &life, "life", "how long it is accepted, as 90d; until it is revoked unless given")
	cli.RequireFlags(cmd, "name")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if cmd.Flags().Changed("life") && life <= 0 {
			return errors.New("--life must be longer than nothing")
		}
		return nil
	}
	return cmd
}

// tellSameName says that commands cannot name a key by its name, where another one has it too.
func tellSameName(ctx context.Context, c *client.Client, s cli.Streams, made client.NewKey) {
	same, err := keysCalled(ctx, c, "", made.Name, isOf(made.OrganizationID))
	if err == nil && len(same) > 1 { // the key is made, whether or not it can be compared
		fmt.Fprintf(s.Err, "writ: %d of your keys are called %q now: commands take their ids only\n", len(same), made.Name)
	}
}

// printIssued prints a key alone, so that it can be kept in a file.
func printIssued(s cli.Streams, issued client.IssuedKey) error {
	fmt.Fprintf(s.Err, "writ: key %s (%s) for %s; it is not shown again\n",
		cli.Line(issued.ID), cli.Line(issued.Environment), cli.Line(strings.Join(issued.Scopes, " ")))
	_, err := fmt.Fprintln(s.Out, cli.Line(issued.APIKey))
	return err
}

func keysRotate(s cli.Streams) *cobra.Command {
	var p asPerson
	rotate := func(ctx context.Context, c *client.Client, args []string) (client.IssuedKey, error) {
		id, err := keyID(ctx, c, p.orgID, args[0])
		if err != nil {
			return client.IssuedKey{}, err
		}
		return c.RotateKey(ctx, id)
	}
	cmd := &cobra.Command{
		Use: "rotate KEY", Short: "Replace one of your keys by a new one, and print it: once, and alone",
		Long: `Replace one of your keys, by id or exact name, by a new one with the same settings, and print it: once, and alone. The old
one is not accepted any more.`,
		Args: cobra.ExactArgs(1), RunE: asking(&p, s, rotate, printIssued),
	}
	p.addFlags(cmd)
	return cmd
}

// environments are what a key or an agent may be for.
var environments = []string{"sandbox", "production"}

func keysRevoke(s cli.Streams) *cobra.Command {
	var p asPerson
	var all, everywhere bool
	print := func(s cli.Streams, revoked revokedKey) error {
		_, err := fmt.Fprintf(s.Out, "revoked %s\n", cli.Line(revoked.named))
		return err
	}
	cmd := &cobra.Command{
		Use: "revoke KEY", Short: "Revoke one of your keys, by id or exact name", Args: cobra.ExactArgs(1),
		Long: `Revoke one of your keys, by id or exact name. With --all, a key of anybody in the organization you work in, also of
somebody who has left; that needs a session, and an owner or admin. With --everywhere, one of yours of any organization,
or of none; that needs a session.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if all {
				return asking(&p, s, revokeAnyKey(&p), print)(cmd, args)
			}
			if everywhere {
				return asking(&p, s, revokeKeyAnywhere, print)(cmd, args)
			}
			revokeMine := func(ctx context.Context, c *client.Client) (string, error) {
				id, err := keyID(ctx, c, "", args[0])
				if err != nil {
					return "", err
				}
				return id, c.RevokeKey(ctx, id)
			}
			id, found, err := callWithKey(cmd.Context(), &p.server, revokeMine)
			if client.StatusOf(err) == http.StatusConflict { // only the key that asks is refused
				return ownKey(found)
			}
			if err != nil {
				return needsTerminalKey(err, found)
			}
			return show(&p.server, s, revoked(id, args[0]), print)
		},
	}
	addAllFlags(cmd, &p, &all, &everywhere)
	return cmd
}

// ownKey says how the key ends with which a command asks.
func ownKey(found credentials.Found) error {
	if found.KeyFrom == credentials.KeyVariable {
		return fmt.Errorf("that is the key in %s, which asks here: unset it, and revoke it with the key of writ login",
			credentials.KeyVariable)
	}
	return errors.New("that is the key that this terminal uses: writ logout revokes it")
}

// keyID finds a key of the caller that is not over by its id or exact name, in an organization; empty: in any.
func keyID(ctx context.Context, c *client.Client, orgID, named string) (string, error) {
	if id := uuidOf(named); id != "" {
		return id, nil
	}
	found, err := keysCalled(ctx, c, "", named, isOf(orgID))
	if err != nil {
		return "", err
	}
	if len(found) != 1 {
		return "", fmt.Errorf("%s called %q: give %s of writ keys list",
			howMany(len(found), "active key of yours", "of your active keys"), named, idOrName(len(found)))
	}
	return found[0], nil
}

// isOf reports whether a key counts in an organization; empty: in any.
func isOf(orgID string) func(client.Key) bool {
	return func(k client.Key) bool {
		return orgID == "" || k.OrganizationID == nil || *k.OrganizationID == orgID
	}
}

// keysCalled are the ids of the keys of this name that fit: of an organization, as far as the caller may list them;
// empty: of the caller. Those that are revoked or expired are over, and leave their name to others. Stopped ones keep
// it, because they can be let go on.
func keysCalled(
	ctx context.Context, c *client.Client, orgID, named string, fits func(client.Key) bool,
) (found []string, err error) {
	page := client.List{Limit: mostListed}
	for range maxPages {
		listed, err := c.Keys(ctx, orgID, page)
		if err != nil {
			return nil, fmt.Errorf("look for the key %q: %w", named, err)
		}
		for _, k := range listed.Items {
			if k.Name == named && k.Status == "active" && fits(k) {
				found = append(found, k.ID)
			}
		}
		if page.Cursor = listed.NextCursor; page.Cursor == "" {
			break
		}
	}
	return found, nil
}
