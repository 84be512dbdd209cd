package writ

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"writ/client"
	"writ/internal/cli"
)

// policyShadow holds the commands about policies that run beside the active ones
// and decide nothing.
func policyShadow(s cli.Streams) *cobra.Command {
	c := &cobra.Command{
		Use:   "shadow",
		Short: "Run a policy beside the active ones: what it would have decided is written down, nothing else changes",
		Long: "Run a policy beside the active ones. What it would have decided is on the record of each decision and in the\n" +
			"figures of the policy; no call is answered otherwise for it. Owners and admins start and end shadows.",
	}
	c.AddCommand(shadowStart(s), shadowEnd(s), shadowList(s))
	return c
}

func shadowStart(s cli.Streams) *cobra.Command {
	var p asPerson
	var version int
	cmd := &cobra.Command{
		Use: "start POLICY", Short: "Run a version of a policy as its shadow; POLICY is an id or an exact name",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			started, err := call(cmd.Context(), &p, func(ctx context.Context, c *client.Client) (client.Policy, error) {
				id, err := p.policyID(ctx, c, args[0])
				if err != nil {
					return client.Policy{}, err
				}
				return c.StartShadow(ctx, id, version)
			})
			if err != nil {
				return err
			}
			if p.asJSON {
				return p.print(s, started)
			}
			fmt.Fprintf(s.Out, "version %s of %s is a shadow now\n", optional(started.ShadowVersion),
				cli.Line(started.Name))
			return nil
		},
	}
	p.addFlags(cmd)
	cmd.Flags().IntVar(&version, "version", 0, "which version; the latest unless given")
	return cmd
}

func shadowEnd(s cli.Streams) *cobra.Command {
	var p asPerson
	cmd := &cobra.Command{
		Use: "end POLICY", Short: "End the shadow of a policy; POLICY is an id or an exact name",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ended, err := call(cmd.Context(), &p, func(
				ctx context.Context, c *client.Client,
			) (client.PolicyState, error) {
				id, err := p.policyID(ctx, c, args[0])
				if err != nil {
					return client.PolicyState{}, err
				}
				return c.EndShadow(ctx, id)
			})
			if err != nil {
				return err
			}
			if p.asJSON {
				return p.print(s, ended)
			}
			fmt.Fprintf(s.Out, "%s has no shadow now\n", cli.Line(ended.Name))
			return nil
		},
	}
	p.addFlags(cmd)
	return cmd
}

// policyID is the policy that an id or an exact name means.
func (p *asPerson) policyID(ctx context.Context, c *client.Client, named string) (string, error) {
	if id := uuidOf(named); id != "" {
		return id, nil
	}
	found, err := c.Policies(ctx, client.PolicyFilter{OrganizationID: p.orgID, Name: named}, client.List{Limit: 2})
	if err != nil {
		return "", fmt.Errorf("look for the policy %q: %w", named, err)
	}
	if len(found.Items) != 1 {
		return "", fmt.Errorf("%d policies are called %q: give the id", len(found.Items), named)
	}
	return found.Items[0].ID, nil
}

// shadow is one as `writ policy shadow list --json` prints it.
type shadow struct {
	PolicyID string               `json:"policyId"`
	Name     string               `json:"name"`
	Version  int                  `json:"version"`
	Active   *int                 `json:"activeVersion"`
	Since    *time.Time           `json:"since"`
	Days     int                  `json:"days"`
	Figures  client.ShadowFigures `json:"figures"`
}

func shadowList(s cli.Streams) *cobra.Command {
	var p asPerson
	var days int
	cmd := &cobra.Command{
		Use: "list", Short: "List the shadows, and what they would have decided otherwise", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			shadows, err := call(cmd.Context(), &p, func(ctx context.Context, c *client.Client) ([]shadow, error) {
				return p.shadows(ctx, c, days)
			})
			if err != nil {
				return err
			}
			if p.asJSON {
				return p.print(s, map[string]any{"items": shadows})
			}
			return printShadows(s, shadows)
		},
	}
	p.addFlags(cmd)
	cmd.Flags().IntVar(&days, "days", 7, "how many days the figures are of")
	return cmd
}

// policiesAtOnce is how many policies are read at a time.
const policiesAtOnce = 200

// shadows are those of the organization, with their figures.
func (p *asPerson) shadows(ctx context.Context, c *client.Client, days int) ([]shadow, error) {
	orgID, err := p.organization(ctx, c)
	if err != nil {
		return nil, err
	}
	found := []shadow{}
	for cursor := ""; ; {
		policies, err := c.Policies(ctx, client.PolicyFilter{OrganizationID: orgID}, client.List{
			Limit: policiesAtOnce, Cursor: cursor,
		})
		if err != nil {
			return nil, err
		}
		for _, policy := range policies.Items {
			if policy.ShadowVersion == nil {
				continue
			}
			figures, err := c.PolicyFigures(ctx, orgID, policy.ID, days)
			if err != nil {
				return nil, err
			}
			found = append(found, shadow{
				policy.ID, policy.Name, *policy.ShadowVersion, policy.ActiveVersion, policy.ShadowSince, days,
				figures.Shadow,
			})
		}
		if cursor = policies.NextCursor; cursor == "" {
			return found, nil
		}
	}
}

func printShadows(s cli.Streams, shadows []shadow) error {
	if len(shadows) == 0 {
		fmt.Fprintln(s.Err, "writ: no policy runs as a shadow")
		return nil
	}
	table := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tNAME\tVERSION\tACTIVE\tSINCE\tCALLS\tWOULD DENY\tWOULD HOLD\tWOULD ALLOW")
	for _, w := range shadows {
		since := "-"
		if w.Since != nil {
			since = rounded(time.Since(*w.Since)) + " ago"
		}
		fmt.Fprintf(table, "%s\t%s\t%d\t%s\t%s\t%d\t%d\t%d\t%d\n", cli.Line(w.PolicyID), cli.Line(w.Name), w.Version,
			optional(w.Active), since,
			w.Figures.Calls, w.Figures.WouldDeny, w.Figures.WouldHold, w.Figures.WouldAllow)
	}
	return table.Flush()
}

// optional is a number, or a dash.
func optional(n *int) string {
	if n == nil {
		return "-"
	}
	return fmt.Sprint(*n)
}
