package writ

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"writ/client"
	"writ/internal/cli"
)

// members holds the commands about the people of an organization.
func members(s cli.Streams) *cobra.Command {
	c := &cobra.Command{
		Use: "members", Short: "List the members of an organization, invite people, change roles",
		Long: `List the members of an organization, invite people, change roles and remove members. A member is named by id or by
e-mail.`,
	}
	c.AddCommand(membersList(s), byHand(membersInvite(s)), byHand(membersRole(s)), byHand(membersRemove(s)))
	return c
}

func membersList(s cli.Streams) *cobra.Command {
	var f listFlags
	list := listing[client.Member]{
		headings: "ID\tE-MAIL\tNAME\tROLE\tJOINED",
		none:     "there is no member on this page",
		read: func(
			ctx context.Context, c *client.Client, p *asPerson, page client.List,
		) (client.Page[client.Member], error) {
			return inOrganization(ctx, c, p, func(orgID string) (client.Page[client.Member], error) {
				return c.Members(ctx, orgID, page)
			})
		},
		row: func(m client.Member) []any { return []any{m.UserID, m.Email, orDash(m.Name), m.Role, ago(&m.JoinedAt)} },
	}
	cmd := &cobra.Command{Use: "list", Short: "List the members of an organization", Args: cobra.NoArgs}
	return list.command(cmd, &f, s)
}

// member finds a member by id or e-mail.
func (p *asPerson) member(ctx context.Context, c *client.Client, named string) (client.Member, error) {
	orgID, err := p.organization(ctx, c)
	if err != nil {
		return client.Member{}, err
	}
	var found *client.Member
	err = eachPage(func(page client.List) (client.Page[client.Member], error) {
		return c.Members(ctx, orgID, page)
	}, func(some []client.Member) (bool, error) {
		for _, m := range some {
			if m.UserID == uuidOf(named) || sameAddress(named, m.Email) {
				found = &m
				return true, nil
			}
		}
		return false, nil
	})
	switch {
	case err != nil:
		return client.Member{}, fmt.Errorf("look for the member %q: %w", named, err)
	case found == nil:
		return client.Member{}, fmt.Errorf("nobody here is called %q: give the id or e-mail of writ members list; "+
			"who has not accepted yet is in writ invites list", named)
	}
	return *found, nil
}

// addresses are the e-mails of members, by their ids. Where the list cannot be read it is empty: ids do, too.
func (p *asPerson) addresses(ctx context.Context, c *client.Client) map[string]string {
	byID := map[string]string{}
	orgID, err := p.organization(ctx, c)
	if err != nil {
		return byID
	}
	_ = eachPage(func(page client.List) (client.Page[client.Member], error) {
		return c.Members(ctx, orgID, page)
	}, func(some []client.Member) (bool, error) {
		for _, m := range some {
			byID[m.UserID] = m.Email
		}
		return false, nil
	})
	return byID
}

func membersInvite(s cli.Streams) *cobra.Command {
	var p asPerson
	var role string
	invite := func(ctx context.Context, c *client.Client, args []string) (client.Invite, error) {
		return inOrganization(ctx, c, &p, func(orgID string) (client.Invite, error) {
			made, err := c.Invite(ctx, orgID, args[0], role)
			return made, withoutMail(err)
		})
	}
	cmd := &cobra.Command{
		Use: "invite E-MAIL", Short: "Invite a person by mail", Args: cobra.ExactArgs(1),
		RunE: asking(&p, s, invite, func(s cli.Streams, made client.Invite) error {
			_, err := fmt.Fprintf(s.Out, "invited %s as %s, until %s\n", cli.Line(made.Email), cli.Line(made.Role),
				made.ExpiresAt.Local().Format("2006-01-02 15:04"))
			return err
		}),
	}
	p.addFlags(cmd)
	cli.ChoiceFlag(cmd, &role, "role", "admin, approver, member or viewer; member unless given", roleNames...)
	return cmd
}

// mailNotConfigured is how the server names that it sends no mail.
const mailNotConfigured = "mail_not_configured"

// withoutMail says who adds people where a server sends no mail.
func withoutMail(err error) error {
	if refusal, ok := errors.AsType[*client.Error](err); ok && refusal.Reason == mailNotConfigured {
		return fmt.Errorf("%w; or have its operator add people: writd user create, writd org add-member", err)
	}
	return err
}

func membersRole(s cli.Streams) *cobra.Command {
	var p asPerson
	change := func(ctx context.Context, c *client.Client, args []string) (client.Member, error) {
		member, err := p.member(ctx, c, args[0])
		if err != nil {
			return member, err
		}
		return inOrganization(ctx, c, &p, func(orgID string) (client.Member, error) {
			return c.ChangeRole(ctx, orgID, member.UserID, args[1])
		})
	}
	cmd := &cobra.Command{
		Use: "role MEMBER ROLE", Short: "Give a member another role: owner, admin, approver, member or viewer",
		Args: cobra.MatchAll(cobra.ExactArgs(2), oneOfLast("ROLE", roleNames)),
		RunE: asking(&p, s, change, func(s cli.Streams, m client.Member) error {
			_, err := fmt.Fprintf(s.Out, "%s is %s now\n", cli.Line(m.Email), cli.Line(m.Role))
			return err
		}),
	}
	p.addFlags(cmd)
	return cmd
}

// removedMember is what `writ members remove --json` prints.
type removedMember struct {
	client.Member
	KeysLeft []client.Key `json:"keysLeft"` // they belong to the organization, and go on
}

func membersRemove(s cli.Streams) *cobra.Command {
	var p asPerson
	remove := func(ctx context.Context, c *client.Client, args []string) (gone removedMember, err error) {
		if gone.Member, err = p.member(ctx, c, args[0]); err != nil {
			return gone, err
		}
		gone.KeysLeft, err = inOrganization(ctx, c, &p, func(orgID string) ([]client.Key, error) {
			return c.RemoveMemberListingKeys(ctx, orgID, gone.UserID)
		})
		return gone, err
	}
	cmd := &cobra.Command{
		Use: "remove MEMBER", Short: "Remove a member", Args: cobra.ExactArgs(1),
		Long: `Remove a member. Their sessions in the organization and the keys of their terminals end. Keys that they made for agents
belong to the organization and go on: they are listed, so that somebody revokes those whose secret nobody else needs.`,
		RunE: asking(&p, s, remove, func(s cli.Streams, gone removedMember) error {
			for _, key := range gone.KeysLeft {
				fmt.Fprintf(s.Err, "writ: the key %s (%s) goes on: it belongs to the organization; end it with "+
					"writ keys revoke %[1]s --all\n", cli.Line(key.ID), cli.Line(key.Name))
			}
			_, err := fmt.Fprintf(s.Out, "removed %s\n", cli.Line(gone.Email))
			return err
		}),
	}
	p.addFlags(cmd)
	return cmd
}

// sameAddress reports whether somebody typed an address. Letters that fold into another only elsewhere are others here,
// as they are to the server.
func sameAddress(typed, address string) bool {
	lower := strings.ToLower(typed)
	return lower == strings.ToLower(address)
}
