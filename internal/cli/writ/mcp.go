package writ

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"writ/client"
	"writ/internal/cli"
	"writ/internal/mcp/definition"
	"writ/internal/mcp/discovery"
)

// mcpServers holds the commands about MCP servers.
func mcpServers(s cli.Streams) *cobra.Command {
	c := &cobra.Command{
		Use: "mcp", Short: "Register, watch and scan MCP servers",
		Long: `Register, approve and look at the MCP servers of an organization, and accept tools that changed. You act as the person who
signed in with writ login, or whose access token is in WRIT_ACCESS_TOKEN or in the file that --token names.`,
	}
	c.AddCommand(mcpList(s), mcpShow(s), byHand(mcpRegister(s)), byHand(mcpApprove(s)), byHand(mcpDeny(s)),
		byHand(mcpAccept(s)), byHand(mcpRefresh(s)), byHand(mcpRemove(s)), mcpScan(s), mcpHealth(s), mcpTelemetry(s),
		mcpVulnerabilities(s), byHand(mcpServe(s)), byHand(mcpConnect(s)),
		mcpConnections(s), byHand(mcpDisconnect(s)))
	return c
}

func mcpList(s cli.Streams) *cobra.Command {
	var f listFlags
	var status string
	list := listing[client.MCPServer]{
		headings: "SERVER\tSTATUS\tTRANSPORT\tTOOLS\tHELD\tHEALTH\tURL",
		none:     "no MCP server is registered",
		whole:    true,
		read: func(
			ctx context.Context, c *client.Client, p *asPerson, _ client.List,
		) (client.Page[client.MCPServer], error) {
			return whole(c.MCPServers(ctx, p.orgID, status))
		},
		row: func(m client.MCPServer) []any {
			return []any{
				m.Name, m.Status, orDash(m.Transport), m.ToolCount, m.HeldCount, m.Health.Status, orDash(m.URL),
			}
		},
		key: func(m client.MCPServer) string {
			return fmt.Sprint(m.MCPID, m.Status, m.ToolCount, m.HeldCount, m.Health.Status, m.ListedHash)
		},
	}
	cmd := &cobra.Command{
		Use: "list", Short: "List the MCP servers that are registered or proposed; --watch goes on with those that change",
		Args: cobra.NoArgs,
	}
	cli.ChoiceFlag(cmd, &status, "status", "of this status: pending, approved, denied", "pending", "approved", "denied")
	return list.command(cmd, &f, s)
}

// shownMCP is what `writ mcp show --json` prints.
type shownMCP struct {
	client.MCPServer
	Tools []client.MCPTool `json:"tools"`
}

func mcpShow(s cli.Streams) *cobra.Command {
	var p asPerson
	show := func(ctx context.Context, c *client.Client, args []string) (shownMCP, error) {
		server, err := c.MCPServer(ctx, p.orgID, args[0])
		if err != nil {
			return shownMCP{}, err
		}
		tools, err := c.MCPTools(ctx, p.orgID, args[0])
		return shownMCP{server, tools}, err
	}
	cmd := &cobra.Command{
		Use: "show SERVER", Short: "Show one MCP server, its tools, and how those differ from what was accepted",
		Args: cobra.ExactArgs(1), RunE: asking(&p, s, show, printMCP),
	}
	p.addFlags(cmd)
	return cmd
}

func printMCP(s cli.Streams, m shownMCP) error {
	if err := printMCPFacts(s, m.MCPServer); err != nil {
		return err
	}
	defer adviseMCP(s, m.MCPServer)
	if len(m.Tools) == 0 {
		return nil
	}
	rows := make([][]any, len(m.Tools))
	for i, t := range m.Tools {
		rows[i] = []any{t.Name, t.State, t.Class, orDash(t.Why)}
	}
	fmt.Fprintln(s.Out)
	if err := printPage(s, "TOOL\tSTATE\tCLASS\tHELD", rows, ""); err != nil {
		return err
	}
	return printHeld(s, m.Tools)
}

