package writd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"writ/internal/app"
	"writ/internal/config"
	"writ/internal/organization"
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
				return c.makeDemo(ctx, areas, o, ownerID)
			})(cmd, args)
		},
	}
	cmd.Flags().StringVar(&owner, "owner", app.FirstEmail, "e-mail address of the account that owns it")
	cmd.Flags().BoolVar(&closing, "close", false, "close what the account has")
	return cmd
}

// usualPort is where a server listens that was told nothing.
const usualPort = 8080

func (c *command) makeDemo(ctx context.Context, areas *app.Areas, o app.Options, ownerID string) (any, error) {
	made, err := areas.MakeDemo(ctx, o, ownerID)
	if errors.Is(err, organization.ErrHasDemo) {
		return nil, fmt.Errorf("%v (writd demo --close)", err)
	}
	if err != nil {
		return nil, err
	}
	known := c.knowsAddress(ctx, o.Config)
	if o.Config.Port == 0 { // any that was free then
		o.Config.Port = usualPort
	}
	address := strings.TrimRight(app.PublicURL(o.Config), "/")
	if !known {
		fmt.Fprintf(c.streams.Err, "writd: it is not known where your server listens: if not at %s, "+
			"open the url below its address\n", address)
	}
	return map[string]string{"id": made.ID, "name": made.Name, "url": address + "/ui/?org=" + made.ID}, nil
}

// knowsAddress reports whether the configuration says where the server is: it may have been started with a PORT that
// this command was not given, and listen elsewhere than at the default.
func (c *command) knowsAddress(ctx context.Context, settings config.Config) bool {
	given := c.isSet(config.Variable{Name: "PORT"}) == "yes" && settings.Port != 0
	if settings.PublicURL != "" || given {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, healthWait)
	defer cancel()
	return askReady(ctx, settings) == nil
}

func closeDemo(ctx context.Context, areas *app.Areas, ownerID string) (any, error) {
	closed, err := areas.CloseDemos(ctx, ownerID)
	if err == nil && len(closed) == 0 {
		return nil, fmt.Errorf("this account has no demo data")
	}
	return map[string]any{"closed": closed}, err
}
