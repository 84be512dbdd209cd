package writ

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"writ/client"
	"writ/internal/cli"
)

// trustCommands holds the commands about delegations.
func trustCommands(s cli.Streams) *cobra.Command {
	c := &cobra.Command{Use: "trust", Short: "See, verify and revoke what was delegated to whom"}
	c.AddCommand(trustShow(s), trustVerify(s), byHand(trustRevoke(s)))
	return c
}

func trustShow(s cli.Streams) *cobra.Command {
	var b byEither
	cmd := &cobra.Command{
		Use: "show PLAN", Short: "Draw a plan and everything that was delegated from it",
		Long: `Draw a plan and everything that was delegated from it, directly or further on: who may use it, which tools, how many
calls, until when, and whether it counts now. PLAN is the id of the plan or of any delegation below it, or
latest: the plan that was declared last from here. A star marks the one that PLAN is.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := b.planID(args[0])
			if err != nil {
				return err
			}
			tree, err := callEither(cmd.Context(), &b, func(
				ctx context.Context, c *client.Client,
			) (client.TrustTree, error) {
				return c.TrustTree(ctx, id)
			})
			if err != nil {
				return err
			}
			return show(&b.server, s, tree, printTree)
		},
	}
	b.addFlags(cmd)
	return cmd
}

func printTree(s cli.Streams, tree client.TrustTree) error {
	for _, a := range tree.Anchors {
		entry := "no entry of the log"
		if a.Index != nil {
			entry = fmt.Sprintf("entry %d of the log", *a.Index)
		}
		fmt.Fprintf(s.Out, "version %d, from %s, %s, %s\n",
			a.Number, a.CreatedAt.UTC().Format(time.RFC3339), entry, cli.Line(a.PlanHash))
	}
	if tree.Root != nil {
		printNode(s.Out, tree.Root, tree.PlanID, "", "")
	}
	if tree.Truncated {
		fmt.Fprintln(s.Err, "writ: there are more delegations than are shown")
	}
	return nil
}

// printNode draws a plan or delegation, and what hangs on it. The one that was asked for is marked.
func printNode(w io.Writer, n *client.TrustNode, asked, first, further string) {
	mark := ""
	if n.ID == asked {
		mark = " *"
	}
	fmt.Fprintf(w, "%s%s\n", first, cli.Line(fmt.Sprintf("%s %s%s: %s", n.Kind, n.ID, mark, standing(n))))
	below := "    "
	if len(n.Children) > 0 {
		below = "|   "
	}
	for _, line := range factsOf(n) {
		fmt.Fprintf(w, "%s%s%s\n", further, below, cli.Line(line))
	}
	for i, child := range n.Children {
		inner := "|   "
		if i == len(n.Children)-1 {
			inner = "    "
		}
		printNode(w, child, asked, further+"+-- ", further+inner)
	}
}

// standing is whether something authorizes calls now.
func standing(n *client.TrustNode) string {
	switch {
	case n.RevokedAt != nil:
		return "revoked at " + n.RevokedAt.UTC().Format(time.RFC3339)
	case n.Counts:
		return "counts until " + n.ExpiresAt.UTC().Format(time.RFC3339)
	case n.Status == "active":
		if n.Budget > 0 && n.Calls >= n.Budget {
			return "does not count: all its calls were made"
		}
		return "does not count: something that it came from has ended or has no calls left"
	}
	return "has ended (" + n.Status + ")"
}

func factsOf(n *client.TrustNode) (facts []string) {
	if n.AgentID != "" {
		facts = append(facts, "for the agent "+n.AgentID)
	}
	if n.Subtree != "" {
		facts = append(facts, "part "+n.Subtree)
	}
	if n.Budget > 0 {
		facts = append(facts, fmt.Sprintf("%d of %d calls made", n.Calls, n.Budget))
	}
	tools := make([]string, len(n.Steps))
	for i, step := range n.Steps {
		tools[i] = strings.TrimPrefix(step.Server+"."+step.Tool, ".")
	}
	if len(tools) > 0 {
		facts = append(facts, "tools: "+strings.Join(tools, " "))
	}
	return facts
}
