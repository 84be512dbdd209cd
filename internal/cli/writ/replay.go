package writ

import (
	"context"
	"errors"
	"fmt"
	"os"
	"text/tabwriter"
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

// replayPoll is how often a replay is looked at.
const replayPoll = time.Second

// maxDraft bounds a policy's file: the server takes no larger one.
const maxDraft = 1 << 20

func policyReplay(s cli.Streams) *cobra.Command {
	r := replaying{}
	cmd := &cobra.Command{
		Use: "replay [FILE]", Short: "Try a draft on the calls that a server has recorded",
		Long: "Try a draft on the calls that a server has recorded: a policy in a YAML file, or with --policy one that is stored\n" +
			"there. The server counts whose answer would change; nothing is stored but the result, and no call is made again.",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 || len(args) == 0 && r.draft.PolicyID == "" {
				return errors.New("give one FILE, or --policy with the id of a stored policy")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				text, err := readDraft(args[0])
				if err != nil {
					return err
				}
				r.draft.YAML = text
			}
			return r.run(cmd.Context(), s)
		},
	}
	r.addFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&r.draft.PolicyID, "policy", "", "id of the policy whose active version the draft replaces")
	f.IntVar(&r.draft.PolicyVersion, "version", 0,
		"which version of it is tried; the latest unless given, or a FILE is")
	f.IntVar(&r.draft.Days, "days", 7, "how many days of recorded calls")
	return cmd
}

func readDraft(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if info.Size() > maxDraft {
		return "", fmt.Errorf("%s is larger than %d bytes", path, maxDraft)
	}
	text, err := os.ReadFile(path)
	return string(text), err
}

// run starts the replay and waits for its end. One that is interrupted goes on.
func (r *replaying) run(ctx context.Context, s cli.Streams) error {
	job, err := call(ctx, &r.asPerson, func(ctx context.Context, c *client.Client) (client.Replay, error) {
		return c.StartReplay(ctx, r.orgID, r.draft)
	})
	if err != nil {
		return err
	}
	for job.State == "waiting" || job.State == "running" {
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
	if r.asJSON {
		return r.print(s, job)
	}
	if job.State != "done" || job.Report == nil {
		return fmt.Errorf("replay %s is %s: %s", job.ID, cli.Line(job.State), cli.Line(job.Problem))
	}
	return printReplay(s, job)
}

// drafted are the changes that the draft makes, and how many calls the policies of
// today answer otherwise already.
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
	c := job.Report.Counts
	fmt.Fprintf(s.Out, "%d calls judged: %d stricter, %d looser, %d unchanged, %d unknown\n", c.Judged, c.Stricter,
		c.Looser, c.Unchanged, c.Unknown)
	if apart := c.Intent + c.Agent + c.Failed; apart > 0 {
		fmt.Fprintf(s.Out, "%d that policies were not asked about are left out\n", apart)
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
	table := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "CALLS\tAGENT\tTOOL\tRECORDED\tTODAY\tDRAFT\tRULE\tEXAMPLE")
	for _, change := range changes {
		example := ""
		if len(change.Examples) > 0 {
			example = change.Examples[0].DecisionID
		}
		fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", change.Count, cli.Line(change.Agent),
			cli.Line(change.Server+"."+change.Tool),
			cli.Line(change.Recorded), cli.Line(change.Today), cli.Line(change.Drafted), cli.Line(change.Rule),
			cli.Line(example))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if job.Report.LeftOut > 0 {
		fmt.Fprintf(s.Err, "writ: %d more calls change, of kinds that are not listed\n", job.Report.LeftOut)
	}
	return nil
}
