package writ

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"writ/client"
	"writ/internal/cli"
	"writ/internal/cli/credentials"
)

// lookingAtPlan is the server of a command that reads a plan: as a person who is signed in, else with the API key.
type lookingAtPlan struct{ asPerson }

// latest names the plan that was declared last from here.
const latest = "latest"

// planID is the id of a plan that may be named latest.
func (v *server) planID(named string) (string, error) {
	if named != latest {
		return named, nil
	}
	found, err := v.find()
	if err != nil {
		return "", err
	}
	kept, err := credentials.Default().FindPlan(found.URL, "")
	if err != nil {
		return "", errors.New("no plan was declared from here: name one, by its id")
	}
	return kept.ID, nil
}

// planAsking is the RunE of such a command. Without an argument it is about the plan that was declared last.
func planAsking[T any](
	l *lookingAtPlan, s cli.Streams, ask request[T], print func(cli.Streams, T) error,
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		found, err := l.find()
		if err != nil {
			return err
		}
		if len(args) == 0 {
			args = []string{latest}
		}
		id, err := l.planID(args[0])
		if err != nil {
			return err
		}
		args = append([]string{id}, args[1:]...)
		if found.AccessToken != "" || l.tokenFile != "" {
			return asking(&l.asPerson, s, ask, print)(cmd, args)
		}
		answer, _, err := callWithKey(cmd.Context(), &l.server, func(ctx context.Context, c *client.Client) (T, error) {
			return ask(ctx, c, args)
		})
		if err != nil {
			return err
		}
		return show(&l.server, s, answer, print)
	}
}

// planShown is what `writ plan show --json` prints.
type planShown struct {
	client.Plan
	Steps []shownStep `json:"steps"`
}

func planShow(s cli.Streams) *cobra.Command {
	var l lookingAtPlan
	read := func(ctx context.Context, c *client.Client, args []string) (shown planShown, err error) {
		if shown.Plan, err = c.Plan(ctx, args[0]); err != nil {
			return shown, err
		}
		shown.Steps, err = stepsOf(ctx, c, shown.Plan)
		return shown, err
	}
	cmd := &cobra.Command{
		Use: "show [PLAN]", Short: "Show a plan: its state and its steps; the one declared last unless named",
		Args: cobra.MaximumNArgs(1),
		RunE: planAsking(&l, s, read, func(s cli.Streams, p planShown) error {
			t := &sheet{}
			t.row("plan", p.ID)
			t.row("status", p.Status)
			t.row("goal", p.Goal)
			t.row("agent", p.AgentID)
			t.row("for", p.UserEmail)
			t.row("session", p.SessionID)
			t.row("declared", p.CreatedAt.Local().Format(time.DateTime))
			t.row("expires", p.ExpiresAt.Local().Format(time.DateTime))
			t.row("hash", p.PlanHash)
			if p.Ordered {
				t.row("order", "steps are used as listed; none is left out")
			}
			for _, step := range p.Steps {
				t.row(fmt.Sprintf("step %d", step.Step), step.words())
			}
			return t.print(s)
		}),
	}
	l.addFlags(cmd)
	return cmd
}

func planList(s cli.Streams) *cobra.Command {
	var f listFlags
	var filter client.PlanFilter
	list := listing[client.Plan]{
		headings: "ID\tSTATUS\tAGENT\tSTEPS\tDECLARED\tGOAL",
		none:     "no plan fits: writ plan declare FILE declares one",
		read: func(
			ctx context.Context, c *client.Client, p *asPerson, page client.List,
		) (client.Page[client.Plan], error) {
			filter.List = page
			return c.Plans(ctx, p.orgID, filter)
		},
		row: func(p client.Plan) []any {
			return []any{p.ID, p.Status, orDash(p.AgentID), p.StepCount, ago(&p.CreatedAt), orDash(p.Goal)}
		},
		key: func(p client.Plan) string { return p.ID },
	}
	cmd := &cobra.Command{Use: "list", Short: "List plans, newest first; --watch goes on", Args: cobra.NoArgs}
	cli.ChoiceFlag(cmd, &filter.Status, "status", "of this status: active, completed, failed, expired",
		"active", "completed", "failed", "expired")
	cmd.Flags().StringVar(&filter.AgentID, "agent", "", "of this agent")
	cmd.Flags().StringVar(&filter.User, "user", "", "for this person, by id or e-mail")
	return list.command(cmd, &f, s)
}

func planProof(s cli.Streams) *cobra.Command {
	var l lookingAtPlan
	read := func(ctx context.Context, c *client.Client, args []string) (client.StepProof, error) {
		step, err := strconv.Atoi(args[1])
		if err != nil || step < 0 {
			return client.StepProof{}, cli.Misuse("STEP must be the number of a step, from 0")
		}
		return c.PlanStepProof(ctx, args[0], step)
	}
	cmd := &cobra.Command{
		Use: "proof PLAN STEP", Short: "Prove that a step is part of a plan, against the plan's hash",
		Long: `Prove that a step is part of a plan. Folding the hashes beside it into the digest of the step, from the leaf to the
root, must give the plan's hash, which the token of the plan names. PLAN may be latest: the plan that was declared
last from here.`,
		Args: cobra.ExactArgs(2),
		RunE: planAsking(&l, s, read, func(s cli.Streams, p client.StepProof) error {
			t := &sheet{}
			t.row("plan", p.PlanID)
			t.row("root", p.MerkleRoot)
			t.row("path", p.Step.Path)
			t.row("digest", p.Step.ValueDigest)
			for _, beside := range p.Step.Proof {
				t.row(beside.Position, beside.Hash)
			}
			return t.print(s)
		}),
	}
	l.addFlags(cmd)
	return cmd
}
