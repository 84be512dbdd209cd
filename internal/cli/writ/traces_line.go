package writ

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"writ/client"
	"writ/internal/cli"
)

func printEvent(s cli.Streams, e client.TailEvent) error {
	line := ""
	if e.Decision != nil {
		line = decisionLine(e.Decision)
	} else {
		line = traceLine(e.Trace)
	}
	_, err := fmt.Fprintln(s.Out, cli.Line(line))
	return err
}

// clock is the local time at which a line begins.
func clock(at time.Time) string { return at.Local().Format(time.TimeOnly) }

func traceLine(t *client.TailedTrace) string {
	what := "trace"
	if t.Grew {
		what = "growth"
	}
	facts := []string{cli.Count(t.SpanCount, "span")}
	if t.DurationMs != nil {
		facts = append(facts, (time.Duration(*t.DurationMs) * time.Millisecond).String())
	}
	if tokens := t.TotalInputTokens + t.TotalOutputTokens; tokens > 0 {
		facts = append(facts, cli.Count(tokens, "token"))
	}
	if t.TotalCostUSD > 0 {
		facts = append(facts, fmt.Sprintf("$%.4f", t.TotalCostUSD))
	}
	return fmt.Sprintf("%s  %-8s  %-6s  %s  %s  %s  %s", clock(t.ReceivedAt), what, t.Status, orDash(t.AgentID), t.Name,
		strings.Join(facts, ", "), t.ID)
}

func decisionLine(d *client.TailedDecision) string {
	by := cmp.Or(d.PolicyName, d.PolicyID)
	if d.RuleID != "" {
		by += "/" + d.RuleID
	}
	if d.Reason != "" {
		by += ": " + d.Reason
	}
	return fmt.Sprintf("%s  %-8s  %-6s  %s  %s.%s  %s", clock(d.At), "decision", d.Decision, orDash(d.AgentID),
		d.Server, d.Tool, by)
}