// printHeld prints what tools say that nobody has accepted yet, how held ones differ from what was accepted, and the
// hash by which they are accepted.
func printHeld(s cli.Streams, tools []client.MCPTool) error {
	var text strings.Builder
	for _, t := range tools {
		unseen := t.AcceptedAt == nil
		if t.Why == "" && !unseen {
			continue
		}
		fmt.Fprintf(&text, "\n%s  hash %s\n", cli.Line(t.Name), cli.Line(orDash(t.Hash)))
		if unseen {
			fmt.Fprintf(&text, "  description  %s\n  arguments    %s\n  annotations  %s\n", seenLine(t.Description),
				seenLine(string(t.InputSchema)), seenLine(string(t.Annotations)))
		}
		for _, d := range t.Diff {
			fmt.Fprintf(&text, "  %s\n    was    %s\n    is now %s\n", cli.Line(d.Path), cli.Line(orDash(d.Before)),
				cli.Line(orDash(d.After)))
		}
	}
	_, err := io.WriteString(s.Out, text.String())
	return err
}

// seenLine is what a server sent, on one line, with hidden characters made visible.
func seenLine(text string) string { return cli.Line(orDash(definition.Visible(text))) }

// printMCPServer prints a server after a command changed it or asked it.
func printMCPServer(s cli.Streams, m client.MCPServer) error {
	err := printMCPFacts(s, m)
	adviseMCP(s, m)
	return err
}

// adviseMCP says what a person still has to look at, and how they accept it.
func adviseMCP(s cli.Streams, m client.MCPServer) {
	name := cli.Line(m.Name)
	switch {
	case m.Status != "approved":
	case m.ListedHash == "" && m.URL != "":
		fmt.Fprintf(s.Err, "writ: it has listed nothing yet, so nobody has seen its tools: what it lists first is held until "+
			"you accept it; ask it again: writ mcp refresh %s\n", name)
	case m.HeldCount > 0 && m.ListedHash != "":
		fmt.Fprintf(s.Err, "writ: look at the held tools (writ mcp show %s); to accept all of them as they are listed: "+
			"writ mcp approve %s --seen %s --reason WHY\n", name, name, cli.Line(m.ListedHash))
	}
}

func printMCPFacts(s cli.Streams, m client.MCPServer) error {
	return printFacts(s, [][2]string{
		{"server", m.Name}, {"id", m.MCPID}, {"status", m.Status}, {"reason", m.Reason}, {"transport", m.Transport},
		{"url", m.URL}, {"command", strings.Join(m.Command, " ")}, {"auth", m.Auth.Type},
		{"description", m.Description},
		{"health", m.Health.Status}, {"problem", m.Health.Problem},
		{"tools", fmt.Sprintf("%d, of which %d are held", m.ToolCount, m.HeldCount)}, {"listed", m.ListedHash},
	})
}

func mcpRegister(s cli.Streams) *cobra.Command {
	var p asPerson
	var n client.NewMCPServer
	var auth client.MCPAuth
	var secretFile string
	register := func(ctx context.Context, c *client.Client, args []string) (client.MCPServer, error) {
		n.Name, n.Command = args[0], args[1:]
		if err := readMCPAuth(s, &n, auth, secretFile); err != nil {
			return client.MCPServer{}, err
		}
		if len(n.Command) == 0 {
			return c.RegisterMCPServer(ctx, p.orgID, n)
		}
		return registerProgram(ctx, c, p.orgID, n)
	}
	cmd := &cobra.Command{
		Use:   "register NAME [-- COMMAND...]",
		Short: "Register an MCP server by its URL, or one that is a program on this machine",
		Long: `Register an MCP server under the name that policies and harnesses call it by. With --address the Writ server asks it at
once what it offers, pins that, and watches it; if it does not answer, what it lists first is held. With a command after
-- this machine starts the program, lists its tools and sends what they are; run it again to compare. Another command
under a registered name is refused. The Writ server itself starts no programs.`,
		Args: cobra.MinimumNArgs(1), RunE: asking(&p, s, register, printMCPServer),
		PreRunE: func(_ *cobra.Command, args []string) error {
			return checkRegistration(n.URL, args[1:], auth.Type, secretFile)
		},
	}
	p.addFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&n.URL, "address", "", "its URL")
	cli.ChoiceFlag(cmd, &n.Transport, "transport", "http or sse; http unless given", "http", "sse")
	f.StringVar(&n.Description, "description", "", "what it is for")
	cli.ChoiceFlag(cmd, &auth.Type, "auth", "none, bearer, api_key, or oauth: each person consents; none unless given",
		"none", "bearer", "api_key", "oauth")
	f.StringVar(&auth.ClientID, "client-id", "", "of oauth: the client registered there; the server registers itself unless given")
	f.StringVar(&auth.HeaderName, "header", "", "the header of an API key; X-API-Key unless given")
	f.StringVar(&secretFile, "secret-file", "", "file with the token or API key; - is standard input")
	return cmd
}

