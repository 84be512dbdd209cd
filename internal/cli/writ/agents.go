package writ

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"writ/client"
	"writ/internal/cli"
)

// agents holds the commands about the agents of an organization.
func agents(s cli.Streams) *cobra.Command {
	c := &cobra.Command{
		Use: "agents", Short: "List, show and register the agents of an organization",
		Long: `List, show and register the agents of an organization. You act as the person who signed in with writ login, or
whose access token is in WRIT_ACCESS_TOKEN or in the file that --token names.`,
	}
	c.AddCommand(agentsList(s), agentsShow(s), byHand(agentsRegister(s)), byHand(agentsAddKey(s)), agentsLeases(s))
	return c
}

func agentsList(s cli.Streams) *cobra.Command {
	var p asPerson
	var filter client.AgentFilter
	list := func(ctx context.Context, c *client.Client, _ []string) (client.Page[client.Agent], error) {
		return c.Agents(ctx, p.orgID, filter)
	}
	cmd := &cobra.Command{
		Use: "list", Short: "List the agents that are registered or were seen, newest first", Args: cobra.NoArgs,
		RunE: asking(&p, s, list, func(s cli.Streams, found client.Page[client.Agent]) error {
			if len(found.Items) == 0 {
				fmt.Fprintln(s.Err, "writ: "+noAgent(filter))
				return nil
			}
			return printAgents(s, found)
		}),
	}
	p.addFlags(cmd)
	cli.ChoiceFlag(cmd, &filter.Status, "status", "of this status: unregistered, pending, active, suspended, killed",
		"unregistered", "pending", "active", "suspended", "killed")
	addPageFlags(cmd, &filter.List)
	return cmd
}

// noAgent says that a list is empty, and of what.
func noAgent(f client.AgentFilter) string {
	switch {
	case f.Cursor != "":
		return "there are no more agents"
	case f.Status != "":
		return "no agent is " + f.Status
	}
	return "no agent is registered or was seen"
}

func printAgents(s cli.Streams, found client.Page[client.Agent]) error {
	rows := make([][]any, len(found.Items))
	for i, a := range found.Items {
		rows[i] = []any{a.AgentID, a.Status, orDash(a.Name), len(a.Keys), orDash(a.Host), ago(a.LastSeenAt)}
	}
	return printPage(s, "AGENT\tSTATUS\tNAME\tKEYS\tHOST\tSEEN", rows, found.NextCursor)
}

func agentsShow(s cli.Streams) *cobra.Command {
	var p asPerson
	show := func(ctx context.Context, c *client.Client, args []string) (client.Agent, error) {
		return c.Agent(ctx, p.orgID, args[0])
	}
	cmd := &cobra.Command{
		Use: "show AGENT", Short: "Show one agent", Args: cobra.ExactArgs(1),
		RunE: askingForAgent(&p, s, show),
	}
	p.addFlags(cmd)
	return cmd
}

// askingForAgent is asking about one agent, which is printed with the e-mail of its owner.
func askingForAgent(p *asPerson, s cli.Streams, ask request[client.Agent]) func(*cobra.Command, []string) error {
	owner := ""
	return asking(p, s, func(ctx context.Context, c *client.Client, args []string) (client.Agent, error) {
		a, err := ask(ctx, c, args)
		if err == nil && a.OwnerID != nil && !p.asJSON {
			owner = cmp.Or(p.addresses(ctx, c)[*a.OwnerID], *a.OwnerID)
		}
		return a, err
	}, func(s cli.Streams, a client.Agent) error { return printAgent(s, a, owner) })
}

func printAgent(s cli.Streams, a client.Agent, owner string) error {
	lines := [][2]string{
		{"agent", a.AgentID}, {"status", a.Status}, {"stopped", stoppedFor(a)},
		{"stopped keys", strings.Join(a.StoppedKeys, " ")}, {"suspended", a.SuspendedFor}, {"name", a.Name},
		{"owner", owner}, {"product", a.Product}, {"environment", a.Environment},
		{"description", a.Description}, {"keys", strings.Join(a.Keys, " ")},
		{"seen with keys", strings.Join(a.SeenKeys, " ")}, {"host", a.Host}, {"last seen", ago(a.LastSeenAt)},
	}
	return printFacts(s, append(lines, activity(a)...))
}

