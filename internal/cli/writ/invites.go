package writ

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"writ/client"
	"writ/internal/cli"
)

// invites holds the commands about open invitations.
func invites(s cli.Streams) *cobra.Command {
	c := &cobra.Command{Use: "invites", Short: "List and withdraw the open invitations of an organization, accept one"}
	c.AddCommand(invitesList(s), byHand(invitesWithdraw(s)), byHand(invitesAccept(s)))
	return c
}

func invitesList(s cli.Streams) *cobra.Command {
	var p asPerson
	list := func(ctx context.Context, c *client.Client, _ []string) (client.Page[client.Invite], error) {
		return whole(p.invites(ctx, c))
	}
	cmd := &cobra.Command{
		Use: "list", Short: "List the open invitations of an organization", Args: cobra.NoArgs,
		RunE: asking(&p, s, list, printInvites),
	}
	p.addFlags(cmd)
	return cmd
}

func (p *asPerson) invites(ctx context.Context, c *client.Client) ([]client.Invite, error) {
	return inOrganization(ctx, c, p, func(orgID string) ([]client.Invite, error) { return c.Invites(ctx, orgID) })
}

func printInvites(s cli.Streams, found client.Page[client.Invite]) error {
	if len(found.Items) == 0 {
		fmt.Fprintln(s.Err, "writ: no invitation is open")
		return nil
	}
	rows := make([][]any, len(found.Items))
	for i, v := range found.Items {
		rows[i] = []any{v.ID, v.Email, v.Role, ago(&v.CreatedAt), v.ExpiresAt.Local().Format("2006-01-02 15:04")}
	}
	return cli.WriteTable(s.Out, "ID\tE-MAIL\tROLE\tINVITED\tEXPIRES", rows)
}

func invitesWithdraw(s cli.Streams) *cobra.Command {
	var p asPerson
	withdraw := func(ctx context.Context, c *client.Client, args []string) (client.Invite, error) {
		open, err := p.invites(ctx, c)
		if err != nil {
			return client.Invite{}, err
		}
		at := slices.IndexFunc(open, func(v client.Invite) bool {
			return v.ID == uuidOf(args[0]) || sameAddress(args[0], v.Email)
		})
		if at < 0 {
			return client.Invite{}, fmt.Errorf("no invitation of %q is open: give the id or e-mail of writ invites list", args[0])
		}
		return inOrganization(ctx, c, &p, func(orgID string) (client.Invite, error) {
			return open[at], c.WithdrawInvite(ctx, orgID, open[at].ID)
		})
	}
	cmd := &cobra.Command{
		Use: "withdraw INVITATION", Short: "Withdraw an invitation, by id or e-mail", Args: cobra.ExactArgs(1),
		RunE: asking(&p, s, withdraw, func(s cli.Streams, gone client.Invite) error {
			_, err := fmt.Fprintf(s.Out, "withdrew the invitation of %s\n", cli.Line(gone.Email))
			return err
		}),
	}
	p.addFlags(cmd)
	return cmd
}

func invitesAccept(s cli.Streams) *cobra.Command {
	var p asPerson
	accept := func(ctx context.Context, c *client.Client, args []string) (client.Organization, error) {
		token := args[0]
		if token == "-" {
			text, err := readInput(s, "-")
			if err != nil {
				return client.Organization{}, fmt.Errorf("read the token: %w", err)
			}
			if token = strings.TrimSpace(string(text)); token == "" {
				return client.Organization{}, errors.New("read the token: the standard input is empty")
			}
		}
		return c.AcceptInvite(ctx, token)
	}
	cmd := &cobra.Command{
		Use: "accept TOKEN|-", Short: "Join an organization with the token of the mailed invitation; - reads it from stdin",
		Args: cobra.ExactArgs(1),
		RunE: asking(&p, s, accept, func(s cli.Streams, joined client.Organization) error {
			next := "writ switch " + joined.ID + " works in it"
			if found, err := p.find(); err == nil && found.APIKey == "" {
				next = "writ login gives this terminal a key of it"
			}
			_, err := fmt.Fprintf(s.Out, "you are %s of %s now: %s\n", cli.Line(joined.Role),
				cli.Line(joined.Name), cli.Line(next))
			return err
		}),
	}
	p.addFlags(cmd)
	return cmd
}

// oneOfLast refuses a last argument, called so in the usage, that is none of these words.
func oneOfLast(name string, words []string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if last := args[len(args)-1]; !slices.Contains(words, last) {
			return fmt.Errorf("%s must be one of %s, not %q", name, strings.Join(words, ", "), last)
		}
		return nil
	}
}
