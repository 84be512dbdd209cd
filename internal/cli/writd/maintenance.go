package writd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"writ/internal/app"
	"writ/internal/keyring"
)

func (c *command) signingKey() *cobra.Command {
	key := &cobra.Command{Use: "signing-key", Short: "Manage the server's own signing keys"}
	key.AddCommand(&cobra.Command{
		Use: "rotate [PURPOSE...]", Short: "Sign with new keys; what the old ones signed still verifies",
		ValidArgs: purposeNames(), Args: cobra.OnlyValidArgs,
		Long: "Sign with new keys: of access-token, plan, plan-jwt, policy-binding and checkpoint those that are named, or all\n" +
			"but checkpoint. The old ones sign nothing more and still verify what they signed. A running server takes the\n" +
			"new ones up within a minute. Who verifies audit logs has pinned the key of checkpoints: give them the new one\n" +
			"(GET /audit-log/key) when you rotate it, beside the old one.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withAreas(cmd.Context(), func(ctx context.Context, areas *app.Areas) error {
				purposes := make([]keyring.Purpose, len(args))
				for i, name := range args {
					purposes[i] = keyring.Purpose(name)
				}
				rotated, err := areas.RotateKeys(ctx, purposes)
				if err != nil {
					return err
				}
				return c.print(map[string]any{"rotated": rotated})
			})
		},
	})
	return key
}

func purposeNames() (names []string) {
	for _, purpose := range app.SigningPurposes() {
		names = append(names, string(purpose))
	}
	return names
}

func (c *command) backup() *cobra.Command {
	var telemetry bool
	backup := &cobra.Command{
		Use: "backup FILE", Short: "Copy the database to a new file while the server runs", Args: cobra.ExactArgs(1),
		Long: "Copy the database to a new file while the server runs. PostgreSQL is copied with pg_dump.\n" +
			"The master key is not in the copy: keep it as well, and elsewhere. Telemetry is a database of its own, copied by\n" +
			"--telemetry; a PostgreSQL that holds both is copied whole.",
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := c.options()
			if err != nil {
				return err
			}
			if telemetry {
				return app.BackupTelemetry(cmd.Context(), o, args[0])
			}
			if err := app.Backup(cmd.Context(), o, args[0]); err != nil {
				return err
			}
			fmt.Fprintf(c.streams.Err, "writd: backed up to %s; the master key is not in it, keep that too\n", args[0])
			return nil
		},
	}
	backup.Flags().BoolVar(&telemetry, "telemetry", false, "copy the telemetry instead")
	return backup
}

func (c *command) restore() *cobra.Command {
	return &cobra.Command{
		Use: "restore FILE", Short: "Replace the database by a backup; no server may be running",
		Args: cobra.ExactArgs(1),
		Long: "Replace the database by a backup. The present SQLite file is kept beside it; a PostgreSQL database must be\n" +
			"empty. Every audit log goes on in a new epoch whose first entry says what is gone, so that nobody can take\n" +
			"the restored log for the whole one.",
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := c.options()
			if err != nil {
				return err
			}
			report, err := app.Restore(cmd.Context(), o, args[0])
			if err != nil {
				return err
			}
			return c.print(report)
		},
	}
}
