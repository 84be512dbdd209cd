package writ

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"writ/client"
	"writ/internal/cli"
)

// keys holds what a person does about their API keys.
func keys(s cli.Streams) *cobra.Command {
	c := &cobra.Command{
		Use: "keys", Short: "List, create and revoke your API keys",
		Long: "List, create and revoke your API keys. Listing and revoking take the key of the sign-in; creating takes a session.",
	}
	c.AddCommand(keysList(s), keysCreate(s), keysRevoke(s))
	return c
}

func keysList(s cli.Streams) *cobra.Command {
	var v server
	var page client.List
	cmd := &cobra.Command{
		Use: "list", Short: "List your keys of the organization you work in", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			listed, found, err := callWithKey(cmd.Context(), &v, func(
				ctx context.Context, c *client.Client,
			) (client.Page[client.Key], error) {
				return c.Keys(ctx, "", page)
			})
			if err != nil {
				return needsTerminalKey(err)
			}
			if v.asJSON {
				return v.print(s, listed)
			}
			return printKeys(s, listed, found.APIKey)
		},
	}
	v.addFlags(cmd)
	cmd.Flags().IntVar(&page.Limit, "limit", 50, "how many at most")
	cmd.Flags().StringVar(&page.Cursor, "cursor", "", "nextCursor of the page before")
	return cmd
}

// printKeys marks the key in force with a star.
func printKeys(s cli.Streams, listed client.Page[client.Key], mine string) error {
	table := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\tID\tNAME\tSTATUS\tKEY\tUSED\tSCOPES")
	for _, k := range listed.Items {
		mark, used := "", "never"
		if k.Prefix != "" && strings.HasPrefix(mine, k.Prefix) {
			mark = "*"
		}
		if k.LastUsedAt != nil {
			used = rounded(time.Since(*k.LastUsedAt)) + " ago"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s…\t%s\t%s\n", mark, cli.Line(k.ID), cli.Line(k.Name), cli.Line(k.Status),
			cli.Line(k.Prefix), used, cli.Line(strings.Join(k.Scopes, " ")))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if listed.HasMore {
		fmt.Fprintf(s.Err, "writ: there are more: --cursor %s\n", cli.Line(listed.NextCursor))
	}
	return nil
}

func keysCreate(s cli.Streams) *cobra.Command {
	var p asPerson
	var n client.NewKey
	cmd := &cobra.Command{
		Use: "create", Short: "Create a key, and print it: once, and alone", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			issued, err := call(cmd.Context(), &p, func(
				ctx context.Context, c *client.Client,
			) (_ client.IssuedKey, err error) {
				if n.OrganizationID, err = p.organization(ctx, c); err != nil {
					return client.IssuedKey{}, err
				}
				return c.CreateKey(ctx, n)
			})
			if err != nil {
				return err
			}
			if p.asJSON {
				return p.print(s, issued)
			}
			fmt.Fprintf(s.Err, "writ: key %s (%s) for %s; it is not shown again\n",
				cli.Line(issued.ID), cli.Line(issued.Environment), cli.Line(strings.Join(issued.Scopes, " ")))
			_, err = fmt.Fprintln(s.Out, cli.Line(issued.APIKey))
			return err
		},
	}
	p.addFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&n.Name, "name", "", "what it is for")
	f.StringVar(&n.Environment, "environment", "", "sandbox or production; sandbox unless given")
	f.StringVar(&n.Product, "product", "", "the product it is for; any unless given")
	f.StringSliceVar(&n.Scopes, "scope", nil,
		"what it may do: ingest, enforce, audit, delegation.request (these unless given), policy.draft")
	if err := cmd.MarkFlagRequired("name"); err != nil {
		panic(err) // the flag is a line above
	}
	return cmd
}

func keysRevoke(s cli.Streams) *cobra.Command {
	var v server
	cmd := &cobra.Command{
		Use: "revoke ID", Short: "Revoke one of your keys", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, _, err := callWithKey(cmd.Context(), &v, func(ctx context.Context, c *client.Client) (struct{}, error) {
				return struct{}{}, c.RevokeKey(ctx, args[0])
			})
			if err != nil {
				return needsTerminalKey(err)
			}
			if v.asJSON {
				return v.print(s, map[string]string{"id": args[0], "status": "revoked"})
			}
			_, err = fmt.Fprintf(s.Out, "revoked %s\n", cli.Line(args[0]))
			return err
		},
	}
	v.addFlags(cmd)
	return cmd
}
