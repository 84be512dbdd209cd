package writd

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"writ/internal/app"
)

func (c *command) demo() *cobra.Command {
	var owner string
	var closing bool
	cmd := &cobra.Command{
		Use: "demo [--owner ADDRESS] [--close]", Short: "Fill an organization of its own with demo data",
		Args: cobra.NoArgs,
		Long: `Fill an organization of its own with demo data: a week of telemetry, and decisions of today with plans, denials, an
attack that was stopped, approvals and cost. It is marked as demo data wherever it is shown. With --close it is closed
again; its audit log is kept, as every log is.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := c.options()
			if err != nil {
				return err
			}
			return c.onData(func(ctx context.Context, areas *app.Areas, _ []string) (any, error) {
				ownerID, err := areas.Auth.FindID(ctx, owner)
				if err != nil {
					return nil, err
				}
				if closing {
					return closeDemo(ctx, areas, ownerID)
				}
				return makeDemo(ctx, areas, o, ownerID)
			})(cmd, args)
		},
	}
	cmd.Flags().StringVar(&owner, "owner", app.FirstEmail, "e-mail address of the account that owns it")
	cmd.Flags().BoolVar(&closing, "close", false, "close what the account has")
	return cmd
}

func makeDemo(ctx context.Context, areas *app.Areas, o app.Options, ownerID string) (any, error) {
	made, err := areas.MakeDemo(ctx, o, ownerID)
	if err != nil {
		return nil, err
	}
	url := strings.TrimRight(app.PublicURL(o.Config), "/") + "/ui/?org=" + made.ID
	return map[string]string{"id": made.ID, "name": made.Name, "url": url}, nil
}

func closeDemo(ctx context.Context, areas *app.Areas, ownerID string) (any, error) {
	closed, err := areas.CloseDemos(ctx, ownerID)
	if err == nil && len(closed) == 0 {
		return nil, fmt.Errorf("this account has no demo data")
	}
	return map[string]any{"closed": closed}, err
}
