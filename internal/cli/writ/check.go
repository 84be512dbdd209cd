package writ

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"writ/client"
	"writ/internal/cli"
	"writ/internal/cli/credentials"
)

// exitWaits is the exit code of `writ check` for a call that waits for a person.
const exitWaits = 3

// checking is what `writ check` is asked.
type checking struct {
	server
	planID string
	call   client.PlannedCall
}

func check(s cli.Streams) *cobra.Command {
	var c checking
	cmd := &cobra.Command{
		Use: "check TOOL [ARGUMENTS]", Short: "Ask whether a call of a tool may run now",
		Args: cobra.MinimumNArgs(1),
		Long: `Ask whether a call of a tool may run now, with your API key and the plan that was declared last. The answer is a
decision: it is recorded, and uses up what the call uses up.

TOOL is server.tool, of a server that the plan names or that is registered. ARGUMENTS are one JSON object, or name=value
pairs in which a value that is JSON is taken as such; - reads the object from stdin:

  writ check bank.send_money to=landlord amount=900
  writ check bank.send_money '{"to": "landlord", "amount": 900}'

Run the tool only if the exit code is 0.
Exit codes: 0 allowed, 1 denied or not decided, 2 the command line is wrong, 3 a person must approve the call first.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			err := c.run(cmd.Context(), s, args[0], args[1:])
			if errors.Is(err, cli.ErrSignedOut) {
				err = errors.New(err.Error()) // 3 means that a person is asked
			}
			return err
		},
	}
	c.addFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&c.planID, "plan", "", "the plan, by the id that writ plan declare printed; latest unless given")
	f.StringVar(&c.call.AgentID, "agent", "", "the agent that calls; the plan's unless given")
	f.StringVar(&c.call.SessionID, "session", "", "the session of the agent")
	return cmd
}

func (c *checking) run(ctx context.Context, s cli.Streams, tool string, arguments []string) (err error) {
	c.call.Tool = tool
	if c.call.Arguments, err = parseArguments(s, arguments); err != nil {
		return err
	}
	found, err := c.find()
	if err != nil {
		return err
	}
	if c.planID, err = c.server.planID(c.planID); err != nil {
		return err
	}
	if err := c.addPlan(found.URL); err != nil {
		return err
	}
	d, _, err := callWithKey(ctx, &c.server, func(ctx context.Context, api *client.Client) (client.Decision, error) {
		return api.Enforce(ctx, c.call)
	})
	if err != nil {
		return err
	}
	if err := show(&c.server, s, d, c.print); err != nil {
		return err
	}
	switch {
	case d.Allowed && d.Decision == "allow":
		return nil
	case d.Decision == "hold", d.Decision == "ask":
		return cli.Ended(exitWaits)
	}
	return cli.Ended(cli.ExitFailure)
}

// addPlan adds the token of the plan that was asked for, or of the last one declared
// from here on this server, if there is one.
func (c *checking) addPlan(serverURL string) error {
	plan, err := credentials.Default().FindPlan(serverURL, c.planID)
	switch {
	case err == nil:
		c.call.IntentToken = plan.Token
		c.call.MCP, c.call.Tool = cutServer(c.call.Tool, plan.Servers)
	case !errors.Is(err, credentials.ErrNone):
		return err
	case c.planID != "":
		return fmt.Errorf("plan %s was not declared from here: run writ plan declare", c.planID)
	}
	return nil
}

// cutServer takes the name of a server from that of a tool: the longest that the plan names, as Writ itself does. Said
// apart it leaves no doubt: a name with a dot may also be that of a tool without a server, and is judged as such too.
// What names no server of the plan stays whole.
func cutServer(tool string, servers []string) (server, rest string) {
	rest = tool
	for _, s := range servers {
		if after, ok := strings.CutPrefix(tool, s+"."); ok && after != "" && len(s) > len(server) {
			server, rest = s, after
		}
	}
	return server, rest
}

// parseArguments reads the arguments of a call: a JSON object, or name=value pairs.
func parseArguments(s cli.Streams, words []string) (json.RawMessage, error) {
	if len(words) == 1 && (words[0] == "-" || strings.HasPrefix(strings.TrimSpace(words[0]), "{")) {
		text := []byte(words[0])
		if words[0] == "-" {
			var err error
			if text, err = readInput(s, "-"); err != nil {
				return nil, fmt.Errorf("read the arguments: %w", err)
			}
		}
		if err := json.Unmarshal(text, new(map[string]json.RawMessage)); err != nil {
			return nil, cli.Misuse("the arguments are no JSON object: %w", err)
		}
		return text, nil
	}
	arguments := map[string]any{}
	for _, word := range words {
		name, value, found := strings.Cut(word, "=")
		if _, twice := arguments[name]; !found || name == "" || twice {
			return nil, cli.Misuse("%q must be name=value, each name once; or give one JSON object", word)
		}
		arguments[name] = value
		if json.Valid([]byte(value)) {
			arguments[name] = json.RawMessage(value)
		}
	}
	return json.Marshal(arguments)
}

func (c *checking) print(s cli.Streams, d client.Decision) error {
	t := &sheet{}
	t.row("verdict", d.Decision)
	t.row("reason", d.Reason)
	if d.MatchedPolicy != nil {
		t.row("rule", d.Rule+" of policy "+d.MatchedPolicy.Name)
	}
	t.row("decision", d.DecisionID)
	t.row("approval", d.ApprovalID)
	if err := t.print(s); err != nil {
		return err
	}
	switch {
	case c.call.IntentToken == nil:
		fmt.Fprintln(s.Err, "writ: no plan was declared from here: run writ plan declare FILE")
	case d.ApprovalID != "" && (d.Decision == "hold" || d.Decision == "ask"):
		fmt.Fprintf(s.Err, "writ: a person approves it with writ approvals approve %s; then check again\n",
			cli.Line(d.ApprovalID))
	}
	return nil
}
