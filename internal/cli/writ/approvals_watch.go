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

// watching is what `writ approvals watch` is asked, and what it has seen.
type watching struct {
	asPerson
	every time.Duration
	count int

	seen map[string]bool // requests that wait and were printed
}

// leastEvery is the shortest time between two requests of the list.
const leastEvery = time.Second

func approvalsWatch(s cli.Streams) *cobra.Command {
	w := watching{seen: map[string]bool{}, every: 2 * leastEvery}
	cmd := &cobra.Command{
		Use: "watch", Short: "Print each request that waits, once, as it comes", Args: cobra.NoArgs,
		Long: `Print each request that waits for an answer, once, as it comes; with --json one object a line. It ends after --count
requests, or when it is interrupted.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return w.run(cmd.Context(), s) },
	}
	w.addFlags(cmd)
	cli.DurationFlag(cmd, &w.every, "every", "how often to ask the server, at most once a second")
	cli.NumberFlag(cmd, &w.count, "count", "end after so many requests; 0: never", 0, maxCount)
	return cmd
}

func (w *watching) run(ctx context.Context, s cli.Streams) error {
	tick := time.NewTicker(max(w.every, leastEvery))
	defer tick.Stop()
	printed := 0
	for {
		waiting, err := w.waiting(ctx)
		if ctx.Err() != nil {
			return nil // interrupted, as people end it
		}
		if err != nil {
			return err
		}
		for _, a := range waiting {
			if err := show(&w.server, s, a, printWaiting); err != nil {
				return err
			}
			if printed++; printed == w.count {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// maxPages bounds how many pages are read at a time.
const maxPages = 50

// waiting lists the requests that wait and were not printed yet, oldest first.
func (w *watching) waiting(ctx context.Context) (fresh []client.ApprovalRequest, err error) {
	filter := client.ApprovalFilter{Status: "pending", List: client.List{Limit: 200}}
	still := map[string]bool{}
	for range maxPages {
		found, err := call(ctx, &w.asPerson,
			func(ctx context.Context, c *client.Client) (client.Page[client.ApprovalRequest], error) {
				return c.ApprovalRequests(ctx, w.orgID, filter)
			})
		if err != nil {
			return nil, err
		}
		for _, a := range found.Items {
			still[a.ID] = true
			if !w.seen[a.ID] {
				fresh = append(fresh, a)
			}
		}
		if !found.HasMore {
			break
		}
		filter.Cursor = found.NextCursor
	}
	w.seen = still
	slices.Reverse(fresh)
	return fresh, nil
}

func printWaiting(s cli.Streams, a client.ApprovalRequest) error {
	line := fmt.Sprintf("%s  %s  %s.%s %s", a.ID, a.Risk.Level, a.Server, a.Tool, compact(a.Arguments))
	line = strings.TrimRight(line, " ") + marks(a)
	_, err := fmt.Fprintln(s.Out, cli.Line(line))
	return err
}
