package writ

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"writ/internal/cli"
	"writ/internal/mcp/discovery"
	"writ/internal/mcp/sarif"
	"writ/internal/mcp/scan"
	"writ/internal/mcp/source"
)

// scanning is what `writ mcp scan` is asked.
type scanning struct {
	config   string
	accepted string
	failOn   string
	headers  []string
	asJSON   bool
	asSARIF  bool
}

// scanned is what `writ mcp scan --json` prints.
type scanned struct {
	Target   string         `json:"target"`
	Servers  int            `json:"servers"`
	Tools    int            `json:"tools"`
	Worst    string         `json:"worst,omitempty"`
	Failed   bool           `json:"failed"`
	Findings []scan.Finding `json:"findings"`
	Accepted []scan.Finding `json:"accepted"`
	Dropped  int            `json:"dropped,omitempty"`
}

func mcpScan(s cli.Streams) *cobra.Command {
	var c scanning
	cmd := &cobra.Command{
		Use: "scan FILE|URL|-", Short: "Scan what an MCP server says of itself, without a Writ server",
		Long: `Scan what an MCP server says of itself: orders to the model, hidden text, requests for secrets, tools that are not what
they say. No Writ server is needed, nothing leaves this machine but the question to URL, and no MCP server is started.

FILE is a definition, the answer to tools/list, or the configuration of a client (mcp.json, Claude's or Gemini's), of
which the servers are described; - reads stdin. docs/mcp-scanner.md lists the rules.

The exit code is 1 if a finding is as severe as --fail-on and not accepted.`,
		Example: `  writ mcp scan tools.json
  writ mcp scan https://mcp.example.com/mcp --header "Authorization: Bearer $TOKEN"
  writ mcp scan --config .mcp.json --sarif > writ.sarif`,
		Args:    cobra.MaximumNArgs(1),
		PreRunE: func(_ *cobra.Command, args []string) error { return c.check(args) },
		RunE:    func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), s, args) },
	}
	f := cmd.Flags()
	f.StringVar(&c.config, "config", "", "the configuration of a client, whose servers are scanned")
	f.StringVar(&c.accepted, "accepted", "", "file of accepted findings: a fingerprint and a reason on each line")
	f.StringVar(&c.failOn, "fail-on", "medium", "info, low, medium, high, critical, or never")
	f.StringArrayVar(&c.headers, "header", nil, `sent to URL, as in "Authorization: Bearer …"; may be repeated`)
	f.BoolVar(&c.asSARIF, "sarif", false, "print SARIF 2.1.0, for CI")
	cli.JSONFlag(cmd, &c.asJSON)
	cmd.MarkFlagsMutuallyExclusive("json", "sarif")
	return cmd
}

// check checks the command line.
func (c *scanning) check(args []string) error {
	if (c.config == "") == (len(args) == 0) {
		return errors.New("give a FILE, a URL, or --config FILE")
	}
	if len(c.headers) > 0 && (len(args) == 0 || !isAddress(args[0])) {
		return errors.New("--header is for a URL")
	}
	_, err := c.limit()
	return err
}

func (c *scanning) run(ctx context.Context, s cli.Streams, args []string) error {
	limit, err := c.limit()
	if err != nil {
		return err
	}
	target := c.config
	if len(args) == 1 {
		target = args[0]
	}
	reasons, err := readAccepted(c.accepted)
	if err != nil {
		return err
	}
	servers, err := c.read(ctx, s, target)
	if err != nil {
		return fmt.Errorf("scan %s: %w", shownTarget(target), err)
	}
	result := judged(shownTarget(target), servers, reasons, limit)
	if err := c.print(s, result); err != nil {
		return err
	}
	if result.Failed {
		return cli.Ended(cli.ExitFailure)
	}
	return nil
}

// limit is the severity from which on a scan fails; 0: it never does.
func (c *scanning) limit() (scan.Severity, error) {
	if c.failOn == "never" {
		return 0, nil
	}
	limit, err := scan.ParseSeverity(c.failOn)
	if err != nil {
		return 0, fmt.Errorf("--fail-on: %w, or never", err)
	}
	return limit, nil
}

// read reads the servers of a file, or asks the one at an address.
func (c *scanning) read(ctx context.Context, s cli.Streams, target string) ([]scan.Settings, error) {
	if isAddress(target) {
		return c.ask(ctx, target)
	}
	raw, err := readDefinition(s, target)
	if err != nil {
		return nil, err
	}
	return source.Read(raw)
}

func isAddress(target string) bool {
	return strings.HasPrefix(target, "http://") || strings.HasPrefix(target, "https://")
}

