package writ

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"writ/client"
	"writ/internal/cli"
)

// approving is what `writ approvals approve` is asked.
type approving struct {
	asPerson
	note          string
	minutes, uses int
	session, plan bool
	pattern       string
	arguments     string // an object, or the name of a file with one
	preview       bool
}

func approvalsApprove(s cli.Streams) *cobra.Command {
	var a approving
	cmd := &cobra.Command{
		Use: "approve ID", Short: "Approve one run of exactly this call, or more by the flags", Args: cobra.ExactArgs(1),
		Long: `Approve a call that waits. Without flags it may run once, with these arguments, within minutes.

A standing approval permits more than one call. It ends by itself, and can be revoked: --session for the rest of the
agent's session, --minutes for a time, --pattern for calls whose arguments match, --plan for other held calls of the
plan; each with at most --uses calls. With --arguments you approve the call with other arguments, and the agent has to
call with those.

--preview only prints what the approval would permit.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			approval, err := a.approval(s, args[0])
			if err != nil {
				return err
			}
			if a.preview {
				return a.printPreview(cmd.Context(), s, approval)
			}
			answered, err := call(cmd.Context(), &a.asPerson,
				func(ctx context.Context, c *client.Client) (client.Answered, error) {
					answered, err := c.Approve(ctx, a.orgID, approval)
					return answered, whoAnswers(err)
				})
			if err != nil {
				return err
			}
			return show(&a.server, s, answered, printAnswered)
		},
	}
	a.addFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&a.note, "note", "", "why; it is recorded")
	cli.AlsoNamed(cmd, "reason", "note") // as commands call it whose reason only the log gets
	f.BoolVar(&a.session, "session", false, "for calls of this tool in the same session")
	f.BoolVar(&a.plan, "plan", false, "for the calls of the same plan")
	f.StringVar(&a.pattern, "pattern", "", `for calls whose arguments match, as JSON: {"amount": {"max": 100}}`)
	cli.NumberFlag(cmd, &a.minutes, "minutes", "for so many minutes, 1 to 480", 1, 480)
	cli.NumberFlag(cmd, &a.uses, "uses", "at most so many calls; only with --session, --minutes, --pattern or --plan", 1, maxUses)
	f.StringVar(&a.arguments, "arguments", "",
		"other arguments for the call: a JSON object, or a file with one; - is stdin")
	f.BoolVar(&a.preview, "preview", false, "only print what it would permit")
	cmd.MarkFlagsMutuallyExclusive("session", "plan", "pattern", "arguments")
	cmd.MarkFlagsMutuallyExclusive("arguments", "preview") // the server describes only the call as it waits
	return cmd
}

// maxUses bounds how many calls a standing approval is for, here; the server knows by what it decides.
const maxUses = 1_000_000

// approval is what the flags say.
func (a approving) approval(s cli.Streams, id string) (client.Approval, error) {
	scope := client.ApprovalScope{Kind: "once", Minutes: a.minutes, Uses: a.uses}
	approval := client.Approval{ID: id, Note: a.note, Scope: &scope}
	switch {
	case a.session:
		scope.Kind = "session"
	case a.plan:
		scope.Kind = "plan"
	case a.pattern != "":
		scope.Kind = "pattern"
		if err := json.Unmarshal([]byte(a.pattern), &scope.Pattern); err != nil {
			return approval, cli.Misuse("--pattern is no JSON object: write for each argument what it may be, such as %s",
				`--pattern '{"to": {"equals": "landlord"}, "amount": {"max": 100}}'`)
		}
	case a.minutes != 0:
		scope.Kind = "minutes"
	case a.uses != 0:
		return approval, cli.Misuse("--uses is for a standing approval: give --minutes, --session, --pattern or --plan too")
	}
	if a.arguments == "" {
		return approval, nil
	}
	if scope.Kind != "once" {
		return approval, cli.Misuse("other arguments are approved for one run: leave out --minutes and --uses")
	}
	var err error
	approval.Arguments, err = a.otherArguments(s)
	return approval, err
}

// otherArguments are those that are approved in place of the call's: --arguments has them, or names a file.
func (a *approving) otherArguments(s cli.Streams) ([]byte, error) {
	given := strings.TrimSpace(a.arguments)
	if strings.HasPrefix(given, "{") {
		if !json.Valid([]byte(given)) {
			return nil, cli.Misuse(`--arguments is no JSON object: write it as '{"to": "landlord", "amount": 5}'`)
		}
		return []byte(given), nil
	}
	text, err := readInput(s, a.arguments)
	if err != nil {
		return nil, fmt.Errorf("read the arguments: %w", err)
	}
	if !json.Valid(text) || !strings.HasPrefix(strings.TrimSpace(string(text)), "{") {
		return nil, fmt.Errorf("%s has no JSON object", a.arguments)
	}
	return text, nil
}

// whoAnswers says whom a viewer asks: the server names the least role that may answer anything, which is a member's.
func whoAnswers(err error) error {
	if client.StatusOf(err) != http.StatusForbidden || !strings.Contains(err.Error(), "(keys.own)") {
		return err
	}
	return fmt.Errorf("%w: approvers and above answer what waits, and members what their own keys ask", err)
}

func approvalsReject(s cli.Streams) *cobra.Command {
	var p asPerson
	var note string
	reject := func(ctx context.Context, c *client.Client, args []string) (client.Answered, error) {
		answered, err := c.Reject(ctx, p.orgID, args[0], note)
		if err == nil && note == "" {
			fmt.Fprintln(s.Err, "writ: the agent gets no reason; --note gives it one")
		}
		return answered, whoAnswers(err)
	}
	cmd := &cobra.Command{
		Use: "reject ID", Short: "Reject a call; the agent gets the note", Args: cobra.ExactArgs(1),
		RunE: asking(&p, s, reject, printAnswered),
	}
	p.addFlags(cmd)
	cmd.Flags().StringVar(&note, "note", "", "why; the agent gets it, and it is recorded")
	cli.AlsoNamed(cmd, "reason", "note")
	return cmd
}

func (a approving) printPreview(ctx context.Context, s cli.Streams, approval client.Approval) error {
	words, err := call(ctx, &a.asPerson, func(ctx context.Context, c *client.Client) (string, error) {
		words, err := c.PreviewApproval(ctx, a.orgID, approval)
		return words, whoAnswers(err)
	})
	if err != nil {
		return err
	}
	return show(&a.server, s, map[string]string{"permits": words}, func(s cli.Streams, _ map[string]string) error {
		_, err := fmt.Fprintln(s.Out, cli.Line(words))
		return err
	})
}

func printAnswered(s cli.Streams, answered client.Answered) error {
	words := answered.Status
	switch {
	case answered.Status == "pending":
		words = fmt.Sprintf("counted, but not enough yet: %d people must approve", answered.Needed)
	case answered.Permits != "":
		words += ": " + answered.Permits
	}
	_, err := fmt.Fprintln(s.Out, cli.Line(words))
	return err
}
