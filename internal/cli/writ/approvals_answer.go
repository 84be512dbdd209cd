package writ

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"writ/client"
	"writ/internal/cli"
)

// answer is what `writ approvals approve` is told.
type answer struct {
	asPerson
	note          string
	minutes, uses int
	session, plan bool
	pattern       string
	argumentsFile string
	preview       bool
}

func approvalsApprove(s cli.Streams) *cobra.Command {
	var a answer
	cmd := &cobra.Command{
		Use: "approve ID", Short: "Say yes: to one run of the very call, unless you say more", Args: cobra.ExactArgs(1),
		Long: "Say yes to a call that waits. Without more it may run once, with these arguments, within minutes.\n\n" +
			"A wider yes ends by itself, and can be taken back: --session for the rest of the agent's session, --minutes for a time,\n" +
			"--pattern for calls whose arguments fit, --plan for what else the plan has held; each with --uses at most.\n" +
			"With --arguments the call is approved with other arguments, and the agent is told to call with those.\n\n" +
			"--preview prints what a yes would permit, and says none.",
		RunE: func(cmd *cobra.Command, args []string) error {
			yes, err := a.yes(s, args[0])
			if err != nil {
				return err
			}
			if a.preview {
				return a.tellPreview(cmd.Context(), s, yes)
			}
			done, err := call(cmd.Context(), &a.asPerson, func(
				ctx context.Context, c *client.Client,
			) (client.Answered, error) {
				return c.Approve(ctx, a.orgID, yes)
			})
			if err != nil {
				return err
			}
			return a.told(s, done)
		},
	}
	a.addFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&a.note, "note", "", "why; it is recorded")
	f.BoolVar(&a.session, "session", false, "for calls of this tool in the same session")
	f.BoolVar(&a.plan, "plan", false, "for the calls of the same plan")
	f.StringVar(&a.pattern, "pattern", "", `for calls whose arguments fit, as JSON: {"amount": {"max": 100}}`)
	f.IntVar(&a.minutes, "minutes", 0, "for so many minutes")
	f.IntVar(&a.uses, "uses", 0, "at most so many calls")
	f.StringVar(&a.argumentsFile, "arguments", "",
		"file with the arguments to run it with instead, a JSON object; - is stdin")
	f.BoolVar(&a.preview, "preview", false, "only print what it would permit")
	cmd.MarkFlagsMutuallyExclusive("session", "plan", "pattern", "arguments")
	return cmd
}

func (a answer) yes(s cli.Streams, id string) (client.Yes, error) {
	yes := client.Yes{ID: id, Note: a.note}
	scope := client.ApprovalScope{Minutes: a.minutes, Uses: a.uses}
	switch {
	case a.session:
		scope.Kind = "session"
	case a.plan:
		scope.Kind = "plan"
	case a.pattern != "":
		scope.Kind = "pattern"
		if err := json.Unmarshal([]byte(a.pattern), &scope.Pattern); err != nil {
			return yes, fmt.Errorf("--pattern is no JSON object: %w", err)
		}
	case a.minutes != 0 || a.uses != 0:
		scope.Kind = "minutes"
	default:
		scope.Kind = "once"
	}
	yes.Scope = &scope
	if a.argumentsFile == "" {
		return yes, nil
	}
	if scope.Kind != "once" {
		return yes, errors.New("other arguments are approved for one run: leave --minutes and --uses out")
	}
	text, err := readArguments(s, a.argumentsFile)
	if err != nil {
		return yes, err
	}
	yes.Arguments = text
	return yes, nil
}

func readArguments(s cli.Streams, name string) (json.RawMessage, error) {
	var text string
	var err error
	if name == "-" {
		var content []byte
		content, err = io.ReadAll(io.LimitReader(s.In, maxSmallFile))
		text = string(content)
	} else {
		text, err = readSmall(name)
	}
	if err != nil {
		return nil, fmt.Errorf("read the arguments: %w", err)
	}
	if !json.Valid([]byte(text)) {
		return nil, errors.New("the arguments are no JSON")
	}
	return json.RawMessage(text), nil
}

func approvalsReject(s cli.Streams) *cobra.Command {
	var p asPerson
	var note string
	cmd := &cobra.Command{
		Use: "reject ID", Short: "Say no; the agent is told the note", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			done, err := call(cmd.Context(), &p, func(ctx context.Context, c *client.Client) (client.Answered, error) {
				return c.Reject(ctx, p.orgID, args[0], note)
			})
			if err != nil {
				return err
			}
			if note == "" {
				fmt.Fprintln(s.Err, "writ: the agent is told no reason; --note gives it one")
			}
			return p.told(s, done)
		},
	}
	p.addFlags(cmd)
	cmd.Flags().StringVar(&note, "note", "", "why; the agent is told, and it is recorded")
	return cmd
}

func (a answer) tellPreview(ctx context.Context, s cli.Streams, yes client.Yes) error {
	words, err := call(ctx, &a.asPerson, func(ctx context.Context, c *client.Client) (string, error) {
		return c.PreviewApproval(ctx, a.orgID, yes)
	})
	if err != nil {
		return err
	}
	if a.asJSON {
		return cli.WriteJSON(s.Out, map[string]string{"permits": words})
	}
	_, err = fmt.Fprintln(s.Out, cli.Line(words))
	return err
}

// told prints what came of an answer.
func (p *asPerson) told(s cli.Streams, done client.Answered) error {
	if p.asJSON {
		return cli.WriteJSON(s.Out, done)
	}
	words := done.Status
	switch {
	case done.Status == "pending":
		words = fmt.Sprintf("counted, and not enough yet: %d persons must say yes", done.Needed)
	case done.Permits != "":
		words += ": " + done.Permits
	}
	_, err := fmt.Fprintln(s.Out, cli.Line(words))
	return err
}
