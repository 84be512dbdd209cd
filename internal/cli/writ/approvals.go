package writ

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"writ/client"
	"writ/internal/cli"
)

// approvals holds what a person does about calls that wait for a yes.
func approvals(s cli.Streams) *cobra.Command {
	c := &cobra.Command{
		Use: "approvals", Short: "See and answer the calls of agents that wait for a person",
		Long: "See and answer the calls of agents that wait for a person. You are who signed in with writ login, or who the\n" +
			"access token in WRIT_ACCESS_TOKEN or in a file given by --token says; no API key approves anything.\n\n" +
			"Exit codes: 0 done, 1 not done, 2 the command line is wrong, 3 not signed in.",
	}
	c.AddCommand(approvalsList(s), approvalsShow(s), approvalsApprove(s), approvalsReject(s), approvalsWatch(s))
	return c
}

// listing is what `writ approvals list` is asked.
type listing struct {
	asPerson
	filter client.ApprovalFilter
}

func approvalsList(s cli.Streams) *cobra.Command {
	l := listing{}
	cmd := &cobra.Command{
		Use: "list", Short: "List the requests for approval, newest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if l.filter.Status == "any" {
				l.filter.Status = ""
			}
			found, err := call(cmd.Context(), &l.asPerson, func(
				ctx context.Context, c *client.Client,
			) (client.Page[client.Approval], error) {
				return c.Approvals(ctx, l.orgID, l.filter)
			})
			if err != nil {
				return err
			}
			if l.asJSON {
				return cli.WriteJSON(s.Out, found)
			}
			return printApprovals(s, found, l.none())
		},
	}
	l.addFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&l.filter.Status, "status", "pending", "pending, approved, rejected, cancelled, expired, or any")
	f.StringVar(&l.filter.Tool, "tool", "", "of this tool")
	f.StringVar(&l.filter.AgentID, "agent", "", "of this agent")
	f.StringVar(&l.filter.Risk, "risk", "", "of this risk: low, medium, high, critical")
	f.StringVar(&l.filter.Requester, "requester", "", "for this person's e-mail")
	f.IntVar(&l.filter.Limit, "limit", 50, "how many at most")
	f.StringVar(&l.filter.Cursor, "cursor", "", "nextCursor of the page before")
	return cmd
}

// none is what is said where there is nothing to list: that nothing waits is good
// news, that nothing fits may be a mistake.
func (l *listing) none() string {
	f := l.filter
	narrowed := f.Tool + f.AgentID + f.Risk + f.Requester + f.Cursor
	switch {
	case f.Status == "pending" && narrowed == "":
		return "nothing waits for an answer (--status any lists what did)"
	case f.Status == "" && narrowed == "":
		return "nobody has asked for an approval yet"
	}
	return "no request fits these conditions"
}

func printApprovals(s cli.Streams, found client.Page[client.Approval], none string) error {
	if len(found.Items) == 0 {
		fmt.Fprintln(s.Err, "writ: "+none)
		return nil
	}
	table := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tSTATUS\tRISK\tTOOL\tAGENT\tASKED\tEXPIRES")
	for _, a := range found.Items {
		printRow(table, a)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if found.HasMore {
		fmt.Fprintf(s.Err, "writ: there are more: --cursor %s\n", cli.Line(found.NextCursor))
	}
	return nil
}

func printRow(w io.Writer, a client.Approval) {
	expires := "-"
	if a.Status == "pending" {
		expires = "in " + rounded(time.Until(a.ExpiresAt))
	}
	fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s ago\t%s\n", cli.Line(a.ID), cli.Line(a.Status), cli.Line(a.Risk.Level),
		cli.Line(a.Server+"."+a.Tool), cli.Line(orDash(a.AgentID)), rounded(time.Since(a.CreatedAt)), expires)
}

// rounded is a time as people say it.
func rounded(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
