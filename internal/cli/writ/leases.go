package writ

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"writ/client"
	"writ/internal/cli"
)

func agentsLeases(s cli.Streams) *cobra.Command {
	var p asPerson
	list := func(ctx context.Context, c *client.Client, _ []string) ([]client.Lease, error) {
		return c.Leases(ctx, p.orgID)
	}
	cmd := &cobra.Command{
		Use: "leases", Short: "List the leases that have not ended, the last to end first", Args: cobra.NoArgs,
		RunE: asking(&p, s, list, printLeases),
	}
	p.addFlags(cmd)
	return cmd
}

func printLeases(s cli.Streams, leases []client.Lease) error {
	if len(leases) == 0 {
		fmt.Fprintln(s.Err, "writ: there is no lease that has not ended")
		return nil
	}
	rows := make([][]any, len(leases))
	for i, l := range leases {
		tools := make([]string, len(l.Tools))
		for j, tool := range l.Tools {
			tools[j] = strings.TrimPrefix(tool.Server+"."+tool.Tool, ".")
		}
		rows[i] = []any{
			l.LeaseID, orDash(l.AgentID), l.KeyID, l.ExpiresAt.UTC().Format(time.RFC3339), strings.Join(tools, " "),
		}
	}
	return printPage(s, "LEASE\tAGENT\tKEY\tENDS\tTOOLS", rows, "")
}
