package writ

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"writ/client"
	"writ/internal/cli"
)

// stopping is the flags of a command that stops something or lets it act again.
type stopping struct {
	asPerson
	scope, reason string
	keys          []string
}

func (k *stopping) addFlags(cmd *cobra.Command) {
	k.asPerson.addFlags(cmd)
	f := cmd.Flags()
	k.scope = "agent"
	cli.ChoiceFlag(cmd, &k.scope, "scope", "agent, organization, server, tool, plan or key",
		"agent", "organization", "server", "tool", "plan", "key")
	f.StringVar(&k.reason, "reason", "", "why, for the log (required)")
	_ = cmd.MarkFlagRequired("reason")
}

// checkSubject asks for what is to be stopped: only the organization needs no name. Keys are stopped beside an agent; a
// person who names them for something else believes that they are.
func (k *stopping) checkSubject(cmd *cobra.Command, args []string) error {
	if len(k.keys) > 0 && k.scope != "agent" {
		return errors.New("--key is for agents: stop a key by itself with --scope key")
	}
	if len(args) == 0 && k.scope != "organization" {
		_, rest, _ := strings.Cut(cmd.Use, " ")
		return fmt.Errorf("SUBJECT is missing: %s %s", cmd.CommandPath(), rest)
	}
	if len(args) > 0 && k.scope == "organization" {
		return fmt.Errorf("%q is not needed: --scope organization is all of it", args[0])
	}
	return cobra.MaximumNArgs(1)(cmd, args)
}

// named is the subject with the id of a key in place of its name, and of the latest plan.
func (k *stopping) named(ctx context.Context, c *client.Client, args []string) ([]string, error) {
	switch k.scope {
	case "key":
		return k.keyIDs(ctx, c, args)
	case "plan":
		id, err := k.planID(subject(args))
		return []string{id}, err
	}
	return args, nil
}

