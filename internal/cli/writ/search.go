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

// search finds things of an organization.
func search(s cli.Streams) *cobra.Command {
	var p asPerson
	var query client.SearchQuery
	find := func(ctx context.Context, c *client.Client, args []string) (client.FoundPage, error) {
		query.Text = strings.Join(args, " ")
		return c.Search(ctx, p.orgID, query)
	}
	cmd := &cobra.Command{
		Use: "search WORDS", Short: "Find traces, agents, plans, approvals, entries of the log, and more",
		Long: `Find traces, sessions, agents, policies, MCP servers, plans, approvals, members, keys and entries of the audit log. The
last word may be the beginning of one; an id, or #1207 for an entry, finds just that. What your role may not read is not found.`,
		Example: "  writ search pay rent\n  writ search --kinds trace,plan invoice",
		Args:    cobra.MinimumNArgs(1),
		RunE:    asking(&p, s, find, printFound),
	}
	p.addFlags(cmd)
	cli.ChoicesFlag(cmd, &query.Kinds, "kinds",
		"only these: agent, approval, entry, key, member, plan, policy, server, session, trace",
		"agent", "approval", "entry", "key", "member", "plan", "policy", "server", "session", "trace")
	query.Limit = 20
	cli.NumberFlag(cmd, &query.Limit, "limit", "how many at most, 1 to 100", 1, 100)
	cmd.Flags().StringVar(&query.Cursor, "cursor", "", "nextCursor of the page before")
	return cmd
}

func printFound(s cli.Streams, found client.FoundPage) error {
	if found.Indexing {
		fmt.Fprintln(s.Err, "writ: the index is not complete yet: there may be more soon")
	}
	if len(found.Items) == 0 {
		fmt.Fprintln(s.Err, "writ: nothing was found")
		return nil
	}
	rows := make([][]any, len(found.Items))
	for i, f := range found.Items {
		rows[i] = []any{f.Kind, f.ID, f.Title, orDash(f.Note), f.At.Local().Format(time.DateTime)}
	}
	return printPage(s, "KIND\tID\tTITLE\tNOTE\tWHEN", rows, found.NextCursor)
}
