package writ

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"writ/client"
	"writ/internal/cli"
)

func policySuggest(s cli.Streams) *cobra.Command {
	var p asPerson
	var request client.SuggestionRequest
	cmd := &cobra.Command{
		Use: "suggest AGENT", Short: "Draft the least policy that would have let an agent's allowed calls run",
		Long: "Draft the least policy that would have let the calls of an agent run that policies allowed, from what a server has\n" +
			"recorded. It is stored as a draft, and counts for nothing until a person activates it: read it before you use it.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			request.AgentID = args[0]
			made, err := call(cmd.Context(), &p, func(
				ctx context.Context, c *client.Client,
			) (client.Suggestion, error) {
				return c.SuggestPolicy(ctx, p.orgID, request)
			})
			if err != nil {
				return err
			}
			if p.asJSON {
				return p.print(s, made)
			}
			return printSuggestion(s, made)
		},
	}
	p.addFlags(cmd)
	cmd.Flags().IntVar(&request.Days, "days", 7, "how many days of recorded calls")
	cmd.Flags().StringVar(&request.Name, "name", "", "of the policy; named after the agent unless given")
	return cmd
}

func printSuggestion(s cli.Streams, made client.Suggestion) error {
	fmt.Fprintf(s.Out, "%s %s: %s of %d calls, stored as a %s\n", cli.Line(made.ID), cli.Line(made.Name),
		counted(len(made.Rules), "rule"), made.Calls, cli.Line(made.Status))
	seen := map[string]client.Evidence{}
	for _, e := range made.Evidence {
		seen[e.Rule] = e
	}
	table := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "CALLS\tEFFECT\tTOOLS\tEXAMPLE\tWHEN")
	for _, rule := range made.Rules {
		evidence, example := seen[rule.ID], "-"
		if len(evidence.Decisions) > 0 {
			example = evidence.Decisions[0]
		}
		fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%s\n", evidence.Calls, cli.Line(rule.Effect),
			cli.Line(strings.Join(rule.Tools, " ")), cli.Line(example), cli.Line(orDash(rule.When)))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, l := range made.LeftOut {
		fmt.Fprintf(s.Err, "writ: left out: %s of %s: %s\n", counted(int(l.Calls), "call"),
			cli.Line(l.Server+"."+l.Tool), cli.Line(l.Reason))
	}
	if made.Incomplete {
		fmt.Fprintln(s.Err, "writ: there were more calls than were looked at; fewer --days look at all of theirs")
	}
	return nil
}

// counted is a number of things, in words.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
