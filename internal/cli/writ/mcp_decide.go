package writ

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"writ/client"
	"writ/internal/cli"
)

func mcpApprove(s cli.Streams) *cobra.Command {
	var p asPerson
	var reason, seen string
	approve := func(ctx context.Context, c *client.Client, args []string) (client.MCPServer, error) {
		made, err := c.UpdateMCPServer(ctx, p.orgID, args[0],
			map[string]any{"status": "approved", "reason": reason, "seen": seen})
		return made, asReasonFlag(err)
	}
	cmd := &cobra.Command{
		Use: "approve SERVER", Short: "Approve an MCP server, which pins its tools as they are listed now",
		Long: `Approve an MCP server, which pins its tools as they are listed now: --seen says which list you have looked at. What a
server lists first after it was approved is held. To approve an approved server with --seen and --reason accepts all of
its held tools as they are listed.`,
		Args: cobra.ExactArgs(1), RunE: asking(&p, s, approve, printMCPServer),
	}
	p.addFlags(cmd)
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the log")
	cmd.Flags().StringVar(&seen, "seen", "", "what show prints as listed: something else is not approved")
	return cmd
}

// asReasonFlag names the flag where the server wants a reason: only it knows whether the server to approve is approved.
func asReasonFlag(err error) error {
	if said := refusal(err, "reason"); said != "" {
		return fmt.Errorf("--reason: say why the held tools are accepted; it %s", said)
	}
	return err
}

// asHashFlag names the flag where the server wants a hash: only it knows whether the tool is gone, and needs none.
func asHashFlag(err error, server string) error {
	if said := refusal(err, "hash"); said != "" {
		return fmt.Errorf("--hash %s: writ mcp show %s prints it", said, cli.Line(server))
	}
	return err
}

// refusal is what the server says of a field that it refuses; empty: it says something else.
func refusal(err error, field string) string {
	refused, ok := errors.AsType[*client.Error](err)
	if !ok || len(refused.Details) == 0 || refused.Details[0].Field != field {
		return ""
	}
	return refused.Details[0].Message
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

// accepted is what `writ mcp accept` accepted: a tool or a finding.
type accepted struct {
	tool    *client.MCPTool
	finding *client.MCPFinding
}

// MarshalJSON writes the one that was accepted.
func (a accepted) MarshalJSON() ([]byte, error) {
	if a.finding != nil {
		return json.Marshal(a.finding)
	}
	return json.Marshal(a.tool)
}

func mcpAccept(s cli.Streams) *cobra.Command {
	var p asPerson
	var reason, hash, finding string
	accept := func(ctx context.Context, c *client.Client, args []string) (accepted, error) {
		if finding != "" {
			f, err := c.AcceptMCPFinding(ctx, p.orgID, args[0], finding, reason)
			return accepted{finding: &f}, err
		}
		tool, err := c.AcceptMCPTool(ctx, p.orgID, args[0], args[1], hash, reason)
		return accepted{tool: &tool}, asHashFlag(err, args[0])
	}
	cmd := &cobra.Command{
		Use: "accept SERVER [TOOL]", Short: "Accept a held tool as it is listed, which releases it, or a finding of the scanner",
		Long: `Accept a held tool as writ mcp show has shown it: --hash says which. If it changed again, it is not accepted. Without --hash
the pin of a tool that is gone is forgotten.

With --finding, accept what the scanner found, by the fingerprint that writ mcp vulnerabilities prints. It is quiet until
the text that it is about changes.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if finding != "" {
				if hash != "" {
					return errors.New("--hash is of a tool, not of a finding")
				}
				return cobra.ExactArgs(1)(cmd, args)
			}
			return cobra.ExactArgs(2)(cmd, args)
		},
		RunE: asking(&p, s, accept, printAccepted),
	}
	p.addFlags(cmd)
	cmd.Flags().StringVar(&hash, "hash", "", "the hash of the tool, as show prints it")
	cmd.Flags().StringVar(&finding, "finding", "", "the fingerprint of a finding, as vulnerabilities prints it")
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the log (required)")
	_ = cmd.MarkFlagRequired("reason")
	return cmd
}

func printAccepted(s cli.Streams, a accepted) error {
	var what string
	if a.finding != nil {
		what = a.finding.ID + " at " + a.finding.Place
	} else {
		what = a.tool.Name
	}
	_, err := fmt.Fprintf(s.Out, "%s is accepted\n", cli.Line(what))
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
