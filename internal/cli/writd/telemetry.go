package writd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"writ/internal/app"
	"writ/internal/telemetry"
)

func (c *command) retention() *cobra.Command {
	retention := &cobra.Command{Use: "retention", Short: "Remove old telemetry"}
	var dryRun bool
	run := &cobra.Command{
		Use: "run", Short: "Remove what OBSERVABILITY_RETENTION_DAYS does not keep, now", Args: cobra.NoArgs,
		Long: "Remove what OBSERVABILITY_RETENTION_DAYS does not keep, now, beside a running server, which does the same daily\n" +
			"at 03:00 UTC.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withAreas(cmd.Context(), func(ctx context.Context, areas *app.Areas) error {
				removed, err := areas.Telemetry.Retain(ctx, dryRun)
				if err != nil {
					return err
				}
				return c.print(map[string]any{
					"before": removed.Before.Format(time.RFC3339), "traces": removed.Traces,
					"sessions": removed.Sessions, "dryRun": dryRun,
				})
			})
		},
	}
	run.Flags().BoolVar(&dryRun, "dry-run", false, "only count")
	retention.AddCommand(run)
	return retention
}

// errDiffer makes a verification that found something fail.
var errDiffer = errors.New("the rollups differ from the rows; `writd rollup rebuild` makes them anew")

func (c *command) rollup() *cobra.Command {
	rollup := &cobra.Command{Use: "rollup", Short: "Check and repair the figures of telemetry"}
	rollup.AddCommand(&cobra.Command{
		Use: "verify", Short: "Compare every rollup with the rows it was made of; exit 1 when one differs",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withAreas(cmd.Context(), func(ctx context.Context, areas *app.Areas) error {
				differences, err := areas.Telemetry.Verify(ctx)
				if err != nil {
					return err
				}
				if differences == nil {
					differences = []telemetry.Difference{}
				}
				if err := c.print(map[string]any{"differences": differences}); err != nil || len(differences) == 0 {
					return err
				}
				return errDiffer
			})
		},
	}, &cobra.Command{
		Use: "rebuild", Short: "Make every rollup anew from the rows; ingest waits meanwhile", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withAreas(cmd.Context(), func(ctx context.Context, areas *app.Areas) error {
				if err := areas.Telemetry.Rebuild(ctx); err != nil {
					return err
				}
				_, err := fmt.Fprintln(c.streams.Err, "writd: rebuilt")
				return err
			})
		},
	})
	return rollup
}
