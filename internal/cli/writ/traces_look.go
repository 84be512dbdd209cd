package writ

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"writ/client"
	"writ/internal/cli"
)

// traceStates are the states of traces, sessionStates those of sessions.
var (
	traceStates   = []string{"ok", "error", "denied"}
	sessionStates = []string{"active", "completed", "expired", "error"}
)

// daysFlag adds --days: how far back a list reaches.
func daysFlag(cmd *cobra.Command, days *int, usage string) {
	*days = 7
	cli.NumberFlag(cmd, days, "days", usage, 1, furthest)
}

func tracesList(s cli.Streams) *cobra.Command {
	var f listFlags
	var filter client.TraceFilter
	list := listing[client.Trace]{
		headings: "ID\tWHEN\tSTATUS\tNAME\tAGENT\tSPANS\tTOOK\tTOKENS\tCOST",
		none:     "no trace fits; --days reaches further",
		read: func(
			ctx context.Context, c *client.Client, p *asPerson, page client.List,
		) (client.Page[client.Trace], error) {
			filter.List = page
			return inOrganization(ctx, c, p, func(orgID string) (client.Page[client.Trace], error) {
				return c.Traces(ctx, orgID, filter)
			})
		},
		row: traceRow,
		key: func(t client.Trace) string { return t.ID },
	}
	cmd := &cobra.Command{
		Use: "list", Short: "List traces, newest first; --watch goes on", Args: cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) error { return idOfSession(&filter.SessionID) },
	}
	daysFlag(cmd, &filter.Days, "how many days back, 1 to 90")
	cli.ChoiceFlag(cmd, &filter.Status, "status", "of this status: ok, error, denied", traceStates...)
	flags := cmd.Flags()
	flags.StringVar(&filter.SessionID, "session", "", "of this session, by its id")
	flags.StringVar(&filter.Name, "name", "", "of exactly this name")
	flags.StringVar(&filter.AgentID, "agent", "", "of exactly this agent")
	flags.StringVar(&filter.Model, "model", "", "that called this model")
	flags.StringVar(&filter.Tool, "tool", "", "that called this tool")
	return list.command(cmd, &f, s)
}

func traceRow(t client.Trace) []any {
	return []any{
		t.ID, t.StartTime.Local().Format(time.DateTime), t.Status, t.Name, orDash(t.AgentID), t.SpanCount,
		took(t.DurationMs), t.TotalInputTokens + t.TotalOutputTokens, dollars(t.TotalCostUSD),
	}
}

// took is a duration in milliseconds, or a dash.
func took(ms *int64) string {
	if ms == nil {
		return "-"
	}
	return (time.Duration(*ms) * time.Millisecond).String()
}

func dollars(amount float64) string {
	if amount == 0 {
		return "-"
	}
	return fmt.Sprintf("$%.4f", amount)
}

// cost is what a span cost, or a dash.
func cost(amount *float64) string {
	if amount == nil {
		return "-"
	}
	return dollars(*amount)
}

func tracesShow(s cli.Streams) *cobra.Command {
	return showing(s, "trace", "Show a trace with its spans", traceWithTotals, printTrace)
}

// traceWithTotals is a trace with its spans and with what it took, which a server tells apart.
func traceWithTotals(c *client.Client, ctx context.Context, orgID, id string) (*client.TraceDetail, error) {
	trace, err := c.Trace(ctx, orgID, id)
	if err != nil || trace == nil {
		return nil, err
	}
	totals, err := c.TraceTotals(ctx, orgID, id)
	if err != nil || totals == nil {
		return nil, err
	}
	trace.TraceTotals = *totals
	return trace, nil
}

// showing is a command that shows what an organization's telemetry has under an id.
func showing[T any](
	s cli.Streams, kind, short string,
	find func(c *client.Client, ctx context.Context, orgID, id string) (*T, error), show func(cli.Streams, *T) error,
) *cobra.Command {
	var p asPerson
	read := func(ctx context.Context, c *client.Client, args []string) (*T, error) {
		found, err := inOrganization(ctx, c, &p, func(orgID string) (*T, error) {
			return find(c, ctx, orgID, cmp.Or(uuidOf(args[0]), args[0]))
		})
		if err == nil && found == nil {
			err = fmt.Errorf("this organization has no %s %s: writ %ss list shows those of a week, by their ids", kind, args[0],
				kind)
		}
		return found, err
	}
	cmd := &cobra.Command{
		Use: "show " + strings.ToUpper(kind), Short: short, Args: cobra.ExactArgs(1),
		RunE: asking(&p, s, read, show),
	}
	p.addFlags(cmd)
	return cmd
}

