package writ

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"writ/client"
	"writ/internal/cli"
)

func policySuggest(s cli.Streams) *cobra.Command {
	var p asPerson
	var request client.SuggestionRequest
	suggest := func(ctx context.Context, c *client.Client, args []string) (client.Suggestion, error) {
		request.AgentID = args[0]
		return c.SuggestPolicy(ctx, p.orgID, request)
	}
	cmd := &cobra.Command{
		Use: "suggest AGENT", Short: "Draft the least policy that allows what an agent was allowed to do",
		Long: `Draft the least policy that would have allowed the calls of an agent that were allowed, from what a server has
recorded. It is stored as a draft, and decides nothing until a person activates it: read it before you use it.`,
		Args: cobra.ExactArgs(1),
		RunE: asking(&p, s, suggest, printSuggestion),
	}
	p.addFlags(cmd)
	daysFlag(cmd, &request.Days, "how many days of recorded calls, 1 to 90")
	cmd.Flags().StringVar(&request.Name, "name", "", "of the policy; named after the agent unless given")
	return cmd
}

func printSuggestion(s cli.Streams, made client.Suggestion) error {
	fmt.Fprintf(s.Out, "%s %s: %s of %d calls, stored as a %s\n", cli.Line(made.ID), cli.Line(made.Name),
		cli.Count(len(made.Rules), "rule"), made.Calls, cli.Line(made.Status))
	seen := map[string]client.Evidence{}
	for _, e := range made.Evidence {
		seen[e.Rule] = e
	}
	var rows [][]any
	for _, rule := range made.Rules {
		evidence, example := seen[rule.ID], "-"
		if len(evidence.Decisions) > 0 {
			example = evidence.Decisions[0]
		}
		rows = append(rows, []any{
			evidence.Calls, rule.Effect, strings.Join(rule.Tools, " "), example, orDash(rule.When),
		})
	}
	if err := cli.WriteTable(s.Out, "CALLS\tEFFECT\tTOOLS\tEXAMPLE\tWHEN", rows); err != nil {
		return err
	}
	for _, l := range made.LeftOut {
		fmt.Fprintf(s.Err, "writ: left out: %s of %s: %s\n", cli.Count(l.Calls, "call"),
			cli.Line(l.Server+"."+l.Tool), cli.Line(l.Reason))
	}
	if made.Incomplete {
		fmt.Fprintln(s.Err, "writ: there were more calls than were read; fewer --days read all of theirs")
	}
	return nil
}
