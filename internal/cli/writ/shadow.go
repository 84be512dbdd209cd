package writ

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"writ/client"
	"writ/internal/cli"
)

// policyShadow holds the commands about shadows.
func policyShadow(s cli.Streams) *cobra.Command {
	c := &cobra.Command{
		Use: "shadow", Short: "Run a policy beside the active ones: what it would decide is recorded, and changes nothing",
		Long: `Run a policy beside the active ones. What it would have decided is recorded with each decision and counted for the
policy; no call gets another answer for it. Owners and admins start and end shadows.`,
	}
	c.AddCommand(shadowStart(s), shadowEnd(s), shadowList(s))
	return c
}

func shadowStart(s cli.Streams) *cobra.Command {
	var p asPerson
	var version int
	start := func(ctx context.Context, c *client.Client, args []string) (client.Policy, error) {
		id, err := p.policyID(ctx, c, args[0])
		if err != nil {
			return client.Policy{}, err
		}
		return c.StartShadow(ctx, id, version)
	}
	cmd := &cobra.Command{
		Use: "start POLICY", Short: "Run a version of a policy as its shadow; POLICY is an id or an exact name",
		Args: cobra.ExactArgs(1),
		RunE: asking(&p, s, start, func(s cli.Streams, started client.Policy) error {
			_, err := fmt.Fprintf(s.Out, "version %s of %s is a shadow now\n", optional(started.ShadowVersion),
				cli.Line(started.Name))
			return err
		}),
	}
	p.addFlags(cmd)
	cli.NumberFlag(cmd, &version, "version", "which version; the latest unless given", 1, maxVersion)
	return cmd
}

func shadowEnd(s cli.Streams) *cobra.Command {
	var p asPerson
	end := func(ctx context.Context, c *client.Client, args []string) (client.PolicyState, error) {
		id, err := p.policyID(ctx, c, args[0])
		if err != nil {
			return client.PolicyState{}, err
		}
		return c.EndShadow(ctx, id)
	}
	cmd := &cobra.Command{
		Use: "end POLICY", Short: "End the shadow of a policy; POLICY is an id or an exact name",
		Args: cobra.ExactArgs(1),
		RunE: asking(&p, s, end, func(s cli.Streams, ended client.PolicyState) error {
			_, err := fmt.Fprintf(s.Out, "%s has no shadow now\n", cli.Line(ended.Name))
			return err
		}),
	}
	p.addFlags(cmd)
	return cmd
}

// policyID finds a policy by its id or exact name. Where an organization is given, it is one of that organization.
func (p *asPerson) policyID(ctx context.Context, c *client.Client, named string) (string, error) {
	if id := uuidOf(named); id != "" {
		return id, p.requirePolicy(ctx, c, id)
	}
	found, err := c.Policies(ctx, client.PolicyFilter{OrganizationID: p.orgID, Name: named}, client.List{Limit: 2})
	if err != nil {
		return "", fmt.Errorf("look for the policy %q: %w", named, err)
	}
	if len(found.Items) != 1 {
		return "", fmt.Errorf("%s called %q: give %s of writ policy list",
			howMany(len(found.Items), "policy", "policies"), named, idOrName(len(found.Items)))
	}
	return found.Items[0].ID, nil
}

// requirePolicy refuses a policy of another organization than the one that the person works in: its id alone would have
// the command change what they did not mean.
func (p *asPerson) requirePolicy(ctx context.Context, c *client.Client, id string) error {
	if p.orgID == "" {
		return nil
	}
	found, err := c.Policy(ctx, id)
	if err != nil {
		return fmt.Errorf("look for the policy %s: %w", id, err)
	}
	if uuidOf(found.OrganizationID) != uuidOf(p.orgID) {
		return fmt.Errorf("the policy %s (%s) belongs to another organization than %s: give its own with --organization",
			cli.Line(found.Name), id, p.orgID)
	}
	return nil
}

// shadow is a shadow as `writ policy shadow list --json` prints it.
type shadow struct {
	PolicyID string             `json:"policyId"`
	Name     string             `json:"name"`
	Version  int                `json:"version"`
	Active   *int               `json:"activeVersion"`
	Since    *time.Time         `json:"since"`
	Days     int                `json:"days"`
	Figures  client.ShadowStats `json:"figures"`
}

func shadowList(s cli.Streams) *cobra.Command {
	var p asPerson
	var days int
	list := func(ctx context.Context, c *client.Client, _ []string) (map[string][]shadow, error) {
		shadows, err := p.shadows(ctx, c, days)
		return map[string][]shadow{"items": shadows}, err
	}
	cmd := &cobra.Command{
		Use: "list", Short: "List the shadows, and what they would have decided differently", Args: cobra.NoArgs,
		RunE: asking(&p, s, list, printShadows),
	}
	p.addFlags(cmd)
	daysFlag(cmd, &days, "of how many days this version's calls are counted, 1 to 90")
	return cmd
}

// shadows lists the shadows of the organization, with their counts.
func (p *asPerson) shadows(ctx context.Context, c *client.Client, days int) ([]shadow, error) {
	orgID, err := p.organization(ctx, c)
	if err != nil {
		return nil, err
	}
	found := []shadow{}
	err = eachPage(func(page client.List) (client.Page[client.PolicyState], error) {
		return c.Policies(ctx, client.PolicyFilter{OrganizationID: orgID}, page)
	}, func(some []client.PolicyState) (bool, error) {
		for _, policy := range some {
			if policy.ShadowVersion == nil {
				continue
			}
			figures, err := c.ShadowStats(ctx, orgID, policy.ID, *policy.ShadowVersion, days)
			if err != nil {
				return false, err
			}
			found = append(found, shadow{
				policy.ID, policy.Name, *policy.ShadowVersion, policy.ActiveVersion, policy.ShadowSince, days,
				figures,
			})
		}
		return false, nil
	})
	return found, err
}

func printShadows(s cli.Streams, shadows map[string][]shadow) error {
	var rows [][]any
	for _, w := range shadows["items"] {
		rows = append(rows, []any{
			w.PolicyID, w.Name, w.Version, optional(w.Active), ago(w.Since),
			w.Figures.Calls, w.Figures.WouldDeny, w.Figures.WouldHold, w.Figures.WouldAllow,
		})
	}
	if len(rows) == 0 {
		fmt.Fprintln(s.Err, "writ: no policy runs as a shadow")
		return nil
	}
	return cli.WriteTable(s.Out, "ID\tNAME\tVERSION\tACTIVE\tSINCE\tCALLS\tWOULD DENY\tWOULD HOLD\tWOULD ALLOW", rows)
}

// optional is a number, or a dash.
func optional(n *int) string {
	if n == nil {
		return "-"
	}
	return fmt.Sprint(*n)
}
