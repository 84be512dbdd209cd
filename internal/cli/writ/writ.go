// Package writ is the client's command line, for people and agents that use a
// Writ server. It links no database and no policy engine: the server judges. What
// starts before every tool call is not here but in packages run and hooks, which
// link less.
//
// A person signs in once (login); the other commands find the server and credentials
// in package credentials. Every command prints JSON with --json.
package writ

import (
	"context"

	"github.com/spf13/cobra"

	"writ/internal/cli"
)

// Run runs the command that the arguments name.
func Run(ctx context.Context, args []string, s cli.Streams) error {
	root := &cobra.Command{
		Use: "writ", Short: "Work with a Writ server",
		Long: `Work with a Writ server. Sign in with writ login; WRIT_URL, WRIT_API_KEY and WRIT_ACCESS_TOKEN come first.

Names do where ids do. Tables are coloured on a terminal, unless NO_COLOR is set.

Exit codes: 0 done, 1 not done, 2 the command line is wrong, 3 not signed in (of writ check: held).`,
	}
	root.AddCommand(login(s), logout(s), whoami(s), token(s), orgs(s), switchOrg(s), keys(s), status(s))
	root.AddCommand(manifests(s), plan(s), check(s), policy(s), auditCommand(s), approvals(s), traces(s), agents(s),
		search(s), mcpServers(s), certificates(s), trustCommands(s),
		byHand(kill(s)), byHand(revive(s)), runCommand(s), hookCommand())
	root.AddCommand(decisions(s), sessions(s), members(s), invites(s), webhooks(s), cli.Manual(s, "writ-policy-push"))
	root.AddCommand(initCommand(s), uninstallCommand(s), doctorCommand(s), guard(s))
	return listed(answered(cli.Execute(ctx, root, args, s)))
}
