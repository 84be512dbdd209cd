package writ

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"writ/client"
	"writ/internal/cli"
)

// decisions holds the commands about recorded decisions.
func decisions(s cli.Streams) *cobra.Command {
	c := &cobra.Command{Use: "decisions", Short: "List and show what was decided about the calls of agents"}
	c.AddCommand(decisionsList(s), decisionsShow(s))
	return c
}

// decidedAction is the action of entries of the log that are decisions.
const decidedAction = "call.decided"

func decisionsList(s cli.Streams) *cobra.Command {
	var f listFlags
	var verdicts []string
	filter := client.LogFilter{Action: decidedAction}
	var server, tool string
	var names map[string]string // of policies, read once
	list := listing[client.LogEntry]{
		headings: "ENTRY\tWHEN\tVERDICT\tTOOL\tAGENT\tBY\tREASON",
		none:     "no decision fits: agents ask for them, and writ check does; filters take whole names",
		read: func(
			ctx context.Context, c *client.Client, p *asPerson, page client.List,
		) (client.Page[client.LogEntry], error) {
			var err error
			if filter.Plan, err = p.planID(filter.Plan); err != nil {
				return client.Page[client.LogEntry]{}, err
			}
			filter.List, filter.Decision = page, strings.Join(verdicts, ",")
			if names == nil {
				names = policyNames(ctx, c, p.orgID)
			}
			if page.Cursor != "" {
				return c.LogEntries(ctx, p.orgID, filter)
			}
			var found client.Page[client.LogEntry]
			for _, name := range toolNames(server, tool) {
				filter.Server, filter.Tool = name[0], name[1]
				if found, err = c.LogEntries(ctx, p.orgID, filter); err != nil || len(found.Items) > 0 {
					break
				}
			}
			return found, err
		},
		row: func(e client.LogEntry) []any {
			return []any{
				e.Index, e.Time.Local().Format(time.DateTime), e.Decision, toolOf(e), orDash(e.Agent),
				decidedBy(e, names), orDash(cmp.Or(alteredNote(e), e.Reason)),
			}
		},
		key: func(e client.LogEntry) string { return strconv.FormatInt(e.Index, 10) },
	}
	cmd := &cobra.Command{Use: "list", Short: "List decisions, newest first; --watch goes on", Args: cobra.NoArgs}
	calledDecision(cmd, func(name string) {
		cli.ChoicesFlag(cmd, &verdicts, name, "with these verdicts: allow, deny, hold, ask; repeat it for several",
			verdictNames...)
	})
	flags := cmd.Flags()
	flags.StringVar(&filter.Agent, "agent", "", "of this agent")
	flags.StringVar(&server, "server", "", "about tools of this server")
	flags.StringVar(&tool, "tool", "", "about this tool: SERVER.TOOL as listed, or TOOL of any server")
	flags.StringVar(&filter.Plan, "plan", "", "under this plan; latest is the one declared last from here")
	flags.StringVar(&filter.Session, "session", "", "of this session")
	return list.command(cmd, &f, s)
}

// calledDecision has --decision mean --verdict: it was called so, and requests still call it so. Help has one name for
// it.
func calledDecision(cmd *cobra.Command, add func(name string)) {
	add("verdict")
	add("decision")
	cobra.CheckErr(cmd.Flags().MarkHidden("decision"))
}

// alteredNote says that somebody altered an entry, and how; empty: it is as it was recorded.
func alteredNote(e client.LogEntry) string {
	if e.Altered == "" {
		return ""
	}
	return "ALTERED: " + e.Altered
}

// verdictNames are the answers to calls.
var verdictNames = []string{"allow", "deny", "hold", "ask"}

func toolOf(e client.LogEntry) string {
	if e.Server == "" {
		return e.Tool
	}
	return e.Server + "." + e.Tool
}

// toolNames are the servers and tools that a name may mean: a tool as the list shows it, with its server, or a tool of
// any server. Names of both may have dots.
func toolNames(server, tool string) (names [][2]string) {
	if server != "" {
		return [][2]string{{server, tool}}
	}
	for dot := len(tool) - 1; dot > 0; dot-- {
		if tool[dot] == '.' && dot < len(tool)-1 {
			names = append(names, [2]string{tool[:dot], tool[dot+1:]})
		}
	}
	return append(names, [2]string{"", tool})
}

