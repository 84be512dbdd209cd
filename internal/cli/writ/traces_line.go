package writ

import (
	"fmt"
	"strings"
	"time"

	"writ/client"
	"writ/internal/cli"
)

// print prints what is told, as JSON or in words.
func (t *tailing) print(s cli.Streams, e client.TailEvent) error {
	if t.asJSON {
		return cli.WriteJSON(s.Out, e)
	}
	line := ""
	if e.Decision != nil {
		line = decisionLine(e.Decision)
	} else {
		line = traceLine(e.Trace)
	}
	_, err := fmt.Fprintln(s.Out, cli.Line(line))
	return err
}

// clock is how a line begins: the time here.
func clock(at time.Time) string { return at.Local().Format(time.TimeOnly) }

func traceLine(t *client.TailedTrace) string {
	what := "trace"
	if t.Grew {
		what = "growth"
	}
	facts := []string{count(t.SpanCount, "span")}
	if t.DurationMs != nil {
		facts = append(facts, (time.Duration(*t.DurationMs) * time.Millisecond).String())
	}
	if tokens := t.TotalInputTokens + t.TotalOutputTokens; tokens > 0 {
		facts = append(facts, count(tokens, "token"))
	}
	if t.TotalCostUSD > 0 {
		facts = append(facts, fmt.Sprintf("$%.4f", t.TotalCostUSD))
	}
	return fmt.Sprintf("%s  %-8s  %-6s  %s  %s  %s  %s", clock(t.ReceivedAt), what, t.Status, orDash(t.AgentID), t.Name,
		strings.Join(facts, ", "), t.ID)
}

func decisionLine(d *client.TailedDecision) string {
	by := d.PolicyID
	if d.PolicyName != "" {
		by = d.PolicyName
	}
	if d.RuleID != "" {
		by += "/" + d.RuleID
	}
	if d.Reason != "" {
		by += ": " + d.Reason
	}
	return fmt.Sprintf("%s  %-8s  %-6s  %s  %s.%s  %s", clock(d.At), "decision", d.Decision, orDash(d.AgentID),
		d.Server, d.Tool, by)
}

// count is a number of things in words.
func count(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
