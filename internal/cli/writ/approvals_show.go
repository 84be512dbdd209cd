package writ

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"writ/client"
	"writ/internal/cli"
)

func approvalsShow(s cli.Streams) *cobra.Command {
	var p asPerson
	cmd := &cobra.Command{
		Use: "show ID", Short: "Show a request with all that helps to decide about it", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			shown, err := call(cmd.Context(), &p, func(
				ctx context.Context, c *client.Client,
			) (client.ShownApproval, error) {
				return c.Approval(ctx, p.orgID, args[0])
			})
			if err != nil {
				return err
			}
			if p.asJSON {
				return cli.WriteJSON(s.Out, shown)
			}
			return describeApproval(s, shown)
		},
	}
	p.addFlags(cmd)
	return cmd
}

// sheet is a text of names and values, one a line.
type sheet struct{ strings.Builder }

// row adds a line, unless there is nothing to say.
func (t *sheet) row(name, value string) {
	if value != "" {
		fmt.Fprintf(t, "%-11s%s\n", name, cli.Line(value))
	}
}

func describeApproval(s cli.Streams, a client.ShownApproval) error {
	t := &sheet{}
	t.row("request", a.ID)
	t.row("status", statusWords(a))
	t.row("call", a.Server+"."+a.Tool)
	t.row("arguments", compact(a.Arguments))
	t.row("changed to", compact(a.EditedArguments))
	t.row("risk", a.Risk.Level)
	for _, reason := range a.Risk.Reasons {
		t.row("", "- "+reason.Words)
	}
	t.row("agent", a.AgentID)
	t.row("for", a.Email)
	if a.Repeats > 0 {
		t.row("asked", fmt.Sprintf("%d times", a.Repeats+1))
	}
	t.row("plan", a.PlanGoal)
	for _, step := range a.PlanSteps {
		t.row("", fmt.Sprintf("step %d: %s.%s %s", step.Index, step.Server, step.Tool, step.Description))
	}
	t.row("rule", ruleWords(a))
	t.row("because", a.Reason)
	t.row("says", a.Message)
	t.row("it says", a.AskedFor)
	t.row("note", a.Note)
	if a.History != nil {
		for i, d := range a.History.Decisions {
			name := ""
			if i == 0 {
				name = "before"
			}
			t.row(name, fmt.Sprintf("%s ago: %s %s", rounded(time.Since(d.Time)), d.Decision, d.Agent))
		}
	}
	for i, scope := range a.Scopes {
		name := ""
		if i == 0 {
			name = "a yes"
		}
		t.row(name, scope.Kind+": "+scope.Words)
	}
	_, err := io.WriteString(s.Out, t.String())
	return err
}

func ruleWords(a client.ShownApproval) string {
	if a.Rule == "" {
		return ""
	}
	words := a.Rule
	if a.PolicyName != "" {
		words += " of policy " + a.PolicyName
	}
	if a.PolicyRule != nil && a.PolicyRule.When != "" {
		words += ": " + a.PolicyRule.When
	}
	return words
}

// statusWords is where a request stands, and what is still wanted.
func statusWords(a client.ShownApproval) string {
	switch {
	case a.Status == "approved" && a.Used:
		return "approved, and used"
	case a.Status == "approved" && a.GrantExpiresAt != nil && time.Now().After(*a.GrantExpiresAt):
		return "approved, and not used in time"
	case a.Status == "approved" && a.GrantExpiresAt != nil:
		return "approved, to be used within " + rounded(time.Until(*a.GrantExpiresAt))
	case a.Status != "pending":
		return a.Status
	case a.Kind == "ask":
		return "pending: asked of the person the agent works for, expires in " + rounded(time.Until(a.ExpiresAt))
	}
	who := "approver"
	if a.ApproverRole != "" {
		who = a.ApproverRole
	}
	return fmt.Sprintf("pending: %d of %d yeses (%s), expires in %s", len(a.Votes), a.Needed, who,
		rounded(time.Until(a.ExpiresAt)))
}

// compact is JSON on one line; nothing where there is none.
func compact(value json.RawMessage) string {
	var text bytes.Buffer
	if len(value) == 0 || string(value) == "null" || json.Compact(&text, value) != nil {
		return ""
	}
	return text.String()
}