// stoppedFor says what stops an agent, and why; empty: nothing does.
func stoppedFor(a client.Agent) string {
	if a.Stopped == nil {
		return ""
	}
	what := "it"
	switch {
	case a.Stopped.Scope == "organization":
		what = "the organization"
	case a.Stopped.Scope == "key":
		what = "its keys, with key " + a.Stopped.Subject
	case a.Stopped.Subject != a.AgentID:
		what = "its keys, with agent " + a.Stopped.Subject
	}
	return fmt.Sprintf("%s, by entry %d of the log: %s", what, a.Stopped.Index, a.Stopped.Reason)
}

// activity is what an agent does.
func activity(a client.Agent) (lines [][2]string) {
	if a.CurrentPlan != nil {
		lines = append(lines, [2]string{"plan", a.CurrentPlan.PlanID})
	}
	if t := a.Today; t != nil {
		text := fmt.Sprintf("%d calls, %d denied, %d held", t.Calls, t.Denials, t.Holds)
		if t.CostUSD != nil {
			text += fmt.Sprintf(", $%.2f", *t.CostUSD)
		}
		lines = append(lines, [2]string{"today", text}, [2]string{"24 hours", sparkline(a.Sparkline)})
	}
	return lines
}

// sparkline draws counts as bars of eight heights; nothing is a dot.
func sparkline(counts []int64) string {
	if len(counts) == 0 {
		return ""
	}
	bars, most := []rune("▁▂▃▄▅▆▇█"), slices.Max(counts)
	var drawn strings.Builder
	for _, n := range counts {
		if n <= 0 {
			drawn.WriteRune('·')
			continue
		}
		drawn.WriteRune(bars[(n-1)*int64(len(bars))/most])
	}
	return drawn.String()
}

func agentsRegister(s cli.Streams) *cobra.Command {
	var p asPerson
	var n client.NewAgent
	register := func(ctx context.Context, c *client.Client, args []string) (_ client.Agent, err error) {
		n.AgentID = args[0]
		if n.Keys, err = p.keyIDs(ctx, c, n.Keys); err != nil {
			return client.Agent{}, err
		}
		if n.OwnerID != "" && uuidOf(n.OwnerID) == "" {
			owner, err := p.member(ctx, c, n.OwnerID)
			if err != nil {
				return client.Agent{}, err
			}
			n.OwnerID = owner.UserID
		}
		return c.RegisterAgent(ctx, p.orgID, n)
	}
	cmd := &cobra.Command{
		Use: "register AGENT", Short: "Register an agent under the id that its client sends", Args: cobra.ExactArgs(1),
		RunE: askingForAgent(&p, s, register),
	}
	p.addFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&n.Name, "name", "", "its name")
	f.StringVar(&n.OwnerID, "owner", "", "the member who answers for it, by id or e-mail; you, unless given")
	f.StringVar(&n.Product, "product", "", "what it is part of")
	cli.ChoiceFlag(cmd, &n.Environment, "environment", "sandbox or production; any, unless given", environments...)
	f.StringVar(&n.Description, "description", "", "what it does")
	f.StringSliceVar(&n.Keys, "key", nil, "a key that it may use, by id or exact name; repeat it for several")
	f.StringVar(&n.PublicKey, "public-key", "", "its Ed25519 public key in base64")
	f.BoolVar(&n.IntentRequired, "intent-required", false, "deny its calls without a plan")
	return cmd
}

// agentsAddKey lets an agent use further keys, as one has on every machine on which it runs.
func agentsAddKey(s cli.Streams) *cobra.Command {
	var p asPerson
	add := func(ctx context.Context, c *client.Client, args []string) (client.Agent, error) {
		further, err := p.keyIDs(ctx, c, args[1:])
		if err != nil {
			return client.Agent{}, err
		}
		return c.UpdateAgent(ctx, p.orgID, args[0], map[string]any{"addKeys": further})
	}
	cmd := &cobra.Command{
		Use: "add-key AGENT KEY...", Short: "Let a registered agent use further keys",
		Long: `Let a registered agent use further keys, by id or exact name. An agent without keys counts with every key, and from
its first one on with its own alone.`,
		Args: cobra.MinimumNArgs(2),
		RunE: askingForAgent(&p, s, add),
	}
	p.addFlags(cmd)
	return cmd
}
