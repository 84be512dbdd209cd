package writ

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"writ/client"
	"writ/internal/cli"
)

// approvals holds the commands about calls that wait for an approval.
func approvals(s cli.Streams) *cobra.Command {
	c := &cobra.Command{
		Use: "approvals", Short: "See and answer the calls of agents that wait for a person",
		Long: `See and answer the calls of agents that wait for a person. You act as the person who signed in with writ login, or
whose access token is in WRIT_ACCESS_TOKEN or in the file that --token names. No API key approves anything.

Exit codes: 0 done, 1 not done, 2 the command line is wrong, 3 not signed in.`,
	}
	c.AddCommand(approvalsList(s), approvalsShow(s), byHand(approvalsApprove(s)), byHand(approvalsReject(s)),
		approvalsWatch(s), approvalsStanding(s), byHand(approvalsRevoke(s)))
	return c
}

func approvalsList(s cli.Streams) *cobra.Command {
	var p asPerson
	var filter client.ApprovalFilter
	list := func(ctx context.Context, c *client.Client, _ []string) (client.Page[client.ApprovalRequest], error) {
		if filter.Status == "any" {
			filter.Status = ""
		}
		return c.ApprovalRequests(ctx, p.orgID, filter)
	}
	cmd := &cobra.Command{
		Use: "list", Short: "List the approval requests, newest first", Args: cobra.NoArgs,
		RunE: asking(&p, s, list, func(s cli.Streams, found client.Page[client.ApprovalRequest]) error {
			return printApprovals(s, found, nothingListed(filter))
		}),
	}
	p.addFlags(cmd)
	f := cmd.Flags()
	filter.Status = "pending"
	cli.ChoiceFlag(cmd, &filter.Status, "status", "pending, approved, rejected, cancelled, expired, or any",
		"pending", "approved", "rejected", "cancelled", "expired", "any")
	f.StringVar(&filter.Tool, "tool", "", "of this tool")
	f.StringVar(&filter.AgentID, "agent", "", "of this agent")
	cli.ChoiceFlag(cmd, &filter.Risk, "risk", "of this risk: low, medium, high, critical",
		"low", "medium", "high", "critical")
	f.StringVar(&filter.Requester, "requester", "", "for the person with this e-mail")
	addPageFlags(cmd, &filter.List)
	return cmd
}

// addPageFlags adds the flags of a command that lists a page.
func addPageFlags(cmd *cobra.Command, page *client.List) {
	page.Limit = 50
	cli.NumberFlag(cmd, &page.Limit, "limit", "how many at most, 1 to 200", 1, mostListed)
	cmd.Flags().StringVar(&page.Cursor, "cursor", "", "nextCursor of the page before")
}

// whoSees is for those who see a part, and could take it for the whole.
const whoSees = "; who may not answer sees requests of their own keys alone"

// nothingListed says that a list is empty: that nothing waits is good news, that
// nothing matches may be a mistake.
func nothingListed(f client.ApprovalFilter) string {
	narrowed := f.Tool + f.AgentID + f.Risk + f.Requester + f.Cursor
	switch {
	case f.Status == "pending" && narrowed == "":
		return "nothing waits for an answer (--status any lists what did)" + whoSees
	case f.Status == "" && narrowed == "":
		return "nobody has asked for an approval yet" + whoSees
	}
	return "no request fits these conditions"
}

func printApprovals(s cli.Streams, found client.Page[client.ApprovalRequest], none string) error {
	if len(found.Items) == 0 {
		fmt.Fprintln(s.Err, "writ: "+none)
		return nil
	}
	rows := make([][]any, len(found.Items))
	for i, a := range found.Items {
		expires := "-"
		if a.Status == "pending" {
			expires = "in " + rounded(time.Until(a.ExpiresAt))
		}
		status := a.Status
		if a.Withdrawn && !a.Used && status == "approved" {
			status = "approved, withdrawn"
		}
		rows[i] = []any{
			a.ID, status, a.Risk.Level, a.Server + "." + a.Tool + marks(a),
			orDash(a.AgentID), ago(&a.CreatedAt), expires,
		}
	}
	return printPage(s, "ID\tSTATUS\tRISK\tTOOL\tAGENT\tASKED\tEXPIRES", rows, found.NextCursor)
}

// marks are what a person must know of a request before reading it: that nobody has seen its arguments, or which are
// in doubt.
func marks(a client.ApprovalRequest) string {
	var marks []string
	if a.ArgumentsFrom != "" {
		marks = append(marks, "arguments unknown")
	}
	if len(a.Grounding) > 0 {
		var doubted []string
		for _, doubt := range a.Grounding {
			if !slices.Contains(doubted, doubt.Argument) {
				doubted = append(doubted, doubt.Argument)
			}
		}
		marks = append(marks, "in doubt: "+strings.Join(doubted, ", "))
	}
	if len(marks) == 0 {
		return ""
	}
	return " (" + strings.Join(marks, "; ") + ")"
}

// printPage prints a page of a list, and how to get the next one.
func printPage(s cli.Streams, headings string, rows [][]any, next string) error {
	err := cli.WriteTable(s.Out, headings, rows)
	if err == nil && next != "" {
		fmt.Fprintf(s.Err, "writ: there are more: --cursor %s\n", cli.Line(next))
	}
	return err
}

// rounded is a duration as people say it.
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

// ago is how long ago something was, or a dash.
func ago(at *time.Time) string {
	if at == nil {
		return "-"
	}
	return rounded(time.Since(*at)) + " ago"
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
