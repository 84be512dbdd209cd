package writ

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"writ/client"
	"writ/internal/cli"
	"writ/internal/hook/guardfile"
	"writ/internal/hook/lists"
)

// guard holds what the slash commands of the host run. They use the key of the guard file, which can propose
// and confirms nothing.
func guard(s cli.Streams) *cobra.Command {
	c := &cobra.Command{
		Use: "guard", Short: "Show what guards the Gemini CLI here, and propose rules",
		Long: `Show what guards the Gemini CLI on this machine, and propose rules. The Gemini CLI runs these as /writ:list,
/writ:add, /writ:template, /writ:yes and /writ:no. A proposal decides nothing until an owner or admin confirms it.`,
	}
	c.AddCommand(guardList(s), guardAdd(s), guardTemplate(s), guardYes(s), guardNo(s))
	return c
}

// guarding is a command that works with the guard file.
type guarding struct {
	server
	config string
}

func (g *guarding) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&g.config, "config", "", "the guard file; the one that writ init gemini wrote unless given")
	cli.JSONFlag(cmd, &g.asJSON)
}

// open reads the guard file, and gives a client with its key.
func (g *guarding) open() (*guardfile.File, *client.Client, error) {
	path := g.config
	if path == "" {
		places, err := hostPlaces()
		if err != nil {
			return nil, nil, err
		}
		path = places.Guard()
	}
	file, err := guardfile.Read(path)
	if err != nil {
		return nil, nil, err
	}
	return file, &client.Client{BaseURL: file.Server, APIKey: file.Key}, nil
}

// guardState is what `writ guard list --json` prints.
type guardState struct {
	Server       string            `json:"server"`
	Organization string            `json:"organization"`
	Agent        string            `json:"agent"`
	Status       string            `json:"status"`
	Mode         string            `json:"mode"`
	Tools        map[string]string `json:"tools"`              // what policies say, by the tool
	Manifest     string            `json:"manifest,omitempty"` // whose lists count too
	Profile      string            `json:"profile,omitempty"`
}

// guardTools are those of the host that a person wants to know about, in this order.
var guardTools = []struct{ name, arguments string }{
	{"read_file", `{"file_path":"README.md"}`},
	{"write_file", `{"file_path":"notes.txt","content":"text"}`},
	{"replace", `{"file_path":"notes.txt","old_string":"a","new_string":"b"}`},
	{"run_shell_command", `{"command":"ls"}`},
	{"web_fetch", `{"prompt":"https://example.org/"}`},
}

func guardList(s cli.Streams) *cobra.Command {
	var g guarding
	cmd := &cobra.Command{
		Use: "list", Short: "Show the server, the agent, and what policies say about tools",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, _ []string) error {
			state, err := g.state(cmd.Context())
			if err != nil {
				return ofGuardFile(err)
			}
			return show(&g.server, s, state, printGuard)
		},
	}
	g.addFlags(cmd)
	return cmd
}

func (g *guarding) state(ctx context.Context) (guardState, error) {
	file, c, err := g.open()
	if err != nil {
		return guardState{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	state := guardState{
		Server: file.Server, Organization: file.Organization, Agent: file.Agent, Mode: file.Mode,
		Tools: map[string]string{},
	}
	state.Status, err = c.AgentStatus(ctx, file.Organization, file.Agent)
	switch {
	case client.StatusOf(err) == http.StatusNotFound:
		state.Status = "not seen yet"
	case err != nil:
		return state, noAnswer(file.Server, "ask about the agent", err)
	}
	for _, t := range guardTools {
		access, err := c.CheckAccess(ctx, "", client.ToolCall{
			Server: "gemini-cli", Tool: t.name, AgentID: file.Agent, Arguments: json.RawMessage(t.arguments),
		})
		if err != nil {
			return state, fmt.Errorf("ask policies about %s: %w", t.name, err)
		}
		state.Tools[t.name] = strings.TrimSpace(access.Decision + " " + inBrackets(access.Rule))
	}
	if state.Manifest = file.Manifest; state.Manifest != "" {
		if err := state.narrow(); err != nil {
			return state, err
		}
	}
	active, err := c.ActiveProfile(ctx, "")
	if err == nil {
		state.Profile = profileName(active.Policy)
	}
	return state, nil
}

// narrow says of tools that the manifest does not permit that they are denied: the hook asks it first.
func (s *guardState) narrow() error {
	of, err := lists.Read(s.Manifest)
	if err != nil {
		return fmt.Errorf("the manifest %s, without which no tool runs: %w", cli.Line(s.Manifest), err)
	}
	for _, t := range guardTools {
		if of.Forbid("gemini-cli", t.name) != "" {
			s.Tools[t.name] = "deny (manifest)"
		}
	}
	return nil
}

func inBrackets(text string) string {
	if text == "" {
		return ""
	}
	return "(" + text + ")"
}

// modeWords say that a mode stops nothing.
func modeWords(mode string) string {
	if mode == guardfile.Monitor {
		return mode + ": calls that are not allowed run"
	}
	return mode
}

func printGuard(s cli.Streams, g guardState) error {
	t := &sheet{}
	t.row("server", g.Server)
	t.row("agent", g.Agent+" ("+g.Status+")")
	t.row("mode", modeWords(g.Mode))
	t.row("manifest", g.Manifest)
	t.row("profile", g.Profile)
	for _, tool := range guardTools {
		fmt.Fprintf(t, "%-19s%s\n", tool.name, cli.Line(g.Tools[tool.name]))
	}
	return t.print(s)
}
