package writ

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"writ/client"
	"writ/internal/cli"
)

// mcpConnect begins to connect the person to a server that has an OAuth of its own.
func mcpConnect(s cli.Streams) *cobra.Command {
	var p asPerson
	begin := func(ctx context.Context, c *client.Client, args []string) (client.Connecting, error) {
		org, err := p.organization(ctx, c)
		if err != nil {
			return client.Connecting{}, err
		}
		return c.StartConnection(ctx, org, args[0])
	}
	cmd := &cobra.Command{
		Use:   "connect SERVER",
		Short: "Consent to be acted for at an MCP server that has an OAuth of its own",
		Long: `Print a link where you consent, at the server's own authorization server. Open it in a browser where you are signed in to
the dashboard as the same person: you come back there, and agents with a key of yours can call the server.`,
		Args: cobra.ExactArgs(1), RunE: asking(&p, s, begin, printConnecting),
	}
	p.addFlags(cmd)
	return cmd
}

func printConnecting(s cli.Streams, c client.Connecting) error {
	fmt.Fprintf(s.Err, "writ: open this in your browser within ten minutes to consent at %s\n", cli.Line(c.Issuer))
	_, err := fmt.Fprintln(s.Out, cli.Line(c.AuthorizeURL))
	return err
}

func mcpConnections(s cli.Streams) *cobra.Command {
	var p asPerson
	var page client.List
	list := func(ctx context.Context, c *client.Client, _ []string) (client.Page[client.Connection], error) {
		org, err := p.organization(ctx, c)
		if err != nil {
			return client.Page[client.Connection]{}, err
		}
		return c.Connections(ctx, org, page)
	}
	cmd := &cobra.Command{
		Use: "connections", Short: "List your connections with MCP servers, or all if you manage servers",
		Args: cobra.NoArgs, RunE: asking(&p, s, list, printConnections),
	}
	p.addFlags(cmd)
	addPageFlags(cmd, &page)
	return cmd
}

func printConnections(s cli.Streams, found client.Page[client.Connection]) error {
	if len(found.Items) == 0 {
		fmt.Fprintln(s.Err, "writ: nobody is connected")
		return nil
	}
	rows := make([][]any, len(found.Items))
	for i, c := range found.Items {
		rows[i] = []any{c.ID, c.ServerName, c.OwnerID, c.Issuer, c.CreatedAt.Format("2006-01-02")}
	}
	return printPage(s, "CONNECTION\tSERVER\tPERSON\tISSUER\tSINCE", rows, found.NextCursor)
}

func mcpDisconnect(s cli.Streams) *cobra.Command {
	var p asPerson
	end := func(ctx context.Context, c *client.Client, args []string) (map[string]string, error) {
		org, err := p.organization(ctx, c)
		if err == nil {
			err = c.EndConnection(ctx, org, args[0])
		}
		return map[string]string{"ended": args[0]}, err
	}
	cmd := &cobra.Command{
		Use: "disconnect CONNECTION", Short: "End a connection with an MCP server: its tokens are forgotten",
		Args: cobra.ExactArgs(1), RunE: asking(&p, s, end, func(s cli.Streams, done map[string]string) error {
			_, err := fmt.Fprintf(s.Out, "%s is ended\n", cli.Line(done["ended"]))
			return err
		}),
	}
	p.addFlags(cmd)
	return cmd
}
