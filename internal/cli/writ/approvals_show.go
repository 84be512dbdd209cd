package writ

import (
	"bytes"
	"cmp"
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
	read := func(ctx context.Context, c *client.Client, args []string) (client.ApprovalDetail, error) {
		return c.ApprovalRequest(ctx, p.orgID, args[0])
	}
	cmd := &cobra.Command{
		Use: "show ID", Short: "Show an approval request with all that helps to answer it", Args: cobra.ExactArgs(1),
		RunE: asking(&p, s, read, printApproval),
	}
	p.addFlags(cmd)
	return cmd
}

// sheet is lines of a name and a value.
type sheet struct{ strings.Builder }

// sheetWidth is how wide the names of a sheet are.
const sheetWidth = 11

// row adds a line, unless the value is empty.
func (t *sheet) row(name, value string) {
	if value != "" {
		fmt.Fprintf(t, "%-*s%s\n", sheetWidth, cli.Line(name), cli.Line(value))
	}
}

// rows adds a line for each value, the first with the name.
func (t *sheet) rows(name string, values ...string) {
	for _, value := range values {
		t.row(name, value)
		name = ""
	}
}

// printFacts prints names and values as a sheet does, whose names may be longer; empty values are left out.
func printFacts(s cli.Streams, facts [][2]string) error {
	width := sheetWidth
	for _, fact := range facts {
		if fact[1] != "" {
			width = max(width, len(fact[0])+2)
		}
	}
	for _, fact := range facts {
		if fact[1] == "" {
			continue
		}
		if _, err := fmt.Fprintf(s.Out, "%-*s%s\n", width, fact[0], cli.Line(fact[1])); err != nil {
			return err
		}
	}
	return nil
}

func (t *sheet) print(s cli.Streams) error {
	_, err := io.WriteString(s.Out, t.String())
	return err
}

func printApproval(s cli.Streams, a client.ApprovalDetail) error {
	t := &sheet{}
	t.row("request", a.ID)
	t.row("status", statusWords(a))
	t.row("call", a.Server+"."+a.Tool)
	t.row("arguments", compact(a.Arguments))
	switch a.ArgumentsFrom {
	case "plan":
		t.row("", "- as the plan states them: nobody has seen those of the call")
	case "unknown":
		t.row("arguments", "unknown: nobody has seen them")
	}
	for _, doubt := range a.Grounding {
		t.row("in doubt", doubtWords(doubt))
	}
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
	if a.PlanErased {
		t.row("plan", "erased")
	}
	for _, step := range a.PlanSteps {
		t.row("", plannedWords(step))
	}
	t.row("rule", ruleWords(a))
	t.row("because", a.Reason)
	t.row("says", a.Message)
	t.row("it says", a.AskedFor)
	t.row("note", a.Note)
	addHistory(t, a)
	return t.print(s)
}

// doubtWords say where a value comes from that a person must look at.
func doubtWords(d client.Doubt) string {
	origins := map[string]string{
		"text": "stands only in running text",
		"echo": "stands only in an output that gives back what was asked",
		"copy": "is a part of a text",
		"link": "has a link from a text",
	}
	words := d.Argument + ": " + cmp.Or(origins[d.Origin], "stands in nothing that the agent was given")
	if d.Of != "" {
		words += " of " + d.Of
	}
	if d.Ordered {
		words += ", which orders to use it"
	}
	return words
}

// plannedWords are a step of the request's plan, and the arguments that it fixes.
func plannedWords(step client.PlanStep) string {
	words := fmt.Sprintf("step %d: %s.%s %s", step.Index, step.Server, step.Tool, step.Description)
	words = strings.TrimRight(words, " ")
	if len(step.Fixed) > 0 {
		words += " (fixes " + strings.Join(step.Fixed, ", ") + ")"
	}
	return words
}

// addHistory adds what was decided before, and the scopes that a person can choose now.
func addHistory(t *sheet, a client.ApprovalDetail) {
	var before, scopes []string
	if a.History != nil {
		for _, d := range a.History.Decisions {
			words := fmt.Sprintf("%s: %s %s", ago(&d.Time), d.Decision, d.Agent)
			before = append(before, strings.TrimRight(words, " "))
		}
	}
	for _, scope := range a.Scopes {
		if a.Status != "pending" {
			break
		}
		scopes = append(scopes, scope.Kind+": "+scope.Words)
	}
	t.rows("before", before...)
	t.rows("approve", scopes...)
}

func ruleWords(a client.ApprovalDetail) string {
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

// statusWords is the status of a request, and what it waits for.
func statusWords(a client.ApprovalDetail) string {
	switch {
	case a.Status == "approved" && a.Used:
		return "approved, and used"
	case a.Withdrawn && a.Status == "approved":
		return "approved, but permits nothing any more: its agent or key was stopped"
	case a.Withdrawn:
		return a.Status + ": its agent or key was stopped"
	case a.Status == "approved" && a.GrantExpiresAt != nil && time.Now().After(*a.GrantExpiresAt):
		return "approved, and not used in time"
	case a.Status == "approved" && a.GrantExpiresAt != nil:
		return "approved, to be used within " + rounded(time.Until(*a.GrantExpiresAt))
	case a.Status != "pending":
		return a.Status
	case a.Kind == "ask":
		return "pending: the owner of the key must approve, expires in " + rounded(time.Until(a.ExpiresAt))
	}
	return fmt.Sprintf("pending: %d of %d approvals (%s), expires in %s", len(a.Votes), a.Needed,
		cmp.Or(a.ApproverRole, "approver"), rounded(time.Until(a.ExpiresAt)))
}

// compact is JSON on one line; empty where there is none.
func compact(value json.RawMessage) string {
	var text bytes.Buffer
	if len(value) == 0 || string(value) == "null" || json.Compact(&text, value) != nil {
		return ""
	}
	return text.String()
}
