package writ

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"writ/client"
	"writ/internal/cli"
)

// profile is a profile in the form that plugins stage. Members that are not changed here stay as they are.
type profile map[string]any

// newProfile is one to begin with: what no rule names waits for a person.
func newProfile() profile {
	return profile{
		"schemaVersion": "armor.policy.v1", "kind": "PolicyProfile",
		"metadata": map[string]any{
			"name": "gemini-cli", "description": "Rules that were proposed from the Gemini CLI",
		},
		"defaults":   map[string]any{"decision": "hold", "conflictResolution": "deny_overrides"},
		"statements": []any{},
	}
}

// add adds a statement about a tool.
func (p profile) add(effect, tool string) {
	statements, _ := p["statements"].([]any)
	p["statements"] = append(statements, map[string]any{
		"id": fmt.Sprintf("%s-%s-%d", strings.ReplaceAll(effect, "_", "-"), tool, len(statements)+1), "effect": effect,
		"principal":  map[string]any{"type": "agent", "id": "*"},
		"action":     map[string]any{"type": "tool", "eq": tool},
		"resource":   map[string]any{"type": "workspace", "scope": "current"},
		"conditions": []any{},
	})
}

func profileName(text json.RawMessage) string {
	var named struct{ Metadata struct{ Name string } }
	if json.Unmarshal(text, &named) != nil {
		return ""
	}
	return named.Metadata.Name
}

func guardAdd(s cli.Streams) *cobra.Command {
	var g guarding
	cmd := &cobra.Command{
		Use: "add allow|deny|hold TOOL [WHY]", Short: "Propose a rule about a tool, beside those of the active profile",
		Args: cobra.ArbitraryArgs, // a person who typed nothing is told what to type
		RunE: func(cmd *cobra.Command, args []string) error {
			effect, tool, note, err := parseRule(args)
			if err != nil {
				return err
			}
			return g.propose(cmd.Context(), s, func(
				ctx context.Context, c *client.Client,
			) (json.RawMessage, string, error) {
				p := newProfile()
				active, err := c.ActiveProfile(ctx, "")
				if err == nil && profileName(active.Policy) != "" {
					err = json.Unmarshal(active.Policy, &p)
				}
				if err != nil {
					return nil, "", err
				}
				p.add(effect, tool)
				text, err := json.Marshal(p)
				return text, strings.TrimSpace(strings.Join(strings.Fields(strings.Join(args, " "))[:2], " ") + ": " +
					note), err
			})
		},
	}
	g.addFlags(cmd)
	return cmd
}

func guardTemplate(s cli.Streams) *cobra.Command {
	var g guarding
	cmd := &cobra.Command{
		Use: "template [NAME]", Short: "List the profiles to begin with, or propose one", Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := strings.TrimSpace(strings.Join(args, ""))
			if name == "" {
				return g.templates(cmd.Context(), s)
			}
			return g.propose(cmd.Context(), s, func(
				ctx context.Context, c *client.Client,
			) (json.RawMessage, string, error) {
				t, err := c.ProfileTemplate(ctx, name)
				return t.Policy, "the template " + name, err
			})
		},
	}
	g.addFlags(cmd)
	return cmd
}

func (g *guarding) templates(ctx context.Context, s cli.Streams) error {
	_, c, err := g.open()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	known, err := c.ProfileTemplates(ctx)
	if err != nil {
		return ofGuardFile(err)
	}
	return show(&g.server, s, known, func(s cli.Streams, known []client.ProfileTemplate) error {
		rows := make([][]any, len(known))
		for i, t := range known {
			rows[i] = []any{t.Name, t.Description}
		}
		return cli.WriteTable(s.Out, "TEMPLATE\tWHAT IT DOES", rows)
	})
}

// propose stages a profile with the key of the guard file, and proposes it.
func (g *guarding) propose(
	ctx context.Context, s cli.Streams,
	make func(context.Context, *client.Client) (profile json.RawMessage, reason string, err error),
) error {
	_, c, err := g.open()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	text, reason, err := make(ctx, c)
	if err != nil {
		return ofGuardFile(err)
	}
	if _, err := c.StageProfile(ctx, "", text); err != nil {
		return fmt.Errorf("stage the rule: %w", err)
	}
	proposal, err := c.ProposeProfile(ctx, "", reason)
	if err != nil {
		return fmt.Errorf("propose the rule: %w", err)
	}
	return show(&g.server, s, proposal, func(s cli.Streams, p client.Proposal) error {
		_, err := fmt.Fprintf(s.Out, "proposed %s (%s): it replaces what you proposed before if nobody has confirmed that, "+
			"and decides nothing until an owner or admin confirms it, in a terminal of their own: writ guard yes %s\n", cli.Line(p.ID), cli.Line(p.Name), cli.Line(p.ID))
		return err
	})
}

