package writ

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"writ/internal/cli"
	"writ/internal/manifest"
)

// manifestFile is the manifest of a folder.
const manifestFile = "writ.yaml"

// manifests holds the commands about an agent's manifest.
func manifests(s cli.Streams) *cobra.Command {
	c := &cobra.Command{
		Use: "manifest", Short: "Write, check, show and register an agent's manifest",
		Long: `Write, check, show and register an agent's manifest: a file that says who the agent is, which MCP servers it uses,
what it may do at most, and how it declares plans. Every command takes the name of the file; ` + manifestFile + ` unless given.`,
	}
	c.AddCommand(manifestInit(s), manifestValidate(s), manifestShow(s), manifestApply(s))
	return c
}

// fileOf is the file that a command is about.
func fileOf(args []string) string {
	if len(args) > 0 {
		return args[0]
	}
	return manifestFile
}

func manifestInit(s cli.Streams) *cobra.Command {
	var agent string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "init [FILE]", Short: "Write a manifest to begin with", Args: cobra.MaximumNArgs(1),
		Long: `Write a manifest to begin with. It never replaces a file. The agent's id is the folder's name unless given.`,
		RunE: func(_ *cobra.Command, args []string) error {
			file := fileOf(args)
			if filepath.Ext(file) == ".json" {
				return cli.Misuse("FILE is written in YAML: give it a name that ends in .yaml")
			}
			if agent == "" {
				folder, err := filepath.Abs(filepath.Dir(file))
				if err != nil {
					return fmt.Errorf("find the name of the folder: %w", err)
				}
				agent = agentNamed(filepath.Base(folder))
			}
			text := strings.ReplaceAll(firstManifest, "AGENT", agent)
			if _, _, err := manifest.Read([]byte(text), manifest.YAML, nil); err != nil {
				return cli.Misuse("--agent must be 1 to 80 letters, digits, _ and -")
			}
			if err := writeNew(file, text); err != nil {
				return err
			}
			if asJSON {
				return cli.WriteJSON(s.Out, map[string]string{"file": file, "agentId": agent})
			}
			fmt.Fprintf(s.Out, "wrote %s for the agent %s: edit it, then run writ manifest apply\n",
				cli.Line(file), agent)
			return nil
		},
	}
	cmd.Flags().StringVar(&agent, "agent", "", "the agent's id")
	cli.JSONFlag(cmd, &asJSON)
	return cmd
}

var notInID = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// agentNamed is an agent's id made of any name.
func agentNamed(name string) string {
	id := strings.Trim(notInID.ReplaceAllString(name, "-"), "-")
	if id == "" {
		return "agent"
	}
	return id[:min(len(id), 80)]
}

// writeNew writes a file that does not exist yet.
func writeNew(name, text string) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // it holds no secret
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists already: edit it, or remove it first", cli.Line(name))
	}
	if err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}

// firstManifest is what `writ manifest init` writes.
const firstManifest = `# The manifest of an agent. writ manifest validate checks it, writ manifest apply registers it.
version: v1

identity:
  api_key: $WRIT_API_KEY   # $NAME and ${NAME} are replaced by variables of your environment
  user_id: AGENT
  agent_id: AGENT

# sandbox or production, as the key. Without it the key alone counts.
# environment: sandbox

# The MCP servers that the agent uses.
# mcp_servers:
#   - id: bank
#     url: https://bank.example.com/mcp
#     auth: {type: bearer, token: $BANK_TOKEN}   # or {type: api_key, api_key: $KEY}, or {type: none}

# What the agent may do at most: a server's id, a dot, and a tool, in which * stands for anything. Policies must
# allow it too. With an entry in either list, all that is not allowed here is denied.
# policy:
#   allow: [bank.read_*]
#   deny: [bank.read_secrets]

# How long a plan is valid that does not say it.
# intent:
#   ttl_seconds: 300
`

// reading is what the commands that read a manifest are asked.
type reading struct {
	unresolved bool
}

func (r *reading) addFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&r.unresolved, "unresolved", false,
		"leave variables as they are written")
}

// read reads a manifest.
func (r *reading) read(s cli.Streams, file string) (*manifest.Manifest, []manifest.Problem, error) {
	text, err := readInput(s, file)
	if err != nil {
		return nil, nil, fmt.Errorf("read the manifest: %w", err)
	}
	lookup := os.LookupEnv
	if r.unresolved {
		lookup = nil
	}
	return manifest.Read(text, manifest.FormatOf(file, text), lookup)
}

func printWarnings(s cli.Streams, file string, warnings []manifest.Problem) {
	for _, w := range warnings {
		fmt.Fprintln(s.Err, cli.Line(file+":"+w.String()+" (warning)"))
	}
}

// refused is the error for a manifest with problems: one line for each.
func refused(file string, err error) error {
	invalid, ok := errors.AsType[*manifest.Invalid](err)
	if !ok {
		return err
	}
	lines := make([]string, len(invalid.Problems))
	for i, p := range invalid.Problems {
		lines[i] = cli.Line(file + ":" + p.String())
	}
	return errors.New(strings.Join(lines, "\n"))
}
