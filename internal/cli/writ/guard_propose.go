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

// newProfile is one to begin with.
func newProfile(decision string) profile {
	return profile{
		"schemaVersion": "armor.policy.v1", "kind": "PolicyProfile",
		"metadata": map[string]any{
			"name": "gemini-cli", "description": "Rules that were proposed from the Gemini CLI",
		},
		"defaults":   map[string]any{"decision": decision, "conflictResolution": "deny_overrides"},
		"statements": []any{},
	}
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
	program := ""
	cmd := &cobra.Command{
		Use: "add allow|deny|hold TOOL [WHY]", Short: "Propose a rule about a tool, beside those of the active profile",
		Example: `  writ guard add deny web_fetch no uploads
  writ guard add hold github.create_issue somebody should look
  writ guard add deny --program rm`,
		Args: cobra.ArbitraryArgs, // a person who typed nothing is told what to type
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("program") && len(args) > 0 {
				args = append([]string{args[0], programWord, program}, args[1:]...)
			}
			r, err := parseRule(args)
			if err != nil {
				return err
			}
			err = g.propose(cmd.Context(), s, func(
				ctx context.Context, c *client.Client, agent string,
			) (proposed, error) {
				return withRule(ctx, c, agent, r)
			})
			return unknownTool(r, err)
		},
	}
	g.addFlags(cmd)
	cmd.Flags().StringVar(&program, "program", "", "in place of TOOL: commands of the shell that run the program `NAME`")
	return cmd
}

// proposed is a profile that is to be proposed.
type proposed struct {
	profile json.RawMessage
	reason  string
	holds   bool // besides, it holds calls that no rule of it names
	allows  bool // it allows them where no other policy applies
}

// withRule is the active profile with one rule more, or a new one, which changes nothing else where that can be said.
func withRule(ctx context.Context, c *client.Client, agent string, r rule) (done proposed, err error) {
	done.reason = strings.TrimSpace(r.words + ": " + r.note)
	active, err := c.ActiveProfile(ctx, "")
	if err != nil {
		return done, err
	}
	p := profile{}
	if profileName(active.Policy) != "" {
		err = json.Unmarshal(active.Policy, &p)
	} else {
		decision, known, askErr := neutralDefault(ctx, c, agent)
		p, err, done.holds = newProfile(decision), askErr, !known
		done.allows = decision == "allow"
	}
	if err != nil {
		return done, err
	}
	if !p.add(r) {
		return done, fmt.Errorf("the profile %s, which is active, has this rule already", profileName(active.Policy))
	}
	if done.holds {
		done.reason += " (and everything that no rule names is held)"
	}
	done.profile, err = json.Marshal(p)
	return done, err
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
				ctx context.Context, c *client.Client, _ string,
			) (proposed, error) {
				t, err := c.ProfileTemplate(ctx, name)
				return proposed{profile: t.Policy, reason: "the template " + name}, err
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
	make func(ctx context.Context, c *client.Client, agent string) (proposed, error),
) error {
	file, c, err := g.open()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	made, err := make(ctx, c, file.Agent)
	if err != nil {
		return ofGuardFile(err)
	}
	if _, err := c.StageProfile(ctx, "", made.profile); err != nil {
		return fmt.Errorf("stage the rule: %w", err)
	}
	proposal, err := c.ProposeProfile(ctx, "", made.reason)
	if err != nil {
		return fmt.Errorf("propose the rule: %w", err)
	}
	return show(&g.server, s, proposal, func(s cli.Streams, p client.Proposal) error {
		return printProposed(s, p, made)
	})
}

func printProposed(s cli.Streams, p client.Proposal, made proposed) error {
	fmt.Fprintf(s.Out, "proposed %s (%s): it replaces what you proposed before if nobody has confirmed that, "+
		"and decides nothing until an owner or admin confirms it, in a terminal of their own: writ guard yes %s\n",
		cli.Line(p.ID), cli.Line(p.Name), cli.Line(p.ID))
	if made.holds {
		fmt.Fprintln(s.Out, "BEWARE: once it is confirmed, every call of every agent that no rule names is held, too: "+
			"what policies say about those calls now could not be kept")
	}
	if made.allows {
		fmt.Fprintln(s.Out, "BEWARE: what no rule names is decided by the other policies, as now; where none applies (to "+
			"other people and keys, or once the others are deactivated) the confirmed profile allows it")
	}
	if p.Reason != made.reason {
		fmt.Fprintf(s.Out, "it waited already, with this reason, which stays: %s; to give another one, withdraw it first: "+
			"writ guard no %s\n", cli.Line(p.Reason), cli.Line(p.ID))
	}
	return nil
}

// elsewhere is the answer to /writ:yes and /writ:no: an agent could type them as well as a person.
const elsewhere = `Nothing is confirmed, approved or rejected beneath the host of a coding agent: an agent could do it too.
In a terminal of your own:
  writ guard yes, writ guard no     proposals: list them, confirm or withdraw one
  writ approvals list               calls that wait; writ approvals approve and reject answer one
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
			err := c.WithdrawProposal(ctx, g.orgID, p.ID)
			if err != nil && p.State == "confirmed" {
				err = fmt.Errorf("%w; writ policy deactivate %s ends it", err, cli.Line(p.PolicyID))
			}
			p.State = "withdrawn"
			return p, err
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
