package writd

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"writ/internal/app"
	"writ/internal/cli"
	"writ/internal/organization"
	"writ/internal/principal"
)

// listedUser is an account as `writd user list --json` prints it.
type listedUser struct {
	ID            string                         `json:"id"`
	Email         string                         `json:"email"`
	Name          string                         `json:"name"`
	CreatedAt     time.Time                      `json:"createdAt"`
	Verified      bool                           `json:"verified"` // without that it does not sign in
	SecondFactor  bool                           `json:"secondFactor"`
	Organizations []organization.InstalledMember `json:"organizations"`
}

func (c *command) listUsers() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List all accounts, with the organizations of each", Args: cobra.NoArgs,
		RunE: c.onData(func(ctx context.Context, areas *app.Areas, _ []string) (any, error) {
			users, err := listedUsers(ctx, areas)
			if err != nil {
				return nil, err
			}
			if asJSON {
				return map[string]any{"users": users}, nil
			}
			return nil, c.printUsers(users)
		}),
	}
	cli.JSONFlag(cmd, &asJSON)
	return cmd
}

func listedUsers(ctx context.Context, areas *app.Areas) ([]listedUser, error) {
	accounts, err := areas.Auth.Installed(ctx, principal.Operator())
	if err != nil {
		return nil, err
	}
	members, err := areas.Organizations.InstalledMembers(ctx, principal.Operator())
	if err != nil {
		return nil, err
	}
	of := map[string][]organization.InstalledMember{}
	for _, m := range members {
		of[m.UserID] = append(of[m.UserID], m)
	}
	users := []listedUser{}
	for _, a := range accounts {
		users = append(users, listedUser{
			ID:            a.ID,
			Email:         a.Email,
			Name:          a.Name,
			CreatedAt:     a.CreatedAt,
			Verified:      a.VerifiedAt != nil,
			SecondFactor:  a.SecondFactor,
			Organizations: append([]organization.InstalledMember{}, of[a.ID]...),
		})
	}
	return users, nil
}

func (c *command) printUsers(users []listedUser) error {
	yes := map[bool]string{true: "yes", false: "no"}
	var rows [][]any
	for _, u := range users {
		var roles []string
		for _, m := range u.Organizations {
			roles = append(roles, fmt.Sprintf("%s (%s)", m.Name, m.Role))
		}
		rows = append(rows, []any{
			u.Email, u.Name, u.CreatedAt.Local().Format("2006-01-02 15:04"), yes[u.Verified], yes[u.SecondFactor],
			strings.Join(roles, ", "),
		})
	}
	return cli.WriteTable(c.streams.Out, "E-MAIL\tNAME\tCREATED\tVERIFIED\tSECOND FACTOR\tORGANIZATIONS", rows)
}