// elsewhere is the answer to /writ:yes and /writ:no: an agent could type them as well as a person.
const elsewhere = `Nothing is confirmed, approved or rejected beneath the host of a coding agent: an agent could do it too.
In a terminal of your own:
  writ guard yes, writ guard no     proposals: list them, confirm or withdraw one
  writ approvals                    calls that wait: list them, approve or reject one
In the browser: %s/ui/approvals
`

func guardYes(s cli.Streams) *cobra.Command {
	var g answering
	cmd := &cobra.Command{
		Use: "yes [ID]", Short: "Confirm a proposal; without an id, list those that wait", Args: cobra.MaximumNArgs(1),
		Long: `Confirm a proposal, by its id: writ guard yes ID. Without an id, list the proposals that wait, with what they
mean, and confirm nothing. Owners and admins confirm, in a terminal of their own.`,
		RunE: g.run(s, func(ctx context.Context, c *client.Client, p client.Proposal) (client.Proposal, error) {
			return c.ConfirmProfile(ctx, g.orgID, p.ID, p.Hash)
		}),
	}
	g.addFlags(cmd)
	return cmd
}

func guardNo(s cli.Streams) *cobra.Command {
	var g answering
	cmd := &cobra.Command{
		Use: "no [ID]", Short: "Withdraw a proposal; without an id, list those that wait", Args: cobra.MaximumNArgs(1),
		Long: `Withdraw a proposal, by its id: writ guard no ID. Without an id, list the proposals that wait, with what they
mean, and withdraw nothing. Nothing is withdrawn beneath the host of a coding agent.`,
		RunE: g.run(s, func(ctx context.Context, c *client.Client, p client.Proposal) (client.Proposal, error) {
			p.State = "withdrawn"
			return p, c.WithdrawProposal(ctx, g.orgID, p.ID)
		}),
	}
	g.addFlags(cmd)
	return cmd
}

// answering is what yes and no are asked.
type answering struct {
	asPerson
	config string
}

func (a *answering) addFlags(cmd *cobra.Command) {
	a.asPerson.addFlags(cmd)
	cmd.Flags().StringVar(&a.config, "config", "", "the guard file: beneath the host, say where to answer, and exit with 0")
}

func (a *answering) run(
	s cli.Streams, answer func(context.Context, *client.Client, client.Proposal) (client.Proposal, error),
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := refuseBeneathHost(); err != nil {
			return a.sayElsewhere(s, err)
		}
		id := strings.TrimSpace(strings.Join(args, ""))
		if id == "" {
			return a.list(cmd.Context(), s)
		}
		done, err := call(cmd.Context(), &a.asPerson, func(
			ctx context.Context, c *client.Client,
		) (client.Proposal, error) {
			p, err := c.Proposal(ctx, a.orgID, id)
			if err != nil {
				return p, err
			}
			return answer(ctx, c, p)
		})
		if err != nil {
			return err
		}
		return show(&a.server, s, done, func(s cli.Streams, p client.Proposal) error {
			_, err := fmt.Fprintf(s.Out, "%s %s (%s)\n", cli.Line(p.State), cli.Line(p.ID), cli.Line(p.Name))
			if p.State == "confirmed" {
				fmt.Fprintf(s.Err, "writ: it decides for every agent of the organization now; writ policy deactivate %s ends it\n",
					cli.Line(p.PolicyID))
			}
			return err
		})
	}
}

// sayElsewhere says where to answer. The slash commands, which alone give --config, end with 0 although nothing was
// done: behind the text of a command that ends otherwise the Gemini CLI puts a line with the whole command, and the
// model shows the person both.
func (a *answering) sayElsewhere(s cli.Streams, refused error) error {
	if a.config == "" {
		return refused
	}
	g := guarding{config: a.config}
	file, _, err := g.open()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Out, elsewhere, strings.TrimRight(file.Server, "/"))
	return err
}

// list shows the proposals that wait, with what they mean.
func (a *answering) list(ctx context.Context, s cli.Streams) error {
	open, err := call(ctx, &a.asPerson, func(ctx context.Context, c *client.Client) ([]client.Proposal, error) {
		page, err := c.Proposals(ctx, a.orgID, "open", client.List{})
		if err != nil {
			return nil, err
		}
		for i, p := range page.Items {
			if page.Items[i], err = c.Proposal(ctx, a.orgID, p.ID); err != nil {
				return nil, err
			}
		}
		return page.Items, nil
	})
	if err != nil {
		return err
	}
	return show(&a.server, s, open, printProposals)
}

func printProposals(s cli.Streams, open []client.Proposal) error {
	if len(open) == 0 {
		fmt.Fprintln(s.Err, "writ: no proposal waits")
		return nil
	}
	for _, p := range open {
		fmt.Fprintf(s.Out, "%s  %s: %s\n", cli.Line(p.ID), cli.Line(p.Name), cli.Line(p.Reason))
		for _, line := range p.Explanation {
			fmt.Fprintf(s.Out, "  %s\n", cli.Line(line))
		}
	}
	fmt.Fprintln(s.Err, "writ: writ guard yes ID confirms one of these, writ guard no ID withdraws it")
	return nil
}
