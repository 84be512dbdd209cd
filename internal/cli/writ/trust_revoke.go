package writ

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"writ/client"
	"writ/internal/cli"
)

func trustRevoke(s cli.Streams) *cobra.Command {
	var b byEither
	var reason string
	cmd := &cobra.Command{
		Use: "revoke PLAN", Short: "Revoke a plan or delegation, and everything that was delegated from it",
		Long: `Revoke a plan or delegation for ever: it and everything that was delegated from it, directly or further on, authorize
nothing from the next decision on. What it came from stays. PLAN is the id of a plan or of a delegation, as
writ trust show draws them, or latest: the plan that was declared last from here. Calls that already run go on.

You act as the person who signed in: an owner or administrator of the organization, or whoever's key declared or
delegated it. With --with-key an API key revokes what it declared or delegated, and what came of that.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := b.planID(args[0])
			if err != nil {
				return err
			}
			revoked, err := callEither(cmd.Context(), &b, func(
				ctx context.Context, c *client.Client,
			) (client.TrustRevoked, error) {
				return c.RevokeTrust(ctx, b.orgID, id, reason)
			})
			if err != nil {
				return err
			}
			return show(&b.server, s, revoked, printTrustRevoked)
		},
	}
	b.addFlags(cmd)
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the log")
	return cmd
}

// printTrustRevoked says what ended.
func printTrustRevoked(s cli.Streams, revoked client.TrustRevoked) error {
	_, err := fmt.Fprintf(s.Out, "revoked: %s authorizes nothing from now on\n", cli.Line(revoked.ID))
	if len(revoked.Cascaded) == 0 && err == nil {
		_, err = fmt.Fprintln(s.Out, "nothing that was delegated from it ended with it")
	}
	for _, id := range revoked.Cascaded {
		if err == nil {
			_, err = fmt.Fprintf(s.Out, "ended with it: delegation %s\n", cli.Line(id))
		}
	}
	return err
}