// policyNames are the names of policies by their ids. Without them, as for those who may not read policies, the ids are
// shown.
func policyNames(ctx context.Context, c *client.Client, orgID string) map[string]string {
	names := map[string]string{}
	page := client.List{Limit: mostListed}
	for range maxPages {
		found, err := c.Policies(ctx, client.PolicyFilter{OrganizationID: orgID}, page)
		if err != nil {
			break
		}
		for _, p := range found.Items {
			names[p.ID] = p.Name
		}
		if page.Cursor = found.NextCursor; page.Cursor == "" {
			break
		}
	}
	return names
}

// decidedBy is the policy or part of Writ that decided, and its rule.
func decidedBy(e client.LogEntry, names map[string]string) string {
	by := cmp.Or(names[e.Policy], e.Policy)
	if e.Rule == "" {
		return orDash(by)
	}
	return by + "/" + e.Rule
}

// shownDecision is what `writ decisions show --json` prints.
type shownDecision struct {
	client.LogEntry
	PolicyName string `json:"policyName"` // today; empty: no policy decided, or it is gone
}

func decisionsShow(s cli.Streams) *cobra.Command {
	var p asPerson
	read := func(ctx context.Context, c *client.Client, args []string) (shown shownDecision, err error) {
		index, err := p.decisionIndex(ctx, c, args[0])
		if err != nil {
			return shown, err
		}
		shown.LogEntry, err = c.LogEntry(ctx, p.orgID, index)
		if err == nil && shown.Decision == "" {
			err = fmt.Errorf("entry %d is no decision but %s: writ audit verifies the log", index, cli.Line(shown.Action))
		}
		shown.PolicyName = policyNames(ctx, c, p.orgID)[shown.Policy]
		return shown, err
	}
	cmd := &cobra.Command{
		Use: "show DECISION", Short: "Show a decision, by its id or the number of its entry, with its proof",
		Args: cobra.ExactArgs(1),
		RunE: asking(&p, s, read, printDecision),
	}
	p.addFlags(cmd)
	return cmd
}

// decisionIndex is the entry of a decision that is named by its number or its id.
func (p *asPerson) decisionIndex(ctx context.Context, c *client.Client, named string) (int64, error) {
	if index, err := strconv.ParseInt(strings.TrimPrefix(named, "#"), 10, 64); err == nil && index >= 0 {
		return index, nil
	}
	id := uuidOf(named)
	made, ok := madeAt(id)
	if !ok {
		return 0, fmt.Errorf("%q is neither the number of an entry nor the id of a decision", named)
	}
	// Entries are found by time, and an id says when it was made: shortly before its entry.
	for _, wait := range []time.Duration{time.Second, 30 * time.Second} {
		filter := client.LogFilter{Action: decidedAction, From: made.Add(-time.Second), Until: made.Add(wait)}
		filter.Limit = mostListed
		for range maxPages {
			found, err := c.LogEntries(ctx, p.orgID, filter)
			if err != nil {
				return 0, err
			}
			for _, e := range found.Items {
				if e.Subject.ID == id {
					return e.Index, nil
				}
			}
			if filter.Cursor = found.NextCursor; filter.Cursor == "" {
				break
			}
		}
	}
	return 0, fmt.Errorf("this organization has no decision %s", id)
}

// madeAt is when a UUID of version 7 was made.
func madeAt(id string) (time.Time, bool) {
	if len(id) != 36 || id[14] != '7' {
		return time.Time{}, false
	}
	ms, err := strconv.ParseInt(id[:8]+id[9:13], 16, 64)
	return time.UnixMilli(ms), err == nil
}

func printDecision(s cli.Streams, e shownDecision) error {
	t := &sheet{}
	t.row("decision", e.Subject.ID)
	t.row("entry", strconv.FormatInt(e.Index, 10))
	t.row("when", e.Time.Local().Format(time.DateTime))
	t.row("verdict", e.Decision)
	t.row("altered", e.Altered)
	t.row("call", toolOf(e.LogEntry))
	var payload struct {
		Arguments json.RawMessage `json:"arguments"`
		Approval  string          `json:"approval"`
		Message   string          `json:"message"`
	}
	_ = json.Unmarshal(e.Payload, &payload) // absent, erased, or not for this person
	t.row("arguments", compact(payload.Arguments))
	t.row("by", decidedBy(e.LogEntry, map[string]string{e.Policy: e.PolicyName}))
	t.row("reason", e.Reason)
	t.row("message", payload.Message)
	t.row("agent", e.Agent)
	t.row("session", e.Session)
	t.row("plan", e.Plan)
	t.row("approval", payload.Approval)
	t.row("leaf", e.Leaf)
	if len(e.Receipt) > 0 {
		t.row("proof", "--json prints the receipt")
	}
	return t.print(s)
}
