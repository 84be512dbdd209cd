package writ

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"writ/client"
	"writ/internal/cli"
)

// replaying is what `writ policy replay` is asked.
type replaying struct {
	asPerson
	draft client.NewReplay
}

// replayPoll is how often the server is asked about a replay.
const replayPoll = time.Second

func policyReplay(s cli.Streams) *cobra.Command {
	r := replaying{}
	cmd := &cobra.Command{
		Use: "replay [FILE]", Short: "Try a draft on the calls that a server has recorded",
		SuggestFor: []string{"simulate"},
		Long: `Try a draft on the calls that a server has recorded: a policy in a YAML file, or with --policy one that is stored
there. The server counts the calls whose answer would change. Only the result is stored, and no call is made again.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 || len(args) == 0 && r.draft.PolicyID == "" {
				return errors.New("give one FILE, or --policy with the id of a stored policy")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				text, err := readPolicy(s, args[0])
				if err != nil {
					return err
				}
				r.draft.YAML = text
				return inFile(args[0], r.run(cmd.Context(), s))
			}
			return r.run(cmd.Context(), s)
		},
	}
	r.addFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&r.draft.PolicyID, "policy", "",
		"the policy whose active version the draft replaces, by id or exact name")
	cli.NumberFlag(cmd, &r.draft.PolicyVersion, "version",
		"which version of it is tried; the latest unless given, or a FILE is", 1, maxVersion)
	r.draft.Days = 7
	cli.NumberFlag(cmd, &r.draft.Days, "days", "how many days of recorded calls, 1 to 365", 1, 365)
	return cmd
}

// run starts the replay and waits for its end. It goes on where we are interrupted.
func (r *replaying) run(ctx context.Context, s cli.Streams) error {
	job, err := call(ctx, &r.asPerson, func(ctx context.Context, c *client.Client) (client.Replay, error) {
		if r.draft.PolicyID != "" {
			id, err := r.policyID(ctx, c, r.draft.PolicyID)
			if err != nil {
				return client.Replay{}, err
			}
			r.draft.PolicyID = id
		}
		return c.StartReplay(ctx, r.orgID, r.draft)
	})
	if err != nil {
		return err
	}
	progress := cli.NewProgress(s)
	defer progress.End()
	for job.State == "waiting" || job.State == "running" {
		progress.Say("writ: %s: %d of %d calls", job.State, job.Done, job.Total)
		select {
		case <-time.After(replayPoll):
		case <-ctx.Done():
			return fmt.Errorf("replay %s goes on without us: %w", job.ID, ctx.Err())
		}
		job, err = call(ctx, &r.asPerson, func(ctx context.Context, c *client.Client) (client.Replay, error) {
			return c.Replay(ctx, r.orgID, job.ID)
		})
		if err != nil {
			return err
		}
	}
	progress.End()
	return show(&r.server, s, job, printReplay)
}

// drafted are the changes that the draft makes, and how many calls the policies of
// today already answer differently.
func drafted(all []client.ReplayChange) (changes []client.ReplayChange, meanwhile int64) {
	for _, change := range all {
		if change.Drafted == change.Today {
			meanwhile += change.Count
			continue
		}
		changes = append(changes, change)
	}
	return changes, meanwhile
}

func printReplay(s cli.Streams, job client.Replay) error {
	if job.State != "done" || job.Report == nil {
		return fmt.Errorf("replay %s is %s: %s", cli.Line(job.ID), cli.Line(job.State), cli.Line(job.Problem))
	}
	c := job.Report.Counts
	fmt.Fprintf(s.Out, "%s judged: %d stricter, %d looser, %d unchanged, %d unknown\n", cli.Count(c.Judged, "call"),
		c.Stricter, c.Looser, c.Unchanged, c.Unknown)
	if apart := c.Intent + c.Agent + c.Failed; apart > 0 {
		fmt.Fprintf(s.Out, "left out: %s that no policy decided\n", cli.Count(apart, "call"))
	}
	changes, meanwhile := drafted(job.Report.Changes)
	if meanwhile > 0 {
		fmt.Fprintf(s.Out,
			"%d get another answer today than was recorded, with the draft as without it; --json lists them\n",
			meanwhile)
	}
	if len(changes) == 0 {
		return nil
	}
	rows := make([][]any, len(changes))
	for i, change := range changes {
		example := ""
		if len(change.Examples) > 0 {
			example = change.Examples[0].DecisionID
		}
		rows[i] = []any{
			change.Count, change.Agent, change.Server + "." + change.Tool,
			change.Recorded, change.Today, change.Drafted, change.Rule, example,
		}
	}
	if err := cli.WriteTable(s.Out, "CALLS\tAGENT\tTOOL\tRECORDED\tTODAY\tDRAFT\tRULE\tEXAMPLE", rows); err != nil {
		return err
	}
	if job.Report.LeftOut > 0 {
		fmt.Fprintf(s.Err, "writ: %d more calls change, of kinds that are not listed\n", job.Report.LeftOut)
	}
	return nil
}
