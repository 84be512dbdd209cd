package writd

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"writ/internal/app"
	"writ/internal/config"
	"writ/internal/keyring"
)

func (c *command) signingKey() *cobra.Command {
	key := &cobra.Command{Use: "signing-key", Short: "Manage the server's own signing keys"}
	key.AddCommand(&cobra.Command{
		Use: "rotate [PURPOSE...]", Short: "Sign with new keys; what the old ones signed still verifies",
		ValidArgs: purposeNames(), Args: onlyPurposes,
		Long: `Sign with new keys: those that are named of access-token, plan, plan-jwt, policy-binding, trust and checkpoint, or all but
checkpoint. The old keys sign nothing more, and still verify what they signed. A running server uses the new ones
within a minute. Auditors have pinned the key of checkpoints: when you rotate it, give them the new one beside the old
one: writ audit key prints both. The same goes for a writd witness: add the new key to its file of keys, and start it again.`,
		RunE: c.onData(func(ctx context.Context, areas *app.Areas, args []string) (any, error) {
			purposes := make([]keyring.Purpose, len(args))
			for i, name := range args {
				purposes[i] = keyring.Purpose(name)
			}
			rotated, err := areas.RotateKeys(ctx, purposes)
			if err != nil {
				return nil, err
			}
			return map[string]any{"rotated": rotated}, nil
		}),
	})
	return key
}

func onlyPurposes(_ *cobra.Command, args []string) error {
	for _, name := range args {
		if !slices.Contains(purposeNames(), name) {
			return fmt.Errorf("%q is no purpose of a signing key: must be of %s", name,
				strings.Join(purposeNames(), ", "))
		}
	}
	return nil
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
		Long: `Copy the database to a new file while the server runs. PostgreSQL is copied with pg_dump. The master key is not in the
copy: keep it too, elsewhere. Telemetry is a database of its own, copied by --telemetry; a PostgreSQL that holds both is
copied whole.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := c.options()
			if err != nil {
				return err
			}
			if telemetry {
				if err := app.BackupTelemetry(cmd.Context(), o, args[0]); err != nil {
					return err
				}
				fmt.Fprintf(c.streams.Err, "writd: %s\n", telemetryCopied(o.Config, args[0]))
				return nil
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

// telemetryCopied says what is in the copy: nobody should pass on accounts and keys who means to pass on telemetry.
func telemetryCopied(settings config.Config, file string) string {
	if settings.UsesPostgres() && !settings.TelemetryURL.IsSet() {
		return fmt.Sprintf("backed up to %s, and not telemetry alone: it is in the main PostgreSQL database, which was copied "+
			"whole; the master key is not in it, keep that too", file)
	}
	return "backed up telemetry to " + file
}

func (c *command) restore() *cobra.Command {
	var present, loaded bool
	restore := &cobra.Command{
		Use: "restore FILE | --loaded | --present", Short: "Replace the database by a backup; no server may be running",
		Long: `Replace the database by a backup. The present SQLite file is kept beside it; a PostgreSQL database must be empty.
Every audit log continues in a new epoch whose first entry says what is lost, so that nobody can take the restored log
for the whole one. It needs the master key, which signs the logs.

What was taken from people, agents and MCP servers since the backup is taken again, where the present SQLite file tells.
"check" of the report names what a person must look at.

--loaded is for a PostgreSQL that was put back already, with pg_restore or from a snapshot: it does the rest.

--present restores nothing: the logs that the server refuses to continue, because their head is not signed, go on from
what is stored, each in a new epoch whose first entry says so. Find out first what altered them.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if present || loaded {
				return cobra.NoArgs(cmd, args)
			}
			return cobra.ExactArgs(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := c.options()
			if err != nil {
				return err
			}
			var report interface{ Advice() []string }
			switch {
			case present:
				report, err = app.RestorePresent(cmd.Context(), o)
			case loaded:
				report, err = app.RestoreLoaded(cmd.Context(), o)
			default:
				report, err = app.Restore(cmd.Context(), o, args[0])
			}
			if err != nil {
				return err
			}
			for _, advice := range report.Advice() {
				fmt.Fprintf(c.streams.Err, "writd: %s\n", advice)
			}
			return c.print(report)
		},
	}
	restore.Flags().BoolVar(&present, "present", false, "continue refused audit logs from what is stored")
	restore.Flags().BoolVar(&loaded, "loaded", false, "do the rest for a PostgreSQL that was put back already")
	restore.MarkFlagsMutuallyExclusive("present", "loaded")
	return restore
}