func printTrace(s cli.Streams, trace *client.TraceDetail) error {
	t := &sheet{}
	t.row("trace", trace.ID)
	t.row("name", trace.Name)
	t.row("status", trace.Status)
	t.row("when", trace.StartTime.Local().Format(time.DateTime))
	t.row("took", took(trace.DurationMs))
	t.row("agent", trace.AgentID)
	t.row("product", trace.Product)
	t.row("tokens", fmt.Sprintf("%d in, %d out", trace.TotalInputTokens, trace.TotalOutputTokens))
	t.row("cost", dollars(trace.TotalCostUSD))
	if trace.SessionID != nil {
		t.row("session", *trace.SessionID)
	}
	if err := t.print(s); err != nil || len(trace.Spans) == 0 {
		return err
	}
	var rows [][]any
	for _, span := range inTree(trace.Spans) {
		name := fmt.Sprintf("%*s%s", 2*min(span.depth, deepest), "", span.Name)
		verdict, tool := decidedIn(span.Span)
		rows = append(rows, []any{
			name, span.Kind, orDash(span.Status), orDash(verdict), orDash(tool), took(span.DurationMs),
			cost(span.CostUSD), span.ID,
		})
	}
	fmt.Fprintln(s.Out)
	return cli.WriteTable(s.Out, "SPAN\tKIND\tSTATUS\tVERDICT\tTOOL\tTOOK\tCOST\tID", rows)
}

// sessions holds the commands about the sessions of agents.
func sessions(s cli.Streams) *cobra.Command {
	c := &cobra.Command{Use: "sessions", Short: "List and show the sessions of agents"}
	c.AddCommand(sessionsList(s), sessionsShow(s))
	return c
}

func sessionsList(s cli.Streams) *cobra.Command {
	var f listFlags
	var filter client.SessionFilter
	list := listing[client.TelemetrySession]{
		headings: "ID\tSTATUS\tAGENT\tPRODUCT\tSTARTED\tACTIVE\tTRACES\tTOKENS\tCOST",
		none:     "no session fits; --days reaches further",
		read: func(
			ctx context.Context, c *client.Client, p *asPerson, page client.List,
		) (client.Page[client.TelemetrySession], error) {
			filter.List = page
			if err := p.idOfPerson(ctx, c, &filter.UserID); err != nil {
				return client.Page[client.TelemetrySession]{}, err
			}
			return inOrganization(ctx, c, p, func(orgID string) (client.Page[client.TelemetrySession], error) {
				return c.TelemetrySessions(ctx, orgID, filter)
			})
		},
		row: func(e client.TelemetrySession) []any {
			return []any{
				e.ID, e.Status, orDash(e.AgentID), e.Product, ago(&e.StartedAt), ago(&e.LastActivityAt), e.TraceCount,
				e.TotalInputTokens + e.TotalOutputTokens, dollars(e.TotalCostUSD),
			}
		},
		key: func(e client.TelemetrySession) string { return fmt.Sprint(e.ID, e.LastActivityAt.UnixMicro()) },
	}
	cmd := &cobra.Command{
		Use: "list", Short: "List sessions, latest activity first; --watch goes on", Args: cobra.NoArgs,
	}
	daysFlag(cmd, &filter.Days, "how many days back, 1 to 90")
	cli.ChoiceFlag(cmd, &filter.Status, "status", "of this status: active, completed, expired, error", sessionStates...)
	cmd.Flags().StringVar(&filter.AgentID, "agent", "", "of exactly this agent")
	cmd.Flags().StringVar(&filter.UserID, "user", "", "of this person, by id or e-mail")
	return list.command(cmd, &f, s)
}

func sessionsShow(s cli.Streams) *cobra.Command {
	return showing(s, "session", "Show a session with its traces", (*client.Client).TelemetrySession, printSession)
}

func printSession(s cli.Streams, session *client.TelemetrySession) error {
	t := &sheet{}
	t.row("session", session.ID)
	t.row("status", session.Status)
	t.row("agent", session.AgentID)
	t.row("product", session.Product)
	t.row("started", session.StartedAt.Local().Format(time.DateTime))
	t.row("active", ago(&session.LastActivityAt))
	t.row("tokens", fmt.Sprintf("%d in, %d out", session.TotalInputTokens, session.TotalOutputTokens))
	t.row("cost", dollars(session.TotalCostUSD))
	if err := t.print(s); err != nil || len(session.Traces) == 0 {
		return err
	}
	rows := make([][]any, len(session.Traces))
	for i, trace := range session.Traces {
		rows[i] = traceRow(trace)
	}
	fmt.Fprintln(s.Out)
	return cli.WriteTable(s.Out, "ID\tWHEN\tSTATUS\tNAME\tAGENT\tSPANS\tTOOK\tTOKENS\tCOST", rows)
}
