package writ

import (
	"github.com/spf13/cobra"

	"writ/internal/cli"
)

// traces holds what a person does with the traces of agents.
func traces(s cli.Streams) *cobra.Command {
	c := &cobra.Command{Use: "traces", Short: "Watch what agents do, and take it away"}
	c.AddCommand(tracesTail(s), tracesExport(s))
	return c
}
