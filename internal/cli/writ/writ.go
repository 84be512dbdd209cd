// Package writ is the client's command line, for people and agents that use a
// Writ server. It links no database and no policy engine, because it will be
// started for every tool call of an agent.
//
// A person signs in once (login); the other commands find the server and credentials
// in package credentials. Every command prints JSON with --json.
package writ

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"writ/internal/cli"
)

// Main is the program; it returns the exit code. writ run starts before every command of an agent, so it goes without
// the tree of commands, and takes the signals itself.
func Main(args []string) int {
	if len(args) > 0 && args[0] == "run" {
		streams := cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
		if code, ran := runDirectly(args[1:], streams); ran {
			return code
		}
	}
	return cli.Main("writ", Run)
}

// Run runs the command that the arguments name.
func Run(ctx context.Context, args []string, s cli.Streams) error {
	root := &cobra.Command{
		Use: "writ", Short: "Work with a Writ server",
		Long: `Work with a Writ server. Sign in with writ login; WRIT_URL, WRIT_API_KEY and WRIT_ACCESS_TOKEN come first.

Exit codes: 0 done, 1 not done, 2 the command line is wrong, 3 not signed in.`,
	}
	root.AddCommand(login(s), logout(s), whoami(s), orgs(s), switchOrg(s), keys(s), status(s))
	root.AddCommand(manifests(s), plan(s), check(s), policy(s), auditCommand(s), approvals(s), traces(s), agents(s),
		kill(s), revive(s), run(s))
	return cli.Execute(ctx, root, args, s)
}
