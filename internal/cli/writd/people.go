package writd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"writ/internal/app"
	"writ/internal/audit"
	"writ/internal/auth"
	"writ/internal/cli"
	"writ/internal/database"
	"writ/internal/organization"
	"writ/internal/principal"
	"writ/internal/secret"
)

func (c *command) user() *cobra.Command {
	user := &cobra.Command{Use: "user", Short: "Manage accounts"}
	var n auth.NewUser
	var fromStdin bool
	create := &cobra.Command{
		Use: "create --email ADDRESS", Short: "Create a verified account", Args: cobra.NoArgs,
		Long: "Create a verified account. Without --password-stdin a random password is made and printed once.",
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if n.Password, err = c.newPassword(fromStdin); err != nil {
				return err
			}
			return c.onNewData(func(ctx context.Context, areas *app.Areas, _ []string) (any, error) {
				return createUser(ctx, areas, n, !fromStdin)
			})(cmd, args)
		},
	}
	create.Flags().StringVar(&n.Email, "email", "", "e-mail address to sign in with")
	create.Flags().StringVar(&n.Name, "name", "", "name to show")
	create.Flags().BoolVar(&fromStdin, "password-stdin", false, "read the password from standard input")
	cli.RequireFlags(create, "email")
	user.AddCommand(create, c.listUsers(), c.setPassword(), c.removeFactor())
	return user
}

func (c *command) newPassword(fromStdin bool) (secret.Text, error) {
	if !fromStdin {
		return secret.Password(20), nil
	}
	line, err := bufio.NewReader(io.LimitReader(c.streams.In, 4096)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return secret.Text{}, fmt.Errorf("read the password: %w", err)
	}
	return secret.NewText(strings.TrimRight(line, "\r\n")), nil
}

func createUser(ctx context.Context, areas *app.Areas, n auth.NewUser, showPassword bool) (any, error) {
	user, hash, err := areas.Auth.Prepare(ctx, n)
	if err != nil {
		return nil, err
	}
	err = areas.Database.Write(ctx, database.Change{Logs: []string{audit.System}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
		now := tx.Now()
		user.VerifiedAt = &now
		return areas.Auth.AddUser(ctx, tx, principal.Operator(), &user, hash)
	}})
	if database.IsUnique(err) {
		return nil, fmt.Errorf("%s has an account already: writd user set-password %s gives it a new password", user.Email,
			user.Email)
	}
	if err != nil {
		return nil, err
	}
	result := map[string]string{"id": user.ID, "email": user.Email}
	if showPassword {
		result["password"] = n.Password.Reveal()
	}
	return result, nil
}

func (c *command) org() *cobra.Command {
	org := &cobra.Command{Use: "org", Short: "Manage organizations"}
	var name, owner string
	var again bool
	create := &cobra.Command{
		Use: "create --name NAME --owner ADDRESS", Short: "Create an organization owned by an account",
		Args: cobra.NoArgs,
		Long: `Create an organization owned by an account. Where there is one of this name already, it is refused: who repeats a
command means the one that is there. Customers who do not know each other may choose the same name: --again makes another.`,
		RunE: c.onData(func(ctx context.Context, areas *app.Areas, _ []string) (any, error) {
			if !again {
				if err := refuseNamesake(ctx, areas, name); err != nil {
					return nil, err
				}
			}
			return createOrganization(ctx, areas, name, owner)
		}),
	}
	create.Flags().BoolVar(&again, "again", false, "also where there is an organization of this name")
	create.Flags().StringVar(&name, "name", "", "the organization's name")
	create.Flags().StringVar(&owner, "owner", "", "e-mail address of its first owner")
	cli.RequireFlags(create, "name", "owner")
	org.AddCommand(create, c.listOrganizations(), c.addMember())
	return org
}

func (c *command) listOrganizations() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List all organizations, with those that are closed", Args: cobra.NoArgs,
		RunE: c.onData(func(ctx context.Context, areas *app.Areas, _ []string) (any, error) {
			all, err := areas.Organizations.Installed(ctx, principal.Operator())
			if err != nil {
				return nil, err
			}
			return map[string]any{"organizations": append([]organization.Installed{}, all...)}, nil
		}),
	}
}

