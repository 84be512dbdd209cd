package writ

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"writ/client"
	"writ/internal/cli"
)

func policyList(s cli.Streams) *cobra.Command {
	var f listFlags
	var status string
	list := listing[client.PolicyState]{
		headings: "ID\tNAME\tSTATUS\tLATEST\tACTIVE\tCHANGED",
		none:     "no policy is there: writ policy push FILE stores one",
		read: func(
			ctx context.Context, c *client.Client, p *asPerson, page client.List,
		) (client.Page[client.PolicyState], error) {
			return c.Policies(ctx, client.PolicyFilter{OrganizationID: p.orgID, Status: status}, page)
		},
		row: func(p client.PolicyState) []any {
			return []any{p.ID, p.Name, p.Status, p.PolicyVersion, optional(p.ActiveVersion), ago(&p.UpdatedAt)}
		},
	}
	cmd := &cobra.Command{
		Use: "list", Short: "List the policies of an organization, and which versions are active", Args: cobra.NoArgs,
	}
	cli.ChoiceFlag(cmd, &status, "status", "of this status: draft, active, inactive", "draft", "active", "inactive")
	return list.command(cmd, &f, s)
}

// versioned is the flag of a command about one version of a policy; 0: the latest.
type versioned struct {
	asPerson
	version int
}

// maxVersion is the largest number of a version that a server takes.
const maxVersion = 1_000_000

func (v *versioned) addFlags(cmd *cobra.Command, usage string) {
	v.asPerson.addFlags(cmd)
	cli.NumberFlag(cmd, &v.version, "version", usage, 1, maxVersion)
}

// onePolicy is the RunE of a command about the policy that its first argument names.
func onePolicy[T any](
	p *asPerson, s cli.Streams, ask func(ctx context.Context, c *client.Client, id string) (T, error),
	print func(cli.Streams, T) error,
) func(*cobra.Command, []string) error {
	return asking(p, s, func(ctx context.Context, c *client.Client, args []string) (T, error) {
		id, err := p.policyID(ctx, c, args[0])
		if err != nil {
			var none T
			return none, err
		}
		return ask(ctx, c, id)
	}, print)
}

// policyShown is what `writ policy show --json` prints.
type policyShown struct {
	client.Policy
	Bindings client.Bindings `json:"bindings"`
	YAML     string          `json:"yaml"`
}

func policyShow(s cli.Streams) *cobra.Command {
	var v versioned
	var asYAML bool
	read := func(ctx context.Context, c *client.Client, id string) (shown policyShown, err error) {
		if v.version == 0 {
			shown.Policy, err = c.Policy(ctx, id)
		} else {
			shown.Policy, err = c.PolicyAt(ctx, id, v.version)
		}
		if err != nil {
			return shown, err
		}
		if shown.Bindings, err = c.Bindings(ctx, id); err != nil {
			return shown, err
		}
		shown.YAML, err = c.ExportPolicy(ctx, id, shown.PolicyVersion)
		return shown, err
	}
	cmd := &cobra.Command{
		Use: "show POLICY", Short: "Show a policy: its state, whom it is for, and its rules", Args: cobra.ExactArgs(1),
		RunE: onePolicy(&v.asPerson, s, read, func(s cli.Streams, shown policyShown) error {
			if asYAML {
				if other := notInForce(shown); other != "" {
					fmt.Fprintf(s.Err, "writ: this is version %d, %s\n", shown.PolicyVersion, other)
				}
				return cli.WriteText(s.Out, shown.YAML)
			}
			return printPolicy(s, shown)
		}),
	}
	v.addFlags(cmd, "which version; the latest unless given")
	cmd.Flags().BoolVar(&asYAML, "yaml", false, "print the document alone, as it was written")
	return cmd
}

// notInForce says which version is in force where another one is shown: its rules are what people look for first.
func notInForce(shown policyShown) string {
	if shown.ActiveVersion == nil || *shown.ActiveVersion == shown.PolicyVersion {
		return ""
	}
	return fmt.Sprintf("which is not in force: --version %d shows the one that is", *shown.ActiveVersion)
}

func printPolicy(s cli.Streams, shown policyShown) error {
	t := &sheet{}
	t.row("policy", shown.ID)
	t.row("name", shown.Name)
	t.row("status", shown.Status)
	version := fmt.Sprintf("%d, written %s", shown.PolicyVersion, ago(&shown.WrittenAt))
	if other := notInForce(shown); other != "" {
		version += ", " + other
	}
	t.row("version", version)
	t.row("active", optional(shown.ActiveVersion))
	t.row("for", bindingWords(shown.Bindings))
	t.row("describes", shown.Description)
	t.row("default", shown.Default)
	if err := t.print(s); err != nil || len(shown.Rules) == 0 {
		return err
	}
	rows := make([][]any, len(shown.Rules))
	for i, rule := range shown.Rules {
		rows[i] = []any{
			rule.ID, rule.Effect, strings.Join(rule.Tools, " "), limitWords(rule.Limit),
			orDash(brief(rule.When, longestWhen)),
		}
	}
	fmt.Fprintln(s.Out)
	return cli.WriteTable(s.Out, "RULE\tEFFECT\tTOOLS\tLIMIT\tWHEN", rows)
}

// longestWhen is how much of a condition a table shows; --yaml shows all of it.
const longestWhen = 60

// limitWords say beyond what a rule has its effect: without them, a limit on all tools reads as a rule about every
// call.
func limitWords(l *client.PolicyLimit) string {
	if l == nil {
		return "-"
	}
	var most []string
	if l.Calls > 0 {
		most = append(most, cli.Count(l.Calls, "call"))
	}
	if l.Tokens > 0 {
		most = append(most, cli.Count(l.Tokens, "token"))
	}
	if l.Cost > 0 {
		most = append(most, "$"+strconv.FormatFloat(l.Cost, 'f', -1, 64))
	}
	words := "beyond " + strings.Join(most, ", ") + " per " + l.Per
	if l.By != "" {
		words += " by " + l.By
	}
	return words
}

// brief is the beginning of a text as one line.
func brief(text string, most int) string {
	letters := []rune(strings.Join(strings.Fields(text), " "))
	if len(letters) <= most {
		return string(letters)
	}
	return string(letters[:most-1]) + "…"
}

// bindingWords say whom a policy is for.
func bindingWords(b client.Bindings) string {
	var words []string
	for _, kind := range []struct {
		name string
		ids  []string
	}{{"members", b.Members}, {"clients", b.Clients}, {"roles", b.Roles}} {
		if len(kind.ids) > 0 {
			words = append(words, kind.name+" "+strings.Join(kind.ids, " "))
		}
	}
	if len(words) == 0 {
		return "everybody"
	}
	return strings.Join(words, "; ")
}
