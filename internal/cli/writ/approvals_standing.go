package writ

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"writ/client"
	"writ/internal/cli"
)

// approvalsStanding lists the standing approvals, which permit calls that nobody is asked about any more.
func approvalsStanding(s cli.Streams) *cobra.Command {
	var f listFlags
	var people map[string]string // their e-mails, by id
	list := listing[client.StandingApproval]{
		headings: "ID\tTOOL\tAGENT\tUSED\tEXPIRES\tGIVEN BY\tPERMITS",
		none:     "no standing approval is in force",
		whole:    true,
		read: func(
			ctx context.Context, c *client.Client, p *asPerson, _ client.List,
		) (client.Page[client.StandingApproval], error) {
			if !p.asJSON {
				people = p.addresses(ctx, c)
			}
			return whole(c.StandingApprovals(ctx, p.orgID))
		},
		row: func(a client.StandingApproval) []any {
			used := fmt.Sprint(a.Used)
			if a.Uses > 0 {
				used = fmt.Sprintf("%d of %d", a.Used, a.Uses)
			}
			tool := a.Tool
			if a.Server != "" {
				tool = a.Server + "." + a.Tool
			}
			ends := "in " + rounded(time.Until(a.ExpiresAt))
			permits := a.Permits
			if a.Lapsed {
				ends = "lapsed"
				permits = "nothing, until enough of those who gave it may approve again. Then: " + permits
			}
			return []any{a.ID, tool, orDash(a.AgentID), used, ends, cmp.Or(people[a.GivenBy], a.GivenBy), permits}
		},
	}
	cmd := &cobra.Command{
		Use: "standing", Short: "List the standing approvals that have not ended", Args: cobra.NoArgs,
	}
	return list.command(cmd, &f, s)
}

func approvalsRevoke(s cli.Streams) *cobra.Command {
	var p asPerson
	revoke := func(ctx context.Context, c *client.Client, args []string) (map[string]string, error) {
		return map[string]string{"revoked": args[0]}, c.RevokeStandingApproval(ctx, p.orgID, args[0])
	}
	cmd := &cobra.Command{
		Use: "revoke STANDING-APPROVAL", Short: "Revoke a standing approval, by its id of writ approvals standing",
		Args: cobra.ExactArgs(1), RunE: asking(&p, s, revoke, func(s cli.Streams, done map[string]string) error {
			_, err := fmt.Fprintf(s.Out, "revoked %s\n", cli.Line(done["revoked"]))
			return err
		}),
	}
	p.addFlags(cmd)
	return cmd
}