// setPassword helps somebody who has forgotten their password where the server sends no mail.
func (c *command) setPassword() *cobra.Command {
	var fromStdin bool
	cmd := &cobra.Command{
		Use: "set-password ADDRESS", Short: "Give an account another password", Args: cobra.ExactArgs(1),
		Long: `Give the account of somebody who has forgotten their password another one. Make sure that it is they who ask. It ends
their sessions and terminals, as a link by mail does; their second factor stays. Without --password-stdin a random
password is made and printed once.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			next, err := c.newPassword(fromStdin)
			if err != nil {
				return err
			}
			return c.onData(func(ctx context.Context, areas *app.Areas, args []string) (any, error) {
				userID, err := areas.Auth.FindID(ctx, args[0])
				if err != nil {
					return nil, err
				}
				if err := areas.Auth.SetPassword(ctx, principal.Operator(), userID, next); err != nil {
					return nil, err
				}
				result := map[string]string{"id": userID, "email": args[0]}
				if !fromStdin {
					result["password"] = next.Reveal()
				}
				return result, nil
			})(cmd, args)
		},
	}
	cmd.Flags().BoolVar(&fromStdin, "password-stdin", false, "read the password from standard input")
	return cmd
}

// removeFactor helps somebody who lost their phone and their recovery codes.
func (c *command) removeFactor() *cobra.Command {
	return &cobra.Command{
		Use: "remove-second-factor ADDRESS", Short: "Remove the second factor of an account", Args: cobra.ExactArgs(1),
		Long: `Remove the second factor of somebody who lost their phone and their recovery codes. Make sure that it is they who
ask: from then on their password alone signs in.`,
		RunE: c.onData(func(ctx context.Context, areas *app.Areas, args []string) (any, error) {
			userID, err := areas.Auth.FindID(ctx, args[0])
			if err != nil {
				return nil, err
			}
			if err := areas.Auth.RemoveSecondFactor(ctx, principal.Operator(), userID); err != nil {
				return nil, err
			}
			return map[string]string{"user": userID, "status": "removed"}, nil
		}),
	}
}

func (c *command) addMember() *cobra.Command {
	var orgID, address, role string
	cmd := &cobra.Command{
		Use:   "add-member --organization ORGANIZATION --email ADDRESS --role ROLE",
		Short: "Make an account a member of an organization", Args: cobra.NoArgs,
		Long: `Make an account a member of an organization, without an invitation by mail. The account must exist: see writd user
create.`,
		RunE: c.onData(func(ctx context.Context, areas *app.Areas, _ []string) (any, error) {
			userID, err := areas.Auth.FindID(ctx, address)
			if err != nil {
				return nil, err
			}
			orgID, err = areas.Organizations.IDNamed(ctx, principal.Operator(), orgID)
			if err != nil {
				return nil, err
			}
			err = areas.Organizations.AddMember(ctx, principal.Operator(), orgID, userID, principal.Role(role))
			if err != nil {
				return nil, err
			}
			return map[string]string{"organization": orgID, "member": userID, "role": role}, nil
		}),
	}
	cmd.Flags().StringVar(&orgID, "organization", "", "the organization, by id or exact name")
	cmd.Flags().StringVar(&address, "email", "", "e-mail address of the account")
	cli.ChoiceFlag(cmd, &role, "role", "owner, admin, approver, member or viewer",
		"owner", "admin", "approver", "member", "viewer")
	cli.RequireFlags(cmd, "organization", "email", "role")
	return cmd
}

func createOrganization(ctx context.Context, areas *app.Areas, name, owner string) (any, error) {
	ownerID, err := areas.Auth.FindID(ctx, owner)
	if err != nil {
		return nil, err
	}
	var created organization.Organization
	id := database.NewID()
	err = areas.Database.Write(ctx, database.Change{Logs: []string{id, audit.System}, Do: func(
		ctx context.Context, tx *database.Tx,
	) (err error) {
		created, err = areas.Organizations.Add(ctx, tx, principal.Operator(), id, ownerID, name)
		return err
	}})
	if err != nil {
		return nil, err
	}
	return map[string]string{"id": created.ID, "name": created.Name, "owner": ownerID}, nil
}

// refuseNamesake refuses another organization of the same name. That is legal: customers of one installation choose
// their names without knowing each other's. Who repeats a command by mistake would have two, and take one for the
// other.
func refuseNamesake(ctx context.Context, areas *app.Areas, name string) error {
	all, err := areas.Organizations.Installed(ctx, principal.Operator())
	if err != nil {
		return err
	}
	for _, other := range all {
		if other.ClosedAt == nil && other.Name == strings.TrimSpace(name) {
			return fmt.Errorf("there is an organization of this name already, %s: --again makes another, and commands that "+
				"take a name then need the id of the one that you mean", other.ID)
		}
	}
	return nil
}
