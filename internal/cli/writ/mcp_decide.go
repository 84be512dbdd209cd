package writ

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"writ/client"
	"writ/internal/cli"
)

func mcpApprove(s cli.Streams) *cobra.Command {
	var p asPerson
	var reason, seen string
	approve := func(ctx context.Context, c *client.Client, args []string) (client.MCPServer, error) {
		return c.UpdateMCPServer(ctx, p.orgID, args[0],
			map[string]any{"status": "approved", "reason": reason, "seen": seen})
	}
	cmd := &cobra.Command{
		Use: "approve SERVER", Short: "Approve an MCP server, which pins its tools as they are listed now",
		Args: cobra.ExactArgs(1), RunE: asking(&p, s, approve, printMCPServer),
	}
	p.addFlags(cmd)
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the log")
	cmd.Flags().StringVar(&seen, "seen", "", "what show prints as Listed: something else is not approved")
	return cmd
}

func mcpDeny(s cli.Streams) *cobra.Command {
	var p asPerson
	var reason string
	deny := func(ctx context.Context, c *client.Client, args []string) (client.MCPServer, error) {
		return c.UpdateMCPServer(ctx, p.orgID, args[0], map[string]any{"status": "denied", "reason": reason})
	}
	cmd := &cobra.Command{
		Use: "deny SERVER", Short: "Refuse an MCP server, so that its calls are denied",
		Args: cobra.ExactArgs(1), RunE: asking(&p, s, deny, printMCPServer),
	}
	p.addFlags(cmd)
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the log (required)")
	_ = cmd.MarkFlagRequired("reason")
	return cmd
}

func mcpAccept(s cli.Streams) *cobra.Command {
	var p asPerson
	var reason, hash string
	accept := func(ctx context.Context, c *client.Client, args []string) (client.MCPTool, error) {
		return c.AcceptMCPTool(ctx, p.orgID, args[0], args[1], hash, reason)
	}
	cmd := &cobra.Command{
		Use: "accept SERVER TOOL", Short: "Accept a held tool as it is listed, which releases it",
		Long: `Accept a held tool as writ mcp show has shown it: --hash says which. If it changed again, it is not accepted. Without --hash
the pin of a tool that is gone is forgotten.`,
		Args: cobra.ExactArgs(2), RunE: asking(&p, s, accept, printAccepted),
	}
	p.addFlags(cmd)
	cmd.Flags().StringVar(&hash, "hash", "", "the hash of the tool, as show prints it")
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the log (required)")
	_ = cmd.MarkFlagRequired("reason")
	return cmd
}

func printAccepted(s cli.Streams, t client.MCPTool) error {
	_, err := fmt.Fprintf(s.Out, "%s is accepted\n", cli.Line(t.Name))
	return err
}

func mcpRefresh(s cli.Streams) *cobra.Command {
	var p asPerson
	refresh := func(ctx context.Context, c *client.Client, args []string) (client.MCPServer, error) {
		return c.RefreshMCPServer(ctx, p.orgID, args[0])
	}
	cmd := &cobra.Command{
		Use: "refresh SERVER", Short: "Have an MCP server asked now, and compare what it lists with its pins",
		Args: cobra.ExactArgs(1), RunE: asking(&p, s, refresh, printMCPServer),
	}
	p.addFlags(cmd)
	return cmd
}

func mcpRemove(s cli.Streams) *cobra.Command {
	var p asPerson
	remove := func(ctx context.Context, c *client.Client, args []string) (map[string]string, error) {
		return map[string]string{"removed": args[0]}, c.RemoveMCPServer(ctx, p.orgID, args[0])
	}
	cmd := &cobra.Command{
		Use: "remove SERVER", Short: "Remove an MCP server and its pins",
		Args: cobra.ExactArgs(1), RunE: asking(&p, s, remove, func(s cli.Streams, done map[string]string) error {
			_, err := fmt.Fprintf(s.Out, "%s is removed\n", cli.Line(done["removed"]))
			return err
		}),
	}
	p.addFlags(cmd)
	return cmd
}