func readDefinition(s cli.Streams, name string) ([]byte, error) {
	from := s.In
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		from = file
	}
	raw, err := io.ReadAll(io.LimitReader(from, source.MaxBytes+1))
	if err == nil && len(raw) > source.MaxBytes {
		err = fmt.Errorf("the file is larger than %d bytes", source.MaxBytes)
	}
	return raw, err
}

// ask lists what a server offers. Any address may be asked: this is the developer's own machine.
func (c *scanning) ask(ctx context.Context, target string) ([]scan.Settings, error) {
	header := http.Header{}
	for i, line := range c.headers {
		name, value, ok := strings.Cut(line, ":")
		if !ok || strings.TrimSpace(name) == "" {
			return nil, cli.Misuse("--header %d: must be a name, a colon and a value", i+1)
		}
		header.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	found, err := discovery.List(ctx, http.DefaultTransport, discovery.Target{URL: target, Header: header})
	if err != nil {
		return nil, aboutHeaders(err, len(c.headers) > 0)
	}
	found.Auth = source.Auth(header)
	return []scan.Settings{{Server: &found}}, nil
}

// aboutHeaders says of a server that refuses who asks what to do here, where nothing is registered.
func aboutHeaders(err error, given bool) error {
	if unreachable, ok := errors.AsType[*discovery.Unreachable](err); !ok || !unreachable.Refused {
		return err
	}
	if given {
		return errors.New("the server refuses the credentials in --header")
	}
	return errors.New("the server wants credentials: give them with --header 'Authorization: Bearer TOKEN'")
}

// shownTarget is a file or address without what may be secret in it.
func shownTarget(target string) string {
	if u, err := url.Parse(target); err == nil && isAddress(target) {
		return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
	}
	return target
}

// judged scans servers, and sets accepted findings apart.
func judged(target string, servers []scan.Settings, reasons map[string]string, limit scan.Severity) scanned {
	report := scan.Config(servers)
	result := scanned{
		Target:   target,
		Servers:  len(servers),
		Findings: []scan.Finding{},
		Accepted: []scan.Finding{},
		Dropped:  report.Dropped,
	}
	for _, server := range servers {
		result.Tools += len(server.Server.Tools)
	}
	worst := scan.Severity(0)
	for _, f := range report.Findings {
		if reasons[f.Fingerprint] != "" {
			result.Accepted = append(result.Accepted, f)
			continue
		}
		result.Findings = append(result.Findings, f)
		worst = max(worst, f.Severity)
	}
	result.Worst = worst.String()
	result.Failed = limit > 0 && worst >= limit
	return result
}

// readAccepted reads the fingerprints that a person has accepted, with the reason for each.
func readAccepted(name string) (map[string]string, error) {
	reasons := map[string]string{}
	if name == "" {
		return reasons, nil
	}
	text, err := readSmall(name)
	if err != nil {
		return nil, fmt.Errorf("read the accepted findings: %w", err)
	}
	lines := bufio.NewScanner(strings.NewReader(text))
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fingerprint, reason, _ := strings.Cut(line, " ")
		if strings.TrimSpace(reason) == "" {
			return nil, fmt.Errorf("%s:%d: must be a fingerprint, a space and a reason", name, number)
		}
		reasons[fingerprint] = reason
	}
	return reasons, lines.Err()
}

func (c *scanning) print(s cli.Streams, result scanned) error {
	switch {
	case c.asSARIF:
		report := scan.Report{Findings: result.Findings, Dropped: result.Dropped}
		return cli.WriteIndentedJSON(s.Out, sarif.From(report, result.Target, ""))
	case c.asJSON:
		return cli.WriteJSON(s.Out, result)
	}
	for _, f := range result.Findings {
		printFinding(s.Out, f)
	}
	fmt.Fprintf(s.Err, "writ: %s, %s: %s", cli.Count(result.Servers, "server"), cli.Count(result.Tools, "tool"),
		cli.Count(len(result.Findings), "finding"))
	if len(result.Accepted) > 0 {
		fmt.Fprintf(s.Err, ", and %d accepted", len(result.Accepted))
	}
	fmt.Fprintln(s.Err)
	return nil
}

func printFinding(out io.Writer, f scan.Finding) {
	where := f.Place
	if f.Server != "" {
		where = f.Server + ": " + where
	}
	fmt.Fprintf(out, "%s  %s  %s\n", f.Severity, f.ID, cli.Line(where))
	fmt.Fprintf(out, "  %s\n", f.Title)
	if f.Evidence != "" {
		fmt.Fprintf(out, "  > %s\n", cli.Line(f.Evidence))
	}
	fmt.Fprintf(out, "  %s\n", f.Advice)
	fmt.Fprintf(out, "  %s · %s · fingerprint %s\n\n", strings.Join(f.OWASP, " "), strings.Join(f.SAFEMCP, " "),
		f.Fingerprint)
}
