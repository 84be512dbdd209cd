package writ

import (
	"github.com/spf13/cobra"

	"writ/internal/cli"
)

// traces holds the commands about traces.
func traces(s cli.Streams) *cobra.Command {
	c := &cobra.Command{Use: "traces", Short: "Watch and export what agents do"}
	c.AddCommand(tracesTail(s), tracesExport(s))
	return c
}
