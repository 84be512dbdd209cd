package writ

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"writ/client"
	"writ/internal/cli"
)

func mcpHealth(s cli.Streams) *cobra.Command {
	var p asPerson
	health := func(ctx context.Context, c *client.Client, args []string) (client.MCPHealth, error) {
		return c.MCPServerHealth(ctx, p.orgID, args[0])
	}
	cmd := &cobra.Command{
		Use: "health SERVER", Short: "Show how an MCP server answers, since when, and how it answered before",
		Args: cobra.ExactArgs(1), RunE: asking(&p, s, health, printMCPHealth),
	}
	p.addFlags(cmd)
	return cmd
}

// maxShownChecks is how much of the history people are shown; --json has all of it.
const maxShownChecks = 20

func printMCPHealth(s cli.Streams, h client.MCPHealth) error {
	latency := ""
	if h.CheckedAt != nil {
		latency = fmt.Sprintf("%d ms", h.LatencyMs)
	}
	err := printFacts(s, [][2]string{
		{"health", h.Status}, {"since", timeOrDash(h.Since)}, {"checked", timeOrDash(h.CheckedAt)},
		{"latency", latency}, {"problem", h.Problem}, {"answered", share(h.Uptime)},
		{"watched", map[bool]string{true: "yes", false: "no"}[h.Watched]},
	})
	if err != nil || len(h.History) == 0 {
		return err
	}
	shown := h.History[:min(len(h.History), maxShownChecks)]
	rows := make([][]any, len(shown))
	for i, check := range shown {
		answered := "yes"
		if !check.Healthy {
			answered = "no"
		}
		rows[i] = []any{check.At.UTC().Format(time.RFC3339), answered, check.LatencyMs, orDash(check.Problem)}
	}
	fmt.Fprintln(s.Out)
	return printPage(s, "AT\tANSWERED\tMS\tPROBLEM", rows, "")
}

// share is a share of all checks in words; empty: there are none.
func share(of *float64) string {
	if of == nil {
		return ""
	}
	return fmt.Sprintf("%.1f %% of the checks", *of*100)
}

func timeOrDash(at *time.Time) string {
	if at == nil {
		return "-"
	}
	return at.UTC().Format(time.RFC3339)
}

func mcpTelemetry(s cli.Streams) *cobra.Command {
	var p asPerson
	var days int
	telemetry := func(ctx context.Context, c *client.Client, args []string) (client.MCPTelemetry, error) {
		return c.MCPTelemetry(ctx, p.orgID, args[0], days)
	}
	cmd := &cobra.Command{
		Use:   "telemetry SERVER",
		Short: "Show how often the tools of an MCP server were called, refused and failed, and how long they took",
		Args:  cobra.ExactArgs(1), RunE: asking(&p, s, telemetry, printMCPTelemetry),
	}
	p.addFlags(cmd)
	days = 7
	cli.NumberFlag(cmd, &days, "days", "how many days, up to 30", 1, 30)
	return cmd
}

func printMCPTelemetry(s cli.Streams, found client.MCPTelemetry) error {
	if len(found.Tools) == 0 {
		fmt.Fprintf(s.Err, "writ: nothing was called in %s\n", cli.Count(found.Days, "day"))
		return nil
	}
	rows := make([][]any, len(found.Tools))
	for i, t := range found.Tools {
		rows[i] = []any{t.Tool, t.Calls, t.Denials, t.Holds, t.Spans, t.Errors, orUnknown(t.P50Ms), orUnknown(t.P95Ms)}
	}
	return printPage(s, "TOOL\tCALLS\tDENIED\tHELD\tSPANS\tERRORS\tP50 MS\tP95 MS", rows, "")
}

// orUnknown is a number, or a dash if it is not known.
func orUnknown(n *float64) string {
	if n == nil {
		return "-"
	}
	return strconv.FormatFloat(*n, 'f', -1, 64)
}

func mcpVulnerabilities(s cli.Streams) *cobra.Command {
	var p asPerson
	var status string
	var anew bool
	find := func(ctx context.Context, c *client.Client, args []string) (client.MCPFindings, error) {
		if anew {
			if _, err := c.ScanMCPServer(ctx, p.orgID, args[0]); err != nil {
				return client.MCPFindings{}, err
			}
		}
		return c.MCPFindingsOf(ctx, p.orgID, args[0], status)
	}
	cmd := &cobra.Command{
		Use: "vulnerabilities SERVER", Short: "Show what scans found about an MCP server, and which of its tools are held",
		Args: cobra.ExactArgs(1), RunE: asking(&p, s, find, printMCPFindings),
	}
	p.addFlags(cmd)
	cli.ChoiceFlag(cmd, &status, "status", "of this status: open, accepted, gone", "open", "accepted", "gone")
	cmd.Flags().BoolVar(&anew, "scan", false, "have the server asked and scanned first")
	return cmd
}

// printMCPFindings prints a table, and below it what each finding is about: that takes sentences.
func printMCPFindings(s cli.Streams, found client.MCPFindings) error {
	rows := make([][]any, len(found.Items))
	var below strings.Builder
	for i, f := range found.Items {
		rows[i] = []any{f.Severity, f.ID, f.Status, f.Place, f.Fingerprint}
		fmt.Fprintf(&below, "\n%s at %s\n  %s\n", cli.Line(f.ID), cli.Line(f.Place), cli.Line(f.Title))
		if f.Evidence != "" {
			fmt.Fprintf(&below, "  > %s\n", cli.Line(f.Evidence))
		}
		if f.AcceptedBy != nil {
			fmt.Fprintf(&below, "  accepted by %s: %s\n", cli.Line(*f.AcceptedBy), cli.Line(f.AcceptedFor))
		}
		fmt.Fprintf(&below, "  %s\n", cli.Line(f.Advice))
	}
	if len(rows) > 0 {
		if err := printPage(s, "SEVERITY\tFINDING\tSTATUS\tPLACE\tFINGERPRINT", rows, ""); err != nil {
			return err
		}
		if _, err := io.WriteString(s.Out, below.String()); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(s.Err, "writ: %s, %d open\n", cli.Count(len(found.Items), "finding"), found.Open)
	return err
}
