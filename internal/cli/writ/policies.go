package writ

import (
	"cmp"
	"context"
	"fmt"
	"slices"
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
			shown.Policy, err = policyToShow(ctx, c, id)
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

// policyToShow is the latest version of a policy, but of a profile the one in force: the latest is only proposed, and
// shown before it is confirmed.
func policyToShow(ctx context.Context, c *client.Client, id string) (client.Policy, error) {
	p, err := c.Policy(ctx, id)
	if err != nil || p.Face != "profile" || p.ActiveVersion == nil || *p.ActiveVersion == p.PolicyVersion {
		return p, err
	}
	return c.PolicyAt(ctx, id, *p.ActiveVersion)
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
	fmt.Fprintln(s.Out)
	return printRules(s, shown.Rules)
}

// printRules prints a table of rules, with a column of what they demand if any of them does.
func printRules(s cli.Streams, rules []client.PolicyRule) error {
	demand := func(rule client.PolicyRule) bool { return demandWords(rule) != "" }
	demands := slices.ContainsFunc(rules, demand)
	headings := "RULE\tEFFECT\tTOOLS\tLIMIT\tWHEN"
	if demands {
		headings = "RULE\tEFFECT\tTOOLS\tLIMIT\tDEMANDS\tWHEN"
	}
	rows := make([][]any, len(rules))
	for i, rule := range rules {
		rows[i] = []any{rule.ID, rule.Effect, strings.Join(rule.Tools, " "), limitWords(rule.Limit)}
		if demands {
			rows[i] = append(rows[i], orDash(demandWords(rule)))
		}
		rows[i] = append(rows[i], orDash(brief(rule.When, longestWhen)))
	}
	return cli.WriteTable(s.Out, headings, rows)
}

// demandWords name what a rule demands of whoever carries a call out: without them, an allow reads as one without
// conditions. --yaml shows all of it.
func demandWords(rule client.PolicyRule) string {
	var words []string
	if rule.Confine != nil {
		words = append(words, "confine, otherwise "+cmp.Or(rule.Otherwise, "deny"))
	}
	if o := rule.Oblige; o != nil {
		if len(o.Redact) > 0 {
			words = append(words, "redact "+strings.Join(o.Redact, " "))
		}
		if len(o.Labels) > 0 {
			words = append(words, "labels "+strings.Join(o.Labels, " "))
		}
		if o.MaxBytes > 0 {
			words = append(words, fmt.Sprintf("at most %d bytes", o.MaxBytes))
		}
	}
	return brief(strings.Join(words, "; "), longestWhen)
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
