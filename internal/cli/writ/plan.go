package writ

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"writ/client"
	"writ/internal/cli"
	"writ/internal/cli/credentials"
	"writ/internal/cli/duration"
	intentplan "writ/internal/intent/plan"
	"writ/internal/node"
)

// plan holds the commands about plans.
func plan(s cli.Streams) *cobra.Command {
	c := &cobra.Command{Use: "plan", Short: "Declare what an agent will do, look at plans, prove a step of one"}
	c.AddCommand(planDeclare(s), planList(s), planShow(s), planProof(s))
	return c
}

// declaring is what `writ plan declare` is asked.
type declaring struct {
	server
	request  client.PlanRequest
	life     time.Duration // that is wanted
	granted  time.Duration
	anyway   bool
	warnings []string // of the server, about the plan
}

// declared is what `writ plan declare --json` prints.
type declared struct {
	PlanID    string      `json:"planId"`
	ExpiresAt time.Time   `json:"expiresAt"`
	Steps     []shownStep `json:"steps"`
	Token     string      `json:"token"`
}

func planDeclare(s cli.Streams) *cobra.Command {
	d := declaring{life: time.Hour}
	cmd := &cobra.Command{
		Use: "declare FILE|-", Short: "Declare a plan: the tools that an agent will call, and fixed arguments of them",
		Args: cobra.ExactArgs(1),
		Long: `Declare a plan with your API key. From then on writ check judges calls by it, until it expires.

The file is YAML or JSON; - reads it from stdin. A step names a tool and its MCP server, and fixes those arguments
that it gives a value; all others are free:

  goal: pay the rent
  steps:
    - {mcp: bank, action: send_money, params: {to: landlord}}

A plan is signed as it is, and what nobody reads in it fixes nothing. So a member with another name, such as parms, is
refused; --anyway declares the plan all the same.

docs/enforcement.md says what else a plan can fix: the order of its steps, and how often each may be used.`,
		PreRunE: func(*cobra.Command, []string) error {
			if d.life < time.Second {
				return errors.New("--expires must be at least a second")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return d.run(cmd.Context(), s, args[0]) },
	}
	d.addFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&d.request.AgentID, "agent", "", "the agent that will act")
	f.StringVar(&d.request.UserID, "user", "", "the person that it acts for, by id or e-mail")
	f.StringVar(&d.request.SessionID, "session", "", "the session that the plan is for")
	f.BoolVar(&d.anyway, "anyway", false, "declare it also with members that nobody reads")
	cli.DurationFlag(cmd, &d.life, "expires", "how long the plan is valid, as 10m, 8h or 1d; the organization limits it")
	return cmd
}

func (d *declaring) run(ctx context.Context, s cli.Streams, file string) error {
	text, err := readInput(s, file)
	if err != nil {
		return fmt.Errorf("read the plan: %w", err)
	}
	if d.request.Plan, err = planJSON(file, text); err != nil {
		return err
	}
	if unread := intentplan.Unread(d.request.Plan); len(unread) > 0 && !d.anyway {
		return fmt.Errorf("%s\nnothing is declared: mend the plan, or give --anyway", strings.Join(unread, "\n"))
	}
	d.request.ExpiresIn = d.life.Seconds()
	made, found, err := callWithKey(ctx, &d.server, d.declare)
	if err != nil {
		return err
	}
	kept := credentials.Plan{
		URL:        found.URL,
		ID:         made.PlanID,
		Token:      made.Token,
		Servers:    made.servers(),
		DeclaredAt: time.Now(),
		ExpiresAt:  made.ExpiresAt,
	}
	if err := credentials.Default().SavePlan(kept); err != nil {
		return fmt.Errorf("plan %s is declared, but writ check will not find it: %w", made.PlanID, err)
	}
	for _, warning := range d.warnings {
		fmt.Fprintf(s.Err, "writ: %s\n", cli.Line(warning))
	}
	if len(made.Steps) == 0 {
		fmt.Fprintln(s.Err, "writ: the plan has no steps: it permits no call")
	}
	if d.granted < d.life {
		fmt.Fprintf(s.Err, "writ: the plan is valid for %s, not %s: this organization has none that live longer\n",
			duration.Format(d.granted), duration.Format(d.life))
	}
	return show(&d.server, s, made, printDeclared)
}

// servers are those that the steps name.
func (d declared) servers() (names []string) {
	for _, step := range d.Steps {
		if step.Server != "" && !slices.Contains(names, step.Server) {
			names = append(names, step.Server)
		}
	}
	return names
}

func printDeclared(s cli.Streams, made declared) error {
	t := &sheet{}
	t.row("plan", made.PlanID)
	t.row("expires", made.ExpiresAt.Local().Format(time.DateTime))
	for _, step := range made.Steps {
		t.row(fmt.Sprintf("step %d", step.Step), step.words())
	}
	return t.print(s)
}

func (d *declaring) declare(ctx context.Context, c *client.Client) (made declared, err error) {
	token, err := c.DeclarePlan(ctx, d.request)
	if err != nil {
		return made, err
	}
	shown, err := c.Plan(ctx, token.PlanID)
	if err != nil {
		return made, fmt.Errorf("plan %s is declared, but cannot be read: %w", token.PlanID, err)
	}
	d.granted, d.warnings = shown.ExpiresAt.Sub(shown.IssuedAt), token.Warnings
	steps, err := stepsOf(ctx, c, shown)
	return declared{PlanID: token.PlanID, ExpiresAt: shown.ExpiresAt, Steps: steps, Token: token.JWT}, err
}

// planJSON is a plan in a file as JSON.
func planJSON(file string, text []byte) ([]byte, error) {
	if strings.TrimSpace(string(text)) == "" {
		return nil, fmt.Errorf("%s is empty: a plan has a goal and steps", file)
	}
	root, problems := readPlan(file, text)
	if len(problems) > 0 {
		lines := make([]string, len(problems))
		for i, p := range problems {
			lines[i] = file + ":" + p.String()
		}
		return nil, errors.New(strings.Join(lines, "\n"))
	}
	if root.Kind != node.Map {
		return nil, fmt.Errorf("%s:%s: must be a map with goal and steps", file, root.At)
	}
	return node.Read(root, nil).JSON(), nil
}

// readPlan reads YAML or JSON. What begins with a brace may be either, unless its name says JSON: only JSON may have
// tabs, and only YAML text without quotes. Where neither reads it, the problems are those of what it looks like.
func readPlan(file string, text []byte) (*node.Node, []node.Problem) {
	inside, isBraced := strings.CutPrefix(strings.TrimSpace(string(text)), "{")
	switch {
	case filepath.Ext(file) == ".json":
		return node.ReadJSON(text)
	case !isBraced:
		return node.ReadYAML(text)
	}
	asJSON, unread := node.ReadJSON(text)
	if len(unread) == 0 {
		return asJSON, nil
	}
	root, problems := node.ReadYAML(text)
	if len(problems) > 0 && strings.HasPrefix(strings.TrimSpace(inside), `"`) {
		return nil, unread
	}
	return root, problems
}