// subject is what is named on the command line.
func subject(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// kill stops agents.
func kill(s cli.Streams) *cobra.Command {
	var k stopping
	stop := func(ctx context.Context, c *client.Client, args []string) (_ client.Stop, err error) {
		if k.keys, err = k.keyIDs(ctx, c, k.keys); err != nil {
			return client.Stop{}, err
		}
		if k.scope == "agent" {
			return c.KillAgent(ctx, k.orgID, subject(args), k.reason, k.keys...)
		}
		if args, err = k.named(ctx, c, args); err != nil {
			return client.Stop{}, err
		}
		org, err := k.organization(ctx, c)
		if err != nil {
			return client.Stop{}, err
		}
		return c.KillScope(ctx, org, k.scope, subject(args), k.reason, false)
	}
	cmd := &cobra.Command{
		Use: "kill [SUBJECT]", Short: "Stop an agent and its keys, or a server, tool, plan or the organization",
		Args: k.checkSubject,
		Long: `Stop an agent and its keys, or with --scope a server, a tool, a plan, an API key or the whole organization. The answer says from
which entry of the log on nothing is allowed. Calls that already run go on, except those that the proxy makes for a
stopped key or agent: it cancels them within a second. You act as the person who signed in.`,
		RunE: asking(&k.asPerson, s, stop, printStop),
	}
	k.addFlags(cmd)
	cmd.Flags().StringSliceVar(&k.keys, "key", nil, "a further key to stop, by id or exact name; repeat it for several")
	cmd.AddCommand(killList(s))
	return cmd
}

func printStop(s cli.Streams, stop client.Stop) error {
	_, err := fmt.Fprintf(s.Out, "stopped: nothing of it is allowed from entry %d of the log on\n", stop.Index)
	if stop.Unseen && err == nil {
		_, err = fmt.Fprintf(s.Out, "no decision and no registered MCP server has a %s of this name yet: look whether %s is "+
			"spelled as in `writ decisions list`\n", cli.Line(stop.Scope), cli.Line(stop.Subject))
	}
	if stop.Scope == "agent" && len(stop.Keys) == 0 && stop.KeyCount == 0 && err == nil {
		_, err = fmt.Fprintln(s.Out, "no key of it is known, so none is stopped: --key names those that it has")
	}
	for _, line := range [][2]string{
		{"keys", strings.Join(stop.Keys, " ")}, {"other agents", strings.Join(stop.Agents, " ")},
	} {
		if line[1] != "" && err == nil {
			_, err = fmt.Fprintf(s.Out, "%s: %s\n", line[0], cli.Line(line[1]))
		}
	}
	if stop.KeyCount > 0 && err == nil {
		_, err = fmt.Fprintf(s.Out, "%d keys stop in all: the others come from these\n", stop.KeyCount)
	}
	if stop.OpenElsewhere > 0 && err == nil {
		_, err = fmt.Fprintf(s.Out, "in %d other organizations keys that come from these are not stopped yet: "+
			"the server goes on trying\n", stop.OpenElsewhere)
	}
	if stop.LeasesEndAt != nil && err == nil {
		_, err = fmt.Fprintf(s.Out, "the last lease ends at %s: until then a call may run that asks nobody\n",
			stop.LeasesEndAt.UTC().Format(time.RFC3339))
	}
	if stop.PlansEndAt != nil && err == nil {
		_, err = fmt.Fprintf(s.Out, "the last plan ends at %s: until then a client that decides by its token may run calls\n",
			stop.PlansEndAt.UTC().Format(time.RFC3339))
	}
	return err
}

// revive lets what was stopped act again.
func revive(s cli.Streams) *cobra.Command {
	var k stopping
	lift := func(ctx context.Context, c *client.Client, args []string) (int64, error) {
		if k.scope == "agent" {
			index, err := c.ReviveAgent(ctx, k.orgID, subject(args), k.reason)
			return index, notStopped(err)
		}
		args, err := k.named(ctx, c, args)
		if err != nil {
			return 0, err
		}
		org, err := k.organization(ctx, c)
		if err != nil {
			return 0, err
		}
		lifted, err := c.KillScope(ctx, org, k.scope, subject(args), k.reason, true)
		return lifted.Index, notStopped(err)
	}
	cmd := &cobra.Command{
		Use: "revive [SUBJECT]", Short: "Let what was stopped act again", Args: k.checkSubject,
		RunE: asking(&k.asPerson, s, lift, func(s cli.Streams, index int64) error {
			ended := ""
			if k.endsPlans() {
				ended = "; plans and approvals from before stay ended"
			}
			_, err := fmt.Fprintf(s.Out, "revived with entry %d of the log%s\n", index, ended)
			return err
		}),
	}
	k.addFlags(cmd)
	return cmd
}

// notStopped adds where to find what can be revived: a server or tool is no agent, and often its scope was left out.
func notStopped(err error) error {
	if status := client.StatusOf(err); status != http.StatusNotFound && status != http.StatusConflict {
		return err
	}
	return fmt.Errorf("%w: writ kill list shows what is stopped, with the --scope to give", err)
}

// endsPlans reports whether a stop ends what was declared and approved before it. One of a server, tool or plan only
// denies calls while it lasts.
func (k *stopping) endsPlans() bool {
	return k.scope == "agent" || k.scope == "organization" || k.scope == "key"
}

func killList(s cli.Streams) *cobra.Command {
	var p asPerson
	list := func(ctx context.Context, c *client.Client, _ []string) ([]client.Stop, error) {
		org, err := p.organization(ctx, c)
		if err != nil {
			return nil, err
		}
		return c.Stops(ctx, org)
	}
	cmd := &cobra.Command{
		Use: "list", Short: "List what is stopped", Args: cobra.NoArgs,
		RunE: asking(&p, s, list, func(s cli.Streams, stops []client.Stop) error {
			if len(stops) == 0 {
				fmt.Fprintln(s.Err, "writ: nothing is stopped")
				return nil
			}
			rows := make([][]any, len(stops))
			for i, stop := range stops {
				rows[i] = []any{
					stop.Scope, orDash(stop.Subject), stop.Index, ago(&stop.StoppedAt), len(stop.Keys), stop.Reason,
				}
			}
			return printPage(s, "SCOPE\tSUBJECT\tENTRY\tSTOPPED\tKEYS\tREASON", rows, "")
		}),
	}
	p.addFlags(cmd)
	return cmd
}
