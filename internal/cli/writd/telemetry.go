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
		Long: `Remove what OBSERVABILITY_RETENTION_DAYS does not keep, now, beside a running server, which does the same every day
at 03:00 UTC.`,
		RunE: c.onData(func(ctx context.Context, areas *app.Areas, _ []string) (any, error) {
			removed, err := areas.Telemetry.Retain(ctx, dryRun)
			if err != nil {
				return nil, err
			}
			return map[string]any{
				"before": removed.Before.Format(time.RFC3339), "traces": removed.Traces,
				"sessions": removed.Sessions, "dryRun": dryRun,
			}, nil
		}),
	}
	run.Flags().BoolVar(&dryRun, "dry-run", false, "only count")
	retention.AddCommand(run)
	return retention
}

// errDiffer makes a verification fail that found differences.
var errDiffer = errors.New("the rollups differ from the rows; `writd rollup rebuild` makes them anew")

func (c *command) rollup() *cobra.Command {
	rollup := &cobra.Command{Use: "rollup", Short: "Check and repair the statistics of telemetry"}
	rollup.AddCommand(&cobra.Command{
		Use: "verify", Short: "Compare every rollup with the rows it was made of; exit 1 when one differs",
		Args: cobra.NoArgs,
		RunE: c.onData(func(ctx context.Context, areas *app.Areas, _ []string) (any, error) {
			found, err := areas.Telemetry.Verify(ctx)
			if err != nil {
				return nil, err
			}
			if len(found) > 0 {
				err = errDiffer
			}
			return map[string]any{"differences": append([]telemetry.Difference{}, found...)}, err
		}),
	}, &cobra.Command{
		Use: "rebuild", Short: "Make every rollup anew from the rows; ingest waits meanwhile", Args: cobra.NoArgs,
		RunE: c.onData(func(ctx context.Context, areas *app.Areas, _ []string) (any, error) {
			err := areas.Telemetry.Rebuild(ctx)
			if err == nil {
				fmt.Fprintln(c.streams.Err, "writd: rebuilt")
			}
			return nil, err
		}),
	})
	return rollup
}
