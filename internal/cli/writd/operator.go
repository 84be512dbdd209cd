package writd

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"writ/internal/app"
	"writ/internal/principal"
)

func (c *command) operator() *cobra.Command {
	operator := &cobra.Command{
		Use: "operator", Short: "Manage who runs this installation",
		Long: `Manage who runs this installation: they answer requests for access and write the blog. It gives no right in any
organization.`,
	}
	operator.AddCommand(
		c.changeOperator("add ADDRESS", "Make an account an operator", "added",
			func(ctx context.Context, areas *app.Areas, userID string) error {
				return areas.Operators.Add(ctx, principal.Operator(), userID)
			}),
		c.changeOperator("remove ADDRESS", "Make an operator an ordinary account again", "removed",
			func(ctx context.Context, areas *app.Areas, userID string) error {
				return areas.Operators.Remove(ctx, principal.Operator(), userID)
			}),
		&cobra.Command{
			Use: "list", Short: "List the operators", Args: cobra.NoArgs,
			RunE: c.onData(func(ctx context.Context, areas *app.Areas, _ []string) (any, error) {
				return listOperators(ctx, areas)
			}),
		},
	)
	return operator
}

func (c *command) changeOperator(
	use, short, done string, change func(ctx context.Context, areas *app.Areas, userID string) error,
) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: cobra.ExactArgs(1),
		RunE: c.onData(func(ctx context.Context, areas *app.Areas, args []string) (any, error) {
			userID, err := areas.Auth.FindID(ctx, args[0])
			if err != nil {
				return nil, err
			}
			if err := change(ctx, areas, userID); err != nil {
				return nil, err
			}
			return map[string]string{"operator": userID, "status": done}, nil
		}),
	}
}

func listOperators(ctx context.Context, areas *app.Areas) (any, error) {
	type row struct {
		ID    string    `json:"id"`
		Email string    `json:"email"`
		Name  string    `json:"name"`
		Since time.Time `json:"since"`
	}
	all, err := areas.Operators.List(ctx)
	if err != nil {
		return nil, err
	}
	rows := []row{}
	for _, o := range all {
		rows = append(rows, row{o.UserID, o.Email, o.Name, o.AddedAt})
	}
	return map[string]any{"operators": rows}, nil
}
