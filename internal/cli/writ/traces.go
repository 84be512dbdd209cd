package writ

import (
	"github.com/spf13/cobra"

	"writ/internal/cli"
)

// traces holds the commands about traces.
func traces(s cli.Streams) *cobra.Command {
	c := &cobra.Command{Use: "traces", Short: "List, show, watch and export what agents do"}
	c.AddCommand(tracesList(s), tracesShow(s), tracesTail(s), tracesExport(s))
	return c
}