// checkRegistration refuses a server that nobody could reach: it would be registered, approved and empty.
func checkRegistration(address string, command []string, auth, secretFile string) error {
	switch {
	case address == "" && len(command) == 1 && isURL(command[0]):
		return cli.Misuse("give the address of a server as --address URL")
	case address == "" && len(command) == 0:
		return errors.New("give --address URL, or after -- the command of a program")
	case address != "" && len(command) > 0:
		return errors.New("give --address or a command, not both")
	case secretFile == "" && (auth == "bearer" || auth == "api_key"):
		return fmt.Errorf("--auth %s needs --secret-file, with the token or API key", auth)
	case secretFile != "" && auth == "":
		return errors.New("--secret-file needs --auth, which says how the server wants the secret: bearer or api_key")
	}
	return nil
}

// readMCPAuth reads how a server wants to be called. A secret comes from a file: command lines are seen by others.
func readMCPAuth(s cli.Streams, n *client.NewMCPServer, auth client.MCPAuth, file string) error {
	if auth.Type == "" && file == "" {
		return nil
	}
	text := ""
	if file != "" {
		read, err := cli.SecretOf(s.In, "secret-file", "the token or API key", file)
		if err != nil {
			return err
		}
		text = read
	}
	if auth.Type == "api_key" {
		auth.APIKey = text
	} else {
		auth.Token = text
	}
	n.Auth = &auth
	return nil
}

// refuseOtherProgram refuses a command that is not the one of the server with this name: the registration would keep
// its own, and be compared with another program. What only keys have proposed makes way, as the server says.
func refuseOtherProgram(ctx context.Context, c *client.Client, orgID string, n client.NewMCPServer) error {
	known, err := c.MCPServer(ctx, orgID, n.Name)
	switch {
	case client.StatusOf(err) == http.StatusNotFound:
		return nil
	case err != nil:
		return err
	case known.Status == "pending", known.Transport != "stdio", len(known.Command) == 0,
		slices.Equal(known.Command, n.Command):
		return nil
	}
	return fmt.Errorf("an MCP server with this name is registered with another command (%s): change it in the "+
		"dashboard, or remove it first: writ mcp remove NAME", cli.Line(strings.Join(known.Command, " ")))
}

// registerProgram starts a program here and registers what it lists. If it is registered, what it lists is compared.
func registerProgram(
	ctx context.Context, c *client.Client, orgID string, n client.NewMCPServer,
) (client.MCPServer, error) {
	if err := refuseOtherProgram(ctx, c, orgID, n); err != nil {
		return client.MCPServer{}, err
	}
	found, err := discovery.ListCommand(ctx, n.Command)
	if err != nil {
		return client.MCPServer{}, err
	}
	if n.Definition, err = json.Marshal(found); err != nil {
		return client.MCPServer{}, err
	}
	n.Transport = "stdio"
	made, err := c.RegisterMCPServer(ctx, orgID, n)
	if client.StatusOf(err) != http.StatusConflict {
		return made, err
	}
	return c.ReportMCPServer(ctx, orgID, n.Name, n.Definition)
}
