package writ

import (
	"github.com/spf13/cobra"

	"writ/internal/cli"
)

// traces holds what a person does with the traces of agents.
func traces(s cli.Streams) *cobra.Command {
	c := &cobra.Command{Use: "traces", Short: "Take the traces of agents away"}
	c.AddCommand(tracesExport(s))
	return c
}
